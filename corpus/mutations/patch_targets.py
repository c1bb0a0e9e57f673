"""Patches of installed packages under a name that the package does not have."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import partial

from .package import Package
from .python_file import PythonFile
from .site import Injection, Place, Site

_PACKAGES = ("transformers", "accelerate", "peft", "trl", "deepspeed", "megatron", "diffusers")


class DeadTarget:
    """Patches a name that the installed version does not define, as after an upgrade that renamed it.

    A site is an assignment of its own line to an attribute of an imported module or class of another package, without
    a test of the version, a `hasattr` or a `try` around it, whose original the same file reads, so that the package
    surely has it. The target gets a name that nothing has.
    """

    rule = "monkeypatch-dead-target"
    versioned = False
    beside: tuple[str, ...] = ()

    def sites(self, package: Package) -> Iterator[Site]:
        for file in package.python(rf"(?m)^\s*(import|from) ({'|'.join(_PACKAGES)})\b"):
            for node in ast.walk(file.tree):
                target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
                if not isinstance(node, ast.Assign) or not isinstance(target, ast.Attribute) or not file.alone(node):
                    continue
                owner = file.dotted(target.value)
                first = ast.unparse(target.value).partition(".")[0]
                if owner.partition(".")[0] not in _PACKAGES or first not in file.imports or "." not in owner:
                    continue
                if _careful(file, node) or owner.partition(".")[0] in package.root.name:
                    continue
                new = f"{target.attr}_v2"
                if not _read(file, target) or new in package.words:
                    continue
                what = f"`{file.source(target)}` is `.{new}`"
                inject = partial(_renamed, file, target, new)
                yield Site(package.name, file.path, node.lineno, what, f"{file.copy(node)}", inject)


def _careful(file: PythonFile, node: ast.Assign) -> bool:
    for outer in file.around(node):
        if isinstance(outer, ast.Try):
            return True
        if isinstance(outer, ast.If) and re.search(r"hasattr|version|available", file.source(outer.test)):
            return True
    return False


def _read(file: PythonFile, target: ast.Attribute) -> bool:
    """Whether a file also reads what it replaces."""
    attributes = [node for node in ast.walk(file.tree) if isinstance(node, ast.Attribute) and node.attr == target.attr]
    reads = [node for node in attributes if isinstance(node.ctx, ast.Load)]
    return any(file.source(node) == file.source(target) for node in reads)


def _renamed(file: PythonFile, target: ast.Attribute, new: str) -> Injection:
    lines = [line.encode() for line in file.text.split("\n")]
    line, end = (target.end_lineno or target.lineno) - 1, target.end_col_offset or 0
    lines[line] = lines[line][: end - len(target.attr)] + new.encode() + lines[line][end:]
    return Injection({file.path: b"\n".join(lines).decode()}, (Place(file.path, target.lineno, line + 1),))
