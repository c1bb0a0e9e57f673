"""Constraint files: what a block states, what it inherits, and one sentence with its line for each mistake."""

from __future__ import annotations

from textwrap import dedent, indent

import pytest

from shardlint.knowledge.constraint_file import is_constraint_document, read_constraints

FORBIDDEN = "forbidden: {imports: [torch_npu]}"


def markdown(block: str) -> bytes:
    inside = indent(dedent(block).strip(), "    ")
    return f"# C\n\n7. **A title.** Prose.\n\n    ```yaml constraint\n{inside}\n    ```\n".encode()


def problem(block: str) -> tuple[int, str]:
    """The one problem of a block: its line inside of the block, and the sentence."""
    contents = read_constraints("c.md", markdown(block))
    assert contents.constraints == ()
    (found,) = contents.problems
    return found.line - 5, found.message


def test_a_block_inherits_title_and_number() -> None:
    (one,) = read_constraints("a/c.md", markdown(f"id: no-npu\n{FORBIDDEN}")).constraints

    assert (one.id, one.title, one.number, one.file, one.line) == ("no-npu", "A title", "7", "a/c.md", 6)
    assert (one.kind, one.check) == ("forbidden", {"imports": ["torch_npu"]})
    assert (one.severity, one.evidence, one.confidence) == ("", ("inference", ()), 0.70)
    assert one.name == "constraint 7"
    assert one.rationale == "A title. Prose."


def test_what_a_block_states_counts() -> None:
    block = f"""
        id: no-npu
        title: Other
        number: 12
        severity: error
        evidence: {{kind: research, references: [https://example.org]}}
        confidence: 0.8
        rationale: It broke.
        message: m
        help: h
        paths: [src/**]
        exclude: [src/npu/**]
        {FORBIDDEN}
        tests: {{bad: [import torch_npu], good: [import torch]}}
    """
    (one,) = read_constraints("c.md", markdown(block)).constraints

    assert (one.title, one.number, one.severity, one.confidence) == ("Other", "12", "error", 0.8)
    assert one.evidence == ("research", ("https://example.org",))
    assert (one.paths, one.exclude) == (("src/**",), ("src/npu/**",))
    assert (one.bad, one.good) == (("import torch_npu",), ("import torch",))
    assert one.line_of(("tests", "bad", 0)) == 18


@pytest.mark.parametrize(
    ("block", "line", "sentence"),
    [
        ("- a", 1, "a constraint is a mapping"),
        (FORBIDDEN, 1, "has no `id`"),
        ("id: x", 1, "it checks nothing: give it one of `config`, `pattern`"),
        (f"id: x\n{FORBIDDEN}\ngenerated: {{paths: [a]}}", 3, "exactly one check"),
        (f"id: X Y\n{FORBIDDEN}", 1, "lower-case words with hyphens"),
        (f"id: x\nseverty: error\n{FORBIDDEN}", 2, "did you mean `severity`?"),
        (f"id: x\nseverity: fatal\n{FORBIDDEN}", 2, "one of `error`, `warning`, `note`"),
        (f"id: x\nconfidence: 0.9\n{FORBIDDEN}", 2, "`inference` justifies 0.70 at most"),
        (f"id: x\nevidence: observation\nconfidence: 0.96\n{FORBIDDEN}", 3, "justifies 0.95 at most"),
        (f"id: x\nevidence: research\n{FORBIDDEN}", 2, "add `references`"),
        (f"id: x\nevidence: hearsay\n{FORBIDDEN}", 2, "must be `inference`, `research` or `observation`"),
        ("id: x\npatern: {match: f()}", 2, "did you mean `pattern`?"),
        ("id: x\ngenerated: {pats: [a]}", 2, "did you mean `paths`?"),
        ("id: x\nenforced_by: {}", 2, "has no `rule`"),
        ("id: x\nstate_keys: {manifest: keys.txt}", 2, "one of `state-keys.json`"),
        (f"id: x\npaths: []\n{FORBIDDEN}", 2, "must not be empty"),
    ],
)
def test_a_mistake_is_one_sentence_with_its_line(block: str, line: int, sentence: str) -> None:
    found = problem(block)

    assert sentence in found[1]
    assert found[0] == line


def test_yaml_files_hold_several() -> None:
    text = f"version: 1\nconstraints:\n  - id: a\n    title: A\n    {FORBIDDEN}\n  - id: b\n    {FORBIDDEN}\n"
    contents = read_constraints("constraints/c.yaml", text.encode())

    assert [(one.id, one.line) for one in contents.constraints] == [("a", 3)]
    assert [(one.line, one.message) for one in contents.problems] == [
        (6, "it has no `title`, and stands in no numbered item that could give it one: add `title`")
    ]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("version: 2\nconstraints: []\n", "one of `1`"),
        ("constraints: []\n", "has no `version`"),
        ("version: 1\nconstraints: {}\n", "must be a list"),
        ("version: 1\nconstraint: []\nconstraints: []\n", "did you mean `constraints`?"),
    ],
)
def test_a_yaml_file_that_is_none_says_why(text: str, sentence: str) -> None:
    (found,) = read_constraints("c.yaml", text.encode()).problems

    assert sentence in found.message


def test_files_that_are_not_text_or_too_large_are_refused() -> None:
    assert "not UTF-8" in read_constraints("c.md", b"ok\n\xff").problems[0].message
    assert read_constraints("c.md", b"ok\n\xff").problems[0].line == 2
    assert "split it" in read_constraints("c.md", b"x" * 1_000_001).problems[0].message


def test_only_a_file_that_says_so_is_a_constraint_file() -> None:
    assert is_constraint_document(b"# c\nversion: 1\nconstraints:\n")
    assert is_constraint_document(b'{"version": 1, "constraints": []}')
    assert is_constraint_document(b"{\n  version: 1,\n  constraints: []\n}")
    assert not is_constraint_document(b"torch: ==2.1\nnumpy: <2\n")
    assert not is_constraint_document(b"version: 1\nsolver:\n  constraints: []\n")
