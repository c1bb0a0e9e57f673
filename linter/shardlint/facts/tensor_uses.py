"""Where the content of a tensor is used: in arithmetic, by its own methods, by functions of torch.

Views of it, questions about its form, other names for it and collectives on it are no uses: they read nothing, or wait
in line with what fills it.
"""

from __future__ import annotations

import ast

from shardlint.facts.names import resolve
from shardlint.facts.site import Expression, Site
from shardlint.facts.values import identity

_FORM = frozenset(("shape", "size", "numel", "dim", "ndim", "device", "dtype", "data_ptr", "is_contiguous", "stride"))
_FORM_CALLS = frozenset(("record_stream", "untyped_storage", "element_size", "requires_grad", "is_cuda", "grad_fn"))
_VIEWS = frozenset(("view", "reshape", "split", "chunk", "narrow", "flatten", "squeeze", "unsqueeze", "transpose", "t"))
_PARTS = frozenset(("data", "T", "mT", "detach", "view_as", "permute", "expand", "unbind", "select"))


def tensor_uses(start: Site, tensor: Expression) -> list[Expression]:
    """The places of the function around a call that use what a name or attribute holds, in order."""
    module, owner = start.module, start.function.ast
    key = identity(module, tensor.ast)
    if key is None:
        return []
    places: list[ast.expr] = [read.ast for read in tensor.reads if _computes(tensor, read.ast)]
    for statement in start.function.statements:
        if isinstance(statement, ast.AugAssign) and ast.unparse(statement.target) == tensor.text:
            places.append(statement.target)
    own = [place for place in places if module.function(place) is owner]
    found = [Expression(module, place, start.voice) for place in own]
    return sorted(found, key=lambda use: (use.span.line, use.span.column))


def _computes(tensor: Expression, node: ast.expr) -> bool:
    """Whether the expression around a read of a tensor computes with its content."""
    module = tensor.module
    around = module.parent(node)
    if isinstance(around, ast.Subscript) and around.value is node:
        return _computes(tensor, around)
    if isinstance(around, ast.Attribute):
        called = module.parent(around)
        whole = called if isinstance(called, ast.Call) and called.func is around else around
        if around.attr in _FORM or around.attr in _FORM_CALLS:
            return False
        if around.attr in _VIEWS or around.attr in _PARTS:
            return _computes(tensor, whole)
        return isinstance(whole, ast.Call)
    if isinstance(around, ast.Call):
        names = resolve(module, around.func).names
        return any(name.startswith("torch.") and not name.startswith("torch.distributed.") for name in names)
    if isinstance(around, ast.Compare):
        return not all(isinstance(operator, (ast.Is, ast.IsNot)) for operator in around.ops)
    return isinstance(around, (ast.BinOp, ast.UnaryOp)) or (isinstance(around, ast.AugAssign) and around.value is node)


__all__ = ["tensor_uses"]
