"""Values by a JSON Schema, so that a new setting or field is fuzzed from the day it lands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

_NUMBERS = (0, 1, 2, 8, 0.5, 1e300, -3, 2**63)
_WRONG: tuple[Any, ...] = (0, -1, 1.5, float("nan"), True, "", "x", [], {}, [[]], {"a": 1}, 10**30, None)
_DEEPEST = 8


class Sampler:
    """Samples the values that a schema allows, and now and then one that it does not.

    Args:
        schema: the parts of JSON Schema that this project's own schemas use.
        texts: what is written where a text may stand.
        odd: how often a value, or a key, is not what the schema says.
    """

    def __init__(self, schema: Any, chance: Random, texts: Sequence[str], odd: float = 0.03) -> None:
        self.schema = schema
        self.chance = chance
        self.texts = texts
        self.odd = odd

    def value(self) -> Any:
        """A value for the whole schema."""
        return self._value(self.schema, 0)

    def _value(self, part: Any, depth: int) -> Any:
        chance = self.chance
        if depth and (chance.random() < self.odd or depth > _DEEPEST):
            return chance.choice(_WRONG)
        if "$ref" in part:
            return self._value(self.schema["$defs"][part["$ref"].rpartition("/")[2]], depth)
        if "anyOf" in part:
            return self._value(chance.choice(part["anyOf"]), depth)
        for fixed in ("const", "default"):
            if fixed in part and chance.random() < 0.5:
                return part[fixed]
        if "const" in part:
            return part["const"]
        if "enum" in part:
            return chance.choice(part["enum"])
        forms: Any = part.get("type", "string")
        form: str = forms if isinstance(forms, str) else chance.choice(forms)
        if form == "object":
            return self._table(part, depth)
        if form == "array":
            return [self._value(part["items"], depth + 1) for _ in range(chance.choice((0, 1, 1, 2, 4)))]
        if form == "null":
            return None
        if form == "boolean":
            return chance.random() < 0.5
        return chance.choice(_NUMBERS if form in ("integer", "number") else self.texts)

    def _table(self, part: Any, depth: int) -> dict[str, Any]:
        chance = self.chance
        known: Mapping[str, Any] = part.get("properties", {})
        keys = chance.sample(sorted(known), min(len(known), chance.choice((1, 2, 3, 5))))
        keys += [key for key in part.get("required", ()) if key not in keys and chance.random() > self.odd]
        table = {key: self._value(known[key], depth + 1) for key in keys}
        more = part.get("additionalProperties")
        if isinstance(more, dict):
            table |= {key: self._value(more, depth + 1) for key in chance.sample(self.texts, chance.randrange(3))}
        if chance.random() < self.odd:
            table[chance.choice(("selct", "é", "", "a.b"))] = 1
        return table
