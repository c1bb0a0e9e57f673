"""More cases of unsafe-checkpoint-load."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shardlint.example import Example
from shardlint.finding import Finding

RULE = "unsafe-checkpoint-load"
NET = """
from torch import load as read
from torch import nn

class Net(nn.Module):
    pass

def restore(path):
    net = Net()
    net.load_state_dict(read(path, weights_only={}))  # error
    return net
"""
FLAG = """
import torch

def args(path):
    unsafe = False
    return torch.load(path, weights_only=unsafe)["args"]  # error
"""
PLAIN = """
import torch

def restore(path, size):
    net = torch.nn.Linear(size, size)
    net.load_state_dict(torch.load(path, weights_only=False))  # error
"""
EXTRA = PLAIN + "    # holds the extra_state of transformer_engine\n"
OWN = {
    "saved-here": (
        "example.py",
        """
        import torch

        def both(path, state):
            torch.save(state, path)
            return torch.load(path, weights_only=False)  # error
        """,
    ),
    "in-memory": (
        "example.py",
        """
        import io
        import torch

        def copy(data):
            buffer = io.BytesIO(data)
            return torch.load(buffer, weights_only=False)  # error
        """,
    ),
    "in-tests": ("tests/run.py", "import torch\n\nstate = torch.load('a.pt', weights_only=False)  # error"),
}


@pytest.mark.parametrize(
    "example",
    [
        Example(NET.format(False), fixed=NET.format(True)),
        Example(FLAG, fixed=FLAG),
        Example(PLAIN, fixed=PLAIN.replace("False", "True")),
        Example(EXTRA, fixed=EXTRA),
    ],
    ids=["own-class-of-torch-modules", "flag-that-is-no-literal", "module-of-torch", "state-with-objects"],
)
def test_only_a_plain_state_dict_is_fixed(problems: Callable[[str, Example], list[str]], example: Example) -> None:
    assert problems(RULE, example) == []


@pytest.mark.parametrize(("path", "source"), OWN.values(), ids=OWN.keys())
def test_a_file_of_ones_own_is_below_the_default_threshold(
    findings: Callable[[str, Example], list[Finding]], path: str, source: str
) -> None:
    (found,) = findings(RULE, Example(source, path=path))
    assert found.confidence < 0.5


def test_a_file_from_elsewhere_is_above_the_default_threshold(
    findings: Callable[[str, Example], list[Finding]],
) -> None:
    (found,) = findings(RULE, Example(FLAG))
    assert found.confidence >= 0.5


def test_the_message_names_the_version_that_is_too_old(findings: Callable[[str, Example], list[Finding]]) -> None:
    example = Example("import torch\n\nstate = torch.load('a.pt')", versions={"torch": "2.5.1"})
    (found,) = findings(RULE, example)
    assert "without `weights_only`, under torch 2.5.1 (uv.lock), runs" in found.message
