"""The baseline: findings that a project knows and has put off, in one JSON file.

A finding is known if the baseline holds its path and fingerprint, as many times as it occurs. If the file of an entry
is gone, the fingerprint alone decides, so that a renamed file keeps its entries.
"""

from __future__ import annotations

from shardlint.errors import BaselineError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TypeGuard

    from shardlint.finding import Finding

_VERSION = 1
_FIELDS = ("path", "rule", "fingerprint", "message")
_AGAIN = "write it anew with `shardlint check --write-baseline`"


class Entry:
    """One known finding. Rule and message are for people; path and fingerprint are compared."""

    __slots__ = _FIELDS
    path: str
    rule: str
    fingerprint: str
    message: str

    def __init__(self, path: str, rule: str, fingerprint: str, message: str) -> None:
        self.path, self.rule, self.fingerprint, self.message = path, rule, fingerprint, message

    def fields(self) -> tuple[str, str, str, str]:
        """Path, rule, fingerprint and message: the order in which entries are sorted."""
        return (self.path, self.rule, self.fingerprint, self.message)


class Baseline:
    """The entries of a baseline file."""

    __slots__ = ("entries",)
    entries: tuple[Entry, ...]

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.entries = tuple(entries)

    def split(
        self,
        findings: Iterable[Finding],
        path_exists: Callable[[str], bool],
        judged: Callable[[Entry], bool] | None = None,
    ) -> tuple[list[Finding], list[Finding], list[Entry]]:
        """The new findings, the known ones, and the stale entries: those that nothing matches any more.

        Args:
            findings: what this run found, sorted.
            path_exists: whether a path (relative to the root, with `/`) is still there.
            judged: whether this run would have found what an entry stands for: its rule ran, on its file, or on all
                files if its own is gone. Other entries are not stale. Without it every entry counts as judged.
        """
        waiting: dict[tuple[str, str], list[Entry]] = {}
        for entry in self.entries:
            waiting.setdefault((entry.path, entry.fingerprint), []).append(entry)
        known, rest = _take(findings, waiting, lambda finding: (finding.path, finding.fingerprint))

        exists = {path: path_exists(path) for path in {path for (path, _), left in waiting.items() if left}}
        moved: dict[tuple[str, str], list[Entry]] = {}
        for (path, print_), left in waiting.items():
            if left and not exists[path]:
                moved.setdefault(("", print_), []).extend(left)
        renamed, new = _take(rest, moved, lambda finding: ("", finding.fingerprint))

        left_over = [entry for (path, _), left in waiting.items() if left and exists[path] for entry in left]
        left_over += [entry for left in moved.values() for entry in left]
        stale = [entry for entry in left_over if judged is None or judged(entry)]
        return new, sorted(known + renamed), sorted(stale, key=Entry.fields)


def _take(
    findings: Iterable[Finding],
    waiting: dict[tuple[str, str], list[Entry]],
    key: Callable[[Finding], tuple[str, str]],
) -> tuple[list[Finding], list[Finding]]:
    """The findings that have an entry, each of which is used up, and the others."""
    taken: list[Finding] = []
    rest: list[Finding] = []
    for finding in findings:
        entries = waiting.get(key(finding))
        if entries:
            entries.pop()
            taken.append(finding)
        else:
            rest.append(finding)
    return taken, rest


def load_baseline(path: str) -> Baseline:
    """Read a baseline file.

    Raises:
        BaselineError: the file is missing, unreadable, no baseline, or of a later version.
    """
    import json

    try:
        with open(path, "rb") as file:
            data: object = json.loads(file.read().decode("utf-8"))
    except FileNotFoundError:
        raise BaselineError(
            f"the baseline {path} does not exist: write it with `shardlint check --write-baseline`"
        ) from None
    except OSError as error:
        raise BaselineError(f"the baseline {path} cannot be read: {error.strerror}") from None
    except json.JSONDecodeError as error:
        raise BaselineError(f"{path}:{error.lineno}: the baseline is not JSON ({error.msg}): {_AGAIN}") from None
    except (UnicodeDecodeError, RecursionError):
        raise BaselineError(f"the baseline {path} is not JSON: {_AGAIN}") from None
    return Baseline(_entries(path, data))


def _entries(path: str, data: object) -> list[Entry]:
    if not _is_table(data) or "version" not in data or not _is_list(found := data.get("findings")):
        raise BaselineError(f"{path} is no baseline: it needs the keys `version` and `findings`; {_AGAIN}")
    if data["version"] != _VERSION:
        raise BaselineError(
            f"the baseline {path} has version {data['version']}, but this shardlint reads version {_VERSION}: "
            f"install the shardlint that wrote it, or {_AGAIN}"
        )
    entries: list[Entry] = []
    for number, item in enumerate(found, start=1):
        values = [item.get(name) for name in _FIELDS] if _is_table(item) else []
        texts = [value for value in values if isinstance(value, str)]
        if len(texts) != len(_FIELDS):
            names = ", ".join(f"`{name}`" for name in _FIELDS)
            raise BaselineError(f"finding {number} of the baseline {path} needs the texts {names}: {_AGAIN}")
        entries.append(Entry(*texts))
    return entries


def _is_table(value: object) -> TypeGuard[dict[str, object]]:
    return isinstance(value, dict)


def _is_list(value: object) -> TypeGuard[list[object]]:
    return isinstance(value, list)


def add_to_baseline(path: str, findings: Iterable[Finding]) -> None:
    """Add findings of one new rule to a baseline, which is made if there is none; the entries of others stay.

    Raises:
        BaselineError: the file is there and is no baseline, or it cannot be written.
    """
    import os

    entries = list(load_baseline(path).entries) if os.path.lexists(path) else []
    _write(path, [*entries, *(Entry(one.path, one.rule, one.fingerprint, one.message) for one in findings)])


def write_baseline(path: str, findings: Iterable[Finding]) -> None:
    """Write a baseline of `findings`, sorted, one line each, in one step.

    Raises:
        BaselineError: the file cannot be written.
    """
    _write(path, [Entry(one.path, one.rule, one.fingerprint, one.message) for one in findings])


def _write(path: str, written: list[Entry]) -> None:
    import json
    import os

    from shardlint.atomic import replace_file

    entries = sorted(entry.fields() for entry in written)
    lines = ",\n".join(["    " + json.dumps(dict(zip(_FIELDS, entry, strict=True))) for entry in entries])
    listed = f"[\n{lines}\n  ]" if lines else "[]"
    text = f'{{\n  "version": {_VERSION},\n  "findings": {listed}\n}}\n'
    try:
        replace_file(os.path.realpath(path), text.encode("ascii"))
    except OSError as error:
        raise BaselineError(f"the baseline {path} cannot be written: {error.strerror}") from None
