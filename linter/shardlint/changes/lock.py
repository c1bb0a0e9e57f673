"""The record of generated files: digests of each and of its sources, at a time when they belonged together.

It proves what headers only suggest: an output that is another than recorded, while its sources are as recorded, was
edited. Layout within a line and comment lines do not count, so that a formatter changes no digest by blanks alone.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeGuard

LOCK = "generated.lock.json"
"""Where it lies, below the project root."""

_VERSION = 1
_COMMENTS = (b"#", b"//", b"<!--")


class Locked:
    """What is recorded of one generated file; `accepted` is the reason for which a drift was taken over, or ""."""

    __slots__ = ("accepted", "output", "sources")

    def __init__(self, output: str, sources: Mapping[str, str], accepted: str = "") -> None:
        self.output = output
        self.sources = dict(sources)
        self.accepted = accepted


def digest(content: bytes) -> str:
    """The digest of a file's content without comment lines and blanks."""
    import hashlib

    lines = [line for line in content.split(b"\n") if not line.lstrip().startswith(_COMMENTS)]
    return hashlib.blake2b(b"".join(b" ".join(lines).split()), digest_size=16).hexdigest()


def parse_lock(content: bytes) -> dict[str, Locked]:
    """The entries of a record, by path.

    Raises:
        ValueError: it is no record, or one of another version.
    """
    import json

    data: object = json.loads(content)
    if not _is_table(data) or data.get("version") != _VERSION:
        raise ValueError(f"it is no record of version {_VERSION}")
    files = data.get("files")
    found: dict[str, Locked] = {}
    for path, entry in files.items() if _is_table(files) else ():
        sources = entry.get("sources") if _is_table(entry) else None
        if not _is_table(entry) or not _is_table(sources):
            raise ValueError(f"its entry for `{path}` has no sources")
        texts = {source: value for source, value in sources.items() if isinstance(value, str)}
        found[path] = Locked(str(entry.get("output", "")), texts, str(entry.get("accepted", "")))
    return found


def locked(content: bytes | None) -> dict[str, Locked]:
    """The entries of a record; none if there is none or it is broken, which `shardlint generated` reports."""
    if content is None:
        return {}
    try:
        return parse_lock(content)
    except (ValueError, RecursionError):
        return {}


def lock_text(entries: Mapping[str, Locked]) -> bytes:
    """The record as it is written: sorted, one file after the other, so that two branches merge."""
    import json

    files: dict[str, dict[str, object]] = {}
    for path, entry in sorted(entries.items()):
        files[path] = {"output": entry.output, "sources": dict(sorted(entry.sources.items()))}
        if entry.accepted:
            files[path]["accepted"] = entry.accepted
    return (json.dumps({"version": _VERSION, "files": files}, indent=2) + "\n").encode("ascii")


def _is_table(value: object) -> TypeGuard[dict[str, object]]:
    return isinstance(value, dict)
