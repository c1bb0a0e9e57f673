"""Registrations that never run, or under a key that no config asks for."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import partial

from .package import Package
from .python_file import PythonFile, argument
from .rewrite import replaced, without
from .site import Injection, Place, Site, in_place

_REGISTRY = re.compile(r"(?i)registry$|autoconfig$")


class RegistrationLost:
    """Keeps a registration from running, or puts another key into it.

    A site of the first kind is a module that registers at its top level, imported by a `from . import` line of the
    `__init__` of its package together with others that do, and by no other file: the import is dropped. One of the
    second kind is `AutoConfig.register("key", Config)` whose key is the literal `model_type` of a class of the project:
    the key is written with the other of `-` and `_`, or with a digit more.
    """

    rule = "registry-key-or-import"
    versioned = False
    beside: tuple[str, ...] = ()

    def sites(self, package: Package) -> Iterator[Site]:
        for file in package.python(r"(?i)registry\.register\(|autoconfig\.register\("):
            for call in file.calls():
                owner, _, method = file.source(call.func).rpartition(".")
                if method == "register" and _REGISTRY.search(owner):
                    yield from _key(package, file, call)
                    yield from _import(package, file, call)


def _key(package: Package, file: PythonFile, call: ast.Call) -> Iterator[Site]:
    key = argument(call, "model_type", 0)
    if (
        not isinstance(key, ast.Constant)
        or not isinstance(key.value, str)
        or "AutoConfig" not in file.source(call.func)
    ):
        return
    if not package.holds(rf"model_type(:\s*\w+)?\s*=\s*[\"']{re.escape(key.value)}[\"']", ".py"):
        return
    new = key.value.replace("_", "-") if "_" in key.value else f"{key.value}2"
    inject = partial(_other_key, file, key, new, call)
    yield Site(package.name, file.path, call.lineno, f"the key `{key.value}` is `{new}`", file.copy(call), inject)


def _other_key(file: PythonFile, key: ast.Constant, new: str, call: ast.Call) -> Injection:
    return in_place(file, replaced(file.text, key, f'"{new}"'), call)


def _import(package: Package, file: PythonFile, call: ast.Call) -> Iterator[Site]:
    folder, _, name = file.path.rpartition("/")
    stem = name.removesuffix(".py")
    start = package.file(f"{folder}/__init__.py")
    if start is None or stem == "__init__" or file.function(call) is not None:
        return
    lines = [node for node in start.tree.body if isinstance(node, ast.ImportFrom) and node.level == 1]
    own = [node for node in lines if node.module == stem or (not node.module and node.names[0].name == stem)]
    siblings = [node for node in lines if node not in own]
    elsewhere = package.holds(rf"(?m)^\s*(from|import)\b[^\n]*\b{re.escape(stem)}\b", ".py")
    if len(own) == 1 and len(own[0].names) <= 3 and siblings and start.alone(own[0]) and elsewhere:
        others = [path for path in package.ending(".py") if path != start.path and _imports(package, path, stem)]
        if not others:
            what = f"`{start.source(own[0])}` is dropped from {start.path}"
            inject = partial(_unimported, start, own[0], file, call)
            yield Site(package.name, file.path, call.lineno, what, f"{file.path}", inject)


def _imports(package: Package, path: str, stem: str) -> bool:
    return re.search(rf"(?m)^\s*(from|import)\b[^\n]*\b{re.escape(stem)}\b", package.text(path) or "") is not None


def _unimported(start: PythonFile, line: ast.ImportFrom, file: PythonFile, call: ast.Call) -> Injection:
    place = Place(file.path, call.lineno, call.end_lineno or call.lineno)
    return Injection({start.path: without(start.text, line)}, (place,))
