"""The tables of collectives against the installed torch: no name is gone, no argument moved, no function left out."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from typing import Any

import pytest

import shardlint_rules
from shardlint.facts.effects import Effects
from shardlint.rule import table

pytest.importorskip("torch", reason="the tables are compared with torch")

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
"""torch says that some of its names are old when they are looked at."""

PACK = shardlint_rules.__name__
TABLES = [Effects.catalogue(table(name, of=PACK)) for name in ("collectives", "checkpoints", "process_groups")]
ENTRIES = {name: entry for effects in TABLES for name, entry in effects.table.items() if name.startswith("torch.")}
LOCAL = {name for effects in TABLES for name in effects.local if name.startswith("torch.")}
MADE = {f"torch.distributed.{path}.fully_shard": "FSDPModule" for path in ("fsdp", "_composable.fsdp")}
"""Functions that give their argument another class, by which its methods are known."""

MODULES = (
    "torch.distributed",
    "torch.distributed.distributed_c10d",
    "torch.distributed.collective_utils",
    "torch.distributed.device_mesh",
    "torch.distributed.nn.functional",
    "torch.distributed._functional_collectives",
    "torch.distributed.tensor",
    "torch.distributed.tensor.parallel",
    "torch.distributed.fsdp",
    "torch.distributed.checkpoint",
    "torch.distributed.checkpoint.state_dict",
)
"""Modules of which every public function is in a table, as one or as the other."""


CLASSES = (
    "torch.distributed.fsdp.FSDPModule",
    "torch.distributed.fsdp.FullyShardedDataParallel",
    "torch.distributed.tensor.DTensor",
    "torch.distributed.device_mesh.DeviceMesh",
    "torch.nn.parallel.DistributedDataParallel",
)
"""Classes of which every public method is in a table. One that begins with `set_` or `get_` does what it says."""


def found(name: str) -> Any:
    """What a dotted name means in the installed torch.

    Raises:
        AttributeError, ModuleNotFoundError: it is gone.
    """
    owner, _, method = name.rpartition(".")
    if owner in MADE:
        return getattr(getattr(importlib.import_module("torch.distributed.fsdp"), MADE[owner]), method)
    at: Any = importlib.import_module("torch")
    done = "torch"
    for part in name.split(".")[1:]:
        done = f"{done}.{part}"
        if not hasattr(at, part):
            importlib.import_module(done)
        at = getattr(at, part)
    return at


def parameters(name: str) -> list[str]:
    """The parameters of a function, class or method, as a caller counts them."""
    what = found(name)
    names = list(inspect.signature(what).parameters)
    owner = name.rpartition(".")[0]
    of_a_class = owner in MADE or (owner.rpartition(".")[2][:1].isupper())
    return names[1:] if of_a_class and names[:1] == ["self"] else names


def public(module: str) -> Iterator[str]:
    """The names of the functions that a module offers: what is not private, and no hook of autograd."""
    where = importlib.import_module(module)
    for name in sorted(set(dir(where)) | set(getattr(where, "__all__", ()))):
        value = getattr(where, name)
        home = str(getattr(value, "__module__", ""))
        hook = (
            name.startswith("_") or name.endswith(("_backward", "_setup_context")) or home.startswith("torch._library")
        )
        own = home == module or home.startswith(f"{module}.") or name in getattr(where, "__all__", ())
        if inspect.isroutine(value) and home.startswith(("torch.distributed", "torch._C")) and own and not hook:
            yield name


@pytest.mark.parametrize("name", sorted({*ENTRIES, *LOCAL}))
def test_name_of_a_table_is_one_of_torch(name: str) -> None:
    assert callable(found(name)), f"{name} is gone: give its entry `until`, or take it out"


@pytest.mark.parametrize("name", sorted(name for name in ENTRIES if {"group", "unless", "when"} & set(ENTRIES[name])))
def test_arguments_of_an_entry_are_those_of_torch(name: str) -> None:
    entry: dict[str, Any] = dict(ENTRIES[name])
    known = parameters(name)
    given: Any = entry.get("group", [])
    places: list[Any] = [given] if isinstance(given, (int, str)) else list(given)
    keywords = {"group", "process_group", *(place for place in places if isinstance(place, str))}
    assert "group" not in entry or keywords & set(known), f"{name} takes no group"
    for place in places:
        assert place in known if isinstance(place, str) else known[place] in keywords
    for kind in ("unless", "when"):
        deciding: dict[str, object] = entry.get(kind, {})
        for place in deciding:
            assert known[int(place)] in deciding if place.isdigit() else place in known, f"{name}: {kind} {place}"


@pytest.mark.parametrize("module", MODULES)
def test_every_public_function_is_known_to_be_a_collective_or_none(module: str) -> None:
    functions = [f"{module}.{name}" for name in public(module)]
    missing = [name for name in functions if name not in ENTRIES and name not in LOCAL]
    assert functions
    assert missing == [], "put each into `calls`, `depends` or `local` of its section"


@pytest.mark.parametrize("whole", CLASSES)
def test_every_public_method_is_known_to_be_a_collective_or_none(whole: str) -> None:
    owner: type = found(whole)
    methods = [name for name in vars(owner) if not name.startswith(("_", "set_", "get_"))]
    methods = [name for name in methods if callable(getattr(owner, name))]
    known = {*LOCAL, *(name for effects in TABLES for name in (*effects.table, *effects.local))}
    missing = [name for name in methods if not {f"{whole}.{name}", f"*.{name}"} & known]
    assert methods
    assert missing == [], "put each into `calls`, `depends` or `local` of its section"


@pytest.mark.parametrize("name", ["collectives", "checkpoints", "process_groups"])
def test_every_section_says_where_it_is_from_and_which_version_was_read(name: str) -> None:
    for title, section in table(name, of=PACK).items():
        assert str(section["reference"]).startswith("https://"), title
        assert section["checked"], title
        assert section["in"], title
        assert set(section) <= {"reference", "checked", "in", "calls", "depends", "local"}, title
