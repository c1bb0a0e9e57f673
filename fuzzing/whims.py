"""Programs of hypothesmith, which knows the grammar of Python and nothing of our domain."""

# pyright takes the members of this enumeration for its class.
# pyright: reportArgumentType=false
from __future__ import annotations

import warnings

import hypothesis
import hypothesmith
import libcst

_NODES = (libcst.Call, libcst.FunctionDef)
"""Classes and compound statements take it seconds each; our own grammar writes those."""

_EACH = 40
_SHORTEST = 9
"""Characters: most of its programs are a letter or `pass`."""


def whims() -> tuple[str, ...]:
    """Some dozens of programs, the same each time."""
    made: list[str] = []
    for node in _NODES:

        @hypothesis.seed(0)
        @hypothesis.settings(
            max_examples=_EACH,
            database=None,
            deadline=None,
            phases=(hypothesis.Phase.generate,),
            suppress_health_check=list(hypothesis.HealthCheck),
        )
        @hypothesis.given(hypothesmith.from_node(node))
        def collect(text: str) -> None:
            made.append(text)

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            collect()
    return tuple(dict.fromkeys(text for text in made if len(text) >= _SHORTEST))
