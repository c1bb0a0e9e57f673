"""Rank guards around calls that every rank must make."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator

from .package import Package
from .python_file import Function, PythonFile, argument
from .rewrite import guarded, put_before
from .site import Injection, Place, Site

_DISTRIBUTED = ("torch.distributed", "deepspeed.comm", "torch.distributed.distributed_c10d")
_WORDS = (
    "barrier monitored_barrier all_reduce broadcast broadcast_object_list reduce all_gather all_gather_into_tensor "
    "all_gather_object gather gather_object scatter reduce_scatter reduce_scatter_tensor all_to_all all_to_all_single"
)
_COLLECTIVES = tuple(_WORDS.split())
_GROUPS = ("new_group", "new_subgroups", "init_device_mesh", "DeviceMesh")
_DCP = "torch.distributed.checkpoint"
_CHECKPOINTS = (
    *(f"{_DCP}.{name}" for name in ("save", "load", "async_save", "save_state_dict", "load_state_dict")),
    f"{_DCP}.state_dict_saver.save",
    f"{_DCP}.state_dict_loader.load",
    "megatron.core.dist_checkpointing.save",
)
_RANK_WORDS = re.compile(r"rank|main_process|master|is_first|global_zero|is_last|coordinate|leader|in_group|rendezvous")
_OWN_TESTS = re.compile(
    r"([\w.]+\.)?(get_rank|get_global_rank|global_rank|torch_rank)\(\) == 0|([\w.]+\.)?is_main_process\(\)"
    r"|([\w.]+\.)?(is_rank_0|is_rank_zero|is_global_main_process|is_global_rank_zero)\(\)"
    r"|self\.accelerator\.is_main_process|accelerator\.is_main_process|int\(os\.environ\['RANK'\]\) == 0"
)
"""Tests that pick one process of the whole job, however the file spells them. A rank in a group would not do: ranks
with the same place in their groups can be a whole other group, and then the guard would be right."""


class RankGuard:
    """Lets one process alone reach a call: by `if RANK == 0:` around it, or by a `return` of the others before it.

    A site is a statement that is nothing but the call, or an assignment of it, in a function in which nothing yet
    speaks of ranks, groups' coordinates or a main process around it: neither a test that encloses it, nor an exit
    before it, nor the name or a decorator of the function. There every rank of the group reaches the call, so that a
    guard on one process is a defect whatever the group is.
    """

    versioned = False
    beside: tuple[str, ...] = ("new-group-in-rank-branch", "rank-guarded-checkpoint", "rank-guarded-collective")

    def __init__(self, rule: str, pattern: str, wanted: Callable[[PythonFile, ast.Call], bool]) -> None:
        self.rule = rule
        self.pattern = pattern
        self.wanted = wanted

    def sites(self, package: Package) -> Iterator[Site]:
        for file in package.python(self.pattern, r"torch\.distributed|from torch import distributed|deepspeed"):
            for call in file.calls():
                if not self.wanted(file, call):
                    continue
                function = file.function(call)
                statement = file.statement(call)
                whole = isinstance(statement, (ast.Expr, ast.Assign)) and statement.value is call
                if function is None or not whole or not file.alone(statement):
                    continue
                if not _speaks_of_ranks(file, function, statement):
                    yield from self.site(package, file, call)

    def site(self, package: Package, file: PythonFile, call: ast.Call) -> Iterator[Site]:
        """The site of a call that every rank reaches."""
        function = file.function(call)
        if function is not None:
            yield _site(package.name, file, function, file.statement(call), call, _own_tests(file))


def rank_guards() -> list[RankGuard]:
    """The three rules about calls that only some ranks reach."""
    collectives = {f"{package}.{name}" for package in _DISTRIBUTED for name in _COLLECTIVES}
    groups = {f"{package}.{name}" for package in _DISTRIBUTED for name in _GROUPS}
    groups |= {"torch.distributed.device_mesh.init_device_mesh", "torch.distributed.device_mesh.DeviceMesh"}
    groups |= {"torch.distributed.tensor.DeviceMesh"}
    return [
        RankGuard("rank-guarded-collective", rf"\b({'|'.join(_COLLECTIVES)})\(", _named(collectives)),
        RankGuard("new-group-in-rank-branch", rf"\b({'|'.join(_GROUPS)})\(", _named(groups)),
        RankGuard(
            "rank-guarded-checkpoint", r"distributed\.checkpoint|save_checkpoint\(|dist_checkpointing", _checkpoint
        ),
    ]


def _named(names: set[str]) -> Callable[[PythonFile, ast.Call], bool]:
    def wanted(file: PythonFile, call: ast.Call) -> bool:
        local = argument(call, "use_local_synchronization")
        return file.dotted(call.func) in names and local is None

    return wanted


def _checkpoint(file: PythonFile, call: ast.Call) -> bool:
    """Distributed Checkpoint, unless it is told to work alone; an engine of DeepSpeed under its usual names."""
    name = file.dotted(call.func)
    if name in _CHECKPOINTS:
        return argument(call, "no_dist") is None
    owner, _, method = name.rpartition(".")
    return method == "save_checkpoint" and owner.rpartition(".")[2] in ("model_engine", "engine", "deepspeed_engine")


def _speaks_of_ranks(file: PythonFile, function: Function, statement: ast.stmt) -> bool:
    if _RANK_WORDS.search(function.name) or any(
        _RANK_WORDS.search(file.source(one)) for one in function.decorator_list
    ):
        return True
    for outer in file.around(statement):
        test = (
            outer.test if isinstance(outer, (ast.If, ast.While)) else outer.iter if isinstance(outer, ast.For) else None
        )
        if test is not None and _RANK_WORDS.search(file.source(test)):
            return True
        if outer is function:
            break
    earlier = [node for node in ast.walk(function) if isinstance(node, ast.If) and node.lineno < statement.lineno]
    exits = (ast.Return, ast.Raise, ast.Continue, ast.Break)
    return any(_RANK_WORDS.search(file.source(node.test)) and isinstance(node.body[-1], exits) for node in earlier)


def _site(
    package: str, file: PythonFile, function: Function, statement: ast.stmt, call: ast.Call, tests: list[ast.If]
) -> Site:
    name = file.source(call.func)
    test = _test(file, function, call, tests)
    early = (call.lineno + call.col_offset) % 2 == 1
    length = (statement.end_lineno or statement.lineno) - statement.lineno + 1

    def inject() -> Injection:
        code = f"if not ({test}):\n    return\n"
        text = put_before(file.text, statement, code) if early else guarded(file.text, statement, test)
        return Injection({file.path: text}, (Place(file.path, statement.lineno, statement.lineno + length + 1),))

    what = f"`{name}` after a return of the ranks without `{test}`" if early else f"`{name}` under `if {test}`"
    return Site(package, file.path, statement.lineno, what, file.copy(function), inject)


def _own_tests(file: PythonFile) -> list[ast.If]:
    """The places where a file itself picks one process of the job."""
    if not re.search(r"rank|main_process", file.text):
        return []
    tests = [node for node in ast.walk(file.tree) if isinstance(node, ast.If)]
    return [node for node in tests if _OWN_TESTS.fullmatch(file.source(node.test))]


def _test(file: PythonFile, function: Function, call: ast.Call, tests: list[ast.If]) -> str:
    """A test for one process as this file spells it, with names that mean the same here; else with `get_rank`."""
    method = function.args.args and function.args.args[0].arg == "self"
    known = file.imports.keys() | {node.name for node in file.tree.body if isinstance(node, Function)}
    for node in tests:
        test = file.source(node.test)
        first = re.split(r"\W", test.removeprefix("int("))[0]
        if first in known or (first == "self" and method and file.owner(node) is file.owner(call)):
            return test
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    if owner is not None and file.dotted(owner) in ("torch.distributed", "deepspeed.comm"):
        return f"{file.source(owner)}.get_rank() == 0"
    for name, dotted in file.imports.items():
        if dotted in ("torch.distributed", "deepspeed.comm"):
            return f"{name}.get_rank() == 0"
    return "torch.distributed.get_rank() == 0"
