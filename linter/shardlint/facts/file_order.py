"""Where the order of a listing of files goes: through names, loops that append and comprehensions of one function.

`os.listdir` and its like give names in whatever order the file system keeps them. What holds them in that order is
followed here; whatever is sorted anywhere in the function is taken for ordered.
"""

from __future__ import annotations

import ast

from shardlint.facts.module import FUNCTIONS
from shardlint.facts.names import resolve
from shardlint.facts.site import Expression, Site
from shardlint.query import Call

LISTING = Call("os.listdir", "os.scandir", "glob.glob", "glob.iglob", "*.iterdir", "*.rglob", "*.glob")
"""Calls that list files in no order; the methods are those of `pathlib.Path`."""

_KEEPS = frozenset(("builtins.list", "builtins.tuple", "builtins.filter", "builtins.map", "builtins.enumerate"))
_GROWS = frozenset(("append", "extend"))


def in_file_order(listing: Site) -> list[Expression]:
    """The expressions whose value is the listing in the order in which it came; none if anything sorts it.

    Args:
        listing: a call that lists files.

    A value that goes into another call, or is returned, ends there: the expression that goes in is the last one.
    """
    found, waiting, known = list[ast.expr](), [listing.ast], set[tuple[str, ...]]()
    while waiting:
        top = widest(listing, waiting.pop())
        found.append(top)
        for holder in holders(listing, top):
            key = key_of(holder)
            if not key or key in known:
                continue
            known.add(key)
            held = reads(listing, holder)
            if any(_sorts(listing, read) for read in held):
                return []
            waiting += held
    if any(_sorts(listing, place) for place in found):
        return []
    return [Expression(listing.module, place, listing.voice) for place in found]


def widest(site: Site, place: ast.expr) -> ast.expr:
    """The largest expression around a place that still has its items in its order."""
    while (outer := _keeping(site, place)) is not None:
        place = outer
    return place


def _keeping(site: Site, place: ast.expr) -> ast.expr | None:
    """The expression directly around a place, if it has the items of the place in their order."""
    outer = site.module.parent(place)
    if isinstance(outer, ast.comprehension) and outer.iter is place:
        made = site.module.parent(outer)
        return made if isinstance(made, (ast.ListComp, ast.GeneratorExp)) and made.generators[0] is outer else None
    if isinstance(outer, ast.Call):
        keeps = place in outer.args and _KEEPS.intersection(resolve(site.module, outer.func).names)
        return outer if keeps else None
    if isinstance(outer, ast.BinOp):
        return outer if isinstance(outer.op, ast.Add) else None
    if isinstance(outer, (ast.List, ast.Tuple)):
        return outer if isinstance(place, ast.Starred) else None
    return outer if isinstance(outer, (ast.Starred, ast.IfExp)) else None


def holders(site: Site, place: ast.expr) -> list[ast.expr]:
    """What gets the value of an expression, whole or one by one, in its order."""
    outer = site.module.parent(place)
    if isinstance(outer, ast.Assign) and outer.value is place:
        return [target for target in outer.targets if key_of(target)]
    if isinstance(outer, (ast.AnnAssign, ast.AugAssign, ast.NamedExpr)) and outer.value is place:
        return [outer.target]
    if isinstance(outer, ast.Call) and place in outer.args:
        return _grown(outer)
    if isinstance(outer, ast.For) and outer.iter is place:
        inside = [node for part in outer.body for node in ast.walk(part)]
        return [grown for node in inside if isinstance(node, ast.Call) for grown in _grown(node)]
    return []


def _grown(call: ast.Call) -> list[ast.expr]:
    """The list that a call appends to."""
    func = call.func
    return [func.value] if isinstance(func, ast.Attribute) and func.attr in _GROWS else []


def key_of(node: ast.expr) -> tuple[str, ...]:
    """What two spellings of a name, or of an attribute of a name, share."""
    if isinstance(node, ast.Name):
        return (node.id,)
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return (node.value.id, node.attr)
    return ()


def reads(site: Site, holder: ast.expr) -> list[ast.expr]:
    """The reads of a name in its function, or of an attribute of `self` in its class."""
    home: ast.AST = site.function.ast
    if isinstance(holder, ast.Attribute):
        home = site.module.enclosing_class(holder) or home
    nodes = [node for node in ast.walk(home) if isinstance(node, (ast.Name, ast.Attribute))]
    return [node for node in nodes if isinstance(node.ctx, ast.Load) and key_of(node) == key_of(holder)]


def _sorts(site: Site, place: ast.expr) -> bool:
    """Whether an expression, or one around it in the same statement, is put in order or loses its order."""
    outer = site.module.parent(place)
    if isinstance(outer, ast.Attribute) and outer.attr == "sort":
        return True
    for at in site.module.ancestors(place):
        if isinstance(at, (ast.stmt, *FUNCTIONS)):
            return False
        called = at.func if isinstance(at, ast.Call) else None
        word = called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""
        if "sort" in word or isinstance(at, (ast.SetComp, ast.DictComp)):
            return True
    return False


__all__ = ["LISTING", "holders", "in_file_order", "key_of", "reads", "widest"]
