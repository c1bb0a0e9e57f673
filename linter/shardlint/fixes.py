"""Fixes: edits put into a text, and the text put into its file, safely or not at all."""

from __future__ import annotations

import os

from shardlint.errors import FixRefused, UndecodableSource
from shardlint.source import Source, content_hash, decode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from shardlint.finding import Fix, TextEdit

_BOM = b"\xef\xbb\xbf"
_PYTHON = (".py", ".pyi")


class FixResult:
    """What became of the fixes of one file.

    `before` and `after` are its texts; `applied` and `skipped` its fixes. A fix is skipped if it overlaps one before
    it; it may apply in another run. One without edits is neither.
    """

    __slots__ = ("after", "applied", "before", "path", "skipped")
    path: str
    before: str
    after: str
    applied: tuple[Fix, ...]
    skipped: tuple[Fix, ...]

    def __init__(self, path: str, before: str, after: str, applied: tuple[Fix, ...], skipped: tuple[Fix, ...]) -> None:
        self.path, self.before, self.after, self.applied, self.skipped = path, before, after, applied, skipped


def apply_edits(text: str, edits: Iterable[TextEdit]) -> str:
    """`text` with the edits made. Of two that overlap the first wins, and an edit given twice is made once.

    Lines end at ``\\n`` only, so a ``\\r`` counts as a character. Insertions at one place keep their order and come
    before what replaces the text there. A range may end on the line after the last one, at column 1.

    Raises:
        ValueError: an edit lies outside of the text.
    """
    starts = _line_starts(text)
    ranges: dict[tuple[int, int, str], None] = {}
    for edit in edits:
        one = _range(text, starts, edit)
        if not any(_overlap(one, other) for other in ranges if other != one):
            ranges[one] = None
    return _replaced(text, list(ranges))


def _replaced(text: str, ranges: Sequence[tuple[int, int, str]]) -> str:
    pieces: list[str] = []
    at = 0
    # Sorting is stable, which keeps insertions at one place in their order.
    for start, end, replacement in sorted(ranges, key=lambda one: one[:2]):
        pieces += (text[at:start], replacement)
        at = end
    return "".join([*pieces, text[at:]])


def _line_starts(text: str) -> list[int]:
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    return starts


def _range(text: str, starts: list[int], edit: TextEdit) -> tuple[int, int, str]:
    span = edit.span
    start, end = _offset(text, starts, span.line, span.column), _offset(text, starts, span.end_line, span.end_column)
    if end < start:
        raise ValueError(f"the edit at line {span.line}, column {span.column} ends before it begins")
    return start, end, edit.text


def _offset(text: str, starts: list[int], line: int, column: int) -> int:
    if line == len(starts) and column == 1:
        return len(text)
    if not 1 <= line < len(starts) or not 1 <= column <= starts[line] - starts[line - 1]:
        raise ValueError(f"an edit lies at line {line}, column {column}, where the file has no text")
    return starts[line - 1] + column - 1


def _overlap(one: tuple[int, int, str], other: tuple[int, int, str]) -> bool:
    """Whether two ranges share a character, or one inserts inside of the other."""
    return one[0] < other[1] and other[0] < one[1]


def plan_fixes(
    root: str, path: str, fixes: Iterable[Fix], expected_hash: bytes, *, refuse: Mapping[str, str]
) -> FixResult:
    """What `write_fixes` would write, without writing it. See there for the arguments and the refusals."""
    return _plan(root, path, fixes, expected_hash, refuse)[0]


def write_fixes(
    root: str, path: str, fixes: Iterable[Fix], expected_hash: bytes, *, refuse: Mapping[str, str]
) -> FixResult:
    """Make the edits of `fixes` in one file, in one step. Mode, encoding, byte order mark and line ends are kept.

    The edits of a fix are made together or not at all. Nothing is written if nothing changes.

    Args:
        root: the project root.
        path: the file, relative to the root, with `/`.
        fixes: fixes whose edits are known, in the order of preference.
        expected_hash: `source.content_hash` of the bytes that were linted.
        refuse: paths that may not be changed, each with the reason: generated files, files with unstaged hunks.

    Raises:
        FixRefused: the file may not be changed, was changed since it was linted, or would be broken. It is unchanged.
    """
    result, data, target = _plan(root, path, fixes, expected_hash, refuse)
    if result.after != result.before:
        from shardlint.atomic import replace_file

        try:
            replace_file(target, data)
        except OSError as error:
            raise FixRefused(f"{path} was not fixed, because it cannot be written: {error.strerror}") from None
    return result


def _plan(
    root: str, path: str, fixes: Iterable[Fix], expected_hash: bytes, refuse: Mapping[str, str]
) -> tuple[FixResult, bytes, str]:
    """The result, the bytes to write and the file to write them to."""
    target = _target(root, path, refuse)
    try:
        with open(target, "rb") as file:
            old = file.read()
    except OSError as error:
        raise FixRefused(f"{path} was not fixed, because it cannot be read: {error.strerror}") from None
    if content_hash(old) != expected_hash:
        raise FixRefused(f"{path} was not fixed, because it changed after it was linted: run shardlint again")
    source = _decoded(path, old)
    before = source.text
    if "\r" in before.replace("\r\n", ""):
        raise FixRefused(f"{path} was not fixed, because some of its lines end in a lone carriage return: convert them")
    applied, skipped, ranges = _chosen(path, before, fixes)
    after = _replaced(before, ranges)
    try:
        new = source.encode(after)
    except UnicodeEncodeError as error:
        raise FixRefused(
            f"{path} was not fixed, because its encoding {source.encoding} has no {error.object[error.start]!r}"
        ) from None
    if after != before and path.endswith(_PYTHON):
        _check_python(path, old, new)
    return FixResult(path, before, after, applied, skipped), new, target


