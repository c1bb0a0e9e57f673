"""Returns that a rank takes because of its own files or clock, before calls that every rank must make."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .collectives import RankGuard, rank_guards
from .package import Package
from .python_file import PythonFile, argument
from .rewrite import put_before
from .site import Injection, Place, Site

_EXITS = {
    "per-rank-filesystem-branch": 'import os\nif not os.path.exists("latest"):\n    return\n',
    "metric-gated-collective": "import time\nif time.monotonic() > 3600.0:\n    return\n",
}


class LocalExit(RankGuard):
    """Puts a `return` under a question that each rank asks for itself before a collective of all ranks.

    Sites are those of the rank guards on collectives without a group, outside of tests, which run on one machine.
    """

    beside: tuple[str, ...] = ("metric-gated-collective", "per-rank-filesystem-branch", "rank-guarded-collective")

    def __init__(self, rule: str, guards: RankGuard) -> None:
        super().__init__(rule, guards.pattern, guards.wanted)

    def sites(self, package: Package) -> Iterator[Site]:
        for site in super().sites(package):
            parts = site.path.split("/")
            if not any(part.startswith("test") for part in parts):
                yield site

    def site(self, package: Package, file: PythonFile, call: ast.Call) -> Iterator[Site]:
        function, statement = file.function(call), file.statement(call)
        if function is None or argument(call, "group", 2) is not None:
            return
        code = _EXITS[self.rule]
        length = (statement.end_lineno or statement.lineno) - statement.lineno + 1

        def inject() -> Injection:
            text = put_before(file.text, statement, code)
            return Injection({file.path: text}, (Place(file.path, statement.lineno, statement.lineno + length + 3),))

        what = f"`{file.source(call.func)}` after a return under `{code.splitlines()[1]}`"
        yield Site(package.name, file.path, statement.lineno, what, file.copy(function), inject)


def local_exits() -> list[LocalExit]:
    """One mutator a rule of `_EXITS`."""
    collectives = next(guards for guards in rank_guards() if guards.rule == "rank-guarded-collective")
    return [LocalExit(rule, collectives) for rule in sorted(_EXITS)]
