"""Adding to a constraint file: what is there stays byte for byte, and what is added reads like the rest."""

from __future__ import annotations

import difflib
from textwrap import dedent
from typing import Any

import pytest

from shardlint.errors import CaptureRefused
from shardlint.knowledge.capture.writing import Placed, add_to_markdown, add_to_yaml
from shardlint.knowledge.markdown import read_markdown

BLOCK = "id: new-one\nforbidden:\n  imports:\n    - apex\n"
BULLETED = dedent("""\
    # Hard constraints

    ## Checkpoint

    1. **First**
       - why

    2. **Second**
       - why not
         at all

    ## Quality

    3. **Third**
       - because
    """)
PLAIN = "# C\n\n1. One thing.\n2. Another thing,\n   longer.\n"


def added(before: str, placed: Placed) -> list[str]:
    """The added lines; nothing else may differ."""
    rows = list(difflib.ndiff(before.split("\n"), placed.text.split("\n")))
    assert not [row for row in rows if row[0] in "-?"]
    return [row[2:] for row in rows if row[0] == "+"]


def test_a_new_statement_follows_the_last_in_its_style() -> None:
    placed = add_to_markdown(BULLETED, "Apex is gone", ["It crashed."], BLOCK)

    assert [line for line in added(BULLETED, placed) if line] == [
        "4. **Apex is gone**",
        "   - It crashed.",
        "   ```yaml constraint",
        "   id: new-one",
        "   forbidden:",
        "     imports:",
        "       - apex",
        "   ```",
    ]
    assert placed.text.split("\n")[placed.line - 1] == "4. **Apex is gone**"
    assert placed.number == "4"


def test_plain_statements_stay_plain_and_tight() -> None:
    placed = add_to_markdown(PLAIN, "Apex is gone", ["It crashed."], BLOCK)

    assert placed.text.startswith(PLAIN + "3. Apex is gone.\n   It crashed.\n\n   ```yaml constraint\n")


@pytest.mark.parametrize(
    ("text", "section", "number"),
    [
        (BULLETED, "", ""),
        (BULLETED, "Checkpoint", ""),
        (BULLETED, "Brand new", ""),
        (BULLETED, "", "1"),
        (PLAIN, "", "2"),
        (PLAIN, "Brand new", ""),
        ("", "", ""),
        ("# Only a heading\n", "", ""),
        ("# A\n\nprose without an end", "", ""),
        ("## 5. Numbered heading\n\nIts text.\n\n## 6. Another\n\nText.\n", "", "5"),
        (BULLETED.replace("\n", "\r\n"), "", ""),
        (BULLETED.replace("\n", "\r\n"), "", "3"),
        ("# C\n\n10. **Ten**\n11. **Eleven**\n", "", ""),
        ("# C\n\n1) One\n2) Two\n", "", ""),
        ("# C\n\n1. One\n\n```text\n# no heading\n```\n", "", ""),
    ],
)
def test_a_reader_finds_the_block_with_its_statement(text: str, section: str, number: str) -> None:
    before = read_markdown(text)
    placed = add_to_markdown(text, "Apex is gone", ["It crashed."], BLOCK, section=section, number=number)
    after = read_markdown(placed.text.replace("\r\n", "\n"))

    added(text, placed)
    (block,) = after.blocks
    assert block.text == BLOCK
    assert block.item is not None
    assert (
        block.item.number == placed.number == (number or str(max((int(i.number) for i in before.items), default=0) + 1))
    )
    assert block.item.title == "Apex is gone" if not number else block.item in after.items
    assert [one.title for one in before.items] == [one.title for one in after.items if one.title != "Apex is gone"]
    assert ("\r\n" in text) == ("\r\n" in placed.text)
    assert "\r\n" not in text or placed.text.count("\n") == placed.text.count("\r\n")


def test_a_list_in_the_middle_does_not_count_into_the_next_one() -> None:
    """A Markdown renderer counts a list by itself: a fourth item after the second would be shown as the third."""
    placed = add_to_markdown(BULLETED, "Apex is gone", [], BLOCK, section="Checkpoint")

    starts = [t.attrGet("start") for t in _tokens(placed.text) if t.type == "ordered_list_open"]
    assert starts == [None, 4, 3]


def _tokens(text: str) -> list[Any]:
    from markdown_it import MarkdownIt

    return list(MarkdownIt("commonmark").parse(text))


def test_a_statement_that_is_not_there_is_refused() -> None:
    with pytest.raises(CaptureRefused, match="no statement of number 9: the last is 3"):
        add_to_markdown(BULLETED, "", [], BLOCK, number="9")


def test_a_fence_inside_of_the_block_does_not_end_it() -> None:
    block = "id: x\nrationale: |\n  ```\n  code\n  ```\n"
    (read,) = read_markdown(add_to_markdown(PLAIN, "T", [], block).text).blocks

    assert read.text == block


@pytest.mark.parametrize(
    "text",
    [
        "",
        "version: 1\nconstraints:\n  - id: a\n    title: A\n",
        "version: 1\nconstraints:\n- id: a\n  title: A\n# the end\n",
        "version: 1\nconstraints:\n  - id: a\n    rationale: |\n      long\n\nincidents: []\n",
        "version: 1\nconstraints:\n",
        "version: 1\r\nconstraints:\r\n  - id: a\r\n",
    ],
)
def test_yaml_files_get_one_more_item(text: str) -> None:
    import yaml

    if text.endswith("constraints:\n"):
        with pytest.raises(CaptureRefused):
            add_to_yaml(text, BLOCK)
        return
    placed = add_to_yaml(text, BLOCK)
    before: list[Any] = yaml.safe_load(text)["constraints"] if text else []

    if text:
        added(text, placed)
    assert yaml.safe_load(placed.text)["constraints"] == [*before, yaml.safe_load(BLOCK)]
    assert placed.text.replace("\r\n", "\n").split("\n")[placed.line - 1].lstrip() == "- id: new-one"


def test_a_list_in_brackets_is_left_to_people() -> None:
    with pytest.raises(CaptureRefused, match="one `- ` for each item"):
        add_to_yaml("version: 1\nconstraints: [{id: a}]\n", BLOCK)
