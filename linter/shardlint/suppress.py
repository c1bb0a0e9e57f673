"""Suppressions: ``# shardlint: ignore[name] reason`` in a file, or a path and a key pointer in the settings.

A comment hides findings of the rules or families it names: behind code, those of that line or of the statement that
begins or ends there; alone on a line, those of the next line or of the statement that begins there. At the start of a
line, ``ignore-file[name]`` hides them in the whole file. A suppression that hides nothing is itself reported.
"""

from __future__ import annotations

from shardlint.finding import Evidence, Finding, Fix, Span, TextEdit
from shardlint.fingerprint import fingerprint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Sequence
    from typing import Any

    from shardlint.comments import Comment
    from shardlint.discover import Regexes

    Entry = tuple[str, str, Regexes, str, str]

_MARK = "shardlint:"
_ADVICE = "write `# shardlint: ignore[rule-name] reason`; `shardlint rules` lists the names"


class Suppression:
    """One comment. `names` holds each name with its column; `first` and `last` are the lines it covers.

    `brackets` are the columns just behind ``[`` and of ``]``. A comment with a `problem` hides nothing. `source` is the
    whole line. `used` collects the names that hid something.
    """

    __slots__ = (
        "brackets",
        "column",
        "end_column",
        "first",
        "last",
        "line",
        "names",
        "problem",
        "reason",
        "source",
        "used",
        "whole_file",
    )

    def __init__(self, line: int, column: int, end_column: int, source: str) -> None:
        self.line, self.column, self.end_column, self.source = line, column, end_column, source
        self.names: tuple[tuple[str, int], ...] = ()
        self.brackets = (column, column)
        self.whole_file = False
        self.first = self.last = line
        self.reason = self.problem = ""
        self.used: set[str] = set()

    def covers(self, span: Span) -> bool:
        """Whether the first or the last line of `span` is covered."""
        last = span.end_line - (span.end_column == 1 and span.end_line > span.line)
        return self.whole_file or self.first <= span.line <= self.last or self.first <= last <= self.last


class Suppressions:
    """All suppressions of one file."""

    __slots__ = ("all",)
    all: tuple[Suppression, ...]

    def __init__(self, suppressions: Iterable[Suppression] = ()) -> None:
        self.all = tuple(suppressions)

    def hides(self, finding: Finding) -> bool:
        """Whether a comment hides `finding`. Every comment that does is recorded as used."""
        hidden = False
        for suppression in self.all:
            if suppression.problem or not suppression.covers(finding.span):
                continue
            for name, _ in suppression.names:
                if name in (finding.rule, finding.family):
                    suppression.used.add(name)
                    hidden = True
        return hidden

    def unused(self, active: Container[str]) -> list[tuple[Suppression, tuple[str, ...]]]:
        """The comments with names that hid nothing, though they are `active`: rules and families that ran."""
        found: list[tuple[Suppression, tuple[str, ...]]] = []
        for suppression in self.all:
            idle = [name for name, _ in suppression.names if name in active and name not in suppression.used]
            if idle:
                found.append((suppression, tuple(dict.fromkeys(idle))))
        return found

    def unknown(self, known: Container[str]) -> list[tuple[Suppression, str, int]]:
        """The names that are no rule and no family, each with its column."""
        return [
            (suppression, name, column)
            for suppression in self.all
            for name, column in suppression.names
            if name not in known
        ]

    def pack(self) -> tuple[Any, ...]:
        """The suppressions as nested tuples of plain values, for the cache; what was used is not kept."""
        return tuple(tuple(getattr(one, name) for name in Suppression.__slots__ if name != "used") for one in self.all)


def unpack_suppressions(packed: tuple[Any, ...]) -> Suppressions:
    """The suppressions that `Suppressions.pack` packed."""
    names = [name for name in Suppression.__slots__ if name != "used"]
    found: list[Suppression] = []
    for values in packed:
        fields = dict(zip(names, values, strict=True))
        one = Suppression(fields["line"], fields["column"], fields["end_column"], fields["source"])
        for name, value in fields.items():
            setattr(one, name, value)
        found.append(one)
    return Suppressions(found)


