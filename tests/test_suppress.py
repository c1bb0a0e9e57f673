"""Suppressions in comments and in the settings."""

from __future__ import annotations

import marshal

import pytest

from shardlint.configs.document import read_document
from shardlint.discover import compile_patterns
from shardlint.finding import Evidence, Finding, Span
from shardlint.fixes import apply_edits
from shardlint.suppress import (
    Suppressions,
    read_suppressions,
    settings_hide,
    unknown_findings,
    unpack_suppressions,
    unused_findings,
)


def finding(line: int, end_line: int = 0, *, rule: str = "some-rule", key: str | None = None) -> Finding:
    return Finding(
        path="conf/a.json",
        span=Span(line, 1, end_line or line, 5),
        rule=rule,
        family="ddp",
        severity="warning",
        confidence=0.7,
        evidence=Evidence("inference"),
        message="m",
        key=key,
    )


def hidden(text: str, kind: str = "python", *, rule: str = "some-rule") -> list[int]:
    """The lines on which a finding of one line would be hidden."""
    count = text.count("\n") + 1
    return [line for line in range(1, count + 1) if read(text, kind).hides(finding(line, rule=rule))]


def read(text: str, kind: str = "python") -> Suppressions:
    comments = () if kind in ("python", "shell", "json") else read_document(f"a.{kind}", text.encode()).comments()
    return read_suppressions(kind, text, comments)


def problems(text: str) -> list[tuple[str, str]]:
    known = ["some-rule", "other-rule", "ddp"]
    return [(one.message, one.help) for one in unknown_findings("a.py", read(text), known)]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("a\nb  # shardlint: ignore[some-rule]\nc\n", [2]),
        ("a\n# shardlint: ignore[some-rule] for a reason\nb\nc\n", [3]),
        ("a\nb  # shardlint: ignore[other-rule]\n", []),
        ("a\nb  # shardlint: ignore[ddp]\n", [2]),
        ("a\nb  # shardlint: ignore[ other-rule , some-rule ] why\n", [2]),
        ("a\nb  #shardlint:ignore[some-rule]\n", [2]),
        ("a\nb  # shardlint: ignore [some-rule]\n", [2]),
        ("a\nb  # noqa: E501  # shardlint: ignore[some-rule] # type: ignore\n", [2]),
        ("a\nb  # shardlint: ignore[other-rule]  # shardlint: ignore[some-rule]\n", [2]),
        ("a\nb  # shardlint: ignore\n", []),
        ("a\nb  # shardlint: ignore[]\n", []),
        ("a\nb  # shardlint: ignore[some-rule\n", []),
        ("a\nb  # see shardlint: ignore[some-rule]\n", []),
        ("a\nb = '# shardlint: ignore[some-rule]'\n", []),
        ('"""\n# shardlint: ignore[some-rule]\nx\n"""\na\n', []),
        ("# shardlint: ignore[some-rule]\n\na\n", []),
    ],
)
def test_a_comment_hides_the_findings_of_its_line_or_of_the_next(text: str, lines: list[int]) -> None:
    code = [line for line, source in enumerate(text.split("\n"), start=1) if source and source[0] != "#"]
    assert [line for line in hidden(text) if line in code] == lines


def test_comments_above_a_line_may_be_stacked() -> None:
    text = "# shardlint: ignore[some-rule] why\n# shardlint: ignore[other-rule] why\n# and more\nx = 1\ny = 2\n"
    assert hidden(text) == [4]
    assert hidden(text, rule="other-rule") == [4]


def test_a_comment_at_either_end_of_a_statement_covers_all_of_it() -> None:
    last = "a\nf(\n  b,\n  c,\n)  # shardlint: ignore[some-rule]\nd\n"
    assert hidden(last) == [2, 3, 4, 5]
    first = last.replace("f(", "f(  # shardlint: ignore[some-rule]").replace(")  # shardlint: ignore[some-rule]", ")")
    assert hidden(first) == [2, 3, 4, 5]


