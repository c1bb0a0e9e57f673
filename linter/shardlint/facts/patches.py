"""Whether a patch of an installed package hits something: an assignment to an attribute that the package may lack."""

from __future__ import annotations

import ast
import re
from difflib import get_close_matches

from shardlint.facts.guards import guards
from shardlint.facts.module import FUNCTIONS
from shardlint.facts.module import Module as Source
from shardlint.facts.names import bindings_at, resolve
from shardlint.facts.packages import Class, Module
from shardlint.facts.site import Site

_ASKS = re.compile(r"[vV]ersion|VERSION|is_\w*available|_GREATER|_AVAILABLE|__dict__|\bdir\(|signature|suppress\(")
"""What a test spells that asks for the version of a package, or for what it has."""

_KEPT = re.compile(r"(?:^|_)(?:original|origin|orig|old|saved|backup|unpatched)(?:_|$)")


class DeadPatch:
    """An attribute that neither the package nor the project knows, given a value by the project.

    `owner` is the dotted path of the module or class, as the package defines it, `kind` which of both; `file` lies
    below `site-packages`; `close` is a name that the owner does have and that is spelled alike, or empty.
    """

    __slots__ = ("close", "file", "kind", "name", "owner", "package")

    def __init__(self, package: str, owner: str, kind: str, file: str, name: str, close: str) -> None:
        self.package = package
        self.owner = owner
        self.kind = kind
        self.file = file
        self.name = name
        self.close = close


def dead_patch(site: Site) -> DeadPatch | None:
    """The patch at a site of `Assigned` when it certainly has no effect; None when it has one or that is not known.

    Source: the text of the installed package, and every read of the name in the project.
    """
    dotted, _, name = site.name.rpartition(".")
    package, value = dotted.partition(".")[0], site.argument("", 2)
    if value is None or isinstance(value.literal, bool) or value.literal is None:
        return None
    if package == site.module.dotted.partition(".")[0]:
        return None
    packages = site.environment.packages
    if packages.surely_has(dotted, name):
        return None
    owner = packages.owner(dotted)
    if owner is None or owner.has(name) is not False or _read_in_project(site, name):
        return None
    if _keeps(owner, name) or _asks(site, name):
        return None
    if packages.spells(package, name if owner.kind == "class" else rf"{dotted.rpartition('.')[2]}\.{name}"):
        return None
    close = get_close_matches(name, owner.names, 1)
    return DeadPatch(package, owner.dotted, owner.kind, owner.path, name, close[0] if close else "")


def _read_in_project(site: Site, name: str) -> bool:
    """Whether the project reads the attribute, apart from keeping what stood there before the patch."""
    module, home = site.module, site.function.ast
    reads = [node for node in ast.walk(home) if isinstance(node, ast.Attribute) and node.attr == name]
    before = [node for node in reads if isinstance(node.ctx, ast.Load) and node.lineno < site.call.lineno]
    kept = sum(module.function(node) is home and site.name in resolve(module, node).names for node in before)
    spelled = isinstance(site.statement, ast.Expr)  # `setattr` has the name as a text
    return site.project.reads(name) > kept + spelled


def _keeps(owner: Module | Class, name: str) -> bool:
    """Whether the name says that it keeps what stood under another one: `_original_forward`, `old_forward`."""
    if name.lstrip("_").startswith("orig"):
        return True
    rest = _KEPT.sub("_", name, count=1)
    return rest != name and any(owner.has(part) for part in (rest, rest.strip("_"), f"_{rest.strip('_')}"))


def _asks(site: Site, name: str) -> bool:
    """Whether something around the patch, or around a call of its function, asks what the package has."""
    module, around = site.module, list(site.module.ancestors(site.ast))
    if any(isinstance(at, ast.Try) and at.handlers for at in around):
        return True
    functions = [at for at in around if isinstance(at, FUNCTIONS)]
    calls = [call for function in functions for call in module.calls.get(function.name, ())]
    for place in (site.ast, *functions, *calls):
        for guard in guards(module, place):
            if guard.test is not None and _asks_package(module, guard.test, name):
                return True
    asserted = [node.test for node in site.function.statements if isinstance(node, ast.Assert)]
    if any(_asks_package(module, test, name) for test in asserted):
        return True
    before = r"(?:[vV]ersion|VERSION|hasattr|_available)[^\n]*\n(?:[^\n]*\n){0,3}?[^\n]*"
    return any(site.project.count(function.name, rf"{before}\b{function.name}\(") for function in functions)


def _asks_package(module: Source, test: ast.expr, name: str) -> bool:
    """Whether a test, or a value that a name in it may have, asks for the version of a package or for the name."""
    texts = [module.source(test)]
    for node in ast.walk(test):
        found = bindings_at(module, node) if isinstance(node, ast.Name) else None
        for binding in found[0] if found is not None else ():
            texts.append(binding.target or "" if binding.value is None else module.source(binding.value))
    asked = re.compile(rf"(?:has|get)attr\([^,]*, *(?!['\"])|['\"]{name}['\"]")
    return any(_ASKS.search(text) or asked.search(text) for text in texts)
