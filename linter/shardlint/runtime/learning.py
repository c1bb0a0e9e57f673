"""What a target's model is, learnt by the child or kept from before, and with which interpreter."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping

from shardlint.runtime.collected import Collected
from shardlint.runtime.driver import Request, collect
from shardlint.runtime.facts_cache import collect_cached, known_files
from shardlint.runtime.target import Target

TIMEOUT = 120.0
"""Seconds for one target, all stages together."""


def interpreter(target: Target, root: str, environ: Mapping[str, str]) -> str:
    """The interpreter of the training environment: of the target, of the active environment, or the one that runs."""
    if target.python is not None:
        inside = os.path.join(root, target.python)
        return inside if os.path.exists(inside) else target.python
    active = environ.get("VIRTUAL_ENV") or environ.get("CONDA_PREFIX")
    beside = os.path.join(active, "bin", "python") if active else ""
    return beside if beside and os.path.exists(beside) else sys.executable


def learn(
    target: Target, root: str, environ: Mapping[str, str], *, timeout: float = TIMEOUT, use_cache: bool = True
) -> Collected:
    """Build the model of a target in a child, which runs the user's code, unless nothing has changed since the last.

    Raises PlanFailed, with a sentence.
    """
    python, request = interpreter(target, root, environ), _request(target, root)
    if use_cache:
        return collect_cached(request, python=python, timeout=timeout, environ=environ)[0]
    return collect(request, python=python, timeout=timeout, environ=environ)


def touched(target: Target, paths: Iterable[str], root: str, environ: Mapping[str, str]) -> bool:
    """Whether one of some changed files is part of a target, as far as the last run knows; True where none was."""
    known = known_files(_request(target, root), python=interpreter(target, root, environ), environ=environ)
    return known is None or any(os.path.realpath(path) in {os.path.realpath(one) for one in known} for path in paths)


def _request(target: Target, root: str) -> Request:
    return Request(root, target.model, target.plan or {"kind": "wrap"})