def read_suppressions(kind: str, text: str, comments: Iterable[tuple[int, str]] = ()) -> Suppressions:
    """The suppressions of one file. Strings that look like a comment do not count.

    Args:
        kind: "python" and "shell" are read here; every other kind has the `comments` that are given.
        text: the whole file.
        comments: (line, text) of each comment, from the reader of a YAML or TOML document.
    """
    if _MARK not in text:
        return Suppressions()
    from shardlint.comments import document_comments, python_comments, shell_comments

    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    if kind == "python":
        found = python_comments(text)
    elif kind == "shell":
        found = shell_comments(lines)
    else:
        found = document_comments(lines, comments)
    commented = {
        comment.line for comment in found.comments if not lines[comment.line - 1][: comment.column - 1].strip()
    }
    suppressions: list[Suppression] = []
    for comment in found.comments:
        for suppression in _parse(comment, lines[comment.line - 1]):
            _place(suppression, comment, lines, commented, found.statements)
            suppressions.append(suppression)
    return Suppressions(suppressions)


def _parse(comment: Comment, source: str) -> Iterator[Suppression]:
    """The suppressions in one comment; other tools' remarks may stand before and behind each."""
    text = comment.text
    at = text.find(_MARK)
    while at >= 0:
        start = text.rfind("#", 0, at)
        end = _end_of_remark(text, at)
        if start >= 0 and not text[start + 1 : at].strip():
            one = Suppression(comment.line, comment.column + start, comment.column + len(text[:end].rstrip()), source)
            _read_names(one, text[:end], at + len(_MARK), comment.column)
            yield one
        at = text.find(_MARK, end)


def _end_of_remark(text: str, at: int) -> int:
    """Where the next ``#`` begins another remark; ``#12`` in a reason does not."""
    at = text.find("#", at)
    while at >= 0:
        if text[at - 1].isspace() and not text[at + 1 : at + 2].isdigit():
            return at
        at = text.find("#", at + 1)
    return len(text)


def _read_names(one: Suppression, text: str, at: int, column: int) -> None:
    """Fill in what follows the mark: ``ignore[name, name] reason``. Columns count from `column` at index 0."""
    body = text[at:]
    word = body.split("[")[0].split(maxsplit=1)[0] if body.split("[")[0].strip() else ""
    if word not in ("ignore", "ignore-file"):
        written = f"{_MARK} {word}".rstrip()
        one.problem = f"`{written}` is no suppression, so nothing is hidden here"
        return
    one.whole_file = word == "ignore-file"
    start = at + body.index(word) + len(word)
    if not text[start:].lstrip().startswith("["):
        one.problem = f"`{word}` names no rule, so nothing is hidden here"
        return
    start = text.index("[", start) + 1
    end = text.find("]", start)
    if end < 0:
        one.problem = f"the bracket of `{word}[` is not closed, so nothing is hidden here"
        return
    one.brackets = (column + start, column + end)
    names: list[tuple[str, int]] = []
    for part in text[start:end].split(","):
        if part.strip():
            names.append((part.strip(), column + start + len(part) - len(part.lstrip())))
        start += len(part) + 1
    one.names, one.reason = tuple(names), text[end + 1 :].strip()
    if not names:
        one.problem = f"`{word}[]` names no rule, so nothing is hidden here"


def _place(
    one: Suppression, comment: Comment, lines: Sequence[str], commented: set[int], statements: list[tuple[int, int]]
) -> None:
    """Set the lines that a suppression covers."""
    alone = comment.line in commented
    if one.whole_file:
        if not (alone and comment.column == 1) and not one.problem:
            one.problem = "`ignore-file` must stand alone at the start of a line, so nothing is hidden here"
            one.names = ()
        return
    line = comment.line
    while alone and line in commented:
        line += 1
    one.first = one.last = line
    for index, (first, last) in enumerate(statements):
        if line == first or (not alone and line == last):
            one.first, one.last = first, last
            while alone and lines[first - 1].lstrip().startswith("@") and index + 1 < len(statements):
                index += 1
                first, one.last = statements[index]
            return


def unused_findings(path: str, suppressions: Suppressions, active: Container[str]) -> list[Finding]:
    """A finding for each comment that hides nothing, with the fix that removes it or its idle names."""
    findings: list[Finding] = []
    for one, idle in suppressions.unused(active):
        where = "in this file" if one.whole_file else "here"
        names = " and ".join(f"`{name}`" for name in idle)
        verb = "is" if len(idle) == 1 else "are"
        kept = [name for name, _ in one.names if name not in idle]
        span = Span(one.line, one.column, one.line, one.end_column)
        findings.append(
            _finding(
                path,
                span,
                one,
                "unused-suppression",
                f"{names} {verb} suppressed {where}, but there is nothing to hide",
                f"remove {names} from the comment" if kept else "remove the comment",
                Fix(True, edits=(_without(one, kept),)),
            )
        )
    return findings


