"""The root of a collective in a group, given as a rank within the group."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import partial

from .package import Package
from .python_file import PythonFile, argument
from .rewrite import replaced
from .site import Injection, Site, in_place

_ROOTED = {
    "broadcast": ("src", 1, 2),
    "broadcast_object_list": ("src", 1, 2),
    "reduce": ("dst", 1, 3),
    "gather": ("dst", 2, 3),
    "gather_object": ("dst", 2, 3),
    "scatter": ("src", 2, 3),
    "scatter_object_list": ("src", 2, 3),
}
_GLOBAL_RANK = re.compile(r"get_global_rank|global_rank|src_rank|(tp|dp|mp|pp|cp|ep)_src|last_rank")
_WHOLE_JOB = re.compile(r"None|WORLD|world|gloo|cpu")


class SubgroupRoot:
    """Writes `src=0` where a global rank of the group's own stands.

    A site is a rooted collective of torch.distributed with a group whose name does not say that it is the whole job,
    and a root that the code computes as a global rank (`get_global_rank`, `*_src_rank`). The authors had groups without
    rank 0 in mind; with `src=0` these fail.
    """

    rule = "subgroup-src-local-rank"
    versioned = False
    beside: tuple[str, ...] = ()

    def sites(self, package: Package) -> Iterator[Site]:
        for file in package.python(_GLOBAL_RANK.pattern, rf"\b({'|'.join(_ROOTED)})\(", "distributed"):
            for call in file.calls():
                owner, _, name = file.dotted(call.func).rpartition(".")
                if name not in _ROOTED or owner != "torch.distributed":
                    continue
                keyword, position, place = _ROOTED[name]
                root, group = argument(call, keyword, position), argument(call, "group", place)
                if root is None or group is None or isinstance(root, ast.Constant):
                    continue
                if _GLOBAL_RANK.search(file.source(root)) and not _WHOLE_JOB.search(file.source(group)):
                    what = f"`{keyword}={file.source(root)}` of `{name}` is `{keyword}=0`"
                    inject = partial(_injected, file, root, call)
                    yield Site(
                        package.name, file.path, call.lineno, what, file.copy(file.function(call) or call), inject
                    )


def _injected(file: PythonFile, root: ast.expr, call: ast.Call) -> Injection:
    return in_place(file, replaced(file.text, root, "0"), call)
