"""What a fix writes in place of a match: a template in which the metavariables stand for the code that they matched.

That code is copied from the file as it is written, comments included. Brackets are put around it where the result would
mean something else without them. A fix that would lose a comment, or name something that the file does not know, is not
made.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from textwrap import dedent
from typing import NamedTuple

from shardlint.facts.module import Module
from shardlint.facts.names import BUILTINS, lookup
from shardlint.finding import Span, TextEdit
from shardlint.knowledge.problem import CheckProblem
from shardlint.parsing import parse
from shardlint.syntax.patterns.bindings import Bound
from shardlint.syntax.patterns.match import Match
from shardlint.syntax.patterns.plain import Where
from shardlint.syntax.patterns.scan import scan, tokens
from shardlint.syntax.patterns.snippet import Snippet, read
from shardlint.syntax.patterns.sources import Source

_ATOMS = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.List, ast.Dict, ast.Set, ast.ListComp, ast.SetComp)


class _Piece(NamedTuple):
    """A part of the result; `may_bracket` where brackets around it are possible."""

    text: str
    may_bracket: bool = False


class Replacement:
    """A compiled template. `snippet` is the template parsed; it may be one expression or several statements."""

    def __init__(self, text: str, snippet: Snippet, replaces_statement: bool) -> None:
        self.text = text
        self.snippet = snippet
        self.replaces_statement = replaces_statement
        self.tokens = list(tokens(text))
        self.python = scan(text)

    def module(self) -> Module:
        """The template as a file of its own."""
        return Module("replacement.py", self.python.text, ast.parse(self.python.text))

    def edits(self, module: Module, match: Match) -> tuple[TextEdit, ...]:
        """The edit that makes the replacement; nothing where it could spoil something."""
        source = Source(module)
        nodes = [match.node, *(node for bound in match.bound.values() for node in _nodes(bound))]
        if any(isinstance(at, ast.JoinedStr) for node in nodes for at in (node, *module.ancestors(node))):
            return ()  # before Python 3.12 the parser does not say exactly where things in an f-string are
        start, end = source.range(match.node)[0], source.range(match.last)[1]
        if self._loses_comment(source, match, start, end) or not self._fits(source, start, end):
            return ()
        pieces = self._pieces(source, match)
        if pieces is None:
            return ()
        joined = _joined(pieces, source.indent(start))
        new = _bracketed(source.text, start, end, joined) if isinstance(match.node, ast.expr) else joined
        if new is None or isinstance(parse(source.text[:start] + new + source.text[end:]), SyntaxError):
            return ()
        (line, column), (end_line, end_column) = source.position(start), source.position(end)
        return (TextEdit(Span(line, column, end_line, end_column), new),)

    def _fits(self, source: Source, start: int, end: int) -> bool:
        """Whether statements can be put here: several only on lines of their own, none in place of `elif`."""
        if not self.replaces_statement:
            return True
        before, after = source.around(start, end)
        if source.text.startswith("elif", start):
            return False
        return "\n" not in self.text or (not before.strip() and not after.partition("#")[0].strip())

    def _loses_comment(self, source: Source, match: Match, start: int, end: int) -> bool:
        """Whether a comment of the match is in nothing that the template keeps."""
        used = {token.name for token in self.tokens if token.name}
        kept = [source.extent(bound) for name, bound in match.bound.items() if name in used]
        ranges = [one for one in kept if one is not None]
        return any(not any(first <= at < last for first, last in ranges) for at in source.comments(start, end))

    def _pieces(self, source: Source, match: Match) -> list[_Piece] | None:
        """The template with everything put in; None where something of it has no place here."""
        names = self._names_here(source.module, match.node)
        if names is None:
            return None
        indent = source.indent(source.range(match.node)[0]) if self.replaces_statement else ""
        pieces: list[_Piece] = []
        skip_comma = False
        at = 0
        for index, token in enumerate(self.tokens):
            if token.offset < at:
                continue
            if skip_comma and token.text.strip() in ("", ","):
                continue
            skip_comma = False
            if token.offset in names:
                old, new = names[token.offset]
                pieces.append(_Piece(new))
                at = token.offset + old
            elif token.name and token.kind == "many":
                text = self._many(source, match.bound[token.name], index, indent)
                if text is None:
                    return None
                if not text:
                    skip_comma = not _drop_comma(pieces)
                pieces.append(_Piece(text))
            elif token.name:
                pieces.append(_one(source, match.bound[token.name]))
            else:
                pieces.append(_Piece(token.text.replace("\n", "\n" + indent) if token.kind == "space" else token.text))
        return pieces

    def _many(self, source: Source, bound: Bound, index: int, indent: str) -> str | None:
        """The text of what `$...X` took; statements are brought to the place where they go."""
        items = bound if isinstance(bound, tuple) else (bound,)
        nodes = [item for item in items if isinstance(item, ast.AST)]
        if nodes and isinstance(nodes[0], ast.stmt):
            line = "".join(token.text for token in self.tokens[:index]).rpartition("\n")[2]
            return source.statements(nodes, indent + line) if not line.strip() else None
        return source.items(nodes)

    def _names_here(self, module: Module, site: ast.AST) -> dict[int, tuple[int, str]] | None:
        """Offset in the template -> length and new text of each name that is spelled otherwise at the site."""
        found: dict[int, tuple[int, str]] = {}
        lines = self.python.text.split("\n")
        starts = [sum(len(line) + 1 for line in lines[:count]) for count in range(len(lines))]
        for node, name in self.snippet.names.items():
            if isinstance(getattr(node, "ctx", None), ast.Store):
                continue
            here = spelled(module, site, name)
            if here is None:
                if any(isinstance(other, ast.Name) and other.id == name.partition(".")[0] for other in self._stored()):
                    continue
                return None
            line = lines[getattr(node, "lineno", 1) - 1].encode()
            column = len(line[: getattr(node, "col_offset", 0)].decode())
            if here != name:
                found[self.python.original(starts[getattr(node, "lineno", 1) - 1] + column)] = (len(name), here)
        return found

    def _stored(self) -> list[ast.AST]:
        """What the template gives a value itself."""
        nodes = [node for statement in self.snippet.body for node in ast.walk(statement)]
        return [node for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]


def read_replacement(text: object, where: Where, bound: frozenset[str], alternatives: Sequence[Snippet]) -> Replacement:
    """The template of a mapping. `bound` are the metavariables that stand for something in every match.

    Raises CheckProblem.
    """
    snippet = read(text, where)
    assert isinstance(text, str)
    text = dedent(text).strip("\n").rstrip()
    for name in sorted(snippet.variables):
        if name not in bound or name == "_":
            raise CheckProblem(
                where, f"`${name}` stands for nothing: what is looked for does not have it in every case"
            )
    if any(token.kind == "rest" for token in tokens(text)):
        raise CheckProblem(where, "`...` stands for nothing in a replacement: name it `$...X` there and in the pattern")
    statements = [alternative.expression is None for alternative in alternatives]
    if any(statements) != all(statements):
        raise CheckProblem(where, "a replacement needs alternatives that are all expressions, or all statements")
    if not statements[0] and snippet.expression is None:
        raise CheckProblem(where, "an expression can only be replaced by an expression")
    return Replacement(text, snippet, statements[0])


def spelled(module: Module, site: ast.AST, name: str) -> str | None:
    """How a name of a template is written at a place: by the import that is there; None where nothing there has it."""
    root = name.partition(".")[0]
    best = ""
    text: str | None = None
    for scope in module.scopes.values():
        for short, bindings in scope.bindings.items():
            targets = {binding.target for binding in bindings}
            target = bindings[0].target
            if len(targets) > 1 or not target or not (name == target or name.startswith(target + ".")):
                continue
            seen = lookup(module, short, site)
            if (
                seen is not None
                and seen[1] is bindings
                and (len(target) > len(best) or (len(target) == len(best) and short == root))
            ):
                best, text = target, short + name[len(target) :]
    if text is not None:
        return text
    seen = lookup(module, root, site)
    if seen is None:
        return name if name in BUILTINS else None
    return None if "." in name and any(binding.kind == "import" for binding in seen[1]) else name


def _nodes(bound: Bound) -> tuple[ast.AST, ...]:
    return bound if isinstance(bound, tuple) else (bound,) if isinstance(bound, ast.AST) else ()


def _one(source: Source, bound: Bound) -> _Piece:
    if isinstance(bound, str):
        return _Piece(bound)
    if isinstance(bound, tuple):
        return _Piece(source.items([*bound]))
    start, end = source.range(bound)
    text = source.text[start:end]
    atom = isinstance(bound, _ATOMS) and "\n" not in text
    return _Piece(text, isinstance(bound, ast.expr) and not atom and not isinstance(bound, (ast.Slice, ast.Starred)))


def _drop_comma(pieces: list[_Piece]) -> bool:
    """Take the comma before an argument that is not there out of the pieces, with the blanks around it."""
    at = len(pieces)
    while at and not pieces[at - 1].text.strip():
        at -= 1
    if at and pieces[at - 1].text == ",":
        del pieces[at - 1 :]
        return True
    return False


def _joined(pieces: Sequence[_Piece], indent: str) -> str:
    """The pieces as one text, each in brackets only if that makes a difference."""
    bracketed = [f"({piece.text})" if piece.may_bracket else piece.text for piece in pieces]
    before = f"if 1:\n{indent}" if indent else ""
    meant = _outline(before + "".join(bracketed))
    for index, piece in enumerate(pieces):
        if piece.may_bracket:
            plain = [*bracketed[:index], piece.text, *bracketed[index + 1 :]]
            if meant is not None and _outline(before + "".join(plain)) == meant:
                bracketed = plain
    return "".join(bracketed)


def _bracketed(text: str, start: int, end: int, new: str) -> str | None:
    """An expression as it must be written in its place."""
    meant = _outline(text[:start] + f"({new})" + text[end:])
    if meant is None:
        return None
    return new if _outline(text[:start] + new + text[end:]) == meant else f"({new})"


def _outline(text: str) -> str | None:
    tree = parse(text)
    return None if isinstance(tree, SyntaxError) else ast.dump(tree)
