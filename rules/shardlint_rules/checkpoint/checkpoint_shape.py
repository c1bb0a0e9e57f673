"""The rule checkpoint-shape."""

from __future__ import annotations

from shardlint.rule import Bad, CheckpointKeys, CheckpointRule, Findings, Good, observation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shardlint.rule import Checkpoint

_NET = """
    embed.weight                     [100, 16]  bf16
    layers.{0..3}.up.weight          [32, 16]   bf16
    layers.{0..3}.norm.weight        [16]       bf16
"""


class CheckpointShape(CheckpointRule):
    """Reports tensors that have another shape in the checkpoint than in the model.

    Why is this bad?
    The load fails once every rank has started, or, where mismatches are ignored, the tensor stays as initialised.
    A transposed weight tells of another layout (`Conv1D` and `Linear`), another number of rows of a vocabulary that was
    padded for another number of ranks.

    Use instead
    Build the model with the sizes that were saved, or convert the tensor: transpose it, resize the embedding.

    Known limits
    A square weight that is transposed has the same shape. Of tensors that the framework merges while it loads, the
    number of values is compared.
    """

    severity = "error"
    since = "0.1.0"
    evidence = observation("https://docs.pytorch.org/docs/stable/distributed.checkpoint.html")
    suspects = CheckpointKeys()
    symptoms = (
        r"size mismatch for .*: copying a param with shape",
        r"Size mismatch between saved .* and current",
        r"ignore_mismatched_sizes",
    )
    proof = ("test_checkpoint_contents", "the load fails even if it is not strict")
    bad = (
        Bad(
            model=_NET,
            checkpoint="""
                format: dcp
                embed.weight               [128, 16]  bf16  # error
                layers.{0..3}.up.weight    [16, 32]   bf16  # error
                layers.{0..3}.norm.weight  [16]       bf16
            """,
        ),
        Bad(
            model=_NET,
            checkpoint="""
                format: safetensors
                module.embed.weight               [100, 16]  bf16
                module.layers.{0..3}.up.weight    [32, 16]   bf16
                module.layers.{0..2}.norm.weight  [16]       bf16
                module.layers.3.norm.weight       [16, 1]    bf16  # error
            """,
        ),
    )
    good = (
        Good(
            model=_NET,
            checkpoint="""
                format: dcp
                model/embed.weight               [100, 16]  fp32
                model/layers.{0..3}.up.weight    [32, 16]   fp32
                model/layers.{0..3}.norm.weight  [16]       fp32
                ema/layers.{0..3}.norm.weight    [8]        fp32
            """,
        ),
    )

    def judge(self, checkpoint: Checkpoint) -> Findings:
        for pattern, pairs in checkpoint.compared.shapes.items():
            wanted, held = pairs[0].wanted, pairs[0].held
            count = f" ({checkpoint.count(len(pairs), 'key')}, such as `{wanted.name}`)" if pairs[1:] else ""
            help = "build the model with the sizes that were saved, or convert the tensor before loading"
            if held.shape is None:
                has = f"{held.elements} values in {checkpoint.count(held.sources, 'tensor')} that are merged into it"
                help = "look for tensors that are missing among those that are merged, such as an expert"
            else:
                has = f"the shape {list(held.shape)}"
                if len(held.shape) == 2 and held.shape[::-1] == wanted.shape:
                    has, help = f"{has}, transposed", "transpose it while converting the checkpoint"
                elif held.shape[1:] == wanted.shape[1:] and "embed" in pattern + "lm_head" * ("head" in pattern):
                    help = "pad or resize the vocabulary as the job that saved it did"
            yield checkpoint.finding(
                f"`{pattern}` has {has} in the checkpoint, and {list(wanted.shape)} in the model{count}: "
                "it cannot be loaded",
                help=help,
                about=pattern,
                line=held.first.line,
            )
