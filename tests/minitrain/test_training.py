"""examples/minitrain trains, with the same losses on one, two and four processes, and goes on from its checkpoints."""

from __future__ import annotations

from pathlib import Path

import pytest

from .ranks import Ranks

pytest.importorskip("torch", reason="minitrain trains on gloo processes")

FEW = {"samples": 48}
LAYOUTS: list[tuple[str, int, dict[str, int]]] = [
    ("text.yaml", 2, {}),
    ("text.yaml", 4, {}),
    ("figures.yaml", 2, {"sp": 2}),
    ("figures.yaml", 4, {"sp": 2}),
    ("figures.yaml", 4, {"sp": 4}),
    ("moe.yaml", 2, {"ep": 1}),
    ("moe.yaml", 2, {"ep": 2}),
    ("moe.yaml", 4, {"ep": 2}),
]


@pytest.fixture(scope="module")
def alone(shared_ranks: Ranks) -> dict[str, list[float]]:
    """The losses of each configuration on one process."""
    one = {"sp": 1, "ep": 1}
    return {
        name: shared_ranks.losses(1, name, data=FEW, parallel=one) for name in sorted({name for name, *_ in LAYOUTS})
    }


@pytest.mark.parametrize(("config", "world", "parallel"), LAYOUTS)
def test_losses_are_those_of_one_process(
    config: str, world: int, parallel: dict[str, int], alone: dict[str, list[float]], ranks: Ranks
) -> None:
    together = ranks.losses(world, config, data=FEW, parallel=parallel)
    assert len(together) == 6
    assert together == pytest.approx(alone[config], rel=1e-4)
    assert together[-1] < together[0] - 0.3


@pytest.mark.parametrize(("config", "parallel"), [("text.yaml", {}), ("moe.yaml", {"ep": 2})])
def test_a_job_goes_on_from_a_checkpoint_on_more_processes(
    config: str, parallel: dict[str, int], tmp_path: Path, ranks: Ranks
) -> None:
    save = {"output": str(tmp_path), "save_every": 4}
    whole = ranks.losses(2, config, data=FEW, parallel=parallel, train=save)
    resumed = ranks.losses(4, config, data=FEW, parallel=parallel, train={"resume": str(tmp_path / "step-4")})
    assert resumed == pytest.approx(whole[4:], rel=1e-4)


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_a_job_trains_in_half_precision(precision: str, alone: dict[str, list[float]], ranks: Ranks) -> None:
    losses = ranks.losses(2, "text.yaml", data=FEW, train={"precision": precision})
    assert losses == pytest.approx(alone["text.yaml"], rel=2e-2)


def test_ranks_that_cannot_be_divided_are_refused(ranks: Ranks) -> None:
    assert "2 ranks cannot form groups of sp=4" in ranks.errors(2, "text.yaml", parallel={"sp": 4})


def test_the_generated_file_is_what_the_generator_writes(ranks: Ranks) -> None:
    there, written = ranks.result("generated")
    assert there == written
