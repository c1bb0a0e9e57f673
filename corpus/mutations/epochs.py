"""A shuffling sampler that is never told its epoch."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import partial

from .package import Package
from .python_file import PythonFile, argument, opaque
from .rewrite import without
from .site import Injection, Place, Site

_SAMPLERS = frozenset(
    (
        "torch.utils.data.DistributedSampler",
        "torch.utils.data.distributed.DistributedSampler",
        "torchdata.stateful_dataloader.sampler.StatefulDistributedSampler",
    )
)
_EVALUATION = re.compile(r"val|eval|test|dev(?!ice)", re.IGNORECASE)


class EpochNotSet:
    """Drops every `set_epoch` of a sampler in a file.

    A site is a DistributedSampler that a file builds with shuffling on and not for evaluation, where the same file
    calls `set_epoch` on something that its name calls a sampler.
    """

    rule = "missing-set-epoch"
    versioned = False
    beside: tuple[str, ...] = ()

    def sites(self, package: Package) -> Iterator[Site]:
        for file in package.python(r"\.set_epoch\("):
            told = [call for call in file.calls() if _tells_the_epoch(file, call)]
            shuffled = [call for call in file.calls() if _shuffles(file, call)]
            if told and shuffled and all(file.alone(file.statement(call)) for call in told):
                sampler = shuffled[0]
                what = f"`{file.source(told[0])[:60]}` is dropped"
                inject = partial(_injected, file, told, shuffled)
                copy = file.copy(file.function(sampler) or sampler)
                yield Site(package.name, file.path, sampler.lineno, what, copy, inject)


def _tells_the_epoch(file: PythonFile, call: ast.Call) -> bool:
    func = call.func
    if not isinstance(func, ast.Attribute) or func.attr != "set_epoch":
        return False
    return "sampler" in file.source(func.value).lower() and isinstance(file.statement(call), ast.Expr)


def _shuffles(file: PythonFile, call: ast.Call) -> bool:
    if file.dotted(call.func) not in _SAMPLERS or opaque(call):
        return False
    shuffle = argument(call, "shuffle", 3)
    ordered = isinstance(shuffle, ast.Constant) and shuffle.value is False
    return not ordered and not _EVALUATION.search(file.source(file.statement(call)))


def _injected(file: PythonFile, told: list[ast.Call], samplers: list[ast.Call]) -> Injection:
    text = file.text
    for call in reversed(told):
        text = without(text, file.statement(call))
    lost = file.text.count("\n") - text.count("\n")
    places = [Place(file.path, one.lineno - lost, one.end_lineno or one.lineno) for one in samplers]
    return Injection({file.path: text}, tuple(places))
