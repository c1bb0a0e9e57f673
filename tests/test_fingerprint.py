"""What a fingerprint depends on."""

from __future__ import annotations

from shardlint.fingerprint import fingerprint


def test_white_space_and_line_ends_do_not_matter() -> None:
    assert fingerprint("r", "f", "    x = f(a,  b)\r") == fingerprint("r", "f", "x = f(a, b)")


def test_rule_scope_and_text_matter_each() -> None:
    prints = {fingerprint(*parts) for parts in (("r", "f", "x"), ("q", "f", "x"), ("r", "g", "x"), ("r", "f", "y"))}
    assert len(prints) == 4
    assert all(len(one) == 20 and set(one) <= set("0123456789abcdef") for one in prints)


def test_it_is_the_same_in_every_run() -> None:
    assert fingerprint("rank-guarded-checkpoint", "finish", "dcp.save(state)") == "5b8f0a4f9f18a846383b"


def test_parts_do_not_run_into_each_other() -> None:
    assert fingerprint("ab", "c", "x") != fingerprint("a", "bc", "x")


def test_text_that_is_not_unicode_has_one_too() -> None:
    assert fingerprint("r", "", "caf\udce9") != fingerprint("r", "", "caf")
