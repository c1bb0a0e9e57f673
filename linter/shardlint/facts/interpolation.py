"""What a string or a list takes in as it is: `rank` in `f"cuda:{rank}"`, not in `f"cuda:{rank % 8}"`."""

from __future__ import annotations

import ast

_AS_IT_IS = ("str", "int", "repr")


def taken_in(node: ast.expr) -> list[ast.expr]:
    """The expressions whose values stand in the value of `node` unchanged; `node` itself where it takes in nothing.

    Followed are f-strings, `+`, `%` and `format` of strings, lists, tuples, `str(...)`, and conditional expressions
    with a constant as one arm. The operands of any other arithmetic give another value and are not among the answers.
    """
    inside = _inside(node)
    return [node] if inside is None else [found for part in inside for found in taken_in(part)]


def _inside(node: ast.expr) -> list[ast.expr] | None:
    if isinstance(node, ast.JoinedStr):
        return [part.value for part in node.values if isinstance(part, ast.FormattedValue)]
    if isinstance(node, (ast.List, ast.Tuple)):
        return node.elts
    if isinstance(node, ast.IfExp):
        arms = [node.body, node.orelse]
        return arms if any(isinstance(arm, ast.Constant) for arm in arms) else None
    if isinstance(node, ast.BinOp):
        return _of_operator(node)
    if isinstance(node, ast.Call):
        return _of_call(node)
    return None


def _of_operator(node: ast.BinOp) -> list[ast.expr] | None:
    if isinstance(node.op, ast.Add) and (_is_string(node.left) or _is_string(node.right)):
        return [node.left, node.right]
    if isinstance(node.op, ast.Mod) and _is_string(node.left):
        return [node.right]
    return None


def _of_call(node: ast.Call) -> list[ast.expr] | None:
    given = [*node.args, *(keyword.value for keyword in node.keywords)]
    if isinstance(node.func, ast.Attribute) and node.func.attr == "format" and _is_string(node.func.value):
        return given
    if isinstance(node.func, ast.Name) and node.func.id in _AS_IT_IS and len(given) == 1:
        return given
    return None


def _is_string(node: ast.expr) -> bool:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _is_string(node.left) or _is_string(node.right)
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))
