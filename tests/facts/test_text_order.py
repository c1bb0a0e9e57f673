"""What holds the names of a listing after they were sorted as text."""

from __future__ import annotations

import ast

import pytest

from shardlint.facts.file_order import LISTING
from shardlint.facts.matching import matches
from shardlint.facts.module import Module
from shardlint.facts.site import Site
from shardlint.facts.text_order import in_text_order

from .test_site import VOICE


@pytest.mark.parametrize(
    ("body", "held"),
    [
        ("return sorted(glob(x))", ["sorted(glob(x))"]),
        ("a = [p for p in glob(x) if p]\na.sort()\ng(a)", ["a.sort", "a"]),
        ("a = max(glob(x))\ng(a)", ["a", "max(glob(x))"]),
        ("return sorted(glob(x), key=len)", []),
        ("a = glob(x)\na.sort(key=len)\ng(a)", []),
    ],
)
def test_what_is_sorted_as_text(body: str, held: list[str]) -> None:
    text = "from glob import glob\ndef f(x):\n" + "".join(f"    {line}\n" for line in body.split("\n"))
    module = Module("pkg/x.py", text, ast.parse(text))
    site = Site(module, next(iter(matches(module, LISTING))), VOICE)
    assert {place.text for place in in_text_order(site)} == {text.removesuffix(".sort") for text in held}
