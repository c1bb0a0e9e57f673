"""The closing line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shardlint.finding import Evidence, Finding, Fix, Span
from shardlint.report.summary import Summary

if TYPE_CHECKING:
    from shardlint.finding import Severity


def finding(path: str, severity: Severity, fix: Fix | None = None) -> Finding:
    return Finding(
        path=path,
        span=Span(1, 1, 1, 2),
        rule="some-rule",
        family="ddp",
        severity=severity,
        confidence=0.7,
        evidence=Evidence("inference"),
        message="m",
        fix=fix,
    )


def test_findings_that_are_not_sure_enough_are_counted() -> None:
    summary = Summary(files=2, too_unsure=3)
    assert summary.line() == "no findings. 2 files checked; 3 less sure not shown (--min-confidence 0)"


def test_the_line_reads_as_documented() -> None:
    found = [finding("a", "error", Fix(True)), finding("b", "error"), finding("c", "warning")]
    summary = Summary(found, files=442, configs=44, not_judged_functions=7, not_judged_configs=2)
    assert summary.line() == (
        "3 files with findings: 2 errors, 1 warning, 1 fixable. 442 files, 44 configs checked; "
        "not judged: 7 functions, 2 configs (--show-unknown)"
    )


def test_nouns_follow_their_number_and_zeros_are_left_out() -> None:
    summary = Summary([finding("a", "note"), finding("a", "note")], configs=1, not_judged_functions=1)
    assert summary.line() == "1 file with findings: 2 notes. 1 config checked; not judged: 1 function (--show-unknown)"


def test_a_run_without_findings_says_what_was_checked_and_no_more() -> None:
    assert Summary(files=1).line() == "no findings. 1 file checked"


def test_a_run_that_checked_nothing_says_so() -> None:
    assert Summary().line() == "no findings. no file was checked"


def test_unsafe_fixes_are_counted_apart() -> None:
    unsafe = finding("a", "error", Fix(False, "why"))
    assert "1 error, 1 fixable with --unsafe-fixes." in Summary([unsafe]).line()
    both = [unsafe, finding("a", "error", Fix(True))]
    assert "2 errors, 1 fixable, 1 more with --unsafe-fixes." in Summary(both).line()


def test_configs_that_nothing_recognised_are_named() -> None:
    summary = Summary(files=3, not_recognised=["a.yaml"])
    assert summary.line() == "no findings. 3 files checked; 1 config not recognised: a.yaml"


def test_many_configs_that_nothing_recognised_are_named_in_part() -> None:
    summary = Summary(files=3, not_recognised=[f"{name}.yaml" for name in "abcde"])
    assert summary.line().endswith("5 configs not recognised: a.yaml, b.yaml, c.yaml and 2 more (--show-unknown)")
