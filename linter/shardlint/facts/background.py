"""Work in the background that outlives the function that starts it: what of it the callers of that function see."""

from __future__ import annotations

import ast

from shardlint.facts.callers import calls_around
from shardlint.facts.handles import Handle, handle
from shardlint.facts.site import Site


def under_way(start: Site) -> list[Handle]:
    """The handle of work in the background, where it is started and where that function is called.

    The callers, in all files of the project, are told of where the function is one of a module and nothing in it can
    wait: it drops the handle, or returns it. Those before a call that cannot be told are given.
    """
    mine = handle(start)
    if not (mine.dropped or _is_returned(start)):
        return [mine]
    return [mine, *map(handle, calls_around(start))]


def _is_returned(start: Site) -> bool:
    """Whether a function hands the handle to its caller, and reads it nowhere else."""
    if isinstance(start.statement, ast.Return):
        return start.statement.value is start.call
    reads = [read for target in start.targets if isinstance(target.ast, ast.Name) for read in target.reads]
    return bool(reads) and all(isinstance(start.module.parent(read.ast), ast.Return) for read in reads)


__all__ = ["under_way"]
