"""The page and the table of precision say what the labels say."""

from __future__ import annotations

import sys

import pytest

from corpus.counts import Counts
from corpus.tables import (
    PRECISION,
    README,
    Evidence,
    below_its_severity,
    evidence,
    precision_table,
    read_sizes,
    readme,
)

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def row(text: str, start: str) -> list[str]:
    """The cells of the one line of a table that starts so."""
    (line,) = [line for line in text.splitlines() if line.startswith(f"| {start}")]
    return [cell.strip() for cell in line.strip("|").split("|")]


@pytest.fixture(scope="module")
def here() -> Evidence:
    return evidence()


def test_the_page_is_up_to_date(here: Evidence) -> None:
    assert README.read_text(encoding="utf-8") == readme(here), "corpus/README.md is stale: run `make corpus-tables`"


def test_the_table_of_precision_is_up_to_date(here: Evidence) -> None:
    assert PRECISION.read_text(encoding="utf-8") == precision_table(here), "it is stale: run `make corpus-tables`"


def test_no_rule_here_is_wrong_too_often_for_its_severity(here: Evidence) -> None:
    assert below_its_severity(here) == []


def test_everything_pinned_here_was_checked(here: Evidence) -> None:
    assert [package.shown for package in here.packages if package.slug not in here.sizes] == []


def test_one_finding_has_one_verdict_in_a_repository_and_its_distribution(here: Evidence) -> None:
    for package in here.packages:
        verdicts = {
            (label.rule, label.hash, label.path.rpartition("/")[2]): label.verdict
            for label in here.labels.get(package.distribution, ())
        }
        for label in here.labels[package.slug]:
            key = (label.rule, label.hash, label.path.rpartition("/")[2])
            assert verdicts.get(key, label.verdict) == label.verdict, (package.name, label)


def test_the_table_of_precision_adds_up_what_was_judged(known: Evidence) -> None:
    text = precision_table(known)
    read = tomllib.loads(text)

    assert read == {
        "bad-load": Counts(10, 0, 1)._asdict(),
        "elsewhere": Counts(4, 0, 1)._asdict(),
        "rare": Counts(1, 0, 0)._asdict(),
        "renamed": Counts(2, 0, 0)._asdict(),
    }
    assert "# 11 in the pinned code.\n[bad-load]" in text
    assert "# 2 in commits of some/thing.\n[renamed]" in text
    assert "# Five models,\n# read by hand.\n[elsewhere]" in text


def test_a_row_says_how_good_a_rule_is_and_how_sure_that_is(known: Evidence) -> None:
    text = readme(known)

    assert row(text, "`bad-load`")[:9] == ["`bad-load`", "error", "11", "0", "10", "0", "1", "91%", "62%"]
    assert row(text, "`bad-load`")[9] == "0/1/0", "the hidden one is counted apart"
    assert row(text, "`rare`")[7:9] == ["100%", "unproved"]
    assert row(text, "`elsewhere`")[2:7] == ["0", "5", "4", "0", "1"]
    assert "No finding yet, and so unproved: `silent`." in text


def test_the_page_publishes_where_the_readers_differ(known: Evidence) -> None:
    name = next(name for name, place in known.places.items() if place.label.verdict == "debatable")
    answers = {
        name: known.answers[next(iter(known.answers))]._replace(id=name, verdict="false", reason="It never runs.")
    }

    text = readme(known._replace(answers=answers))

    assert "0 of 1 verdicts are the same" in text
    assert "Of the 1 that differ, 0 are true to one reader and false to the other." in text
    assert row(text, "`bad-load` | some/thing")[2:] == ["debatable: Line 40 says so.", "false: It never runs."]


def test_what_could_not_be_checked_is_named(known: Evidence) -> None:
    text = readme(known)

    assert row(text, "thing | 1.0") == ["thing", "1.0", "3", "4,000", "2", "12"]
    assert row(text, "some/thing") == ["some/thing", "f" * 12, *["not checked"] * 3, "3"]


def test_the_engine_is_counted_apart(known: Evidence) -> None:
    text = readme(known)

    assert "syntax-error: 1 true" in text
    assert "`syntax-error`" not in text.partition("## The blind repeat")[0]


def test_an_error_with_too_many_findings_that_are_not_true_is_named(known: Evidence) -> None:
    assert below_its_severity(known) == [
        "bad-load is an error, but 10 of 11 findings are true: make it a warning or a preview",
        "elsewhere is an error, but 4 of 5 findings are true: make it a warning or a preview",
    ]


def test_a_size_of_another_version_is_not_taken(here: Evidence) -> None:
    raised = [package._replace(version="99") for package in here.packages]

    assert read_sizes(raised) == {}
