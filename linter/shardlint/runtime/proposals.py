"""What `shardlint plan` says to someone who has no target yet: a table to paste for the models that it finds."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from typing import Any

from shardlint.changes.git import Git, read_file
from shardlint.facts.path_roles import in_tests
from shardlint.facts.program import package_name

_FACTORY = re.compile(rb"^def ((?:build|create|make|get|init)_(?:\w+_)?model|model_factory)\(([^)]*)\)", re.MULTILINE)
_PLAN = re.compile(rb"^(\w*(?:PLAN|_plan))\b[^=\n]*= *\{", re.MULTILINE)
_MOST = 5
"""Targets that are proposed."""

_HEAD = """\
There is no target in the settings. Each is a model, its plan and a mesh; `shardlint plan` builds the model without any
weights, by running your code in a process of its own, and judges the plan against it."""


def proposals(root: str) -> str:
    """The text: settings to paste, and the command for a single model.

    Args:
        root: the project's folder.
    """
    found = list(_tables(root))
    lines = [_HEAD, ""]
    if found:
        lines += [
            "Found in this project; paste into the settings and adjust:",
            "",
            *"\n".join(found[:_MOST]).split("\n"),
        ]
    else:
        lines += ["Without settings: shardlint plan package.module:factory --plan package.module:PLAN --mesh tp=4"]
    return "\n".join(lines) + "\n"


def _tables(root: str) -> Iterator[str]:
    git = Git.at(root)
    paths = git.tracked_and_untracked() if git is not None else sorted(_walk(root))
    known = frozenset(path for path in paths if path.endswith(".py"))
    plans: list[str] = []
    factories: list[str] = []
    configs: list[str] = []
    for path in paths:
        if in_tests(path):
            continue
        if path.endswith("config.json") and _is_model(read_file(os.path.join(root, path))):
            configs.append(path)
        elif path.endswith(".py"):
            data = read_file(os.path.join(root, path)) or b""
            module = package_name(path, known)
            factories += [f"{module}:{name.decode()}" for name, given in _FACTORY.findall(data) if not _needs(given)]
            plans += [f"{module}:{name.decode()}" for name in _PLAN.findall(data)]
    for factory in factories:
        yield _table(factory.rpartition(":")[2], f'"{factory}"', plans[0] if plans else "")
    for config in configs:
        yield _table(
            config.rpartition("/")[0] or "model", f'{{hf-config = "{config}"}}', plans[0] if plans else "hf-tp"
        )


def _table(name: str, model: str, plan: str) -> str:
    lines = ["[[tool.shardlint.plan]]", f'name = "{name}"', f"model = {model}"]
    return "\n".join([*lines, *([f'plan = "{plan}"'] if plan else []), "mesh = {tp = 4}", ""])


def _needs(parameters: bytes) -> bool:
    """Whether a function must be given an argument."""
    given = [part.strip() for part in parameters.decode("utf-8", "replace").split(",")]
    return any(part and "=" not in part and not part.startswith("*") for part in given)


def _is_model(data: bytes | None) -> bool:
    try:
        read: Any = json.loads(data or b"")
    except (ValueError, RecursionError):
        return False
    kind: Any = read.get("model_type") if hasattr(read, "get") else None
    return isinstance(kind, str)


def _walk(root: str) -> Iterator[str]:
    for folder, inner, files in os.walk(root):
        inner[:] = [name for name in inner if not name.startswith(".") and name not in ("node_modules", "__pycache__")]
        for name in files:
            yield os.path.relpath(os.path.join(folder, name), root).replace(os.sep, "/")
