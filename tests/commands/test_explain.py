"""`shardlint explain`: a rule's page."""

from __future__ import annotations

import pytest

from shardlint.commands.page import Page, sections, shown_example, wilson
from shardlint.example import Bad, Good
from shardlint.finding import Evidence
from shardlint.selection import ENGINE_RULES

from ..conftest import Lint


def test_the_page_of_a_rule_holds_all_that_is_known_of_it(lint: Lint) -> None:
    answer = lint("explain", "rank-guarded-checkpoint")

    assert (answer.code, answer.err) == (0, "")
    lines = answer.out.splitlines()
    assert lines[0] == "rank-guarded-checkpoint"
    assert lines[1] == "  error, family checkpoint, program rule, since 0.1.0"
    for heading in ("Why is this bad?", "What two ranks do", "Use instead", "Known limits", "Fix         none"):
        assert heading in lines
    assert any(line.startswith("Evidence    ") for line in lines)
    assert any(line.startswith("            https://") for line in lines)
    assert any(line.startswith("Confidence  at most 0.") for line in lines)
    assert any(line.startswith("Proof       two gloo processes run the examples: ") for line in lines)
    assert "            dcp.save(state, checkpoint_id=path)  # error" in lines
    at = lines.index("What two ranks do")
    assert lines[at + 1].startswith("  - rank 0 enters the save")
    assert lines[at + 2].startswith("  - rank 1 goes on training")
    assert "Reported, example 1" in lines
    assert "Not reported, example 1" in lines


def test_the_page_of_a_rule_with_a_fix_says_how_safe_it_is(lint: Lint) -> None:
    assert "\nFix         safe, with --fix: " in lint("explain", "yaml-float-is-string").out


@pytest.mark.parametrize("name", ENGINE_RULES)
def test_the_engines_own_rules_have_pages(lint: Lint, name: str) -> None:
    answer = lint("explain", name)

    assert answer.code == 0
    assert answer.out.startswith(f"{name}\n  ")
    assert "Why is this bad?" in answer.out
    assert "\nProof" not in answer.out


def test_the_page_of_a_rule_without_a_proof_says_why(lint: Lint) -> None:
    assert "\nProof       none: it needs a second machine with GPUs\n" in lint("explain", "global-rank-as-device").out


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("rank-guarded-checkpiont", "is no rule; did you mean `rank-guarded-checkpoint`?"),
        ("Rank_Guarded_Checkpoint", "is no rule; did you mean `rank-guarded-checkpoint`?"),
        ("checkpoint", "`checkpoint` is a family, not a rule; explain one of "),
        ("engine", "`engine` is a family, not a rule; explain one of syntax-error"),
        ("zzz", "`zzz` is no rule; `shardlint rules` lists the names"),
    ],
)
def test_a_name_that_is_no_rule_is_answered_with_one_that_is(lint: Lint, name: str, sentence: str) -> None:
    answer = lint("explain", name)

    assert (answer.code, answer.out) == (2, "")
    assert sentence in answer.err


def test_sections_part_a_docstring_at_its_headings() -> None:
    text = """Reports it.

    More.

    Why is this bad?
    Because.

    Known limits
    None.
    """

    assert sections(text) == [("", "Reports it.\n\nMore."), ("Why is this bad?", "Because."), ("Known limits", "None.")]


def page(counts: tuple[int, int, int] | None) -> Page:
    made = Page("a-rule", "ddp", "error", "local", "Reports\n  it.\n\n  More.", Evidence("research", ("https://a",)))
    made.counts, made.confidence = counts, 0.68 if counts is None else 0.8
    return made


def test_the_summary_is_the_first_paragraph_on_one_line() -> None:
    assert page(None).summary == "Reports it."


@pytest.mark.parametrize("counts", [None, (9, 0, 0)])
def test_a_rule_with_fewer_than_ten_judged_findings_is_unproved(counts: tuple[int, int, int] | None) -> None:
    assert "unproved" in page(counts).how_sure()


def test_a_measured_precision_is_shown_with_its_number_and_lower_bound() -> None:
    assert page((38, 1, 1)).how_sure() == (
        "at most 0.8: of 40 findings in real code 38 were true (95%, at least 83% with 95 % certainty); "
        "the ceiling of research is 0.85"
    )


@pytest.mark.parametrize(("true", "total", "bound"), [(10, 10, 0.7225), (0, 10, 0.0), (50, 100, 0.4038)])
def test_wilson_is_the_lower_end_of_the_interval(true: int, total: int, bound: float) -> None:
    assert round(wilson(true, total), 4) == bound


def test_a_single_python_file_is_shown_without_its_name() -> None:
    assert shown_example(Bad("  x = 1  # error\n")) == "x = 1  # error"


def test_files_whose_names_matter_are_shown_with_them() -> None:
    assert shown_example(Good({"a.py": "x = 1\n", "b.py": "y = 2\n"})) == "# a.py\nx = 1\n\n# b.py\ny = 2"
    assert shown_example(Bad("lr: 1e-5  # error", path="a.yaml")) == "# a.yaml\nlr: 1e-5  # error"


def test_both_states_of_a_change_are_shown_even_when_one_is_empty() -> None:
    example = Bad(before={"a.py": ""}, after={"a.py": "x = 1  # error"})

    assert shown_example(example) == "# before: a.py (empty)\n\n# after: a.py\nx = 1  # error"
