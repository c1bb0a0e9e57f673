"""The public incidents: each is proved by capture, judged for what comes first now, and shown on the page."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from corpus.capture import KINDS, PAGE, Captured, Verdict, captured, page, unjudged, verdicts


@pytest.fixture(scope="module")
def found() -> list[Captured]:
    return captured()


def kept(of: Iterable[Verdict]) -> int:
    return sum(one.verdict == "keep" for one in of)


def test_each_incident_gives_a_check_that_holds_and_is_judged(found: list[Captured]) -> None:
    judged = verdicts()

    assert [one.name for one in found if one.first is None] == []
    assert unjudged(found, judged) == []
    assert {kind for one in judged.values() for kind in (one.verdict, one.first_sight)} <= set(KINDS)
    assert all(one.reason.strip() for one in judged.values())


def test_four_of_five_would_be_kept() -> None:
    judged = verdicts().values()

    first = [one for one in judged if not one.later]
    assert (len(first), kept(first) >= 12) == (15, True)
    later = [one for one in judged if one.later]
    assert kept(later) >= 4


def test_the_page_is_up_to_date(found: list[Captured]) -> None:
    expected = page(found, verdicts())

    assert PAGE.read_text(encoding="utf-8") == expected, "corpus/capture.md is stale: run `make capture-table`"


def test_another_proposal_has_to_be_judged_again(found: list[Captured]) -> None:
    judged = verdicts()
    name = found[0].name
    judged[name] = judged[name]._replace(digest="0" * 16)
    judged["99-gone"] = judged[name]

    lines = unjudged(found, judged)

    assert [line.partition(":")[0] for line in lines] == [name, "99-gone"]
    assert found[0].digest in lines[0]
