"""Characters on a terminal: user text shows there and never commands it, and each character has its width."""

from __future__ import annotations

_LINE_SEPARATORS = "\u2028\u2029"


def escaped(text: str) -> str:
    """`text` with control characters, terminal escapes, direction overrides and lone surrogates made visible.

    They become what a Python string literal would hold, such as ``\\x1b`` or ``\\u202e``. Wide spaces stay.
    """
    if text.isprintable():
        return text
    return "".join([visible(character) for character in text])


def visible(character: str) -> str:
    """One character, or its escape sequence if a terminal would not show it."""
    if character.isprintable():
        return character
    if character > "\x9f" and character.isspace() and character not in _LINE_SEPARATORS:
        return character
    return character.encode("unicode_escape").decode("ascii")


def line_start(text: str) -> str:
    """`text`, escaped, for the start of a line: GitHub Actions reads a line that begins with ``::`` as a command."""
    text = escaped(text)
    return text.replace(":", "\\x3a", 1) if text.lstrip().startswith("::") else text


def cells(text: str) -> int:
    """How many cells of a terminal `text` fills: two for a wide character, none for a combining one.

    Widths are those of Unicode's East Asian Width (UAX 11), read from `unicodedata` for text that is not ASCII.
    """
    if text.isascii():
        return len(text)
    from unicodedata import category, east_asian_width

    total = 0
    for character in text:
        if category(character) not in ("Mn", "Me"):
            total += 2 if east_asian_width(character) in "WF" else 1
    return total
