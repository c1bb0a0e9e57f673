"""Where the order of a listing goes."""

from __future__ import annotations

import ast

import pytest

from shardlint.facts.file_order import LISTING, in_file_order
from shardlint.facts.matching import matches
from shardlint.facts.module import Module
from shardlint.facts.site import Site

from .test_site import VOICE


def places(body: str) -> list[str]:
    """The expressions that have the order of the first listing in a function."""
    text = "import os\ndef f(folder):\n" + "".join(f"    {line}\n" for line in body.split("\n"))
    module = Module("pkg/x.py", text, ast.parse(text))
    return [place.text for place in in_file_order(Site(module, next(iter(matches(module, LISTING))), VOICE))]


@pytest.mark.parametrize(
    ("body", "last"),
    [
        ("g(os.listdir(folder))", "os.listdir(folder)"),
        ("a = list(os.listdir(folder))\ng(a)", "a"),
        ("a = [n for n in os.listdir(folder) if n]\ng([*a, 1])", "[*a, 1]"),
        ("a = []\nfor n in os.listdir(folder):\n    a.append(n)\ng(files=a)", "a"),
        ("a = []\na.extend(os.listdir(folder))\nb = a + folder\ng(b)", "b"),
    ],
)
def test_the_order_is_followed(body: str, last: str) -> None:
    assert places(body)[-1] == last


@pytest.mark.parametrize(
    "body",
    [
        "g(sorted(os.listdir(folder)))",
        "a = os.listdir(folder)\na.sort()\ng(a)",
        "a = os.listdir(folder)\ng(natsorted(n for n in a))",
    ],
)
def test_what_is_sorted_has_no_such_order(body: str) -> None:
    assert places(body) == []
