"""What an edit of one file changes: whether its code is another, and where the edit begins."""

from __future__ import annotations

import ast
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_STAMP = re.compile(r"_*(.*_)?(version|versions|commit|revision|sha|hash|digest|checksum|timestamp|date)(_.*)?")
"""Names of what a tool writes at each release without anything else changing."""

_COMMENTS = ("#", "//", "-- ", ";", "<!--")

_LONGEST = 4000
"""Lines. In a longer edit only the start of the changed range is looked for: comparing it would take seconds."""


def parsed(content: bytes | str) -> ast.Module | None:
    """The syntax tree of a Python file; None if it has none."""
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(content)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def same_code(path: str, before: str, after: str) -> bool:
    """Whether an edit changes only layout, comments, docstrings, the order of imports or a version stamp.

    A Python file that did not parse before has no code that could be compared, and counts as unchanged.
    """
    if not path.endswith((".py", ".pyi")):
        return _words(before) == _words(after)
    old, new = parsed(before), parsed(after)
    if old is None:
        return True
    return new is not None and _code(old) == _code(new)


def _words(text: str) -> list[str]:
    """The words of a file of any language, without its comment lines."""
    return [word for line in text.split("\n") if not line.lstrip().startswith(_COMMENTS) for word in line.split()]


def _code(tree: ast.Module) -> list[str]:
    imports: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and _documented(node):
            node.body = node.body[1:]
    rest: list[str] = []
    for statement in tree.body:
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            source = "." * statement.level + (statement.module or "") if isinstance(statement, ast.ImportFrom) else ""
            imports += [f"{source} {name.name} {name.asname}" for name in statement.names]
        elif not _stamps(statement):
            rest.append(ast.dump(statement))
    return [*sorted(imports), *rest]


def _documented(node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    first = node.body[0] if node.body else None
    return isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)


def _stamps(statement: ast.stmt) -> bool:
    """Whether a statement of the module only records a version: ``__version__ = version = "1.2"``."""
    if not isinstance(statement, (ast.Assign, ast.AnnAssign)) or statement.value is None:
        return False
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    named = all(isinstance(target, ast.Name) and _STAMP.fullmatch(target.id.lower()) for target in targets)
    return named and all(
        isinstance(node, (ast.Constant, ast.Tuple, ast.List, ast.Load)) for node in ast.walk(statement.value)
    )


def first_changed_line(before: str, after: str) -> int:
    """The first line of the later text, from 1, where an edit touches more than blank lines and comments."""
    old, new = before.split("\n"), after.split("\n")
    start = _shared(old, new)
    end = _shared(old[start:][::-1], new[start:][::-1])
    old, new = old[start : len(old) - end], new[start : len(new) - end]
    line = start
    if len(old) + len(new) <= _LONGEST:
        from difflib import SequenceMatcher

        for kind, low, high, at, to in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
            if kind != "equal" and (_matters(old[low:high]) or _matters(new[at:to])):
                blank = next((place for place in range(at, to) if _matters(new[place : place + 1])), at)
                line = start + blank
                break
    return min(line + 1, after.rstrip("\n").count("\n") + 1)


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    """How many lines two texts begin with in common."""
    count = 0
    for first, second in zip(one, other, strict=False):
        if first != second:
            break
        count += 1
    return count


def _matters(lines: Sequence[str]) -> bool:
    return any(line.strip() and not line.lstrip().startswith(_COMMENTS) for line in lines)
