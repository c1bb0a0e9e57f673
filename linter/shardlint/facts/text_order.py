"""What holds the names of a listing after they were sorted as text: `step_10` comes before `step_9`."""

from __future__ import annotations

import ast

from shardlint.facts.file_order import holders, key_of, reads, widest
from shardlint.facts.names import resolve
from shardlint.facts.site import Expression, Site

_SORTS = frozenset(("builtins.sorted", "builtins.max", "builtins.min"))


def in_text_order(listing: Site) -> list[Expression]:
    """The expressions whose value is the sorted listing, or its largest or smallest name; none if a `key=` sorts it.

    Args:
        listing: a call that lists files. It is followed as `in_file_order` does, before the sort and after it.
    """
    found = list[ast.expr]()
    waiting: list[tuple[ast.expr, bool]] = [(listing.ast, False)]
    known = set[tuple[tuple[str, ...], bool]]()
    while waiting:
        place, is_sorted = waiting.pop()
        top = widest(listing, place)
        by_text = _sorted(listing, top)
        if by_text is not None:
            waiting.append((by_text, True))
        if is_sorted:
            found.append(top)
        for holder in holders(listing, top):
            held = reads(listing, holder)
            if (key_of(holder), is_sorted) not in known:
                known.add((key_of(holder), is_sorted))
                in_place = any(_sorted_in_place(listing, read) for read in held)
                waiting += [(read, is_sorted or in_place) for read in held]
    return [Expression(listing.module, place, listing.voice) for place in found]


def _sorted(site: Site, place: ast.expr) -> ast.Call | None:
    """The call around a place that sorts it, or takes its largest or smallest, by the text."""
    outer = site.module.parent(place)
    if not isinstance(outer, ast.Call) or outer.args != [place] or outer.keywords:
        return None
    return outer if _SORTS.intersection(resolve(site.module, outer.func).names) else None


def _sorted_in_place(site: Site, read: ast.expr) -> bool:
    method = site.module.parent(read)
    call = site.module.parent(method) if isinstance(method, ast.Attribute) and method.attr == "sort" else None
    return isinstance(call, ast.Call) and not call.args and not call.keywords


__all__ = ["in_text_order"]
