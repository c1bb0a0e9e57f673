"""The global rank of a process in the place of its rank on the node."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import partial

from .package import Package
from .python_file import PythonFile
from .rewrite import replaced
from .site import Injection, Site, in_place

_ONE_NODE = re.compile(r"\bspawn\(|start_processes\(|notebook_launcher")
_DDP = "torch.nn.parallel.DistributedDataParallel"


class GlobalRankDevice:
    """Asks for the device with the global rank.

    A site is an expression that is the rank on the node and that a call takes as the index of a device: `set_device`,
    `torch.device`, `device_ids` of DistributedDataParallel, `.to`, `.cuda`. In its place stands `dist.get_rank()`, or
    `int(os.environ["RANK"])` where the file imports no torch.distributed; where it is the variable `LOCAL_RANK` that is
    read into a name, its first reading becomes that of `RANK`. Files that start their own processes run on one node,
    where both ranks are the same, and are no site.
    """

    rule = "global-rank-as-device"
    versioned = False
    beside: tuple[str, ...] = ()

    def sites(self, package: Package) -> Iterator[Site]:
        for file in package.python(r"(?i)local_rank", r"set_device\(|torch\.device\(|device_ids=|\.cuda\(|\.to\("):
            if _ONE_NODE.search(file.text):
                continue
            for call in file.calls():
                for index in _indexes(file, call):
                    yield from self._site(package.name, file, call, index)

    def _site(self, package: str, file: PythonFile, call: ast.Call, index: ast.expr) -> Iterator[Site]:
        copy = file.copy(file.function(call) or call)
        read = _environment_read(file, index)
        if read is not None:
            what = f"`{file.source(read)}` of `{file.source(call)[:60]}` reads RANK"
            yield Site(package, file.path, call.lineno, what, copy, partial(_renamed, file, read, call))
            return
        if not re.fullmatch(r"([\w.]+\.)?_?local_rank(\(\))?|([\w.]+\.)?get_local_rank\(\)", file.source(index)):
            return
        code = _global_rank(file)
        if code and "mesh" not in file.source(index):
            what = f"`{file.source(index)}` of `{file.source(call)[:60]}` is `{code}`"
            yield Site(package, file.path, call.lineno, what, copy, partial(_replaced, file, index, code, call))


def _indexes(file: PythonFile, call: ast.Call) -> Iterator[ast.expr]:
    """The expressions in the arguments of a call that say which device is meant."""
    name, last = file.dotted(call.func), file.dotted(call.func).rpartition(".")[2]
    given: list[ast.expr] = []
    if last in ("set_device", "cuda", "to") and isinstance(call.func, ast.Attribute):
        given = call.args[:1]
    elif name == "torch.device":
        given = call.args[:2]
    elif name == _DDP:
        given = [one.value for one in call.keywords if one.arg == "device_ids"]
    for one in given:
        if isinstance(one, ast.List) and len(one.elts) == 1:
            yield one.elts[0]
        elif isinstance(one, ast.JoinedStr):
            device = "".join(str(part.value) for part in one.values if isinstance(part, ast.Constant))
            if device in ("cuda:", "npu:", "xpu:"):
                yield from (part.value for part in one.values if isinstance(part, ast.FormattedValue))
        elif not isinstance(one, (ast.Constant, ast.List)):
            yield one


def _environment_read(file: PythonFile, index: ast.expr) -> ast.Constant | None:
    """The text "LOCAL_RANK" that an index is read with: in the index itself, or in the one assignment of its name."""
    scope = file.function(index)
    if isinstance(index, (ast.Name, ast.Attribute)):
        within = scope if isinstance(index, ast.Name) and scope is not None else file.tree
        assigned = [
            node.value
            for node in ast.walk(within)
            if isinstance(node, ast.Assign) and any(file.source(one) == file.source(index) for one in node.targets)
        ]
        if len(assigned) != 1:
            return None
        index = assigned[0]
    texts = [node for node in ast.walk(index) if isinstance(node, ast.Constant) and node.value == "LOCAL_RANK"]
    plain = not any(isinstance(node, (ast.BinOp, ast.IfExp)) for node in ast.walk(index))
    return texts[0] if len(texts) == 1 and plain else None


def _global_rank(file: PythonFile) -> str:
    for name, dotted in file.imports.items():
        if dotted == "torch.distributed":
            return f"{name}.get_rank()"
    if "torch.distributed." in file.text and "torch" in file.imports:
        return "torch.distributed.get_rank()"
    return "int(os.environ['RANK'])" if file.imports.get("os") == "os" else ""


def _renamed(file: PythonFile, read: ast.Constant, call: ast.Call) -> Injection:
    return in_place(file, replaced(file.text, read, '"RANK"'), call)


def _replaced(file: PythonFile, index: ast.expr, code: str, call: ast.Call) -> Injection:
    return in_place(file, replaced(file.text, index, code), call)
