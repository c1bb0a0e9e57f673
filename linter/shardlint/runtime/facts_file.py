"""Facts of a model that were exported as JSON."""

from __future__ import annotations

import json
import os

from shardlint.errors import PlanError
from shardlint.runtime.model_facts import ModelFacts

_MOST_BYTES = 1 << 28


def read_facts(path: str) -> ModelFacts:
    """The facts in a file. Raises PlanError, with the name of the file, for one that holds none."""
    try:
        if not os.path.isfile(path):
            raise PlanError(f"{path} is no file: name one with the facts of a model, as JSON")
        if os.path.getsize(path) > _MOST_BYTES:
            raise PlanError(f"{path} is larger than the facts of any model")
        with open(path, encoding="utf-8") as file:
            return ModelFacts.from_json(json.load(file))
    except OSError as error:
        raise PlanError(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise PlanError(f"{path} is broken JSON: {error}") from None
    except PlanError as error:
        raise PlanError(str(error) if path in str(error) else f"{path}: {error}") from None
