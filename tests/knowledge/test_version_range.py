"""What can be told of a version from an installed, a locked and a bounded one."""

from __future__ import annotations

import pytest

from shardlint.environment import Version
from shardlint.knowledge.unknown import UNKNOWN, Truth, Uncomputable
from shardlint.knowledge.version_range import VersionRange


def pinned(operator: str, text: str) -> VersionRange:
    return VersionRange.of(Version("torch", text, "pinned", "pyproject.toml", operator))


INSTALLED = VersionRange.of(Version("torch", "2.5.1+cu121", "installed", "venv"))
LOCKED = VersionRange.of(Version("torch", "2.6", "locked", "uv.lock"))
BELOW = pinned(">=", "2.4")


@pytest.mark.parametrize(
    ("known", "symbol", "other", "answer"),
    [
        (INSTALLED, ">=", "2.5", True),
        (INSTALLED, ">=", "2.6", False),
        (INSTALLED, "<", "2.5.1", False),
        (INSTALLED, "<=", "2.5.1", True),
        (INSTALLED, ">", "2.5.1", False),
        (INSTALLED, "==", "2.5.1", True),
        (INSTALLED, "==", "2.5", False),
        (LOCKED, "==", "2.6.0", True),
        (LOCKED, ">=", "2.10", False),
        (BELOW, ">=", "2.4", True),
        (BELOW, ">=", "2.6", UNKNOWN),
        (BELOW, "<", "2.6", UNKNOWN),
        (BELOW, "<", "2.4", False),
        (BELOW, "<=", "2.3", False),
        (BELOW, "==", "2.5", UNKNOWN),
        (BELOW, "==", "2.3", False),
        (pinned("~=", "2.4"), "<", "3", True),
        (pinned("~=", "2.4"), "<", "2.9", UNKNOWN),
        (pinned("~=", "2.4.1"), "<", "2.5", True),
        (pinned("~=", "2.4.1"), ">=", "2.5", False),
        (pinned("^", "2.4"), "<", "3", True),
        (pinned("^", "0.3.1"), "<", "0.4", True),
        (pinned("~", "2.4.1"), "<", "2.5", True),
        (pinned("==", "2.4.*"), "<", "2.5", True),
        (pinned("==", "2.4.*"), "==", "2.5", False),
        (pinned(">", "2.4"), ">", "2.3", True),
    ],
)
def test_a_comparison_is_known_where_every_version_agrees(
    known: VersionRange, symbol: str, other: str, answer: Truth
) -> None:
    assert known.compare(symbol, other) is answer


@pytest.mark.parametrize("text", ["", "new", "2..6", ">=2.6"])
def test_what_is_no_version_cannot_be_compared(text: str) -> None:
    with pytest.raises(Uncomputable, match="no version"):
        INSTALLED.compare(">=", text)


def test_a_range_is_shown_as_the_project_writes_it() -> None:
    assert (str(INSTALLED), str(BELOW)) == ("2.5.1+cu121", ">=2.4")