def unknown_findings(path: str, suppressions: Suppressions, known: Iterable[str]) -> list[Finding]:
    """A finding for each name that is no rule and no family, and for each comment that cannot be understood."""
    names = frozenset(known)
    findings = [
        _finding(path, Span(one.line, one.column, one.line, one.end_column), one, _UNKNOWN, one.problem, _ADVICE)
        for one in suppressions.all
        if one.problem
    ]
    for one, name, column in suppressions.unknown(names):
        span = Span(one.line, column, one.line, column + len(name))
        message = f"`{name}` is no rule and no family, so it hides nothing here"
        findings.append(_finding(path, span, one, _UNKNOWN, message, _nearest(name, names)))
    return sorted(findings)


_UNKNOWN = "unknown-suppression"


def _finding(
    path: str, span: Span, one: Suppression, rule: str, message: str, advice: str, fix: Fix | None = None
) -> Finding:
    return Finding(
        path=path,
        span=span,
        rule=rule,
        family="engine",
        severity="warning",
        confidence=0.95,
        evidence=Evidence("observation"),
        message=message,
        help=advice,
        fix=fix,
        fingerprint=fingerprint(rule, "", one.source),
    )


def _nearest(name: str, names: frozenset[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, sorted(names), n=1)
    return f"did you mean `{near[0]}`?" if near else "`shardlint rules` lists the names"


def _without(one: Suppression, kept: Sequence[str]) -> TextEdit:
    """The edit that leaves only the names in `kept`, or that removes the comment, with its line if it stands alone."""
    line = one.line
    if kept:
        return TextEdit(Span(line, one.brackets[0], line, one.brackets[1]), ", ".join(kept))
    before, after = one.source[: one.column - 1], one.source[one.end_column - 1 :]
    if before.strip():
        return TextEdit(Span(line, len(before.rstrip()) + 1, line, one.end_column), "")
    if after.strip():
        return TextEdit(Span(line, one.column, line, len(one.source) - len(after.lstrip()) + 1), "")
    return TextEdit(Span(line, 1, line + 1, 1), "")


def settings_hide(finding: Finding, entries: Iterable[Entry]) -> Entry | None:
    """The entry of the settings that hides `finding`, if any: for files that can hold no comment, such as JSON.

    Args:
        finding: what may be hidden.
        entries: (rule or family, pattern, its compiled form, pointer, reason), as `Settings.suppress` holds them. The
            pointer is a JSON Pointer (RFC 6901) such as ``/layers/2/dim``; "" stands for the whole file.
    """
    for entry in entries:
        rule, _, regexes, pointer, _ = entry
        if rule not in (finding.rule, finding.family):
            continue
        if pointer and (finding.key is None or _steps_of_pointer(pointer) != _steps_of_key(finding.key)):
            continue
        from shardlint.discover import matcher

        if matcher(regexes)(finding.path):
            return entry
    return None


def _steps_of_pointer(pointer: str) -> list[str]:
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer[1:].split("/")]


def _steps_of_key(key: str) -> list[str]:
    """The steps of a key path such as ``plugins."a.b"[2].dim``."""
    steps: list[str] = []
    at = 0
    while at < len(key):
        if key[at] == ".":
            at += 1
        if key.startswith('"', at):
            step, at = _quoted(key, at + 1)
        elif key.startswith("[", at):
            step, _, rest = key[at + 1 :].partition("]")
            at = len(key) - len(rest)
        else:
            end = min(found for found in (key.find(".", at), key.find("[", at), len(key)) if found >= 0)
            step, at = key[at:end], end
        steps.append(step)
    return steps


def _quoted(key: str, at: int) -> tuple[str, int]:
    """The text from `at` to the closing quote, backslashes resolved, and where the key path goes on."""
    text = ""
    while at < len(key) and key[at] != '"':
        at += key[at] == "\\"
        text += key[at : at + 1]
        at += 1
    return text, at + 1
