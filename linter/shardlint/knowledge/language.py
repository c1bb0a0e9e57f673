"""Which Python expressions a constraint may use, and how large they may be.

The text is parsed, never run. A node that is not listed here is refused, so what a later Python adds is refused too.
"""

from __future__ import annotations

import ast
import math
import warnings
from collections.abc import Mapping

from shardlint.knowledge.operations import MAX_INT, MAX_TEXT
from shardlint.knowledge.problem import CheckProblem

MAX_SOURCE = 2_000
"""Characters of one expression."""

MAX_NODES = 300
"""Nodes of its tree; a condition of ten comparisons has about a hundred."""

MAX_DEPTH = 40
"""Levels of its tree, far below where Python's own stack ends."""

_ALLOWED: tuple[type[ast.AST], ...] = (
    ast.BoolOp,
    ast.boolop,
    ast.UnaryOp,
    ast.Not,
    ast.USub,
    ast.UAdd,
    ast.BinOp,
    ast.Add,
    ast.Sub,
    ast.Mult,
    ast.Div,
    ast.FloorDiv,
    ast.Mod,
    ast.Compare,
    ast.cmpop,
    ast.IfExp,
    ast.Constant,
    ast.Name,
    ast.expr_context,
    ast.Attribute,
    ast.Subscript,
    ast.List,
    ast.Tuple,
    ast.Call,
    ast.GeneratorExp,
    ast.ListComp,
    ast.comprehension,
)

_REFUSED: Mapping[type[ast.AST], str] = {
    ast.Lambda: "no function can be defined in an expression",
    ast.NamedExpr: "`:=` is not allowed; name a value under `let`",
    ast.JoinedStr: "f-strings are not allowed; messages put values in braces by themselves",
    ast.Dict: "a mapping cannot be written in an expression",
    ast.Set: "a set cannot be written in an expression; write a list: `x in ['a', 'b']`",
    ast.DictComp: "a mapping cannot be written in an expression",
    ast.SetComp: "a set cannot be written in an expression; write a list",
    ast.Starred: "`*` before an argument is not allowed; write the values one by one",
    ast.Slice: "slices are not allowed; take one item: `x[0]`",
    ast.Pow: "`**` is not allowed, because its results have no bound",
    ast.MatMult: "`@` is not allowed",
    ast.BitOr: "`|` is not allowed; write `or`",
    ast.BitAnd: "`&` is not allowed; write `and`",
    ast.BitXor: "`^` is not allowed; write `!=`",
    ast.LShift: "`<<` is not allowed, because its results have no bound",
    ast.RShift: "`>>` is not allowed; write `//`",
    ast.Invert: "`~` is not allowed; write `not`",
    ast.Await: "`await` is not allowed",
    ast.Yield: "`yield` is not allowed",
    ast.YieldFrom: "`yield` is not allowed",
}


def parse(source: object, where: tuple[str | int, ...]) -> ast.expr:
    """The tree of an expression in which every node is an allowed one.

    Args:
        source: the text; a bool or a number as YAML gives it stands for itself.
        where: the place of the text in the block, for the error.

    Raises:
        CheckProblem: it is no expression, too large, or uses what is not allowed.
    """
    if isinstance(source, (bool, int, float)):
        # The text of an infinite float would be a name, and so a key.
        _check_constant(source, where)
        source = repr(source)
    if not isinstance(source, str) or not source.strip():
        raise CheckProblem(where, "an expression is a text such as `train.fsdp_mode == 'fsdp2'`")
    if len(source) > MAX_SOURCE:
        raise CheckProblem(
            where, f"an expression has at most {MAX_SOURCE:,} characters, and this one has {len(source):,}"
        )
    text = source.strip()
    if "\n" in text:
        if "#" in text:
            raise CheckProblem(where, "an expression of several lines may hold no `#`: the rest would be a comment")
        text = text.replace("\n", " ")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text, mode="eval").body
    except SyntaxError as error:
        raise CheckProblem(where, f"`{shortened(text)}` is no expression: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError, OverflowError):
        raise CheckProblem(where, f"`{shortened(text)}` is nothing that Python can parse") from None
    _check(tree, where)
    return tree


def shortened(source: str) -> str:
    """What somebody wrote, for a message: on one line, and without what no terminal shows."""
    text = "".join(letter if letter.isprintable() else " " for letter in source[:400])
    text = " ".join(text.split())
    return text if len(text) <= 80 else f"{text[:77]}..."


def _check(tree: ast.expr, where: tuple[str | int, ...]) -> None:
    """Look at every node, without recursion."""
    waiting: list[tuple[ast.AST, int]] = [(tree, 1)]
    count = 0
    while waiting:
        node, depth = waiting.pop()
        count += 1
        if count > MAX_NODES:
            raise CheckProblem(where, f"the expression has more than {MAX_NODES} parts; name some of them under `let`")
        if depth > MAX_DEPTH:
            raise CheckProblem(where, f"the expression is nested more than {MAX_DEPTH} levels deep")
        if not isinstance(node, _ALLOWED):
            reason = _REFUSED.get(type(node), f"`{type(node).__name__}` is not allowed in an expression")
            raise CheckProblem(where, reason)
        if isinstance(node, ast.Constant):
            _check_constant(node.value, where)
        elif isinstance(node, ast.Attribute):
            _check_name(node.attr, where)
        elif isinstance(node, ast.Name):
            _check_name(node.id, where)
        elif isinstance(node, ast.Call):
            _check_call(node, where)
        waiting += [(inner, depth + 1) for inner in ast.iter_child_nodes(node)]


def _check_constant(value: object, where: tuple[str | int, ...]) -> None:
    if not isinstance(value, (bool, int, float, str, type(None))):
        raise CheckProblem(where, f"`{value!r}` is not allowed: values are numbers, texts, true, false and null")
    if isinstance(value, int) and not -MAX_INT <= value <= MAX_INT:
        raise CheckProblem(where, "an integer has at most 128 bits")
    if isinstance(value, float) and not math.isfinite(value):
        raise CheckProblem(where, "a float is finite: `.inf` and `.nan` are no values of an expression")
    if isinstance(value, str) and len(value) > MAX_TEXT:
        raise CheckProblem(where, f"a text has at most {MAX_TEXT:,} characters")


def _check_name(name: str, where: tuple[str | int, ...]) -> None:
    if name.startswith("_"):
        raise CheckProblem(where, f'`{name}`: a name may not begin with `_`; write such a key as `key("a.{name}")`')


def _check_call(node: ast.Call, where: tuple[str | int, ...]) -> None:
    if isinstance(node.func, ast.Attribute):
        name = node.func.attr
        raise CheckProblem(where, f"`.{name}(...)` is a method, and values have none; functions stand alone: `len(x)`")
    if not isinstance(node.func, ast.Name):
        raise CheckProblem(where, "only a function by its name can be called, such as `len(x)`")
    if node.keywords:
        raise CheckProblem(where, f"`{node.func.id}` takes no arguments by name")
