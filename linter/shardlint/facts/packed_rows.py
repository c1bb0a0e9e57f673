"""Rows of tokens that are put together from several samples, in the function that does it."""

from __future__ import annotations

import ast
import re

from shardlint.facts.matching import last_part
from shardlint.facts.site import MISSING, Expression, Function, Site

_JOINS = frozenset(("cat", "concat", "concatenate", "hstack"))
SAMPLES = ("samples", "batch", "features", "examples", "instances", "sequences", "documents", "docs", "items", "rows")
"""Names of the parameter that holds the samples of a batch."""
_NO_TEXT = re.compile(
    r"pixel|image|img|frame|patch|embed|audio|mel|grid|latent|logit|hidden|prob|reward|score", re.IGNORECASE
)
_STEPS = 8
"""More casts than that around a value are none."""


class PackedRow:
    """Samples joined along their tokens.

    `samples`: the parameter that holds them. `axes`: the indices under which the row's shape has its number of tokens.
    `called`: the name or key that gets the value in question.
    """

    __slots__ = ("axes", "called", "samples")

    def __init__(self, samples: str, axes: frozenset[int], called: str = "") -> None:
        self.samples = samples
        self.axes = axes
        self.called = called

    @property
    def has_batch_dim(self) -> bool:
        """Whether the row certainly has a batch dim beside its tokens."""
        return 0 not in self.axes


def joined_row(join: Site) -> PackedRow | None:
    """The row that a call of `torch.cat` and the casts around it make."""
    row = _row(_whole(join), join.function)
    return PackedRow(row.samples, row.axes, _destination(join)) if row is not None else None


def counted_row(count: Site) -> PackedRow | None:
    """The row whose tokens a range counts: `torch.arange(row.numel())`, `range(len(row))`, `arange(row.shape[1])`."""
    length = count.positional[0].ast if len(count.positional) == 1 else None
    owner: ast.expr | None = None
    axis: object = 0
    if isinstance(length, ast.Call) and isinstance(length.func, ast.Name) and length.func.id == "len" and length.args:
        owner = length.args[0]
    elif isinstance(length, ast.Call) and isinstance(length.func, ast.Attribute):
        if length.func.attr in ("numel", "size"):
            owner = length.func.value
            axis = _number(length.args[0]) if length.args else None
    elif isinstance(length, ast.Subscript) and isinstance(length.value, ast.Attribute) and length.value.attr == "shape":
        owner, axis = length.value.value, _number(length.slice)
    row = _row(Expression(count.module, owner, count.voice), count.function) if owner is not None else None
    if row is None or (axis is not None and axis not in row.axes):
        return None
    return PackedRow(row.samples, row.axes, _destination(count))


def _row(given: Expression, function: Function) -> PackedRow | None:
    """The join behind a value. One of two parts of a sample (`torch.cat([prompt, answer])`) is none."""
    for value in given.values or [given]:
        node, lifted = _bare(value.ast)
        if _NO_TEXT.search(value.text) or _NO_TEXT.search(given.text):
            continue
        if isinstance(node, ast.Call) and last_part(node.func) in _JOINS and node.args:
            samples, dim = _many(value, node.args[0], function), _dim(node)
            if samples and dim in (0, 1, -1):
                axes = (1, -1) if lifted or dim == 1 else (0,) if dim == 0 else (0, 1, -1)
                return PackedRow(samples, frozenset(axes))
        elif isinstance(node, ast.List) and not node.elts and isinstance(given.ast, ast.Name):
            samples = _filled(given.ast.id, function, ("extend",))
            if samples:
                return PackedRow(samples, frozenset((0,)))
    return None


def _whole(site: Site) -> Expression:
    """The expression around a call that casts or lifts its result: `torch.cat(...).unsqueeze(0)`."""
    node: ast.expr = site.ast
    for _ in range(_STEPS):
        above = site.module.parent(node)
        if not isinstance(above, (ast.Attribute, ast.Call, ast.Subscript, ast.List)):
            break
        if isinstance(above, ast.Subscript) and above.slice is node:
            break
        node = above
    return Expression(site.module, node, site.voice)


