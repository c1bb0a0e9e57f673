"""Patterns of keys (``block_{}``) and of the text of expressions, read from syntax alone.

A pattern is a name in which ``{}`` stands for a part that only the run knows: a loop index, a field of a config.
"""

from __future__ import annotations

import ast
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

HOLE = "{}"

_MAX_TEXT = 240
"""Longest text that may replace a local name: a chain of doubled locals must not grow without end."""

_OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
}


def dotted(node: ast.expr) -> str:
    """`a.b.c` as text, or "" when the expression is anything but names and attributes."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    if not parts:
        return node.id
    parts.append(node.id)
    return ".".join(reversed(parts))


def pattern(node: ast.expr, strings: Mapping[str, str]) -> str | None:
    """The key that a string expression builds, or None when it is no string that can be read.

    `strings` gives the names whose value is known. Understood: constants, f-strings, ``%``, ``.format``, ``+``, `str`.
    """
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.Name):
        return strings.get(node.id)
    if isinstance(node, ast.JoinedStr):
        return _squeeze("".join(_piece(part, strings) for part in node.values))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = pattern(node.left, strings), pattern(node.right, strings)
        if left is None and right is None:
            return None
        return _squeeze((HOLE if left is None else left) + (HOLE if right is None else right))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        left = pattern(node.left, strings)
        return None if left is None else _squeeze(re.sub(r"%[-0-9.]*[sdir]", HOLE, left))
    if isinstance(node, ast.Call):
        return _call_pattern(node, strings)
    return None


def _call_pattern(node: ast.Call, strings: Mapping[str, str]) -> str | None:
    if isinstance(node.func, ast.Name) and node.func.id == "str" and len(node.args) == 1:
        inner = node.args[0]
        if isinstance(inner, ast.Constant) and isinstance(inner.value, (int, str)):
            return str(inner.value)
        return pattern(inner, strings) or HOLE
    if isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        base = pattern(node.func.value, strings)
        return None if base is None else _squeeze(re.sub(r"\{[^{}]*\}", HOLE, base))
    return None


def _piece(part: ast.expr, strings: Mapping[str, str]) -> str:
    if isinstance(part, ast.FormattedValue):
        if isinstance(part.value, ast.Constant):
            return str(part.value.value)
        return pattern(part.value, strings) or HOLE
    return part.value if isinstance(part, ast.Constant) and isinstance(part.value, str) else HOLE


def _squeeze(text: str) -> str:
    while "{}{}" in text:
        text = text.replace("{}{}", HOLE)
    return text


def matches(wide: str, key: str) -> bool:
    """Whether `key` (a name or a pattern) is among what the pattern `wide` stands for; a hole holds no dot."""
    if wide == key:
        return True
    if wide == HOLE:
        return "." not in key
    if HOLE not in wide:
        return False
    expression = "[^.]+".join(re.escape(part) for part in wide.split(HOLE))
    return re.fullmatch(expression, key) is not None


def overlap(one: str, other: str) -> bool:
    """Whether two names or patterns can stand for the same key."""
    return one == other or matches(one, other) or matches(other, one)


def text(node: ast.expr, names: Mapping[str, str], self_name: str = "self") -> str:
    """The expression as text that formatting, the order of keywords and local names do not change.

    `names` gives what locals and ``self.x`` stand for. Sums and products of two operands are put in one order.
    """
    if isinstance(node, ast.Name):
        return names.get(node.id, node.id)
    if isinstance(node, ast.Constant):
        return repr(node.value)
    if isinstance(node, ast.Attribute):
        if isinstance(node.value, ast.Name) and node.value.id == self_name:
            return names.get("self." + node.attr, "self." + node.attr)
        return f"{text(node.value, names, self_name)}.{node.attr}"
    if isinstance(node, ast.BinOp):
        return _operation(node, names, self_name)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return "-" + text(node.operand, names, self_name)
    if isinstance(node, ast.Call):
        parts = [text(argument, names, self_name) for argument in node.args]
        parts += sorted(f"{word.arg or '**'}={text(word.value, names, self_name)}" for word in node.keywords)
        return f"{text(node.func, names, self_name)}({', '.join(parts)})"
    if isinstance(node, ast.Subscript):
        return f"{text(node.value, names, self_name)}[{text(node.slice, names, self_name)}]"
    if isinstance(node, (ast.Tuple, ast.List)):
        return f"({', '.join(text(part, names, self_name) for part in node.elts)})"
    if isinstance(node, ast.Starred):
        return "*" + text(node.value, names, self_name)
    return ast.unparse(node)


def _operation(node: ast.BinOp, names: Mapping[str, str], self_name: str) -> str:
    left, right = text(node.left, names, self_name), text(node.right, names, self_name)
    if isinstance(node.op, (ast.Add, ast.Mult)) and right < left:
        left, right = right, left
    return f"({left} {_OPERATORS.get(type(node.op), type(node.op).__name__)} {right})"


def local_text(node: ast.expr, names: Mapping[str, str], self_name: str) -> str | None:
    """The text that a local name bound to `node` stands for, or None when the name itself says more."""
    if not isinstance(node, (ast.Name, ast.Attribute, ast.Constant, ast.BinOp, ast.Subscript, ast.Call, ast.Tuple)):
        return None
    result = text(node, names, self_name)
    return result if len(result) <= _MAX_TEXT else None
