"""Settings, baselines and caches: what the linter reads about itself, by its schema and broken."""

from __future__ import annotations

import json
import marshal
from collections.abc import Mapping
from random import Random
from typing import Any

from fuzzing.mutations import mutated
from fuzzing.schemas import Sampler
from shardlint.cache import MAGIC, digest
from shardlint.settings import schema

_NAMES = ("rank-guarded-collective", "config", "ALL", "engine", "yaml-float-is-string", "no-such-rule", "")
_PATTERNS = (
    "*.py",
    "a/**",
    "!b.py",
    "[a-",
    "**/[!x]",
    "\\",
    "(a*)*" * 20,
    "**/" * 40,
    "a b",
    "/",
    "",
    "é*",
    "{a,b}",
    "?" * 50,
)
_TEXTS = (
    "error",
    "note",
    "off",
    "baseline.json",
    "../x",
    "/etc/passwd",
    "a.b:C",
    "torch.x",
    "text image",
    "",
    ".venv",
    "\x1b[31m",
)


def settings(chance: Random) -> dict[str, bytes]:
    """A settings file: made by its schema, with some values of another type, and at times with broken bytes."""
    table = Sampler(schema(), chance, (*_NAMES, *_PATTERNS, *_TEXTS)).value()
    own = chance.random() < 0.5
    text = _toml(table, () if own else ("tool", "shardlint"))
    data = text.encode("utf-8", "surrogatepass")
    if chance.random() < 0.3:
        data = mutated(data, chance, 2)
    path = "shardlint.toml" if own else "pyproject.toml"
    if chance.random() < 0.05:
        return {"pyproject.toml": data + b"\n[tool.shardlint]\n", "shardlint.toml": data}
    return {path: data}


def _toml(table: Mapping[str, Any], path: tuple[str, ...]) -> str:
    """The table as TOML, its tables inline: that is one way to write any of them."""
    head = f"[{'.'.join(path)}]\n" if path else ""
    return head + "".join(f"{json.dumps(key)} = {_inline(value)}\n" for key, value in table.items())


def _inline(value: Any) -> str:
    if isinstance(value, (bool, str)):
        return json.dumps(value)
    if hasattr(value, "items"):
        return "{" + ", ".join(f"{json.dumps(str(key))} = {_inline(one)}" for key, one in value.items()) + "}"
    if hasattr(value, "append"):
        return "[" + ", ".join(map(_inline, value)) + "]"
    return str(value)


def baseline(chance: Random) -> bytes:
    """A baseline file, healthy or not."""
    entry: Any = {"path": "a.py", "rule": "rank-guarded-collective", "fingerprint": "ab" * 10, "message": "m"}
    odd = chance.choice((None, 1, [], {}, "", "\ud800", [entry] * 3, {"path": 1}, float("nan")))
    data: Any = {"version": 1, "findings": [entry] * chance.randrange(4)}
    where = chance.randrange(6)
    if where == 0:
        data = odd
    elif where == 1:
        data["version"] = odd
    elif where == 2:
        data["findings"] = odd
    elif where == 3:
        data["findings"] = [entry, odd]
    elif where == 4:
        data["findings"] = [{**entry, chance.choice(sorted(entry)): odd}]
    text = json.dumps(data).encode()
    return mutated(text, chance, 2) if chance.random() < 0.4 else text


def cached(data: bytes, chance: Random) -> bytes:
    """A cache file that was cut or flipped, or holds another table under a digest that is right."""
    if chance.random() < 0.6:
        return mutated(data, chance, 2)
    tables: Any = (
        [],
        {},
        None,
        {"key": 1},
        {"stamps": 1},
        {"session": {}},
        {"key": "", "records": {}},
        {"stamps": []},
        1,
    )
    body = marshal.dumps(chance.choice(tables))
    return MAGIC + digest(body) + body
