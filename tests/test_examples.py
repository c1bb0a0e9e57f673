"""Every rule's examples: bad ones report exactly the marked lines, good ones nothing."""

from __future__ import annotations

import pytest

from shardlint.example import Example
from shardlint.loading import Row, make
from shardlint.registry import load_rows
from shardlint.trial import problems_of

ROWS, _ = load_rows()


def cases() -> list[object]:
    """One case for each example, named after its rule."""
    found: list[object] = []
    for row in ROWS:
        rule = make(row)
        for side in ("bad", "good"):
            examples: tuple[Example, ...] = getattr(rule, side)
            found += [
                pytest.param(row, example, id=f"{row['name']}-{side}-{number}")
                for number, example in enumerate(examples)
            ]
    return found


@pytest.mark.parametrize(("row", "example"), cases())
def test_example_reports_exactly_its_marks(row: Row, example: Example) -> None:
    assert problems_of(row, example) == []
