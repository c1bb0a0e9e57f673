"""A reduction for all ranks, made one for the first rank alone."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import partial

from .package import Package
from .python_file import Function, PythonFile, argument, opaque
from .rewrite import replaced
from .site import Injection, Site, in_place

_DISTRIBUTED = ("torch.distributed", "deepspeed.comm")
_COLLECTIVE = re.compile(
    r"\.(all_reduce|reduce|barrier|broadcast|all_gather\w*|reduce_scatter\w*|backward|save_checkpoint)\("
)
_LEAVING = (ast.Break, ast.Continue, ast.Return)


class ReducedToOne:
    """Writes `reduce(x, dst=0)` where `all_reduce(x)` stands.

    A site is a statement that reduces a name or attribute, with a branch after it in the same function that asks for
    that very name, or for one that is assigned from it, and leaves the loop, the round or the function; a collective
    or a backward pass must stand after the branch, or in a loop around both, and nothing in the test may speak of ranks
    or of None. There the ranks that the branch lets go are missed by the others.
    """

    rule = "reduce-then-branch"
    versioned = False
    beside: tuple[str, ...] = ()

    def sites(self, package: Package) -> Iterator[Site]:
        for file in package.python(r"\.all_reduce\(", "distributed|deepspeed"):
            for call in file.calls():
                owner, _, name = file.dotted(call.func).rpartition(".")
                function, statement = file.function(call), file.statement(call)
                if name != "all_reduce" or owner not in _DISTRIBUTED or not isinstance(call.func, ast.Attribute):
                    continue
                given = argument(call, "tensor", 0)
                if function is None or not isinstance(statement, ast.Expr) or opaque(call):
                    continue
                if not isinstance(given, (ast.Name, ast.Attribute)) or argument(call, "async_op", 3) is not None:
                    continue
                branch = _branch(file, function, statement, file.source(given))
                if branch is not None:
                    what = f"`{file.source(call)[:60]}` is a reduce before `if {file.source(branch.test)[:40]}`"
                    inject = partial(_injected, file, call)
                    yield Site(package.name, file.path, call.lineno, what, file.copy(function), inject)


def _branch(file: PythonFile, function: Function, statement: ast.stmt, value: str) -> ast.If | None:
    """The branch that a reduced value decides, if what follows it is common to the ranks."""
    names = {value}
    for node in sorted(ast.walk(function), key=lambda one: getattr(one, "lineno", 0)):
        if not isinstance(node, (ast.Assign, ast.If)) or node.lineno <= statement.lineno:
            continue
        if isinstance(node, ast.Assign):
            targets = {file.source(target) for target in node.targets}
            names = names | targets if _asks(file, node.value, names) else names - targets
        elif _asks(file, node.test, names) and not re.search(r"rank|main|None|is_", file.source(node.test)):
            leaves = any(isinstance(one, _LEAVING) for one in ast.walk(node))
            if leaves and _common(file, function, node):
                return node
    return None


def _asks(file: PythonFile, node: ast.expr, names: set[str]) -> bool:
    return any(isinstance(one, (ast.Name, ast.Attribute)) and file.source(one) in names for one in ast.walk(node))


def _common(file: PythonFile, function: Function, branch: ast.If) -> bool:
    """Whether a collective stands after a branch, or in a loop around it."""
    around = [one for one in file.around(branch) if isinstance(one, (ast.For, ast.While))]
    loops = [one for one in around if one.lineno > function.lineno]
    after = [one for one in function.body if one.lineno > (branch.end_lineno or branch.lineno)]
    return any(_COLLECTIVE.search(file.source(one)) for one in (*loops, *after))


def _injected(file: PythonFile, call: ast.Call) -> Injection:
    assert isinstance(call.func, ast.Attribute)
    given = [file.source(one) for one in call.args]
    given[1:1] = ["0"] if given else []
    given += [file.source(one) for one in call.keywords] + ([] if call.args else ["dst=0"])
    code = f"{file.source(call.func.value)}.reduce({', '.join(given)})"
    return in_place(file, replaced(file.text, call, code), call)
