"""Numbered statements and their blocks in Markdown, in the ways in which teams write such lists."""

from __future__ import annotations

from textwrap import dedent

from shardlint.knowledge.markdown import read_markdown

PAGE = dedent("""\
    # Constraints

    ## Checkpoints

    16. **Keys are attributes**: a rename
        breaks loading.
    17. Saving is *collective*, on `all` ranks. Nobody is left out.

        ```yaml constraint
        id: in-the-item
          # moved in
        ```

    ```yaml constraint
    id: after-the-item
    ```

    - a bullet

    ## 20. Numbered heading

    Its text.

    ~~~ yaml  constraint
    id: below-the-heading
    ~~~

    ## Other

    ```yaml
    id: no-constraint
    ```

    ````yaml constraint
    id: alone
    ````
    """)


def test_statements_have_number_title_section_and_lines() -> None:
    items = read_markdown(PAGE).items

    assert [(one.number, one.title, one.section) for one in items] == [
        ("16", "Keys are attributes", "Checkpoints"),
        ("17", "Saving is collective, on `all` ranks", "Checkpoints"),
        ("20", "Numbered heading", ""),
    ]
    assert [(one.line, one.indent) for one in items] == [(5, 4), (7, 4), (20, 0)]
    assert "breaks loading" in items[0].text
    assert "a bullet" in items[1].text
    assert items[2].text == "Its text."


def test_a_block_belongs_to_the_statement_that_it_stands_in_or_after() -> None:
    blocks = read_markdown(PAGE).blocks

    assert [(one.text.split("\n")[0], one.line, one.item and one.item.number) for one in blocks] == [
        ("id: in-the-item", 10, "17"),
        ("id: after-the-item", 15, "17"),
        ("id: below-the-heading", 25, "20"),
        ("id: alone", 35, None),
    ]
    assert blocks[0].text == "id: in-the-item\n  # moved in\n"


def test_nested_lists_and_quotes_number_nothing() -> None:
    text = "1. One\n   1. inner\n   2. inner\n2. Two\n\n> 3. quoted\n"

    assert [one.number for one in read_markdown(text).items] == ["1", "2"]


def test_a_list_may_go_on_across_headings_and_count_with_brackets() -> None:
    text = "# A\n\n1) One\n2) Two\n\n# B\n\n3) Three\n"

    assert [(one.number, one.section) for one in read_markdown(text).items] == [("1", "A"), ("2", "A"), ("3", "B")]
