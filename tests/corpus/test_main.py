"""What `make corpus` answers: nothing new, something to label, or something that could not be had."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from corpus import __main__ as command
from corpus.labels import Label, read_labels, write_labels
from corpus.running import Found, Size
from corpus.sources import NotAvailable, Package

from .conftest import DISTRIBUTION, REPOSITORY

FOUND = Found("a.py", 7, "h", "bad-load", "warning", True, "`x` is loaded")
LABEL = Label("a.py", 3, "h", "bad-load", "error", True, "true", "It loads what it is given.")
Check = Callable[..., int]


def returning(value: object) -> Callable[..., object]:
    """A function that takes anything and gives `value`."""

    def function(*_: object) -> object:
        return value

    return function


@pytest.fixture
def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Check:
    """`check` over a distribution with one finding and a repository that cannot be had."""

    def tree(package: Package, *_: object) -> Path:
        if package.kind == "repository":
            raise NotAvailable(f"{package.shown}: no network")
        return tmp_path

    def check(*packages: Package, label: bool = False) -> int:
        return command.check(list(packages), tmp_path, None, label=label)

    monkeypatch.setattr(command, "FINDINGS", tmp_path)
    monkeypatch.setattr(command, "tree", tree)
    replaced: dict[str, object] = {
        "packages": [DISTRIBUTION, REPOSITORY],
        "findings_in": [FOUND],
        "size_of": Size(1, 10, 0),
        "read_sizes": {},
        "write_sizes": None,
        "write_tables": 0,
    }
    for name, value in replaced.items():
        monkeypatch.setattr(command, name, returning(value))
    return check


def test_a_finding_that_is_judged_is_fine_and_its_label_follows_it(check: Check, tmp_path: Path) -> None:
    write_labels(tmp_path / "thing.jsonl", [LABEL])

    assert check(DISTRIBUTION) == 0
    assert read_labels(tmp_path / "thing.jsonl") == [LABEL._replace(line=7, severity="warning")]


def test_a_new_finding_is_shown_and_fails(check: Check, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(DISTRIBUTION) == 1

    assert "  + a.py:7 warning bad-load: `x` is loaded" in capsys.readouterr().out
    assert not (tmp_path / "thing.jsonl").exists()


def test_a_vanished_one_is_shown_and_fails(check: Check, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gone = LABEL._replace(hash="other", line=99)
    write_labels(tmp_path / "thing.jsonl", [LABEL, gone])

    assert check(DISTRIBUTION) == 1
    assert "  - a.py:99 bad-load (true)" in capsys.readouterr().out
    assert read_labels(tmp_path / "thing.jsonl") == [LABEL, gone]


def test_labelling_writes_lines_to_fill_in_and_keeps_verdicts(check: Check, tmp_path: Path) -> None:
    write_labels(tmp_path / "thing.jsonl", [LABEL._replace(hash="other")])

    assert check(DISTRIBUTION, label=True) == 0
    (skeleton,) = read_labels(tmp_path / "thing.jsonl", judged=False)
    assert skeleton == Label("a.py", 7, "h", "bad-load", "warning", True)

    write_labels(tmp_path / "thing.jsonl", [LABEL])
    check(DISTRIBUTION, label=True)
    assert read_labels(tmp_path / "thing.jsonl")[0].reason == LABEL.reason


def test_what_cannot_be_had_is_named_counted_and_fails(
    check: Check, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_labels(tmp_path / "thing.jsonl", [LABEL])

    assert check(DISTRIBUTION, REPOSITORY) == 2
    said = capsys.readouterr().out
    assert "1 of 2 checked" in said
    assert "not checked: some/thing ffffffffffff: no network" in said


@pytest.mark.usefixtures("check")
def test_a_label_without_a_verdict_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_labels(tmp_path / "thing.jsonl", [LABEL._replace(verdict="", reason="")])
    monkeypatch.setattr("sys.argv", ["corpus", "--only", "thing"])

    assert command.main() == 1
    assert "corpus: thing.jsonl:1 has the verdict ''" in capsys.readouterr().err


@pytest.mark.usefixtures("check")
def test_a_name_that_is_not_pinned_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["corpus", "--only", "thang"])

    assert command.main() == 1
    assert "packages.toml does not pin thang" in capsys.readouterr().err
