"""A failing input made small: files, lines and bytes that are not needed are left out."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence

from fuzzing.case import Case

Fails = Callable[[Case], bool]


def smallest(case: Case, fails: Fails, seconds: float) -> Case:
    """The smallest variant of a case that still fails, as far as it is found in the time."""
    until = time.monotonic() + seconds

    def still(files: dict[str, bytes]) -> bool:
        return time.monotonic() < until and fails(dataclasses.replace(case, files=files))

    files = dict(case.files)
    for path in sorted(files, key=lambda path: -len(files[path])):
        fewer = {name: data for name, data in files.items() if name != path}
        if fewer and still(fewer):
            files = fewer
    for path in sorted(files):
        for cut in (_lines, _bytes):

            def enough(parts: Sequence[bytes], path: str = path) -> bool:
                return still({**files, path: b"".join(parts)})

            files[path] = b"".join(_fewest(cut(files[path]), enough))
    return dataclasses.replace(case, files=files)


def _lines(data: bytes) -> list[bytes]:
    return data.splitlines(keepends=True)


def _bytes(data: bytes) -> list[bytes]:
    return [data[at : at + 1] for at in range(len(data))]


def _fewest(parts: Sequence[bytes], enough: Callable[[Sequence[bytes]], bool]) -> Sequence[bytes]:
    """Delta debugging: drop ever smaller runs of parts as long as the rest is enough."""
    size = len(parts) // 2
    while size:
        at = 0
        while at < len(parts):
            fewer = [*parts[:at], *parts[at + size :]]
            if fewer and enough(fewer):
                parts = fewer
            else:
                at += size
        size //= 2
    return parts
