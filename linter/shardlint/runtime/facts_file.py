"""Facts on disk: exported where the model can be built, checked elsewhere.

The form is that of `model_facts.schema.json`, with the plan that was read in the same run, so that the other side needs
neither torch nor the project's packages.
"""

from __future__ import annotations

import json
import os
from typing import Any

from shardlint.atomic import replace_file
from shardlint.errors import PlanError
from shardlint.runtime.collected import Collected, ReadPlan
from shardlint.runtime.model_facts import ModelFacts

_MOST_BYTES = 1 << 28


def write_facts(collected: Collected, path: str) -> None:
    """Write facts and plan as JSON, whole or not at all. Raises PlanError where the file cannot be written."""
    data = collected.facts.to_json()
    if collected.plan is not None:
        data["plan"] = collected.plan.to_json()
    try:
        replace_file(path, json.dumps(data, indent=1).encode() + b"\n")
    except OSError as error:
        raise PlanError(f"model facts cannot be written to `{path}`: {error.strerror or error}") from None


def read_facts(path: str) -> Collected:
    """What `write_facts` wrote, or facts alone. Raises PlanError, with the place, for a file that holds none."""
    try:
        if not os.path.isfile(path):
            raise PlanError(f"{path} is no file: name one with the facts of a model, as JSON")
        if os.path.getsize(path) > _MOST_BYTES:
            raise PlanError(f"{path} is larger than the facts of any model")
        with open(path, encoding="utf-8") as file:
            data: Any = json.load(file)
    except OSError as error:
        raise PlanError(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise PlanError(f"{path} is broken JSON: {error}") from None
    try:
        facts = ModelFacts.from_json(data)
    except PlanError as error:
        raise PlanError(f"{path}: {error}") from None
    plan = ReadPlan.from_json(data["plan"]) if "plan" in data else None
    return Collected(facts, plan)
