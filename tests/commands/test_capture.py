"""`shardlint capture` by every route: what it asks for, what it proves, what it writes and what it leaves alone."""

from __future__ import annotations

import difflib
import io
import json

import pytest

from ..conftest import Answer, Lint

TOLD = ("--cause", "it is so", "--evidence", "observation", "--verification", "the job ran", "--symptom", "it hung")
PAGE = """\
# Constraints

Prose that stays.

## Checkpoints

1. **Saving is collective**
   - every rank calls it

2. **Keys are kept**

## Style

- a bullet
"""
LOAD, SAFE = "x = torch.load(p)\n", "x = torch.load(p, weights_only=True)\n"


@pytest.fixture
def team(lint: Lint) -> Lint:
    lint.project.write(".agents/knowledge/constraints.md", PAGE)
    lint.project.write(".git/info/keep", "")
    lint.project.write("snippets/.gitignore", "*\n")
    return lint


def snippets(lint: Lint, bad: str, good: str, suffix: str = ".py") -> tuple[str, ...]:
    lint.project.write(f"bad{suffix}", bad)
    lint.project.write(f"good{suffix}", good)
    return ("--bad", f"bad{suffix}", "--good", f"good{suffix}")


def text_of(lint: Lint, file: str = ".agents/knowledge/constraints.md") -> str:
    return (lint.project.root / file).read_bytes().decode()


def captured(lint: Lint, title: str, *arguments: str) -> Answer:
    answer = lint("capture", "--title", title, *TOLD, *arguments)
    assert answer.code == 0, answer.err
    return answer


ROUTES: list[tuple[str, str, str, tuple[str, ...]]] = [
    (".py", LOAD, SAFE, ()),
    (".py", LOAD, SAFE, ("--number", "2")),
    (".py", LOAD, SAFE, ("--section", "Style")),
    (".py", LOAD, SAFE, ("--section", "Brand new")),
    (".py", LOAD, SAFE, ("--candidate", "2")),
    (".py", "f(x, mode=1)\n", "g(x)\n", ("--pattern", "f(...)")),
    (".py", "import apex\n", "try:\n    import apex\nexcept ImportError:\n    apex = None\n", ("--severity", "error")),
    (".py", "if rank == 0:\n    dist.barrier()\n", "dist.barrier()\n", ("--paths", "train/**", "--help-me", "")[:2]),
    (".yaml", "a: 5\nb: 2\n", "a: 4\nb: 2\n", ("--files", "*.yaml")),
    (".yaml", "a: 5\nb: 2\n", "a: 4\nb: 2\n", ("--require", "a % b == 0", "--message", "{a} is no multiple of {b}")),
]


@pytest.mark.parametrize(("suffix", "bad", "good", "options"), ROUTES)
def test_every_route_adds_a_constraint_whose_tests_hold_and_changes_nothing_else(
    team: Lint, suffix: str, bad: str, good: str, options: tuple[str, ...]
) -> None:
    before = text_of(team)
    answer = captured(team, "What must hold", *snippets(team, bad, good, suffix), *options)
    rows = list(difflib.ndiff(before.split("\n"), text_of(team).split("\n")))

    assert not [row for row in rows if row[0] in "-?"]
    assert "from now on the hook says of such code" in answer.out
    assert "  what-must-hold" in answer.out
    assert team("constraints", "test").out == "1 constraint, 2 tests: all hold\n"


def test_ten_in_a_row_keep_the_prose_byte_for_byte(team: Lint) -> None:
    before = text_of(team)
    for number, (suffix, bad, good, options) in enumerate(ROUTES):
        kept = tuple(one for one in options if one not in ("--candidate", "2") or "--number" in options)
        given = snippets(team, bad, good, suffix)
        captured(team, f"Lesson {number}", *given, *kept, "--confirm-hits")
    rows = list(difflib.ndiff(before.split("\n"), text_of(team).split("\n")))

    assert not [row for row in rows if row[0] in "-?"]
    assert team("constraints", "test").out == "10 constraints, 20 tests: all hold\n"


