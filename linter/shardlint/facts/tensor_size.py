"""The size of a tensor that an expression makes, whatever its values: ``randn(2, n) * 0.02`` is `2, n`."""

from __future__ import annotations

import ast

from shardlint.facts.key_pattern import dotted, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shardlint.facts.module_index import ModuleIndex
    from shardlint.facts.module_made import Scope

_TENSOR_MAKERS = ("zeros", "ones", "empty", "randn", "rand", "full", "Tensor", "FloatTensor")
_SAME_TENSOR = ("to", "float", "half", "bfloat16", "clone", "detach", "type")


class TensorSize:
    """Reads sizes with the names of one file."""

    def __init__(self, index: ModuleIndex) -> None:
        self.index = index

    def read(self, node: ast.expr, scope: Scope, depth: int = 0) -> tuple[str, bool]:
        """The sizes of a tensor expression as text, and whether they were understood."""
        if depth > 8:
            return "", False
        if isinstance(node, ast.Name) and node.id in scope.nodes:
            return self.read(scope.nodes[node.id], scope, depth + 1)
        if isinstance(node, ast.BinOp):
            for one, other in ((node.left, node.right), (node.right, node.left)):
                found, sized = self.read(one, scope, depth + 1)
                if sized and not self.read(other, scope, depth + 1)[1]:
                    return found, True
        if isinstance(node, ast.UnaryOp):
            return self.read(node.operand, scope, depth + 1)
        if isinstance(node, ast.Call):
            called = self._call(node, scope, depth)
            if called is not None:
                return called, True
        return text(node, scope.texts, scope.self_name), False

    def _call(self, node: ast.Call, scope: Scope, depth: int) -> str | None:
        name = self.index.resolve(dotted(node.func))
        last = name.rsplit(".", 1)[-1]
        if name.startswith("torch.") and last in _TENSOR_MAKERS:
            parts = list(node.args[:1] if last == "full" else node.args)
            parts += [word.value for word in node.keywords if word.arg in ("size", "shape")]
            if len(parts) == 1 and isinstance(parts[0], (ast.Tuple, ast.List)):
                parts = list(parts[0].elts)
            return ", ".join(text(part, scope.texts, scope.self_name) for part in parts)
        if name == "torch.tensor" and node.args and isinstance(node.args[0], (ast.Constant, ast.UnaryOp)):
            return ""
        if last.endswith("_") and node.args and name.startswith(("torch.nn.init.", "nn.init.", "init.")):
            found, sized = self.read(node.args[0], scope, depth + 1)
            return found if sized else None
        if isinstance(node.func, ast.Attribute) and (
            node.func.attr.endswith("_")
            or node.func.attr in ("to", "float", "half", "bfloat16", "clone", "detach", "type")
        ):
            found, sized = self.read(node.func.value, scope, depth + 1)
            return found if sized else None
        return None


def persistence(node: ast.Call, place: int) -> bool | None:
    """The `persistent` argument of a buffer, or None when only the run knows it. `place` is its position."""
    values = [word.value for word in node.keywords if word.arg == "persistent"] or node.args[place : place + 1]
    if not values:
        return True
    value = values[0]
    return value.value is True if isinstance(value, ast.Constant) else None