def _target(root: str, path: str, refuse: Mapping[str, str]) -> str:
    """The real file behind `path`, if it may be written."""
    real_root = os.path.realpath(root)
    target = os.path.realpath(os.path.join(real_root, path))
    inside = os.path.relpath(target, real_root).replace(os.sep, "/")
    if inside == ".." or inside.startswith("../"):
        raise FixRefused(f"{path} was not fixed, because it leads out of the project, to {target}")
    for name in (path, inside):
        if name in refuse:
            raise FixRefused(f"{path} was not fixed: {refuse[name]}")
    try:
        mode = os.stat(target).st_mode
    except OSError as error:
        raise FixRefused(f"{path} was not fixed, because it cannot be read: {error.strerror}") from None
    if not mode & 0o222:
        raise FixRefused(f"{path} was not fixed, because it is read-only")
    return target


def _decoded(path: str, data: bytes) -> Source:
    """The text of a file, if writing it back would give the same bytes."""
    try:
        if path.endswith(_PYTHON):
            source = decode(data)
        else:
            bom = data.startswith(_BOM)
            source = Source(data[len(_BOM) if bom else 0 :].decode("utf-8"), "utf-8", bom)
        if source.encode(source.text) == data:
            return source
    except (UndecodableSource, UnicodeError) as error:
        raise FixRefused(f"{path} was not fixed, because its text cannot be read: {error}") from None
    raise FixRefused(f"{path} was not fixed, because its encoding {source.encoding} would change other bytes too")


def _chosen(
    path: str, text: str, fixes: Iterable[Fix]
) -> tuple[tuple[Fix, ...], tuple[Fix, ...], list[tuple[int, int, str]]]:
    """The fixes to apply, those that overlap one of them, and the ranges to replace."""
    starts = _line_starts(text)
    crlf = text.count("\r\n") * 2 > text.count("\n")
    applied: list[Fix] = []
    skipped: list[Fix] = []
    ranges: dict[tuple[int, int, str], None] = {}
    for fix in fixes:
        if not fix.edits:
            continue
        try:
            wanted = [_range(text, starts, edit) for edit in fix.edits]
        except ValueError as error:
            raise FixRefused(f"{path} was not fixed: {error}") from None
        if crlf:
            wanted = [(start, end, new.replace("\r\n", "\n").replace("\n", "\r\n")) for start, end, new in wanted]
        # Two fixes may want the same edit, such as one import: it is made once.
        fresh = [one for one in dict.fromkeys(wanted) if one not in ranges]
        taken = [*ranges, *fresh]
        if any(_overlap(one, other) for one in fresh for other in taken if other is not one):
            skipped.append(fix)
        else:
            applied.append(fix)
            ranges.update(dict.fromkeys(fresh))
    return tuple(applied), tuple(skipped), list(ranges)


def _check_python(path: str, old: bytes, new: bytes) -> None:
    wrong = _syntax_error(new)
    if wrong is None:
        return
    if _syntax_error(old) is not None:
        raise FixRefused(f"{path} was not fixed, because it is not Python as it stands{wrong}: repair that first")
    raise FixRefused(f"{path} was not fixed, because it would no longer be Python{wrong}: please report this")


def _syntax_error(data: bytes) -> str | None:
    """Where a file is not Python, as a remark in brackets if that is known; None if it is."""
    import ast
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(data)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            return f" (line {error.lineno})" if isinstance(error, SyntaxError) and error.lineno else ""
    return None


def unified_diff(path: str, before: str, after: str) -> str:
    """The change as a unified diff that `git apply` takes; "" if there is none."""
    from difflib import unified_diff as lines_of_diff

    def lines(text: str) -> list[str]:
        parts = text.split("\n")
        return [part + "\n" for part in parts[:-1]] + parts[-1:] * bool(parts[-1])

    rows = lines_of_diff(lines(before), lines(after), _quoted(f"a/{path}"), _quoted(f"b/{path}"))
    return "".join([row if row.endswith("\n") else f"{row}\n\\ No newline at end of file\n" for row in rows])


def _quoted(path: str) -> str:
    """A path as git writes it in a diff: one with control characters, quotes or backslashes as a C string."""
    if path.isprintable() and '"' not in path and "\\" not in path:
        return path
    return '"' + "".join(map(_c_sign, path)) + '"'


def _c_sign(sign: str) -> str:
    """A character of a C string: as it is, behind a backslash, or its bytes in octal digits."""
    if sign in '"\\':
        return f"\\{sign}"
    return sign if sign.isprintable() else "".join(f"\\{byte:03o}" for byte in os.fsencode(sign))