def test_an_incident_file_tells_all(team: Lint) -> None:
    incident = "---\ntitle: Told whole\nsymptom: s\ncause: c\nevidence: observation\nverification: v\n---\n\n"
    incident += f"```python bad\n{LOAD}```\n\n```python good\n{SAFE}```\n"
    team.project.write("incident.md", incident)

    assert team("capture", "incident.md").code == 0
    assert "3. **Told whole**" in text_of(team)
    assert "- S. C. Verified: v." in text_of(team)


def test_a_yaml_file_and_a_new_file_are_written(lint: Lint) -> None:
    given = snippets(lint, LOAD, SAFE)
    captured(lint, "First", *given, "--to", "constraints/ours.yaml")
    captured(lint, "Second", *given, "--to", "constraints/ours.yaml", "--candidate", "2")
    captured(lint, "Third", *given, "--to", ".agents/knowledge/constraints.md")

    assert lint("constraints", "test").out == "3 constraints, 6 tests: all hold\n"
    assert text_of(lint).startswith("# Constraints\n")


@pytest.mark.parametrize(
    ("left_out", "named"),
    [
        ("--title", "`--title` (what must hold from now on)"),
        ("--cause", "`--cause` (why it happened)"),
        ("--evidence", "`--evidence` (what shows that this is the cause)"),
        ("--verification", "`--verification` (how it was seen that the fix works)"),
        ("--bad", "`--bad` (the code or config before the fix)"),
        ("--good", "`--good` (the same after it)"),
    ],
)
def test_what_is_not_understood_is_not_captured(team: Lint, left_out: str, named: str) -> None:
    told = ["--title", "T", *TOLD, *snippets(team, LOAD, SAFE)]
    at = told.index(left_out)
    answer = team("capture", *told[:at], *told[at + 2 :])

    assert answer.code == 2
    assert named in answer.err
    assert "--no-new-knowledge" in answer.err
    assert text_of(team) == PAGE


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--pattern", "$X"), "no check tells the bad snippet from the good one"),
        (("--pattern", "torch.save(...)"), "nothing is reported"),
        (("--pattern", "torch.load(...)"), "good test 1: a finding is reported"),
        (("--pattern", "f(", "--require", "a"), "one check"),
        (("--candidate", "99"), "`--candidate` takes a number from 1 to"),
        (("--number", "9"), "no statement of number 9"),
        (("--to", "notes/x.md"), "no run would read notes/x.md"),
        (("--to", "../x.md"), "lies outside of the project"),
        (("--id", "rank-guarded-checkpoint"), "is the name of a rule already"),
        (("--id", "Not A Name"), "lower-case words with hyphens"),
        (("--evidence", "inference", "--reference", "a, b"), ""),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_written(
    team: Lint, arguments: tuple[str, ...], sentence: str
) -> None:
    answer = team("capture", "--title", "T", *TOLD, *snippets(team, LOAD, SAFE), *arguments)

    if not sentence:
        assert "- a, b" in text_of(team)
        return
    assert answer.code == 2
    assert sentence in answer.err
    assert text_of(team) == PAGE


def test_snippets_that_say_the_same_give_nothing(team: Lint) -> None:
    answer = team("capture", "--title", "T", *TOLD, *snippets(team, "f(1)\n", "f( 1 )  # now\n"))

    assert "differ in nothing that a check could hold" in answer.err


def test_other_places_must_be_decided_about(team: Lint) -> None:
    given = ("capture", "--title", "T", *TOLD, *snippets(team, LOAD, SAFE))
    team.project.write("other.py", "import torch\n\ny = torch.load('b')\n")
    refused = team(*given)
    assert refused.code == 2
    assert "  other.py:3  T\n" in refused.out
    assert "`--confirm-hits`" in refused.err
    assert text_of(team) == PAGE

    assert team(*given, "--baseline-hits").code == 2
    assert team(*given, "--exclude", "other.py", "--dry-run").code == 0
    assert text_of(team) == PAGE
    team.project.write("pyproject.toml", '[tool.shardlint]\nbaseline = "known.json"\n')
    assert team(*given, "--baseline-hits").code == 0
    (entry,) = json.loads(text_of(team, "known.json"))["findings"]
    assert (entry["path"], entry["rule"]) == ("other.py", "t")
    assert "other.py" not in team("check").out


