"""A snippet: Python with metavariables, parsed. What a pattern is made of."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from textwrap import dedent

from shardlint.knowledge.problem import CheckProblem
from shardlint.syntax.patterns.plain import Where
from shardlint.syntax.patterns.scan import MANY, ONE, REST, Oddity, as_written, scan

_LONGEST = 4_000
_MOST_NODES = 300
_DEEPEST = 25


class Snippet:
    """Code with metavariables.

    `body` are its statements; `expression` is set where it is a single expression. `variables` are the names of its
    metavariables. `names` maps each dotted or bare name that it reads, by the outermost node, to its text.
    """

    __slots__ = ("body", "expression", "names", "text", "variables")

    def __init__(self, text: str, body: list[ast.stmt], variables: frozenset[str]) -> None:
        self.text = text
        self.body = body
        self.variables = variables
        only = body[0] if len(body) == 1 else None
        self.expression = only.value if isinstance(only, ast.Expr) else None
        self.names = dict(_names(body))

    @property
    def root(self) -> ast.AST:
        """What is looked for: the expression, or the first statement."""
        return self.expression or self.body[0]


def read(text: object, where: Where) -> Snippet:
    """The snippet that a mapping holds at `where`.

    Raises CheckProblem for what is no text, no Python, or too large.
    """
    if not isinstance(text, str) or not text.strip():
        raise CheckProblem(where, "a pattern is Python code, as text")
    if len(text) > _LONGEST:
        raise CheckProblem(where, f"a pattern has at most {_LONGEST} characters, and this one has {len(text)}")
    text = dedent(text).rstrip()
    try:
        scanned = scan(text)
    except Oddity as oddity:
        raise CheckProblem(where, f"{oddity} ({_position(text, oddity.offset)})") from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(scanned.text)
        _bound(tree, where)
    except SyntaxError as error:
        at = _offset(scanned.text, error.lineno or 1, error.offset or 1)
        place = _position(text, scanned.original(at))
        raise CheckProblem(where, f"this is not Python: {as_written(error.msg)} ({place})") from None
    except (ValueError, RecursionError, MemoryError, OverflowError):
        raise CheckProblem(where, "this is nested too deeply to be read as Python: write a smaller pattern") from None
    if not tree.body:
        raise CheckProblem(where, "a pattern needs code, and this is only a comment")
    return Snippet(text, tree.body, scanned.variables)


def trimmed(snippet: Snippet) -> Snippet | None:
    """The snippet without the `...` before and after its statements, which say nothing; None if nothing is left."""
    body = [*snippet.body]
    while body and many(body[0]) == "":
        del body[0]
    while body and many(body[-1]) == "":
        del body[-1]
    return Snippet(snippet.text, body, snippet.variables) if body else None


def one_statement(text: object, where: Where) -> Snippet:
    """A snippet that must be one expression or one statement. Raises CheckProblem."""
    snippet = read(text, where)
    if len(snippet.body) > 1:
        raise CheckProblem(where, f"one expression or statement is wanted here, and these are {len(snippet.body)}")
    return snippet


def variable(text: str | None) -> str | None:
    """The name of the metavariable that an identifier stands for; None for an identifier of the program."""
    return text[1:] if text is not None and text.startswith(ONE) else None


def one(node: ast.AST) -> str | None:
    """The name of the metavariable `$X` that an expression is; None for any other."""
    return variable(node.id) if isinstance(node, ast.Name) else None


def many(node: ast.AST) -> str | None:
    """`ARGS` for `$...ARGS`, an empty text for `...`, None for anything else. Seen through `*`, `**` and statements."""
    if isinstance(node, (ast.Expr, ast.Starred)) or (isinstance(node, ast.keyword) and node.arg is None):
        return many(node.value)
    if isinstance(node, ast.Constant):
        return "" if node.value is ... else None
    name = node.id if isinstance(node, ast.Name) else node.arg if isinstance(node, ast.arg) else None
    name = node.name if isinstance(node, ast.alias) else name
    if not name or name[0] not in (MANY, REST):
        return None
    return name.lstrip(MANY) if name[0] == MANY else ""


def dotted(node: ast.AST) -> str | None:
    """The text of a bare or dotted name without metavariables; None for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    parts.append(node.id)
    return None if any(part[0] in (ONE, MANY, REST) for part in parts) else ".".join(reversed(parts))


def _names(body: list[ast.stmt]) -> Iterator[tuple[ast.AST, str]]:
    pending: list[ast.AST] = [*body]
    while pending:
        node = pending.pop()
        name = dotted(node) if isinstance(node, (ast.Name, ast.Attribute)) else None
        if name is not None:
            yield node, name
        else:
            pending += ast.iter_child_nodes(node)


def _bound(tree: ast.Module, where: Where) -> None:
    """Raises CheckProblem for a tree that would cost too much to compare."""
    level: list[ast.AST] = [*tree.body]
    count = depth = 0
    while level:
        if any(isinstance(node, ast.ImportFrom) and node.level for node in level):
            raise CheckProblem(where, "a relative import means nothing here: write the whole name of the module")
        count, depth = count + len(level), depth + 1
        if count > _MOST_NODES:
            raise CheckProblem(where, f"a pattern has at most {_MOST_NODES} parts: write a smaller one")
        if depth > _DEEPEST:
            raise CheckProblem(where, f"a pattern is nested at most {_DEEPEST} levels deep: write a smaller one")
        level = [child for node in level for child in ast.iter_child_nodes(node)]


def _offset(text: str, line: int, column: int) -> int:
    lines = text.split("\n")
    return sum(len(before) + 1 for before in lines[: line - 1]) + column - 1


def _position(text: str, offset: int) -> str:
    before = text[:offset]
    return f"line {before.count(chr(10)) + 1}, column {offset - before.rfind(chr(10))}"