def _destination(site: Site) -> str:
    """The name or key that gets the value of a call; empty when it is handed to something else."""
    whole = _whole(site).ast
    above = site.module.parent(whole)
    place: ast.expr | None = None
    if isinstance(above, ast.keyword):
        return above.arg or ""
    if isinstance(above, ast.Dict):
        place = next((k for k, value in zip(above.keys, above.values, strict=True) if value is whole), None)
    elif isinstance(above, ast.Assign):
        place = above.targets[0]
    if isinstance(place, ast.Subscript):
        place = place.slice
    return str(place.value) if isinstance(place, ast.Constant) else last_part(place) if place is not None else ""


def _bare(node: ast.expr) -> tuple[ast.expr, bool]:
    """The join without the casts around it; whether one of them gives it a batch dim."""
    lifted = False
    for _ in range(_STEPS):
        if isinstance(node, ast.Subscript):
            lifted = lifted or (isinstance(node.slice, ast.Constant) and node.slice.value is None)
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and last_part(node.func) not in _JOINS:
            lifted = lifted or node.func.attr in ("unsqueeze", "view", "reshape")
            node = (
                node.args[0]
                if last_part(node.func) in ("tensor", "as_tensor", "from_numpy") and node.args
                else node.func.value
            )
            if isinstance(node, ast.List) and len(node.elts) == 1:
                node, lifted = node.elts[0], True
        else:
            break
    return node, lifted


def _dim(join: ast.Call) -> object:
    """The dim of a join; 0 when none is given."""
    named = [keyword.value for keyword in join.keywords if keyword.arg in ("dim", "axis")]
    return _number(named[0] if named else join.args[1]) if named or len(join.args) > 1 else 0


def _number(node: ast.expr) -> object:
    try:
        return ast.literal_eval(node)
    except ValueError:
        return MISSING


def _many(value: Expression, given: ast.expr, function: Function) -> str:
    """The name of the samples that a join goes over; empty when it joins anything else."""
    if isinstance(given, ast.Call) and last_part(given.func) in ("list", "tuple") and len(given.args) == 1:
        given = given.args[0]
    if isinstance(given, (ast.ListComp, ast.GeneratorExp)) and len(given.generators) == 1:
        return _root(given.generators[0].iter, function)
    if not isinstance(given, ast.Name):
        return ""
    if _root(given, function):
        return given.id
    for made in Expression(value.module, given, value.voice).values:
        if isinstance(made.ast, ast.ListComp):
            return _many(value, made.ast, function)
    return _filled(given.id, function, ("append",))


def _filled(name: str, function: Function, methods: tuple[str, ...]) -> str:
    """The samples over which a loop of the function fills a list; empty when none does."""
    for loop in function.statements:
        if not isinstance(loop, ast.For):
            continue
        for node in ast.walk(loop):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in methods:
                target: ast.expr = node.func.value
            elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add) and "extend" in methods:
                target = node.target
            else:
                continue
            if isinstance(target, ast.Name) and target.id == name:
                return _root(loop.iter, function)
    return ""


def _root(iterated: ast.expr, function: Function) -> str:
    """The parameter that something goes over, also through `enumerate` and `zip`; empty when it is none."""
    if isinstance(iterated, ast.Call) and last_part(iterated.func) in ("enumerate", "list") and iterated.args:
        iterated = iterated.args[0]
    arguments = getattr(function.ast, "args", None)
    if not isinstance(iterated, ast.Name) or not isinstance(arguments, ast.arguments):
        return ""
    names = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    return iterated.id if iterated.id in names and iterated.id in SAMPLES else ""


__all__ = ["SAMPLES", "PackedRow", "counted_row", "joined_row"]
