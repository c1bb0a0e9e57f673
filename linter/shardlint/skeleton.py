"""A file without the bodies of the functions that nobody asks about: it parses several times as fast.

Lines stay where they are. Nothing is understood here but lines and indentation, so a body goes only where its end is
plain, and a text that no longer parses is parsed whole (`sparse`). What other code can see of a function that is left
out stays: its name, parameters and decorators, and, because they are part of its class or module, a body that gives an
attribute a value or declares a name `global`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from functools import cache

from shardlint.parsing import parse

_DEF = re.compile(r"\n([ \t]*)(?:async[ \t]+)?def[ \t]+(\w+)[ \t]*(\()")
_HEADER = re.compile(r"\"[^\"\n\\]*\"|'[^'\n\\]*'|#[^\n]*|[()]|[\"']")
_RESULT = re.compile(r"[ \t]*(?:->(?:[^\n\"'#]|\"[^\"\n]*\"|'[^'\n]*')*?)?:[ \t]*(?:#[^\n]*)?(?=\n)")
_STORED = re.compile(r"\.\w+[ \t]*(?::[^\n=]*)?=(?!=)")
_UNPACKED = re.compile(r"\n[ \t(\[]*\w[\w. ,*]*\.\w+[ \t]*,[\w., *]*[)\]]?[ \t]*=(?!=)|\n[ \t]*[)\]][ \t]*=(?!=)")
"""Attributes that are given a value: `x.a = `, `x.a: int = `, `y = x.a = `; `x.a, y = ` and targets on several lines.

Every such statement matches one of them; other text may.
"""

Keep = Callable[[str, str], bool]
"""Whether a function is asked about, by its name and its whole text, its decorators included."""


def sparse(text: str, keep: Keep) -> tuple[ast.Module, frozenset[int]] | None:
    """The tree of a file with the functions that `keep` names, and the lines of those whose bodies were left out.

    None where nothing can be left out, or the file does not parse without it.
    """
    if "\r" in text or "\f" in text:
        return None
    kept, left_out = skeleton(text, keep)
    if not left_out:
        return None
    tree = parse(kept)
    return None if isinstance(tree, SyntaxError) else (tree, frozenset(left_out))


def skeleton(text: str, keep: Keep) -> tuple[str, list[int]]:
    """The text with the bodies that can go replaced by `pass`, and the lines of their `def`."""
    text = "\n" + text
    pieces, left_out = list[str](), list[int]()
    done = line = counted = 0
    for match in _DEF.finditer(text):
        if match.start() < done:
            continue  # part of a function that is kept or left out
        start = _body(text, match.start(3))
        if start is None:
            continue
        end = _end(text, start, len(match.group(1)))
        body = text[start:end]
        if _is_open(body):
            break  # from here on, what looks like code may be text
        whole = text[_top(text, done, match.start()) : end]
        if not (_is_shared(body) or keep(match.group(2), whole)):
            line += text.count("\n", counted, match.start() + 1)
            counted = match.start() + 1
            left_out.append(line)
            gap = "\n" * (body.count("\n") - 1)
            pieces.append(f"{text[done:start]}\n{match.group(1)} pass{gap}")
        else:
            pieces.append(text[done:end])
        done = end
    pieces.append(text[done:])
    return "".join(pieces)[1:], left_out


def _top(text: str, first: int, start: int) -> int:
    """Where the decorators of a function begin: nobody puts an empty line between them."""
    return max(text.rfind("\n\n", first, start), first)


def _body(text: str, opening: int) -> int | None:
    """The end of the line on which the header of a function ends; None for a one-liner, or if that is not plain."""
    depth = 0
    for token in _HEADER.finditer(text, opening):
        sign = token.group()
        if sign == "(":
            depth += 1
        elif sign == ")":
            depth -= 1
            if depth == 0:
                result = _RESULT.match(text, token.end())
                return result.end() if result is not None else None
        elif sign in ('"', "'"):
            return None
    return None


def _end(text: str, start: int, indent: int) -> int:
    """The end of the last line that is indented further than the function."""
    found = _outer(indent).search(text, start)
    return found.start() if found is not None else len(text)


@cache
def _outer(indent: int) -> re.Pattern[str]:
    return re.compile(rf"\n[ \t]{{0,{indent}}}(?=[^\s#])")


def _is_shared(body: str) -> bool:
    """Whether a body gives an attribute or a global name a value."""
    return _STORED.search(body) is not None or "global " in body or _UNPACKED.search(body) is not None


def _is_open(body: str) -> bool:
    """Whether a text of several lines begins in a body and ends after it, or the other way round."""
    return body.count('"""') % 2 == 1 or body.count("'''") % 2 == 1
