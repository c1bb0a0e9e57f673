"""Optimizers that have no state yet: built just before, and used for nothing else so far."""

from __future__ import annotations

import ast

from shardlint.facts.callers import given_by_callers
from shardlint.facts.site import Expression, Site

_FILLS = ("step", "get_optimizer_state_dict", "get_state_dict", "_init_optim_state", "set_optimizer_state_dict")


def is_fresh(site: Site, optimizer: Expression) -> bool:
    """Whether an optimizer has no state yet at a site.

    It is built in the function of the site, or by every caller that hands it to that function, and is neither stepped
    nor handed to anything else before.
    """
    if not isinstance(optimizer.ast, ast.Name) or site.function.is_module:
        return False
    callers = given_by_callers(site, optimizer.text)
    if not callers:
        return _built_here(site, optimizer)
    return not _used_before(site, optimizer.text) and all(_built_here(caller, given) for caller, given in callers)


def _built_here(site: Site, optimizer: Expression) -> bool:
    made = optimizer.made_from
    if not made or not all(".optim." in name and "lr_scheduler" not in name for name in made):
        return False
    inside = site.function.every_call
    if not optimizer.values or not all(value.ast in inside for value in optimizer.values):
        return False
    return not _used_before(site, optimizer.text)


def _used_before(site: Site, name: str) -> bool:
    """Whether the function of a site may have given an optimizer its state, or hands it to another function."""
    before = [call.func for call in site.function.every_call if call.lineno <= site.call.lineno]
    filled = any(getattr(func, "attr", getattr(func, "id", "")) in _FILLS for func in before)
    return filled or any(call is not site.call for call in site.function.handing(name))


__all__ = ["is_fresh"]