def test_a_comment_inside_a_statement_covers_its_line_alone() -> None:
    assert hidden("f(\n  b,  # shardlint: ignore[some-rule]\n  c,\n)\n") == [2]
    assert hidden("f(\n  # shardlint: ignore[some-rule]\n  b,\n  c,\n)\n") == [3]


def test_a_comment_above_a_statement_covers_all_of_it() -> None:
    assert hidden("# shardlint: ignore[some-rule]\nf(\n  b,\n)\nc\n") == [2, 3, 4]


def test_a_comment_above_decorators_reaches_the_definition_and_not_its_body() -> None:
    text = "# shardlint: ignore[some-rule]\n@a\n@b(\n  1\n)\ndef f(\n  x,\n):\n    g(x)\n"
    assert hidden(text) == [2, 3, 4, 5, 6, 7, 8]


def test_the_last_line_of_a_finding_counts_as_well_as_the_first() -> None:
    suppressions = read("if a:\n    b\n    c  # shardlint: ignore[some-rule]\n    d\n")
    assert suppressions.hides(finding(1, 3))
    assert not suppressions.hides(finding(1, 4))
    ends_before_column_one = finding(1).replace(span=Span(1, 1, 4, 1))
    assert suppressions.hides(ends_before_column_one)


def test_a_whole_file_is_hidden_from_any_line_at_column_one() -> None:
    assert hidden("a\nb\n# shardlint: ignore-file[some-rule] why\nc\n") == [1, 2, 3, 4, 5]
    assert hidden("a\nif b:\n    # shardlint: ignore-file[some-rule] why\n    c\n") == []
    assert hidden("a  # shardlint: ignore-file[some-rule] why\n") == []


def test_windows_line_ends_change_nothing() -> None:
    assert hidden("a\r\nf(\r\n  b\r\n)  # shardlint: ignore[some-rule]\r\n") == [2, 3, 4]


def test_comments_before_a_syntax_error_still_count() -> None:
    assert hidden("# shardlint: ignore-file[some-rule]\nx = (1\n") == [1, 2, 3]
    assert hidden("a  # shardlint: ignore[some-rule]\n  b\n c\n") == [1]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (
            "yaml",
            "a:  # shardlint: ignore[ddp] why\n  b: '# shardlint: ignore[ddp]'\n  # shardlint: ignore[ddp]\n  c: 1\n",
        ),
        ("toml", "a = 1 # shardlint: ignore[ddp]\nb = '# shardlint: ignore[ddp]'\n# shardlint: ignore[ddp]\nc = 1\n"),
    ],
)
def test_documents_give_their_comments(kind: str, text: str) -> None:
    assert hidden(text, kind) == [1, 4]


def test_a_document_comment_may_come_without_its_hash() -> None:
    suppressions = read_suppressions("yaml", "a: 1  # shardlint: ignore[ddp]\n", [(1, " shardlint: ignore[ddp]")])
    assert suppressions.hides(finding(1))
    assert suppressions.all[0].column == 7


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("a\nrun b  # shardlint: ignore[ddp] why\n", [2]),
        ("# shardlint: ignore[ddp]\ntorchrun \\\n  --nproc 8 \\\n  train.py\necho\n", [2, 3, 4]),
        ("echo '# shardlint: ignore[ddp]'\n", []),
        ('echo "a \\" # shardlint: ignore[ddp]"\n', []),
        ("echo a#shardlint:ignore[ddp]\n", []),
        ("echo ${#a} ; b  # shardlint: ignore[ddp]\n", [1]),
        ("cat <<EOF\n# shardlint: ignore[ddp]\nEOF\nb # shardlint: ignore[ddp]\n", [4]),
        ("cat <<-'EOF'\n\tx # shardlint: ignore[ddp]\n\tEOF\nb\n", []),
        ("cat <<< a\nb # shardlint: ignore[ddp]\n", [2]),
        ("x=$((1 << 2))\nb # shardlint: ignore[ddp]\n", [2]),
        ("x='\n# shardlint: ignore[ddp]\n'\nb # shardlint: ignore[ddp]\n", [4]),
        ("#SBATCH -N 2 # shardlint: ignore[ddp]\na\n", [2]),
    ],
)
def test_shell_comments_are_told_from_strings_and_here_documents(text: str, lines: list[int]) -> None:
    assert hidden(text, "shell") == lines


