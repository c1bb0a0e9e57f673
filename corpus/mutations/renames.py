"""Attributes of modules under another name, and the patterns that such a rename leaves behind."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from .package import Package, is_generated
from .python_file import PythonFile
from .site import Injection, Place, Site

_LAYERS = re.compile(
    r"torch\.nn\.(modules\.\w+\.)?(Linear|Embedding|LayerNorm|RMSNorm|GroupNorm|BatchNorm\dd|Conv\dd|Parameter"
    r"|ModuleList|Sequential)"
)
_HOLDERS = re.compile(
    r"(?:base_model_)?(?:tp|pp|ep|fsdp)_plan|\w+_plan|_tied_weights_keys|no_decay|(?:\w+_)?target_modules|\w*frozen\w*"
    r"|_keep_in_fp32_modules"
)
_UNLIKE = "renamed_part"
_NAMES = re.compile(r"[A-Za-z_][\w.*]*")
_PLACEMENTS = re.compile(r"(\w+\.)*(ColwiseParallel|RowwiseParallel|Shard|Replicate)")


class KeyRename:
    """Gives an attribute that holds parameters another name, in its whole file.

    A site is an attribute that the `__init__` of a class sets to a layer or parameter of torch that keys of a
    checkpoint begin with, under a name that no string of the file mentions, in a file that nothing generates. Every
    `.name` of the file is renamed, so that the file is sound in itself, and no table maps the old key, since nobody
    knows the new one.
    """

    rule = "state-key-rename"
    versioned = True
    beside: tuple[str, ...] = ()

    def sites(self, package: Package) -> Iterator[Site]:
        for file in package.python(r"import torch\.nn|from torch import nn|torch\.nn\b"):
            for name, places in _layers(file).items():
                new = f"{name}_layer"
                mentioned = re.search(rf"[\"'][^\"'\n]*\b{name}\b", file.text)
                if re.search(rf"\b{new}\b", file.text) or mentioned or name.startswith("__"):
                    continue
                first = places[0]
                inject = partial(_renamed, file, name, new, places)
                what = f"`self.{name}` is `self.{new}`"
                yield Site(package.name, file.path, first.lineno, what, f"{file.copy(first)} {name}", inject)


class StalePattern:
    """Renames an attribute that a plan or another list of names speaks of, and leaves the list as it is.

    A site is a string in a list or dict that is called a plan, no-decay list, LoRA target or the like, or whose values
    are placements. The module that it names last must be set by classes of one file alone, which lies in the folder of
    the list, and is no generated file. That attribute gets another name in that file.
    """

    rule = "stale-parameter-pattern"
    versioned = True
    beside: tuple[str, ...] = ()

    def sites(self, package: Package) -> Iterator[Site]:
        for file in package.python(
            r"_plan\b|_tied_weights_keys|no_decay|target_modules|wiseParallel|Shard\(|_in_fp32_"
        ):
            folder = file.path.rpartition("/")[0]
            patterns = _patterns_of(file)
            if not patterns:
                continue
            models = self._models(package, folder)
            for pattern in patterns:
                model, name = _owner(pattern.text, models)
                if model is None or _UNLIKE in model.text:
                    continue
                what = f"`{pattern.text}` stays, `self.{name}` of {model.path.rpartition('/')[2]} is `self.{_UNLIKE}`"
                inject = partial(_renamed, model, name, _UNLIKE, [], Place(file.path, pattern.line, pattern.line))
                copy = f"{file.path.rpartition('/')[2]} {pattern.text}"
                yield Site(package.name, file.path, pattern.line, what, copy, inject)

    def _models(self, package: Package, folder: str) -> list[PythonFile]:
        paths = [path for path in package.ending(".py") if path.rpartition("/")[0] == folder]
        files = [package.file(path) for path in paths if "nn" in (package.text(path) or "")]
        return [file for file in files if file is not None]


class _Pattern(NamedTuple):
    """A string that names parameters, and its line."""

    text: str
    line: int


def _layers(file: PythonFile) -> dict[str, list[ast.Assign]]:
    """Name -> the statements of the `__init__` methods that set an attribute of that name to a layer of torch."""
    found: dict[str, list[ast.Assign]] = {}
    for function in ast.walk(file.tree):
        if not isinstance(function, ast.FunctionDef) or function.name != "__init__":
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and len(node.targets) == 1:
                target = node.targets[0]
                own = isinstance(target, ast.Attribute) and file.source(target.value) == "self"
                if isinstance(target, ast.Attribute) and own and _LAYERS.fullmatch(file.dotted(node.value.func)):
                    found.setdefault(target.attr, []).append(node)
    return found


def _owner(pattern: str, models: list[PythonFile]) -> tuple[PythonFile | None, str]:
    """The one file whose classes set the last named module of a pattern, and that name; None where it is not sure."""
    names = [name for name in re.split(r"[.*]+", pattern) if name not in ("", "weight", "bias")]
    owners = [model for model in models if names and names[-1] in _layers(model)]
    fitting = len(owners) == 1 and not is_generated(owners[0].text) and "patch_gen_config" not in owners[0].path
    return (owners[0], names[-1]) if fitting else (None, "")


def _patterns_of(file: PythonFile) -> list[_Pattern]:
    """The strings of a file that name parameters."""
    found: list[ast.expr] = []
    for node in ast.walk(file.tree):
        value: ast.expr | None = None
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            holder = file.source(node.targets[0]).rpartition(".")[2]
            value = node.value if _HOLDERS.fullmatch(holder) else None
        elif isinstance(node, ast.Dict) and any(_is_placement(file, one) for one in node.values):
            value = node
        if isinstance(value, ast.Dict):
            found += [key for key in value.keys if key is not None]
        elif isinstance(value, (ast.List, ast.Tuple, ast.Set)):
            found += value.elts
    texts = [(one.value, one.lineno) for one in found if isinstance(one, ast.Constant)]
    return [_Pattern(text, line) for text, line in texts if isinstance(text, str) and _NAMES.fullmatch(text)]


def _is_placement(file: PythonFile, node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and _PLACEMENTS.fullmatch(file.source(node.func)) is not None


def _renamed(file: PythonFile, name: str, new: str, at: list[ast.Assign], *places: Place) -> Injection:
    """Every `.name` of a file is `.new`; a list in the same file that names it as text is left as it is."""
    uses = [node for node in ast.walk(file.tree) if isinstance(node, ast.Attribute) and node.attr == name]
    lines = [line.encode() for line in file.text.split("\n")]
    for use in sorted(uses, key=lambda node: (node.end_lineno or 0, node.end_col_offset or 0), reverse=True):
        line, end = (use.end_lineno or 0) - 1, use.end_col_offset or 0
        lines[line] = lines[line][: end - len(name)] + new.encode() + lines[line][end:]
    found = [Place(file.path, node.lineno, node.end_lineno or node.lineno) for node in at]
    return Injection({file.path: b"\n".join(lines).decode()}, (*found, *places))
