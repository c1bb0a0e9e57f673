"""Optimizers: built before the model is sharded, and gradients clipped before they are unscaled."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import partial

from .package import Package
from .python_file import PythonFile, argument
from .rewrite import moved_before, without
from .site import Injection, Place, Site, in_place

_FSDP1 = re.compile(r"torch\.distributed\.fsdp\.(\w+\.)?FullyShardedDataParallel")
_SHARDS = re.compile(
    r"torch\.distributed\.(_composable\.)?fsdp\.(\w+\.)?fully_shard|torch\.distributed\.tensor\.parallel\.(\w+\.)?"
    r"parallelize_module|torch\.distributed\._composable\.fully_shard"
)
_OPTIMIZERS = re.compile(r"torch\.optim\.(\w+\.)?(AdamW|Adam|SGD|Adagrad|RMSprop|Adafactor|RAdam|NAdam|Adamax|ASGD)")


class OptimizerFirst:
    """Moves the line that builds an optimizer before the line that shards its model.

    A site is a block with a statement that shards a name (`fully_shard(model)`, `model = FSDP(model)`,
    `parallelize_module(model, ...)`) and, later in the same block, an assignment of an optimizer of torch.optim that is
    given the parameters of that very name, and nothing else that is set in between. `FSDP` with `use_orig_params`
    keeps the parameters, so that is no site.
    """

    rule = "optimizer-before-shard"
    versioned = False
    beside: tuple[str, ...] = ()

    def sites(self, package: Package) -> Iterator[Site]:
        for file in package.python(r"fully_shard|FullyShardedDataParallel|parallelize_module"):
            for call in file.calls():
                model = _sharded(file, call)
                shard = file.statement(call)
                if not model or not isinstance(shard, (ast.Expr, ast.Assign)) or shard not in file.block(shard):
                    continue
                block = file.block(shard)
                for later in block[block.index(shard) + 1 :]:
                    if _built_from(file, later, model) and _movable(block, shard, later, model):
                        what = f"`{file.source(later)[:60]}` stands before `{file.source(call)[:60]}`"
                        inject = partial(_moved, file, later, shard)
                        function = file.function(call)
                        yield Site(package.name, file.path, later.lineno, what, file.copy(function or shard), inject)
                        break


class ClipScaled:
    """Drops `scaler.unscale_(optimizer)` before gradients are clipped.

    A site is the one statement in its function that unscales, with a clipping of gradients after it, and a `step` of
    the same scaler.
    """

    rule = "clip-before-unscale"
    versioned = False
    beside: tuple[str, ...] = ()

    def sites(self, package: Package) -> Iterator[Site]:
        for file in package.python(r"\.unscale_\("):
            for call in file.calls():
                function, statement = file.function(call), file.statement(call)
                if not isinstance(call.func, ast.Attribute) or call.func.attr != "unscale_" or function is None:
                    continue
                inside = [(file.source(one.func), one) for one in file.calls(function)]
                clips = [one for name, one in inside if "clip_grad" in name and one.lineno > call.lineno]
                unscales = [name for name, _ in inside if name.endswith("unscale_")]
                steps = [name for name, _ in inside if name == f"{file.source(call.func.value)}.step"]
                if isinstance(statement, ast.Expr) and file.alone(statement) and clips and steps and len(unscales) == 1:
                    what = f"`{file.source(statement)}` is dropped before `{file.source(clips[0].func)}`"
                    inject = partial(_dropped, file, statement, clips)
                    yield Site(package.name, file.path, call.lineno, what, file.copy(function), inject)


def _sharded(file: PythonFile, call: ast.Call) -> str:
    """The name of the model that a call shards, where that replaces its parameters; empty if it does not."""
    name = file.dotted(call.func)
    given = argument(call, "module", 0)
    original = argument(call, "use_orig_params")
    kept = original is not None and not (isinstance(original, ast.Constant) and original.value is False)
    if given is None or not (_SHARDS.fullmatch(name) or (_FSDP1.fullmatch(name) and not kept)):
        return ""
    statement = file.statement(call)
    bound = isinstance(statement, ast.Assign) and file.source(statement.targets[0])
    return (
        file.source(given)
        if isinstance(given, (ast.Name, ast.Attribute)) and bound in (False, file.source(given))
        else ""
    )


def _built_from(file: PythonFile, statement: ast.stmt, model: str) -> bool:
    """Whether a statement assigns an optimizer that is given the parameters of a model."""
    value = statement.value if isinstance(statement, ast.Assign) else None
    if not isinstance(value, ast.Call) or not _OPTIMIZERS.fullmatch(file.dotted(value.func)):
        return False
    return re.search(rf"(?<![\w.]){re.escape(model)}\.(named_)?parameters\(\)", file.source(value)) is not None


def _movable(block: list[ast.stmt], shard: ast.stmt, optimizer: ast.stmt, model: str) -> bool:
    """Whether an optimizer needs nothing of what is set between the sharding and its own line."""
    between = block[block.index(shard) : block.index(optimizer)]
    stored = {
        node.id
        for one in between
        for node in ast.walk(one)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    read = {node.id for node in ast.walk(optimizer) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    return not (stored - {model.partition(".")[0]}) & read


def _moved(file: PythonFile, optimizer: ast.stmt, shard: ast.stmt) -> Injection:
    length = (optimizer.end_lineno or optimizer.lineno) - optimizer.lineno
    text = moved_before(file.text, optimizer, shard)
    return Injection({file.path: text}, (Place(file.path, shard.lineno, shard.lineno + length),))


def _dropped(file: PythonFile, statement: ast.stmt, clips: list[ast.Call]) -> Injection:
    return in_place(file, without(file.text, statement), *clips)
