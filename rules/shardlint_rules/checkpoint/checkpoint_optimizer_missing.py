"""The rule checkpoint-optimizer-missing."""

from __future__ import annotations

from shardlint.rule import Bad, CheckpointKeys, CheckpointRule, Findings, Good, observation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shardlint.rule import Checkpoint

_NET = """
    embed.weight               [100, 16]  bf16
    tower.weight               [4, 4]     bf16 frozen
    layers.{0..3}.up.weight    [32, 16]   bf16
    tied head.weight = embed.weight
"""
_SAVED = """
    model/embed.weight             [100, 16]  bf16
    model/tower.weight             [4, 4]     bf16
    model/layers.{0..3}.up.weight  [32, 16]   bf16
"""
_STATE = """
    optim/state/embed.weight/{exp_avg,exp_avg_sq}            [16] fp32
    optim/state/layers.{0..3}.up.weight/{exp_avg,exp_avg_sq}  [16] fp32
    object optim/param_groups
"""


class CheckpointOptimizerMissing(CheckpointRule):
    """Reports a checkpoint to resume from that lacks the optimizer's state, of all parameters or of some.

    Why is this bad?
    Adam starts again with moments of zero. The first steps after the resume are as large as at the start of the run,
    but the learning rate is that of the middle: the loss jumps, and some runs never come back.

    Use instead
    Save the optimizer's state with the model's, `get_state_dict(model, optimizer)`, and load both.

    Known limits
    That a job resumes is seen by what lies beside the model (a step, a scheduler), or said (`--resume`).
    Optimizers that number their parameters are not compared one by one.
    """

    severity = "warning"
    since = "0.1.0"
    evidence = observation("https://docs.pytorch.org/tutorials/recipes/distributed_checkpoint_recipe.html")
    suspects = CheckpointKeys()
    symptoms = (r"Missing key in checkpoint state_dict: optim", r"loss (?:jumps|spikes) after (?:the )?resume")
    proof = ("test_checkpoint_contents", "`dcp.load` fails, or Adam's moments are zero")
    bad = (
        Bad(model=_NET, checkpoint="format: dcp  # error" + _SAVED + "object lr_scheduler/last_epoch"),
        Bad(model=_NET, checkpoint="format: dcp  # error" + _SAVED + _STATE.replace("0..3", "0..2")),
    )
    good = (
        Good(model=_NET, checkpoint="format: dcp" + _SAVED),
        Good(model=_NET, checkpoint="format: dcp" + _SAVED + _STATE + "\nobject train_state/step"),
        Good(model=_NET, checkpoint="format: dcp" + _SAVED + "optim/state/{0..4}/exp_avg [16] fp32\nobject step"),
    )

    def judge(self, checkpoint: Checkpoint) -> Findings:
        compared = checkpoint.compared
        if compared.nothing_agrees:
            return
        if not compared.parts.optimizer:
            if checkpoint.resumes:
                yield checkpoint.finding(
                    "a job is to resume from this checkpoint, which holds no state of an optimizer: its moments start "
                    "from zero, with the learning rate of a later step",
                    help="save the optimizer's state with the model's, and load both",
                    about="optimizer",
                )
            return
        for pattern, keys in compared.without_state.items():
            yield checkpoint.finding(
                f"the optimizer's state has nothing for `{pattern}` ({checkpoint.count(len(keys), 'parameter')}, "
                f"such as `{keys[0]}`): after a resume it starts from zero there",
                help="save the optimizer's state of all trainable parameters; freeze those that are not trained",
                about=pattern,
            )
