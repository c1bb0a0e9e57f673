"""Whether a registration runs when the project is imported: a key that is registered later, or never, is not found."""

from __future__ import annotations

import ast
import re

from shardlint.access import Imports
from shardlint.facts.module import FUNCTIONS
from shardlint.facts.site import Site

_WALKS = re.compile(rb"iter_modules|walk_packages|listdir|scandir|glob|iterdir|import_module|__import__|LazyModule")
"""Ways in which a package imports its modules without naming them."""

_SIBLING = re.compile(rb"^from[ \t]+\.(\w*)[ \t]+import[ \t]*(\([^)]*\)|[^\n]*)", re.MULTILINE)


def idle_function(site: Site) -> str:
    """The function around a registration if no Python file of the project says its name again; empty otherwise.

    Only a top-level function without a decorator counts, in a project that registers in the same registry at the top
    level of a file as well.
    """
    module, home = site.module, site.function.ast
    if not isinstance(home, FUNCTIONS) or home.decorator_list or not isinstance(module.parent(home), ast.Module):
        return ""
    if site.project.count(home.name, rf"\b{home.name}\b") != 1:
        return ""
    return home.name if _top_level(site) else ""


def unnamed_module(site: Site) -> str:
    """The package whose `__init__` lacks the module of a registration, if nothing else names the module; or empty.

    Only where that `__init__` names other modules that register in the same registry, and looks for none by itself.
    """
    path = site.module.path
    folder, _, file = path.rpartition("/")
    if file == "__init__.py":
        folder, _, stem = folder.rpartition("/")
    else:
        stem = file.removesuffix(".py")
    if not site.function.is_module or "__name__ ==" in site.module.text or not folder:
        return ""
    text = site.project.text
    start = f"{folder}/__init__.py"
    listed = text(start)
    package = folder.rpartition("/")[2].encode()
    if not listed or _WALKS.search(listed) or _names(listed, package, stem.encode()):
        return ""
    if not _names_registering(site, folder, listed):
        return ""
    inside = path if file != "__init__.py" else f"{folder}/{stem}/"
    others = (data for other, data in site.project.texts_with(stem) if not other.startswith(inside))
    if any(_names(data, package, stem.encode()) for data in others):
        return ""
    above = folder
    while above:
        above = above.rpartition("/")[0]
        if _WALKS.search(text(f"{above}/__init__.py")):
            return ""
    return start


def _names(data: bytes, package: bytes, stem: bytes) -> bool:
    """Whether a file may import a module: in a statement, by a dotted path in a text, or by a text that it imports.

    `transformers.models.llama` is no import of `zoo/llama.py`: what stands before the name must be its package.
    """
    if stem not in data:
        return False
    imports, stem, package = Imports(data), re.escape(stem), re.escape(package)
    word = re.compile(rb"\b" + stem + rb"\b")
    path = re.compile(rb"(?:^|\s|,|\b" + package + rb"\s*\.)\s*" + stem + rb"\b")
    if imports.unclear or any(path.search(part) for part in imports.plain):
        return True
    for module, clause in imports.taken:
        near = module.startswith(b".") or module.rpartition(b".")[2] == package
        if (near and word.search(clause)) or path.search(module) or (module.startswith(b".") and word.search(module)):
            return True
    quoted = rb"['\"]\.*" + stem + rb"['\"]" if _WALKS.search(data) else rb"['\"]\.+" + stem
    return re.search(quoted + rb"|['\"][\w./]*" + package + rb"[./]" + stem + rb"\b", data) is not None


def _names_registering(site: Site, folder: str, listed: bytes) -> bool:
    """Whether an `__init__` imports a module of its folder that registers in the registry of the site."""
    names = {name for module, clause in _SIBLING.findall(listed) for name in (module, *re.findall(rb"\w+", clause))}
    for name in names - {b""}:
        at = f"{folder}/{name.decode('utf-8', 'replace')}"
        others = (path for path in (f"{at}.py", f"{at}/__init__.py") if path != site.module.path)
        if any(re.search(_registers(site), site.project.text(path), re.MULTILINE) for path in others):
            return True
    return False


def _top_level(site: Site) -> bool:
    """Whether some file registers in the registry of the site at its top level."""
    return site.project.count(".register(", _registers(site).decode()) > 0


def _registers(site: Site) -> bytes:
    name = site.receiver.last_name if site.receiver is not None else ""
    return rb"^@?(?:\w+\.)*" + re.escape(name.encode()) + rb"\.register\("
