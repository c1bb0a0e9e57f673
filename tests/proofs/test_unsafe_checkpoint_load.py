"""Proof of unsafe-checkpoint-load: a checkpoint that makes a file when it is unpickled, and the rule's own examples."""

from __future__ import annotations

import pytest

from .conftest import bad, good
from .ranks import Ranks

pytestmark = pytest.mark.proves("unsafe-checkpoint-load")

TRAP = """
import os

mark, path = os.path.join(folder, f"ran-{rank}"), os.path.join(folder, f"a-{rank}.pt")

class Trap:
    def __reduce__(self):
        return open, (mark, "w")

torch.save({"args": Trap()}, path)
"""


def test_the_code_in_a_checkpoint_runs_without_weights_only(ranks: Ranks) -> None:
    driver = "settings(path).close(); os.path.exists(mark)"
    assert ranks.values(TRAP, driver, bad("unsafe-checkpoint-load")) == [True, True]


def test_the_default_refuses_such_a_checkpoint_and_runs_nothing(ranks: Ranks) -> None:
    driver = """
    try:
        said = load(path, True)
    except Exception as error:
        said = str(error)
    [said.startswith("Weights only load failed"), os.path.exists(mark)]
    """
    assert ranks.values(TRAP, driver, good("unsafe-checkpoint-load", 1)) == [[True, False]] * 2


def test_what_the_fix_writes_still_loads_the_state_of_a_module(ranks: Ranks) -> None:
    fixed = bad("unsafe-checkpoint-load").fixed or ""
    driver = """
    saved = torch.nn.Linear(2, 2)
    torch.save(saved.state_dict(), path)
    torch.equal(restore(path, 2).weight, saved.weight)
    """
    assert ranks.values(TRAP, driver, {"example.py": fixed}) == [True, True]
