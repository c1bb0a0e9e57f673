"""What stands around a statement of a snippet: the blocks that it is in, and the calls before it and after it."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, NamedTuple

from shardlint.knowledge.capture.difference import BODIES, Compound, is_list, same

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)

_QUIET = re.compile(
    r"(\$?\w+\.)*(debug|info|warn|warning|error|exception|critical|log)|os\.path\.\w+|print|len|str|repr|int|float|bool"
    r"|hasattr|getattr|isinstance|issubclass|callable|range|enumerate|zip|sorted|list|dict|tuple|set|min|max|sum|abs"
)


class Parent(NamedTuple):
    """A compound statement around another one, and which of its blocks that one is in."""

    statement: ast.stmt
    block: str


def is_quiet(called: str) -> bool:
    """Whether what is called only tells or computes something: a log line is hardly ever what a fix is about."""
    return _QUIET.fullmatch(called) is not None


def calls_in(statement: ast.AST) -> list[ast.Call]:
    """The calls of a statement, outermost first; those that only tell or compute something come last."""
    calls = [node for node in ast.walk(statement) if isinstance(node, ast.Call)]
    return sorted(calls, key=lambda call: is_quiet(ast.unparse(call.func)))


def simple(statements: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that hold no others, those inside of compound ones too."""
    for statement in statements:
        for node in ast.walk(statement):
            if isinstance(node, ast.stmt) and not isinstance(node, Compound):
                yield node


def statements_in(tree: ast.Module, statement: ast.stmt) -> list[ast.stmt]:
    """The statements of a tree that read like another one."""
    return [node for node in ast.walk(tree) if isinstance(node, ast.stmt) and same(node, statement)]


def parents(tree: ast.Module, statement: ast.stmt) -> list[Parent]:
    """The compound statements around one, outermost first."""
    found: list[Parent] = []
    for node in ast.walk(tree):
        if isinstance(node, Compound) and node is not statement:
            for name in BODIES:
                block: list[ast.stmt] = getattr(node, name, [])
                if any(inner is statement for one in block for inner in ast.walk(one)):
                    found.append(Parent(node, name))
    return found


def siblings(tree: ast.Module, statement: ast.stmt) -> list[ast.stmt]:
    """The statements of the block that a statement stands in."""
    for node in ast.walk(tree):
        for name in BODIES:
            block: object = getattr(node, name, [])
            if is_list(block) and any(one is statement for one in block):
                return block
    return []


def before(tree: ast.Module, statement: ast.stmt) -> list[ast.stmt]:
    """The statements of its block that come before it."""
    block = siblings(tree, statement)
    return block[: next((at for at, one in enumerate(block) if one is statement), 0)]


def following(tree: ast.Module, statement: ast.stmt) -> list[ast.stmt]:
    """The statements of its function that come after it: those of its block, then those after the blocks around."""
    found: list[ast.stmt] = []
    around = [parent.statement for parent in parents(tree, statement)]
    for at in (statement, *reversed(around)):
        if isinstance(at, DEFINITIONS):
            break
        block = siblings(tree, at)
        found += block[next((n for n, one in enumerate(block) if one is at), len(block)) + 1 :]
    return found


def neighbours(tree: ast.Module, statement: ast.stmt) -> list[ast.stmt]:
    """The simple statements of the function around a statement, without it."""
    around = [parent.statement for parent in parents(tree, statement) if isinstance(parent.statement, DEFINITIONS)]
    return [one for one in simple(around[-1:] or tree.body) if one is not statement]


def objects(node: ast.AST) -> set[str]:
    """The names, and dotted names, that a piece of code uses."""
    return {ast.unparse(inner) for inner in ast.walk(node) if isinstance(inner, (ast.Name, ast.Attribute))}


def given(call: ast.Call) -> set[str]:
    """The names, and dotted names, that a call is given."""
    arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
    return {one for argument in arguments for one in objects(argument)}


def same_receiver(call: ast.Call, other: ast.Call) -> bool:
    """Whether two calls are of methods of one object."""
    if not isinstance(call.func, ast.Attribute) or not isinstance(other.func, ast.Attribute):
        return False
    return not isinstance(call.func.value, ast.Call) and same(call.func.value, other.func.value)


def sites(statements: Sequence[ast.stmt], missing: ast.Call) -> Iterator[ast.Call]:
    """Calls near an added one that it may be meant for: those with the same objects first, then the next one."""
    wanted = objects(missing)
    near = [call for one in statements for call in calls_in(one)[:1] if not isinstance(one, Compound)]
    related = [call for call in near if wanted & objects(call)]
    yield from dict.fromkeys([*related[:2], *near[:1]])


def modules(statement: ast.Import | ast.ImportFrom) -> list[str]:
    """What an import statement imports from, by dotted names."""
    if isinstance(statement, ast.ImportFrom):
        return [f"{'.' * statement.level}{statement.module or ''}"]
    return [alias.name for alias in statement.names]


def short(node: ast.AST) -> str:
    """A piece of code in one line that is not too long."""
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 60 else f"{text[:57]}..."
