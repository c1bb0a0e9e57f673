"""More cases for the built-in rules than a rule's own page has room for."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shardlint.example import Example
from shardlint.finding import Finding
from shardlint.loading import Row
from shardlint.registry import load_rows
from shardlint.trial import findings_of, problems_of


@pytest.fixture(scope="session")
def rows() -> dict[str, Row]:
    """The built-in rules by name."""
    return {str(row["name"]): row for row in load_rows()[0]}


@pytest.fixture
def problems(rows: dict[str, Row]) -> Callable[[str, Example], list[str]]:
    """What is wrong with an example of a rule: lines that are reported and not marked, or the other way round."""
    return lambda name, example: problems_of(rows[name], example)


@pytest.fixture
def findings(rows: dict[str, Row]) -> Callable[[str, Example], list[Finding]]:
    """The findings of a rule on an example."""
    return lambda name, example: findings_of(rows[name], example)
