"""What the callers of a function give a parameter of it."""

from __future__ import annotations

import ast

from shardlint.facts.matching import Hit
from shardlint.facts.names import CERTAIN
from shardlint.facts.project_modules import Definition, Untold
from shardlint.facts.site import Expression, Site


def given_by_callers(site: Site, parameter: str) -> list[tuple[Site, Expression]]:
    """Every call of the function around a site in the project, with what it gives the parameter of that name.

    Empty for anything but a parameter of a function of a module, and where some call or argument cannot be told.
    """
    function = site.function.ast
    if not isinstance(function, ast.FunctionDef) or not isinstance(site.module.parent(function), ast.Module):
        return []
    places = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
    if parameter not in places:
        return []
    modules = site.module.project().modules
    modules.adopt(site.module)
    try:
        calls = list(modules.calls(Definition(site.module, function)))
    except Untold:
        return []
    found: list[tuple[Site, Expression]] = []
    for module, call in calls:
        caller = Site(module, Hit(call, function.name, CERTAIN), site.voice)
        given = caller.argument(parameter, places.index(parameter))
        if given is None or caller.opaque:
            return []
        found.append((caller, given))
    return found


def calls_around(site: Site) -> list[Site]:
    """The calls of the function around a site, in all files of the project; those before one that cannot be told.

    Empty for anything but a function of a module.
    """
    function = site.function.ast
    if not isinstance(function, ast.FunctionDef) or not isinstance(site.module.parent(function), ast.Module):
        return []
    modules = site.project.modules
    modules.adopt(site.module)
    found: list[Site] = []
    try:
        for module, call in modules.calls(Definition(site.module, function)):
            found.append(Site(module, Hit(call, site.function.name, CERTAIN), site.voice))
    except Untold:
        pass
    return found


__all__ = ["calls_around", "given_by_callers"]
