"""The page about expressions is true: every example is run, and every table is compared with what there is."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
import yaml

import shardlint.knowledge
from shardlint.configs.document import read_document
from shardlint.environment import Environment, Version
from shardlint.knowledge import config_check, expression, key_path, kinds, language, operations, regex, template
from shardlint.knowledge import trial as trials
from shardlint.knowledge.compiler import CONSTANTS, RESERVED, WORLD, Scope
from shardlint.knowledge.config_check import Broken, ConfigCheck
from shardlint.knowledge.constraint_file import schema
from shardlint.knowledge.expression import Condition, Expression
from shardlint.knowledge.key_source import DocumentSource
from shardlint.knowledge.problem import CheckProblem
from shardlint.knowledge.template import Template
from shardlint.knowledge.trial import Trial
from shardlint.knowledge.unknown import UNKNOWN

from ..conftest import Lint

PAGE = (Path(shardlint.knowledge.__file__).parent / "EXPRESSIONS.md").read_text(encoding="utf-8")
(FILE,) = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
TORCH = Environment({"torch": Version("torch", "2.5.1", "locked", "uv.lock")})

Row = list[str]


def tables() -> list[tuple[Row, list[Row]]]:
    """The header and the rows of each table, as they are written."""
    found: list[tuple[Row, list[Row]]] = []
    for block in re.findall(r"(?:^\|.*\|\n)+", PAGE, re.MULTILINE):
        head, _, *rows = [[cell.strip() for cell in line[1:-1].split(" | ")] for line in block.splitlines()]
        assert all(len(row) == len(head) for row in rows), rows
        found.append((head, rows))
    return found


TABLES = tables()


def rows(*head: str) -> list[Row]:
    """The rows of all tables whose header has these cells, in the order of the cells."""
    return [
        [row[names.index(name)] for name in head] for names, lines in TABLES if {*head} <= {*names} for row in lines
    ]


def code(cell: str) -> str:
    """What stands between the first and the last backtick of a cell that is nothing else."""
    assert cell[0] == cell[-1] == "`", cell
    return cell[1:-1]


def stated(cell: str) -> object:
    """The value that a cell names."""
    return UNKNOWN if code(cell) == "unknown" else yaml.safe_load(code(cell))


def trial(text: str = FILE) -> Trial:
    (source,) = DocumentSource.of(read_document("a.yaml", text.encode()))
    return Trial(source, environment=TORCH)


def same(answer: object, wanted: object) -> bool:
    return answer is wanted or (answer == wanted and type(answer) is type(wanted))


@pytest.mark.parametrize(("example", "gives"), rows("example", "gives"))
def test_an_example_gives_what_the_page_says(example: str, gives: str) -> None:
    assert same(Expression(code(example), (), Scope()).of(trial()), stated(gives)) or same(
        Condition(code(example), (), Scope()).of(trial()), stated(gives)
    )


def test_the_page_names_every_function() -> None:
    shown = {re.split(r"[`(]", cell)[1]: example for cell, example in rows("function", "example")}
    assert shown.keys() == RESERVED - {*CONSTANTS, WORLD, "feasible"}
    assert all(f"{name}(" in example for name, example in shown.items())


def test_the_page_shows_every_operator() -> None:
    shown = {type(node) for example, _ in rows("example", "gives") for node in ast.walk(ast.parse(code(example)))}
    assert {*operations.BINARY, *operations.COMPARISONS, ast.And, ast.Or, ast.Not, ast.USub} - shown == set()
    assert {ast.IfExp, ast.ListComp, ast.GeneratorExp, ast.List, ast.Subscript} - shown == set()


def test_the_truth_table() -> None:
    answers = {"true": "true", "false": "false", "unknown": "'${x}'"}
    asked = [code(cell) for cell in ("`a and b`", "`a or b`", "`not a`")]
    lines = rows("`a`", "`b`", *(f"`{source}`" for source in asked))
    assert len({(one, other) for one, other, *_ in lines}) == 9
    for one, other, *results in lines:
        text = f"a: {answers[code(one)]}\nb: {answers[code(other)]}\n"
        for source, result in zip(asked, results, strict=True):
            assert Condition(source, (), Scope()).of(trial(text)) is stated(result), (one, other, source)


@pytest.mark.parametrize(("source", "reason"), rows("expression", "why it is not judged"))
def test_what_cannot_be_computed(source: str, reason: str) -> None:
    run = trial()
    assert Condition(code(source), (), Scope()).of(run) is UNKNOWN
    assert run.problem == f"{source} cannot be computed: {reason}"


def test_what_is_set_and_what_is_absent() -> None:
    (head,) = [head for head, _ in TABLES if head[0] == "the file says"]
    assert head[-1] == "set"
    for text, *cells, is_set in rows(*head):
        for source, cell in zip(head[1:-1], cells, strict=True):
            assert same(Expression(code(source), (), Scope()).of(trial(code(text))), stated(cell)), (text, source)
        assert Condition("default(train.x, false)", (), Scope()).of(trial(code(text))) is stated(is_set), text


@pytest.mark.parametrize(("kind", "what", "example", "broken"), rows("kind", "what must hold", "example", "broken by"))
def test_a_short_form(kind: str, what: str, example: str, broken: str) -> None:
    plain = yaml.safe_load(code(example))
    assert plain["kind"] == code(kind)
    form = kinds.KINDS[plain["kind"]]
    assert {*form.needs} <= plain.keys()
    assert all(name in plain or f"`{name}`" in what for name in form.may)
    (found,) = ConfigCheck(plain).judge_plain(yaml.safe_load(code(broken)))
    assert isinstance(found, Broken)


def test_the_page_shows_every_short_form_and_every_key() -> None:
    assert [code(kind) for kind, _ in rows("kind", "broken by")] == [*kinds.KINDS]
    assert {code(key) for key, _ in rows("key", "says")} == {*config_check.COMMON, "require"}


@pytest.mark.parametrize(("text", "says"), rows("template", "says for the file above"))
def test_a_template(text: str, says: str) -> None:
    assert Template(code(text), (), Scope()).filled([trial()], "train.steps", [8, 16]) == says


def taken(form: str, text: str) -> object:
    """A text, compiled as what it is said to be."""
    if form == "key path":
        return key_path.key_path(text, ())
    return Template(text, (), Scope()) if form == "message" else Condition(text, (), Scope())


@pytest.mark.parametrize(
    ("form", "text", "told"),
    [(form, *row) for form in ("expression", "key path", "message") for row in rows(form, "what you are told")],
)
def test_what_is_refused_and_how(form: str, text: str, told: str) -> None:
    with pytest.raises(CheckProblem) as caught:
        taken(form, code(text))
    assert str(caught.value) == told


def test_the_bounds() -> None:
    message = schema()["$defs"]["constraint"]["properties"]["message"]["maxLength"]
    assert message < template.MAX_TEMPLATE
    assert dict(rows("bound", "at most")) == {
        name: f"{bound:,}"
        for name, bound in {
            "characters of an expression": language.MAX_SOURCE,
            "parts of an expression": language.MAX_NODES,
            "levels of an expression": language.MAX_DEPTH,
            "names under `let`": expression.MAX_LETS,
            "keys, values or factors of a short form": kinds.MAX_KEYS,
            "characters of a key path": key_path.LONGEST,
            "characters of a regular expression": regex.LONGEST_PATTERN,
            "characters of a message": message,
            "expressions in a message": template.MAX_FIELDS,
            "patterns under `files`": config_check.MAX_FILES,
            "world sizes that are tried": config_check.MAX_SIZES,
            "characters of a text": operations.MAX_TEXT,
            "values in a list or mapping": operations.MAX_ITEMS,
            "values that a check looks at in a file": trials.MAX_STEPS,
        }.items()
    }


def test_the_worked_constraints_and_the_first_one_hold(lint: Lint) -> None:
    lint.project.write(".agents/knowledge/constraints.md", PAGE)

    assert lint("constraints", "check").out == "1 file, 5 constraints: all can be taken\n"
    answer = lint("constraints", "test")
    assert (answer.code, answer.out) == (0, "5 constraints, 22 tests: all hold\n")
    (first,) = re.findall(r"^    config:\n(?:      .*\n)+", PAGE, re.MULTILINE)
    assert len(list(ConfigCheck(yaml.safe_load(first)["config"]).judge_plain({"train": {"global_batch": 1}}))) == 1