def test_a_text_without_the_mark_is_not_tokenised() -> None:
    assert read_suppressions("python", "x = (\n").all == ()


def test_the_reason_is_what_follows_the_names() -> None:
    text = "a  # shardlint: ignore[some-rule] the loader pads, see #12  # noqa\n"
    assert read(text).all[0].reason == "the loader pads, see #12"


def test_suppressions_survive_the_cache() -> None:
    suppressions = read("# shardlint: ignore-file[other-rule] why\na  # shardlint: ignore[some-rule] why\n")
    again = unpack_suppressions(marshal.loads(marshal.dumps(suppressions.pack())))
    assert again.pack() == suppressions.pack()
    assert again.hides(finding(2))
    assert not again.hides(finding(1))


def fixed(text: str, *, active: tuple[str, ...] = ("some-rule", "other-rule", "ddp"), found: int = 0) -> str:
    """The text after the fixes of the unused suppressions, if only a `some-rule` on line `found` was hidden."""
    suppressions = read(text)
    if found:
        assert suppressions.hides(finding(found))
    edits = [edit for one in unused_findings("a.py", suppressions, active) if one.fix for edit in one.fix.edits or ()]
    return apply_edits(text, edits)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a  # shardlint: ignore[some-rule] why\nb\n", "a\nb\n"),
        ("a\n    # shardlint: ignore[some-rule] why\nb\n", "a\nb\n"),
        ("a\n# shardlint: ignore[some-rule]", "a\n"),
        ("a  # noqa  # shardlint: ignore[some-rule] why\n", "a  # noqa\n"),
        ("a  # shardlint: ignore[some-rule] why  # noqa\n", "a  # noqa\n"),
        ("    # shardlint: ignore[some-rule] why  # noqa\n", "    # noqa\n"),
        ("a\n# shardlint: ignore-file[some-rule] why\n", "a\n"),
        ("a  # shardlint: ignore[some-rule]  # shardlint: ignore[other-rule]\n", "a\n"),
        ("a  # shardlint: ignore[some-rule]\r\nb\r\n", "a\r\nb\r\n"),
    ],
)
def test_the_fix_of_an_unused_suppression_removes_it_and_nothing_else(text: str, expected: str) -> None:
    assert fixed(text) == expected


def test_only_the_names_that_hide_nothing_are_removed() -> None:
    text = "a  # shardlint: ignore[other-rule, some-rule] why\n"
    assert fixed(text, found=1) == "a  # shardlint: ignore[some-rule] why\n"


def test_a_used_suppression_is_not_reported() -> None:
    text = "a  # shardlint: ignore[some-rule] why\n"
    assert fixed(text, found=1) == text


def test_a_suppression_of_a_rule_that_did_not_run_is_not_reported() -> None:
    text = "a  # shardlint: ignore[some-rule] why\n"
    assert fixed(text, active=("other-rule",)) == text
    assert fixed("a  # shardlint: ignore[some-rule, other-rule]\n", active=("other-rule",)) == (
        "a  # shardlint: ignore[some-rule]\n"
    )


def test_an_unused_suppression_is_a_warning_on_the_comment() -> None:
    text = "a = 1  # shardlint: ignore[some-rule, other-rule] why\n"
    (one,) = unused_findings("a.py", read(text), ["some-rule", "other-rule"])
    assert (one.rule, one.family, one.severity, one.evidence.kind) == (
        "unused-suppression",
        "engine",
        "warning",
        "observation",
    )
    assert one.span == Span(1, 8, 1, len(text))
    assert one.message == "`some-rule` and `other-rule` are suppressed here, but there is nothing to hide"
    assert one.help == "remove the comment"
    assert one.fix is not None
    assert one.fix.safe


