"""The command measures pinned distributions, and says what it needs."""

import sys
from pathlib import Path

import pytest

from benchmarks.__main__ import distributions, main, one_package


def test_whole_corpus_is_every_pinned_distribution_and_no_repository() -> None:
    pinned = distributions()

    assert len(pinned) >= 14
    assert all(package.file for package in pinned)
    assert one_package() in pinned


@pytest.mark.parametrize("given", [["tree"], ["tree", "no/such/folder"]])
def test_one_tree_must_be_named(given: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["benchmarks", *given])

    with pytest.raises(SystemExit, match="say which source tree"):
        main()


def test_figures_of_one_tree_are_printed_and_decide_the_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = tmp_path / "project"
    tree.mkdir()
    for number in range(3):
        (tree / f"quiet_{number}.py").write_text("x = 1\n" * 1_000)
    monkeypatch.setattr(sys, "argv", ["benchmarks", "tree", str(tree), "--rounds", "1"])

    code = main()

    printed = capsys.readouterr().out
    assert printed.startswith("### project: 3 files, 3,000 lines\n")
    assert code == ("not held" in printed)
    assert [path.read_text() for path in sorted(tree.iterdir())] == ["x = 1\n" * 1_000] * 3
