"""Facts that were collected before, for as long as nothing that they came from has changed.

They came from the request, the project's own files that the child loaded or read (modules and configs, by content), the
installed packages (the names of their metadata folders, which carry versions) and the interpreter. What the user's code
learns elsewhere, from other environment variables or files outside of the project, is not known here: `--no-cache` is
for that.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping

from shardlint import cache
from shardlint.errors import PlanError
from shardlint.runtime.collected import Collected, ReadPlan
from shardlint.runtime.driver import Request, collect
from shardlint.runtime.model_facts import ModelFacts

_KIND = "plan"
_SEARCHED = ("PYTHONPATH", "PYTHONHOME")
_METADATA = (".dist-info", ".egg-info", ".egg-link", ".pth")


def collect_cached(
    request: Request,
    *,
    python: str,
    timeout: float = 120.0,
    memory_gib: float | None = 16.0,
    environ: Mapping[str, str],
) -> tuple[Collected, bool]:
    """As `collect`, or from the cache; and whether it was."""
    path = _path(request, python, environ)
    known = _load(path)
    if known is not None:
        return known, True
    collected = collect(request, python=python, timeout=timeout, memory_gib=memory_gib, environ=environ)
    _save(path, collected, request)
    return collected, False


def known_files(request: Request, *, python: str, environ: Mapping[str, str]) -> frozenset[str] | None:
    """The project's own files from which the kept facts of a request came, absolute; None where none are kept."""
    table = cache.load(_path(request, python, environ))
    return None if table is None else frozenset(table.get("files", ()))


def _path(request: Request, python: str, environ: Mapping[str, str]) -> str:
    searched = {name: environ.get(name) for name in _SEARCHED}
    key = json.dumps([request.to_json(), _interpreter(python), searched], sort_keys=True)
    return cache.path(environ, _KIND, key)


def _interpreter(python: str) -> list[object]:
    """What tells an interpreter from the next one at the same path."""
    real = os.path.realpath(python)
    try:
        status = os.stat(real)
    except OSError:
        return [python, real]
    return [python, real, status.st_size, status.st_mtime_ns]


def _save(path: str, collected: Collected, request: Request) -> None:
    sources = {*collected.files, *_configs(request)}
    cache.save(
        path,
        {
            "files": {file: _digest(file) for file in sources},
            "sites": {site: _installed(site) for site in collected.sites},
            "facts": json.dumps(collected.facts.to_json()),
            "plan": None if collected.plan is None else json.dumps(collected.plan.to_json()),
            "warnings": list(collected.warnings),
            "mode": collected.mode,
        },
    )


def _load(path: str) -> Collected | None:
    table = cache.load(path)
    if table is None:
        return None
    try:
        if any(_digest(file) != digest for file, digest in table["files"].items()):
            return None
        if any(_installed(site) != names for site, names in table["sites"].items()):
            return None
        facts = ModelFacts.from_json(json.loads(table["facts"]), trusted=True)
        plan = None if table["plan"] is None else ReadPlan.from_json(json.loads(table["plan"]))
        return Collected(
            facts,
            plan,
            tuple(table["warnings"]),
            table["mode"],
            files=tuple(sorted(table["files"])),
            sites=tuple(sorted(table["sites"])),
        )
    except (KeyError, TypeError, ValueError, AttributeError, PlanError):
        return None  # of another version


def _configs(request: Request) -> Iterable[str]:
    """The files that a request names, relative to its root."""
    for kind in ("hf", "veomni"):
        given = request.model.get(kind)
        if isinstance(given, str):
            path = os.path.join(request.root, given)
            yield os.path.join(path, "config.json") if os.path.isdir(path) else path


def _digest(file: str) -> bytes | None:
    try:
        with open(file, "rb") as opened:
            return cache.digest(opened.read())
    except OSError:
        return None


def _installed(site: str) -> bytes | None:
    try:
        names = sorted(name for name in os.listdir(site) if name.endswith(_METADATA))
    except OSError:
        return None
    return cache.digest("\0".join(names).encode("utf-8", "surrogateescape"))
