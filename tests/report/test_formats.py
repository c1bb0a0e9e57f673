"""The formats for machines, and the table of statistics."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, validate
from jsonschema.exceptions import ValidationError

import shardlint.report
from shardlint.finding import Evidence, Finding, Fix, Related, Span, TextEdit
from shardlint.report.concise import render_concise
from shardlint.report.github import escape_data, escape_property, render_github
from shardlint.report.json_format import render_json
from shardlint.report.statistics import render_statistics

SCHEMA = json.loads(Path(shardlint.report.__file__).with_name("finding.schema.json").read_text(encoding="utf-8"))


def finding(**changes: object) -> Finding:
    base = Finding(
        path="train/save.py",
        span=Span(41, 9, 41, 44),
        rule="rank-guarded-checkpoint",
        family="checkpoint",
        severity="error",
        confidence=0.85,
        evidence=Evidence("research", ("https://docs.pytorch.org",)),
        message="`dcp.save` is a collective",
        help="call it on every rank",
        fingerprint="0123",
    )
    return base.replace(**changes)


FULL = finding(
    key="train.a",
    related=(Related("train/loop.py", 88, 5, "called here"),),
    fix=Fix(False, "changes the step", (TextEdit(Span(1, 2, 3, 4), "new"),)),
)


def test_each_format_has_its_module_and_its_function() -> None:
    for name in shardlint.report.FORMATS:
        module = import_module(f"shardlint.report.{'json_format' if name == 'json' else name}")
        assert callable(getattr(module, f"render_{name}"))


def test_json_has_the_documented_fields_in_their_order() -> None:
    assert json.loads(render_json([FULL])) == [
        {
            "rule": "rank-guarded-checkpoint",
            "family": "checkpoint",
            "severity": "error",
            "confidence": 0.85,
            "evidence": {"kind": "research", "references": ["https://docs.pytorch.org"]},
            "path": "train/save.py",
            "line": 41,
            "column": 9,
            "end_line": 41,
            "end_column": 44,
            "message": "`dcp.save` is a collective",
            "help": "call it on every rank",
            "key": "train.a",
            "related": [{"path": "train/loop.py", "line": 88, "column": 5, "message": "called here"}],
            "fix": {
                "safe": False,
                "reason": "changes the step",
                "edits": [{"line": 1, "column": 2, "end_line": 3, "end_column": 4, "text": "new"}],
            },
            "help_url": "",
            "fingerprint": "0123",
        }
    ]
    assert list(json.loads(render_json([FULL]))[0]) == list(SCHEMA["$defs"]["finding"]["properties"])


def test_the_schema_is_one_and_describes_what_is_written() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    written = json.loads(render_json([FULL, finding(), finding(fix=Fix(True))]))
    validate(written, SCHEMA, Draft202012Validator)
    assert [one["fix"] for one in written[1:]] == [None, {"safe": True, "edits": None}]


def test_a_fix_in_another_file_names_it() -> None:
    written = json.loads(render_json([finding(fix=Fix(False, "why", (), "load.py"))]))
    validate(written, SCHEMA, Draft202012Validator)
    assert written[0]["fix"] == {"safe": False, "reason": "why", "path": "load.py", "edits": []}


def test_no_findings_are_an_empty_array() -> None:
    assert json.loads(render_json([])) == []


@pytest.mark.parametrize(
    "change", [{"line": 0}, {"severity": "fatal"}, {"confidence": 2}, {"extra": 1}, {"fix": {"safe": True}}]
)
def test_the_schema_refuses_what_is_not_documented(change: dict[str, Any]) -> None:
    written = json.loads(render_json([FULL]))
    written[0].update(change)
    with pytest.raises(ValidationError):
        validate(written, SCHEMA, Draft202012Validator)


def test_json_is_ascii_even_for_a_path_that_is_not_unicode() -> None:
    assert render_json([finding(path="caf\udce9.py", message="模型")]).isascii()


def test_concise_is_one_line_a_finding() -> None:
    one = finding(message="first\n  second\r\nthird\x1b[0m")
    assert render_concise([one, finding(severity="note")]) == (
        "train/save.py:41:9: error rank-guarded-checkpoint first second third\\x1b[0m\n"
        "train/save.py:41:9: note rank-guarded-checkpoint `dcp.save` is a collective\n"
    )


def test_github_gets_one_command_with_place_title_and_message() -> None:
    assert render_github([finding(message="50% of\nthe ranks: a, b")]) == (
        "::error file=train/save.py,line=41,col=9,endLine=41,endColumn=44,title=shardlint rank-guarded-checkpoint"
        "::50%25 of%0Athe ranks: a, b%0Ahelp: call it on every rank\n"
    )


def test_github_gets_no_columns_for_a_range_of_several_lines() -> None:
    assert "line=3,endLine=5,title=" in render_github([finding(span=Span(3, 4, 5, 6))])


def test_github_gets_the_gravest_findings_first() -> None:
    found = [finding(severity="note"), finding(severity="warning", path="z"), finding(path="y"), finding(path="b")]
    kinds = [line.split(",")[0] for line in render_github(found).splitlines()]
    assert kinds == ["::error file=b", "::error file=y", "::warning file=z", "::notice file=train/save.py"]


def test_user_text_cannot_end_a_github_command_or_add_a_property() -> None:
    one = finding(path="a,line=9::b\n::error::c", key="k,col=1", message="x\r\n::stop-commands::y")
    written = render_github([one])
    assert written.count("\n") == 1
    properties, _, _ = written.removeprefix("::error ").partition("::")
    assert [part.split("=")[0] for part in properties.split(",")] == [
        "file",
        "line",
        "col",
        "endLine",
        "endColumn",
        "title",
    ]


def unescape_data(text: str) -> str:
    """What the runner does with a message."""
    return text.replace("%0D", "\r").replace("%0A", "\n").replace("%25", "%")


def unescape_property(text: str) -> str:
    """What the runner does with a property."""
    return unescape_data(text.replace("%3A", ":").replace("%2C", ","))


NASTY = st.text(st.sampled_from("%\r\n:,025ADC3 x") | st.characters())


@settings(deadline=None, database=None)
@given(NASTY)
def test_github_escaping_can_be_undone(text: str) -> None:
    assert unescape_data(escape_data(text)) == text
    assert unescape_property(escape_property(text)) == text
    assert not set(escape_data(text)) & set("\r\n")
    assert not set(escape_property(text)) & set("\r\n:,")


def test_statistics_count_rules_by_frequency() -> None:
    found = [finding() for _ in range(10)]
    found += [finding(rule="b-rule", severity="warning", fix=Fix(True)), finding(rule="a-rule", severity="note")]
    found += [finding(rule="c-rule", fix=Fix(True)), finding(rule="c-rule", fix=Fix(False, "why"))]
    assert render_statistics(found) == (
        "10  error    rank-guarded-checkpoint\n"
        " 2  error    c-rule  (1 fixable)\n"
        " 1  note     a-rule\n"
        " 1  warning  b-rule  (fixable)\n"
    )


def test_statistics_of_nothing_are_empty() -> None:
    assert render_statistics([]) == ""
