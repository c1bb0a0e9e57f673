"""What the proofs share: the pair of ranks of a run, and the examples of the rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

from shardlint.example import Example
from shardlint.loading import make
from shardlint.registry import load_rows
from shardlint.rule import Rule

from .ranks import Ranks

FOLDER = Path(__file__).parent


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The pair is one for the run; where torch is installed, a run of all tests takes one proof of each module."""
    here = [item for item in items if FOLDER in item.path.parents]
    for item in here:
        if "ranks" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("ranks"))
    if asked(config) or find_spec("torch") is None:
        return
    proofs = [item for item in here if item.get_closest_marker("proves") is not None]
    first = {item.path: item for item in reversed(proofs)}
    left_out = {item for item in proofs if item is not first[item.path]}
    config.hook.pytest_deselected(items=list(left_out))
    items[:] = [item for item in items if item not in left_out]


def asked(config: pytest.Config) -> bool:
    """Whether the run names the proofs, by their folder, a file of it or their mark."""
    paths = [Path(argument.partition("::")[0]).absolute() for argument in config.args]
    return bool(config.getoption("markexpr")) or any(FOLDER in (path, *path.parents) for path in paths)


@cache
def rules() -> Mapping[str, Rule]:
    """The built-in rules by name."""
    return {row["name"]: make(row) for row in load_rows()[0] if row["pack"] == "builtin"}


def bad(name: str, number: int = 0) -> Example:
    """A bad example of a rule."""
    return rules()[name].bad[number]


def good(name: str, number: int = 0) -> Example:
    """A good example of a rule."""
    return rules()[name].good[number]


@pytest.fixture(scope="session")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ranks]:
    """The pair of this run."""
    if find_spec("torch") is None:
        pytest.skip("the proof runs torch, which is not installed")
    pair = Ranks(tmp_path_factory.mktemp("ranks"))
    yield pair
    pair.end()