def test_an_unknown_name_is_a_warning_with_the_nearest_name() -> None:
    text = "a  # shardlint: ignore[some-rule,  soem-rule] why\n"
    (one,) = unknown_findings("a.py", read(text), ["some-rule"])
    assert (one.rule, one.severity, one.help) == ("unknown-suppression", "warning", "did you mean `some-rule`?")
    assert one.span == Span(1, text.index("soem") + 1, 1, text.index("]") + 1)
    assert fixed(text, found=1) == text


def test_a_name_like_no_other_points_to_the_list() -> None:
    assert problems("a  # shardlint: ignore[E501]\n") == [
        ("`E501` is no rule and no family, so it hides nothing here", "`shardlint rules` lists the names")
    ]


@pytest.mark.parametrize(
    ("comment", "message"),
    [
        ("# shardlint: ignore", "`ignore` names no rule, so nothing is hidden here"),
        ("# shardlint: ignore because", "`ignore` names no rule, so nothing is hidden here"),
        ("# shardlint: ignore-file", "`ignore-file` names no rule, so nothing is hidden here"),
        ("# shardlint: ignore[ ]", "`ignore[]` names no rule, so nothing is hidden here"),
        ("# shardlint: ignore[some-rule", "the bracket of `ignore[` is not closed, so nothing is hidden here"),
        ("# shardlint: ingore[some-rule]", "`shardlint: ingore` is no suppression, so nothing is hidden here"),
        ("# shardlint:", "`shardlint:` is no suppression, so nothing is hidden here"),
    ],
)
def test_a_comment_that_cannot_be_understood_is_reported_with_advice(comment: str, message: str) -> None:
    advice = "write `# shardlint: ignore[rule-name] reason`; `shardlint rules` lists the names"
    assert problems(f"{comment}\na\n") == [(message, advice)]


def test_a_file_suppression_in_the_wrong_place_is_reported() -> None:
    ((message, _),) = problems("a  # shardlint: ignore-file[some-rule] why\n")
    assert message == "`ignore-file` must stand alone at the start of a line, so nothing is hidden here"


@pytest.mark.parametrize(
    ("rule", "pattern", "pointer", "expected"),
    [
        ("some-rule", "conf/*.json", "/zero/stage", True),
        ("ddp", "conf/", "/zero/stage", True),
        ("some-rule", "*.json", "", True),
        ("other-rule", "*.json", "", False),
        ("some-rule", "*.yaml", "", False),
        ("some-rule", "*.json", "/zero", False),
        ("some-rule", "*.json", "/zero/stage/x", False),
    ],
)
def test_the_settings_hide_by_rule_path_and_pointer(rule: str, pattern: str, pointer: str, expected: bool) -> None:
    entry = (rule, pattern, compile_patterns([pattern]), pointer, "why")
    hides = settings_hide(finding(1, key="zero.stage"), [entry])
    assert hides is (entry if expected else None)


@pytest.mark.parametrize(
    ("pointer", "key"),
    [
        ("/layers/2/dim", "layers[2].dim"),
        ("/2/0", "[2][0]"),
        ("/a.b/c~1d/e~0f", '"a.b"."c/d"."e~f"'),
        ('/say "hi"\\', '"say \\"hi\\"\\\\"'),
    ],
)
def test_a_json_pointer_names_the_key_that_findings_print(pointer: str, key: str) -> None:
    entry = ("some-rule", "*", compile_patterns(["*"]), pointer, "why")
    assert settings_hide(finding(1, key=key), [entry]) is entry
    assert settings_hide(finding(1, key=key + "x"), [entry]) is None


def test_a_pointer_hides_nothing_that_has_no_key() -> None:
    entry = ("some-rule", "*", compile_patterns(["*"]), "/a", "why")
    assert settings_hide(finding(1), [entry]) is None
