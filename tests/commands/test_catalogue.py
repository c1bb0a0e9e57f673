"""rules/README.md says what the rules say."""

from __future__ import annotations

import re
from pathlib import Path

from shardlint.commands.catalogue import catalogue
from shardlint.commands.page import Page
from shardlint.example import Bad
from shardlint.finding import Evidence
from shardlint.proof import Proof

from ..conftest import Lint

README = Path(__file__).resolve().parents[2] / "rules" / "README.md"


def page(name: str, family: str, text: str = "Reports it.") -> Page:
    return Page(name, family, "error", "local", text, Evidence("research", ("https://a",)))


def test_the_catalogue_is_up_to_date(lint: Lint) -> None:
    answer = lint("rules", "--catalogue")

    assert answer.code == 0
    assert README.read_text(encoding="utf-8") == answer.out, "rules/README.md is stale: run `make catalogue`"


def test_the_order_of_the_rules_does_not_change_the_catalogue() -> None:
    pages = [page("b", "ddp"), page("a", "moe"), page("syntax-error", "engine"), page("c", "ddp")]

    assert catalogue(pages) == catalogue(reversed(pages))
    assert re.findall(r"^##+ (.*)", catalogue(pages), re.MULTILINE) == [
        *("ddp", "moe", "engine"),
        *("b", "c", "a", "syntax-error"),
    ]


def test_every_link_of_the_index_leads_to_a_section() -> None:
    text = catalogue([page("a-b", "ddp"), page("c", "moe")])

    assert set(re.findall(r"\]\(#([^)]*)\)", text)) == set(re.findall(r"^### (.*)", text, re.MULTILINE))


def test_text_of_a_rule_breaks_neither_a_table_nor_a_fence() -> None:
    made = page("a", "ddp", "Reports `x | y`.")
    made.bad = (Bad("x = '```'  # error"),)
    made.symptoms = ("a`b",)

    text = catalogue([made])

    assert "| Reports `x \\| y`. |" in text
    assert "\n````python\nx = '```'  # error\n````\n" in text
    assert "- Symptom: `` a`b ``\n" in text


def test_the_language_of_an_example_is_that_of_its_files() -> None:
    made = page("a", "ddp")
    made.bad = (Bad("a: 1  # error", path="a.yaml"), Bad({"a.py": "x  # error", "b.yaml": "x"}))

    text = catalogue([made])

    assert "```yaml\n# a.yaml\n" in text
    assert "```text\n# a.py\n" in text


def test_the_index_and_the_section_say_whether_a_run_proves_a_rule() -> None:
    proved, other = page("a", "moe"), page("b", "moe")
    proved.proof, other.proof = Proof(True, "both wait (test_a.py)"), Proof(False, "it needs a GPU")
    text = catalogue([proved, other])

    assert "| [a](#a) | error | local | run |  | Reports it. |" in text
    assert "| [b](#b) | error | local |  |  | Reports it. |" in text
    assert "\n- Proof: both wait (test_a.py)\n" in text
    assert "\n- Proof: none: it needs a GPU\n" in text
