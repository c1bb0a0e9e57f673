"""What cannot be judged is counted: the page is of the pinned packages, and most of their code is judged."""

from __future__ import annotations

from pathlib import Path

from corpus.silence import PAGE, Silence, effects, page, silence_in
from corpus.sources import packages

CODE = """\
import torch.distributed as dist


def mean(x):
    dist.all_reduce(x)


def step(x):
    mean(x)


def other(x):
    return x


def save(rank, hook, x):
    if dist.get_rank() == 0:
        hook.run(x)
"""


def test_functions_count_that_reach_a_collective_or_cannot_be_judged(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(CODE, encoding="utf-8")

    assert silence_in(tmp_path, effects()) == Silence(functions=3, not_judged=1)


def test_the_page_adds_up() -> None:
    lines = page([("a 1", Silence(8, 1)), ("b 2", Silence(2, 1)), ("c 3", Silence(0, 0))]).splitlines()

    assert lines[-4:] == [
        "| a 1 | 8 | 1 | 12% |",
        "| b 2 | 2 | 1 | 50% |",
        "| c 3 | 0 | 0 | 0% |",
        "| all | 10 | 2 | 20% |",
    ]


def test_the_page_is_of_the_pinned_packages_and_less_than_a_fifth_is_not_judged() -> None:
    rows = [line.strip("| ").split(" | ") for line in PAGE.read_text(encoding="utf-8").splitlines() if " | " in line]

    assert [row[0] for row in rows[1:-1]] == [one.shown for one in packages() if one.kind != "repository"]
    whole = Silence(int(rows[-1][1]), int(rows[-1][2]))
    assert rows[-1][0] == "all"
    assert whole.share < 0.2
