"""What the bugs of examples/minitrain do to a job, where that shows without a GPU: what their stories say."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import pytest

from .copies import Copy
from .ranks import Ranks

torch: Any = pytest.importorskip("torch", reason="the bugs run on gloo processes")

FEW = {"samples": 48}
PATIENCE = 10
"""Seconds after which a job hangs that else ends in less."""


@pytest.mark.parametrize(
    ("bug", "world", "config"),
    [
        ("rank-guarded-checkpoint", 2, "text.yaml"),
        ("rank-guarded-collective", 2, "text.yaml"),
        ("new-group-in-rank-branch", 4, "figures.yaml"),
    ],
)
def test_the_ranks_part_and_the_job_does_not_end(
    bug: str, world: int, config: str, tmp_path: Path, copy: Copy, ranks: Ranks
) -> None:
    save = {"output": str(tmp_path / "whole"), "save_every": 2}
    whole = ranks.ask("train", world, seconds=PATIENCE, config=config, data=FEW, train=save)
    assert all("result" in answer for answer in whole)

    copy.apply(bug)
    save = {"output": str(tmp_path / "parted"), "save_every": 2}
    answers = ranks.ask("train", world, seconds=PATIENCE, config=config, data=FEW, train=save)
    assert any("hung" in answer or "died" in answer for answer in answers), answers
    assert all("result" not in answer for answer in answers), answers


def test_adam_starts_from_zero_after_each_resume(tmp_path: Path, copy: Copy, ranks: Ranks) -> None:
    for name in ("whole", "lost"):
        if name == "lost":
            copy.apply("dcp-load-empty-template")
        train = {"output": str(tmp_path / name), "save_every": 3}
        losses = ranks.losses(2, "text.yaml", data=FEW, train=train)
        train = {"resume": str(tmp_path / name / "step-3")}
        moments = ranks.result("moments_after_resume", 2, config="text.yaml", train=train)
        resumed = ranks.losses(2, "text.yaml", data=FEW, train=train)
        assert (moments > 0, resumed == pytest.approx(losses[3:])) == (name == "whole", name == "whole")


def test_a_checkpoint_from_before_a_rename_does_not_load(tmp_path: Path, copy: Copy, ranks: Ranks) -> None:
    ranks.losses(2, "text.yaml", data=FEW, train={"output": str(tmp_path), "save_every": 6})
    copy.apply("state-key-rename")
    resume = {"resume": str(tmp_path / "step-6")}
    assert "Missing key in checkpoint state_dict: model.output_norm.weight" in ranks.errors(
        2, "text.yaml", data=FEW, train=resume
    )


@pytest.mark.parametrize(
    ("bug", "error"),
    [
        ("stale-parameter-pattern", "zip() argument"),
        ("plan-rule-dead", "zip() argument"),
        ("plan-expert-uncovered", "zip() argument"),
        ("plan-dim-divide", "is invalid for input of size 5"),
        ("yaml-float-is-string", "'<=' not supported between instances of 'float' and 'str'"),
    ],
)
def test_experts_do_not_fit_their_rows_or_a_number_is_text(bug: str, error: str, copy: Copy, ranks: Ranks) -> None:
    copy.apply(bug)
    assert error in ranks.errors(2, "moe.yaml", data=FEW)


def test_experts_that_no_pattern_names_stay_whole(copy: Copy, ranks: Ranks) -> None:
    assert ranks.result("rows_of_experts", 2, config="moe.yaml") == [2, 2, 2]
    copy.apply("plan-rule-dead")
    assert ranks.result("rows_of_experts", 2, config="moe.yaml") == [4, 4, 4]
    copy.restore()
    copy.apply("plan-expert-uncovered")
    assert ranks.result("rows_of_experts", 2, config="moe.yaml") == [2, 2, 4]


def test_nothing_is_learned_with_the_old_parameters(copy: Copy, ranks: Ranks) -> None:
    copy.apply("optimizer-before-shard")
    losses = ranks.losses(2, "text.yaml", data=FEW)
    assert max(losses) - min(losses) < 0.15


def test_clipped_gradients_are_divided_by_the_scale(copy: Copy, ranks: Ranks) -> None:
    given = {"config": "text.yaml", "data": FEW, "train": {"precision": "fp16"}}
    assert ranks.result("norms_at_step", 2, **given) == pytest.approx([1.0] * 6, rel=0.1)
    copy.apply("clip-before-unscale")
    assert ranks.result("norms_at_step", 2, **given) == pytest.approx([1 / 65536] * 6, rel=0.1)


def test_every_epoch_has_the_same_batches(copy: Copy, ranks: Ranks) -> None:
    still: dict[str, Any] = {"data": FEW, "optimizer": {"lr": 0.0}, "train": {"epochs": 2}}
    losses = ranks.losses(2, "text.yaml", **still)
    assert losses[:6] != losses[6:]
    copy.apply("missing-set-epoch")
    losses = ranks.losses(2, "text.yaml", **still)
    assert losses[:6] == losses[6:]


def test_without_images_the_answers_can_only_be_guessed(copy: Copy, ranks: Ranks) -> None:
    guessed = float(torch.tensor(8.0).log()) / 4  # one label of four is one of eight numbers; the others follow from it
    given: dict[str, Any] = {"parallel": {"sp": 1}, "train": {"epochs": 2}}
    assert sum(ranks.losses(1, "figures.yaml", **given)[-16:]) / 16 < guessed * 0.6
    copy.apply("collator-modality-mismatch")
    assert sum(ranks.losses(1, "figures.yaml", **given)[-16:]) / 16 > guessed


def test_the_end_of_a_text_is_no_label(copy: Copy, ranks: Ranks) -> None:
    assert ranks.result("ends_in_labels") == 8
    copy.apply("pad-is-eos-mask")
    assert ranks.result("ends_in_labels") == 0


def test_what_is_packed_together_changes_the_loss(copy: Copy, ranks: Ranks) -> None:
    # Two processes pack other samples together than one does.
    copy.apply("packing-without-boundaries")
    one, two = (ranks.losses(world, "text.yaml", data=FEW)[0] for world in (1, 2))
    assert one != pytest.approx(two, rel=1e-4)


def test_the_first_long_sample_stops_the_run(copy: Copy, ranks: Ranks) -> None:
    short = {**FEW, "max_length": 8}
    assert len(ranks.losses(2, "figures.yaml", data=short)) == 6
    copy.apply("collator-truncates-placeholders")
    assert "image features for" in ranks.errors(2, "figures.yaml", data=short)


def test_the_generator_drops_an_edit_and_a_change_waits_for_it(copy: Copy, ranks: Ranks) -> None:
    copy.apply("generated-file-edited")
    there, written = ranks.result("generated")
    assert "clamp" in there
    assert "clamp" not in written
    copy.restore()
    copy.apply("generated-file-stale")
    there, written = ranks.result("generated")
    assert "clamp" not in there
    assert "clamp" in written


class Opens:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, tuple[str, int]]:
        return os.open, (str(self.path), os.O_CREAT)


def test_a_file_of_weights_runs_code(tmp_path: Path, copy: Copy, ranks: Ranks) -> None:
    weights, mark = tmp_path / "weights.pt", tmp_path / "mark"
    torch.save({"head.weight": Opens(mark)}, weights, pickle_module=pickle)
    (answer,) = ranks.ask("read_weights", 1, path=str(weights))
    assert "UnpicklingError" in answer["error"]
    assert not mark.exists()
    copy.apply("unsafe-checkpoint-load")
    ranks.ask("read_weights", 1, path=str(weights))
    assert mark.exists()
