"""Findings and labels find each other again when lines move, and only then."""

from __future__ import annotations

from corpus.comparison import compare
from corpus.labels import Label
from corpus.running import Found


def found(line: int, hash: str = "a", path: str = "x.py", severity: str = "error") -> Found:
    return Found(path, line, hash, "some-rule", severity, True, "something is wrong")


def label(line: int, hash: str = "a", path: str = "x.py", verdict: str = "true") -> Label:
    return Label(path, line, hash, "some-rule", "error", True, verdict, "because of this code")


def test_the_same_findings_differ_in_nothing() -> None:
    compared = compare([found(3), found(9, "b")], [label(9, "b"), label(3)])

    assert sorted(compared.kept) == [label(3), label(9, "b")]
    assert (compared.new, compared.vanished) == ([], [])


def test_a_finding_that_moved_keeps_its_verdict_and_gets_its_new_line() -> None:
    compared = compare([found(30)], [label(3, verdict="debatable")])

    assert compared.kept == [label(30, verdict="debatable")]
    assert (compared.new, compared.vanished) == ([], [])


def test_a_changed_line_is_new_and_the_old_one_vanished() -> None:
    compared = compare([found(3, "b")], [label(3)])

    assert compared == ([], [found(3, "b")], [label(3)])


def test_another_file_or_rule_is_another_finding() -> None:
    elsewhere = found(3, path="y.py")
    other = found(3)._replace(rule="other-rule")

    assert compare([elsewhere, other], [label(3)]) == ([], [elsewhere, other], [label(3)])


def test_of_lines_that_look_alike_the_one_that_stayed_keeps_its_verdict() -> None:
    labels = [label(3, verdict="true"), label(9, verdict="false")]

    compared = compare([found(9)], labels)

    assert compared.kept == [label(9, verdict="false")]
    assert compared.vanished == [label(3, verdict="true")]


def test_lines_that_look_alike_and_moved_keep_their_order() -> None:
    labels = [label(3, verdict="true"), label(9, verdict="false")]

    compared = compare([found(19), found(13)], labels)

    assert sorted(compared.kept) == [label(13, verdict="true"), label(19, verdict="false")]


def test_a_second_finding_on_a_line_that_looks_alike_is_new() -> None:
    compared = compare([found(3), found(5)], [label(3)])

    assert compared.kept == [label(3)]
    assert compared.new == [found(5)]


def test_severity_follows_the_rule() -> None:
    assert compare([found(3, severity="warning")], [label(3)]).kept == [label(3)._replace(severity="warning")]
