"""The comments of a source text, and the statements around them.

Only files that hold a suppression are read here, so `tokenize` is imported in the function that needs it.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class Comment:
    """A comment: its line and column from 1, and its text from the ``#`` on."""

    __slots__ = ("column", "line", "text")

    def __init__(self, line: int, column: int, text: str) -> None:
        self.line = line
        self.column = column
        self.text = text


class Commented:
    """What was read: `comments` and `statements`, the latter as (first line, last line) in order.

    A statement is a logical line: for a compound statement its header alone, for a decorated one each decorator by
    itself. Formats without such lines have none.
    """

    __slots__ = ("comments", "statements")

    def __init__(self, comments: list[Comment], statements: list[tuple[int, int]]) -> None:
        self.comments = comments
        self.statements = statements


def python_comments(text: str) -> Commented:
    """The comments of Python source; text after a place that cannot be tokenised is not seen.

    Args:
        text: the source, its lines ending in ``\\n``.
    """
    from io import StringIO
    from tokenize import COMMENT, DEDENT, ENDMARKER, INDENT, NEWLINE, NL, TokenError, generate_tokens

    found = Commented([], [])
    first = 0
    try:
        for kind, string, start, _, _ in generate_tokens(StringIO(text).readline):
            if kind == COMMENT:
                found.comments.append(Comment(start[0], start[1] + 1, string))
            elif kind == NEWLINE:
                found.statements.append((first, start[0]))
                first = 0
            elif not first and kind not in (NL, INDENT, DEDENT, ENDMARKER):
                first = start[0]
    # A SyntaxError is a finding of its own; ValueError covers NUL bytes and lone surrogates.
    except (TokenError, SyntaxError, ValueError):
        pass
    return found


def document_comments(lines: Sequence[str], comments: Iterable[tuple[int, str]]) -> Commented:
    """The comments of a YAML or TOML document, as its reader gives them: (line, text with or without the ``#``).

    A comment always runs to the end of its line, which gives its column.
    """
    found: list[Comment] = []
    for line, text in comments:
        whole = lines[line - 1]
        at = len(whole.rstrip()) - len(text.strip())
        if not text.lstrip().startswith("#"):
            at = whole.rfind("#", 0, at)
        found.append(Comment(line, at + 1, whole[at:].rstrip()))
    return Commented(found, [])


def shell_comments(lines: Sequence[str]) -> Commented:
    """The comments of a shell script: a ``#`` that begins a word, outside of quotes and here-documents.

    Commands continued by a backslash are its statements.
    """
    found = Commented([], [])
    quote, ends, first = "", list[str](), 0
    for number, line in enumerate(lines, start=1):
        if ends and not quote:
            if line.strip() == ends[0]:
                del ends[0]
            continue
        comment, quote, opened = _shell_line(line, quote)
        ends += opened
        if comment is not None:
            found.comments.append(Comment(number, comment + 1, line[comment:].rstrip()))
        first = first or number
        if comment is not None or not line.endswith("\\"):
            if line[:comment].strip():
                found.statements.append((first, number))
            first = 0
    return found


def _shell_line(line: str, quote: str) -> tuple[int | None, str, list[str]]:
    """Where a comment begins, the quote left open at the end, and the ends of here-documents that this line opens."""
    opened: list[str] = []
    at = 0
    while at < len(line):
        character = line[at]
        if quote:
            if character == quote:
                quote = ""
            elif character == "\\" and quote == '"':
                at += 1
        elif character == "\\":
            at += 1
        elif character in "'\"":
            quote = character
        elif character == "#" and (at == 0 or line[at - 1] in " \t;&|()"):
            return at, "", opened
        elif line.startswith("<<", at):
            if line.startswith("<<<", at):
                at += 2
            elif word := _here_word(line[at + 2 :]):
                opened.append(word)
                at += 1
        at += 1
    return None, quote, opened


def _here_word(rest: str) -> str:
    """The word that ends a here-document, from what follows ``<<``; "" if it is a shift in arithmetic."""
    rest = rest.removeprefix("-").lstrip(" \t")
    if rest[:1] in ("'", '"'):
        return rest[1:].partition(rest[0])[0]
    rest = rest.removeprefix("\\")
    length = 0
    while length < len(rest) and (rest[length].isalnum() or rest[length] in "_-."):
        length += 1
    return "" if rest[:1].isdigit() else rest[:length]