def test_a_baseline_keeps_its_other_entries(team: Lint) -> None:
    team.project.write("pyproject.toml", '[tool.shardlint]\nbaseline = "known.json"\n')
    old = {"path": "a.py", "rule": "missing-set-epoch", "fingerprint": "f", "message": "m"}
    team.project.write("known.json", json.dumps({"version": 1, "findings": [old]}))
    team.project.write("other.py", "import torch\n\ny = torch.load('b')\n")
    captured(team, "T", *snippets(team, LOAD, SAFE), "--baseline-hits")

    assert [one["rule"] for one in json.loads(text_of(team, "known.json"))["findings"]] == ["missing-set-epoch", "t"]


def test_no_new_knowledge_is_recorded(team: Lint) -> None:
    assert "say which incident it was" in team("capture", "--no-new-knowledge", "a disk was full").err
    told = ("capture", "--symptom", "the job stopped", "--no-new-knowledge")
    assert team(*told, "a disk was full").code == 0
    assert team(*told, "a node was lost").code == 0

    assert text_of(team) == PAGE + (
        "\n## Incidents without a new constraint\n\n"
        "- the job stopped. No new constraint: a disk was full.\n"
        "- the job stopped. No new constraint: a node was lost.\n"
    )


class Terminal(io.StringIO):
    """Answers typed at a terminal."""

    def isatty(self) -> bool:
        return True


def test_at_a_terminal_it_asks_for_what_is_missing(team: Lint, monkeypatch: pytest.MonkeyPatch) -> None:
    team.project.write("other.py", "import torch\n\ny = torch.load('b')\n")
    team.project.write("third.py", "import torch\n\ny = torch.load('c')\n")
    answers = ["T", "it crashed", "a pickle", "research", "https://example.org", "loaded", "2", "c", "e"]
    monkeypatch.setattr("sys.stdin", Terminal("".join(f"{line}\n" for line in answers)))
    answer = team("capture", *snippets(team, LOAD, SAFE))

    assert answer.code == 0, answer.err
    assert "title - what must hold from now on: " in answer.out
    written = text_of(team)
    assert "- third.py" in written
    assert "- https://example.org" in written
    assert "- It crashed. A pickle. Verified: loaded." in written


@pytest.mark.parametrize("answers", [["T"], ["T", "s", "c", "rumour", ""], ["T", "s", "c", "observation", "", "v", ""]])
def test_an_answer_that_is_none_ends_it(team: Lint, monkeypatch: pytest.MonkeyPatch, answers: list[str]) -> None:
    monkeypatch.setattr("sys.stdin", Terminal("".join(f"{line}\n" for line in answers)))

    assert team("capture", *snippets(team, LOAD, SAFE)).code == 2
    assert text_of(team) == PAGE


def test_a_link_is_not_written_through(team: Lint) -> None:
    target = team.project.root / "elsewhere.md"
    file = team.project.root / ".agents" / "knowledge" / "constraints.md"
    file.rename(target)
    file.symlink_to(target)
    answer = team("capture", "--title", "T", *TOLD, *snippets(team, LOAD, SAFE))

    assert answer.code == 2
    assert "through a link" in answer.err
    assert target.read_text() == PAGE


def test_two_snippets_of_different_kinds_are_refused(team: Lint) -> None:
    team.project.write("good.yaml", "a: 1\n")
    team.project.write("bad.py", "f()\n")
    answer = team("capture", "--title", "T", *TOLD, "--bad", "bad.py", "--good", "good.yaml")

    assert "one of the two snippets is code and the other a config" in answer.err


def test_snippets_that_cannot_be_read_are_named(team: Lint) -> None:
    assert "gone.py cannot be read" in team("capture", "--bad", "gone.py").err
    assert (
        "the bad snippet is not Python: line 1"
        in team("capture", "--title", "T", *TOLD, *snippets(team, "f(\n", "f()\n")).err
    )
    team.project.write("bad.yaml", "a: [\n")
    assert "bad.yaml:2: this is not valid YAML" in team("capture", "--bad", "bad.yaml").err
