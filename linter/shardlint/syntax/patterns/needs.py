"""What a file must hold for a snippet to match in it: what the prefilter is made of."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import cast

from shardlint.query import Needs, dotted_needs
from shardlint.syntax.patterns.scan import MANY, ONE, REST
from shardlint.syntax.patterns.snippet import Snippet, many, one, variable

_PLAIN = re.compile(r"[\w.:/-]{2,}", re.ASCII)
"""Texts that nobody writes with escapes. They are looked for as they stand."""

_RARE: dict[type[ast.AST], str] = {
    ast.Raise: "raise",
    ast.Assert: "assert",
    ast.Global: "global",
    ast.Nonlocal: "nonlocal",
    ast.Delete: "del",
    ast.Try: "except",
    ast.Lambda: "lambda",
    ast.Await: "await",
    ast.Yield: "yield",
    ast.YieldFrom: "yield",
    ast.While: "while",
    ast.Match: "match",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.In: "in",
    ast.NotIn: "in",
    ast.Is: "is",
    ast.IsNot: "is",
    ast.MatMult: "@",
    ast.Pow: "**",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.FloorDiv: "//",
    ast.ListComp: "for",
    ast.SetComp: "for",
    ast.DictComp: "for",
    ast.GeneratorExp: "for",
    ast.AsyncFor: "async",
    ast.AsyncWith: "async",
    ast.AsyncFunctionDef: "async",
}
"""What is written only where such a node is, and is not everywhere."""


def needs(snippet: Snippet, *, rare: bool = True) -> Needs:
    """A condition that every file meets in which the snippet matches; `rare`: keywords and operators are of it."""
    return conjunction(_needs(snippet, rare=rare))


def conjunction(parts: Iterable[Needs]) -> Needs:
    """All of several needs, what is quickly looked for first, and of that the longest words: they are the rarest."""
    unique = sorted(dict.fromkeys(_flat(parts)), key=_effort)
    return unique[0] if len(unique) == 1 else ("all", *unique)


def _flat(parts: Iterable[Needs]) -> Iterator[Needs]:
    for part in parts:
        if part[0] == "all":
            yield from _flat(cast("tuple[Needs, ...]", part[1:]))
        else:
            yield part


def _effort(part: Needs) -> tuple[int, int]:
    """Words before alternatives of texts before what asks for imports; longer ones first."""
    if part[0] in ("word", "text"):
        return int(part[0] == "text"), -len(str(part[1]))
    choices = cast("tuple[Needs, ...]", part[1:]) if part[0] == "any" else ()
    if choices and all(choice[0] in ("word", "text") for choice in choices):
        return 2, -len(str(choices[0][1]))
    return 3, 0


def disjunction(parts: Iterable[Needs]) -> Needs:
    """One of several needs."""
    unique = list(dict.fromkeys(parts))
    return unique[0] if len(unique) == 1 else ("any", *unique)


def name_needs(name: str) -> Needs:
    """What a file holds that means a bare or dotted name somewhere."""
    package, _, last = name.rpartition(".")
    if not package:
        return ("word", last)
    return ("all", ("word", last), ("any", dotted_needs([name]), ("own", package, (last,))))


def member_needs(package: str) -> Needs:
    """What a file holds that means some member of a package somewhere."""
    return ("any", name_needs(package), ("own", package, ()))


def import_needs(path: str) -> Needs:
    """What a file holds that imports a module, or a member of one."""
    package, _, last = path.rpartition(".")
    spelled: Needs = ("all", ("word", last), ("imports", path))
    return ("any", spelled, ("all", ("word", last), ("own", package, (last,)))) if package else spelled


def package_needs(package: str) -> Needs:
    """What a file holds that imports a package or something of it."""
    return ("any", ("all", ("word", package.rpartition(".")[2]), ("imports", package)), ("own", package, ()))


def holds_texts(snippet: Snippet, text: str) -> bool:
    """Whether a file has the texts of a snippet in one piece each, as its needs say."""
    found = [node.value for statement in snippet.body for node in ast.walk(statement) if isinstance(node, ast.Constant)]
    plain = [value for value in found if isinstance(value, str) and value != "..." and _PLAIN.fullmatch(value)]
    return all(f'"{value}"' in text or f"'{value}'" in text for value in plain)


def says_something(snippet: Snippet) -> bool:
    """Whether a snippet leaves out any code: it has a name, a value, a rare kind of node, or one thing twice."""
    seen: list[str] = []
    for statement in snippet.body:
        for node in ast.walk(statement):
            if node.__class__ in _RARE or (isinstance(node, ast.Constant) and node.value not in (..., "...")):
                return True
            name = one(node) or variable(getattr(node, "name", None) if isinstance(node, ast.stmt) else None)
            if name and name != "_":
                seen.append(name)
    return next(_needs(snippet, rare=False), None) is not None or len(seen) > len(set(seen))


def _needs(snippet: Snippet, *, rare: bool) -> Iterator[Needs]:
    pending: list[ast.AST] = [*snippet.body]
    while pending:
        node = pending.pop()
        name = snippet.names.get(node)
        if name is not None:
            yield name_needs(name)
            continue
        if isinstance(node, ast.Attribute) and variable(node.attr) and node.value in snippet.names:
            yield member_needs(snippet.names[node.value])
            continue
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from _imports(node)
            continue
        method = node.func if isinstance(node, ast.Call) and node.func not in snippet.names else None
        if isinstance(node, ast.Call) and isinstance(method, ast.Attribute) and not variable(method.attr):
            yield _called(method.attr)
            pending += [method.value, *node.args, *node.keywords]
            continue
        yield from _own(node)
        if rare and node.__class__ in _RARE:
            yield ("text", _RARE[node.__class__])
        pending += ast.iter_child_nodes(node)


def _own(node: ast.AST) -> Iterator[Needs]:
    """What a node spells by itself."""
    if isinstance(node, ast.Constant):
        if isinstance(node.value, str) and node.value != "..." and _PLAIN.fullmatch(node.value):
            yield _quoted(node.value)
        return
    for field in ("attr", "arg", "name"):
        text = getattr(node, field, None)
        if not isinstance(text, str) or text[0] in (ONE, MANY, REST):
            continue
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield ("word", text)
            yield ("text", f"{'class' if isinstance(node, ast.ClassDef) else 'def'} {text}")
        elif isinstance(node, ast.Attribute):
            yield ("word", text)
            yield ("any", ("text", f".{text}"), ("text", f". {text}"))
        else:
            yield _given(text) if isinstance(node, ast.keyword) else ("word", text)
    for text in getattr(node, "names", ()) if isinstance(node, (ast.Global, ast.Nonlocal)) else ():
        if variable(text) is None:
            yield ("word", text)


def _imports(node: ast.Import | ast.ImportFrom) -> Iterator[Needs]:
    base = node.module or "" if isinstance(node, ast.ImportFrom) else ""
    for alias in node.names:
        if alias.asname and variable(alias.asname) is None:
            yield ("word", alias.asname)
        if many(alias) is None and variable(alias.name) is None:
            path = f"{base}.{alias.name}" if base else alias.name
            words = [part for part in path.split(".") if variable(part) is None]
            yield import_needs(path) if len(words) == path.count(".") + 1 else ("word", words[-1])
        elif base and variable(base) is None:
            yield package_needs(base)


def _called(attribute: str) -> Needs:
    """A call of a method, with at most one blank beside the name."""
    spelled = [("text", text) for text in (f".{attribute}(", f".{attribute} (", f". {attribute}")]
    return ("all", ("word", attribute), ("any", *spelled))


def _given(keyword: str) -> Needs:
    return ("all", ("word", keyword), ("any", ("text", f"{keyword}="), ("text", f"{keyword} =")))


def _quoted(text: str) -> Needs:
    quoted: Needs = ("any", ("text", f'"{text}"'), ("text", f"'{text}'"))
    return ("all", ("word", text), quoted) if text.isidentifier() else quoted
