"""The rule checkpoint-key-unexpected."""

from __future__ import annotations

from shardlint.rule import Bad, CheckpointKeys, CheckpointRule, Findings, Good, observation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shardlint.rule import Checkpoint

_SCALES = ("absmax", "g_idx", "input_scale", "qweight", "qzeros", "scales", "weight_scale", "weight_scale_inv")
"""Last names of keys that only quantised checkpoints have."""

_NET = """
    embed.weight                     [100, 16]  bf16
    layers.{0..3}.up.weight          [32, 16]   bf16
    tied head.weight = embed.weight
    buffer inv_freq [8] fp32
"""
_SAVED = """
    embed.weight                     [100, 16]  bf16
    layers.{0..3}.up.weight          [32, 16]   bf16
"""


class CheckpointKeyUnexpected(CheckpointRule):
    """Reports tensors of a checkpoint for which the model has no place.

    Why is this bad?
    What was trained is dropped: a strict loader stops the job, the others go on without it, with a line in the log or
    without one. More layers than the model has, or the scales of a quantised checkpoint, mean that the model is not
    the one that was saved, and its outputs are wrong.

    Use instead
    Build the model that was saved, or drop the tensors on purpose when the checkpoint is converted.

    Known limits
    A key that is probably a renamed one is reported by checkpoint-key-missing alone. Names that the framework says it
    ignores are not reported.
    """

    severity = "warning"
    since = "0.1.0"
    evidence = observation("https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html")
    suspects = CheckpointKeys()
    symptoms = (
        r"Unexpected key(?:s|\(s\)) in (?:source )?state_dict",
        r"Some weights of the model checkpoint at .* were not used",
    )
    proof = ("test_checkpoint_contents", "`dcp.load` drops the tensor without a word, a strict load fails")
    bad = (
        Bad(model=_NET, checkpoint="format: dcp" + _SAVED + "layers.{4..7}.up.weight [32, 16] bf16  # error"),
        Bad(model=_NET, checkpoint="format: safetensors" + _SAVED + "value_head.weight [1, 16] bf16  # error"),
        Bad(
            model=_NET,
            checkpoint="format: safetensors" + _SAVED + "layers.{0..3}.up.weight_scale_inv [1] fp32  # error",
        ),
    )
    good = (
        Good(model=_NET, checkpoint="format: dcp" + _SAVED + "inv_freq [8] fp32\nhead.weight [100, 16] bf16"),
        Good(model=_NET, checkpoint="format: dcp" + _SAVED.replace(".up.", ".w1.")),
        Good(
            model=_NET,
            checkpoint="format: dcp" + _SAVED.replace("  embed", "  module.embed").replace("lay", "module.lay"),
        ),
        Good(
            model=_NET,
            checkpoint="format: dcp" + _SAVED + "state.embed.weight.exp_avg [100, 16] fp32\nema/step [] int64",
        ),
    )

    def judge(self, checkpoint: Checkpoint) -> Findings:
        compared = checkpoint.compared
        if compared.nothing_agrees:
            return
        for gap in compared.unexpected_layers:
            yield checkpoint.finding(
                f"`{gap.holder}` has {len(gap.here)} entries in the checkpoint and {len(gap.there)} in the model: "
                f"{checkpoint.count(len(gap.keys), 'tensor')} of {checkpoint.ranges(gap.lacking)} are dropped",
                help="build the model with as many layers as were saved",
                about=gap.holder,
                line=checkpoint.line_of(gap.keys[0]),
            )
        scales = {p: keys for p, keys in compared.unexpected.items() if p.endswith(tuple(f".{end}" for end in _SCALES))}
        if scales:
            pattern, keys = next(iter(scales.items()))
            count = checkpoint.count(sum(map(len, scales.values())), "key")
            yield checkpoint.finding(
                f"the checkpoint is quantised: it has {count} such as `{keys[0]}`, which the model does not have; "
                "without them the values beside them mean nothing",
                help="dequantise the checkpoint first, or give the loader its quantisation config",
                about=pattern,
                line=checkpoint.line_of(keys[0]),
            )
        for pattern, keys in compared.unexpected.items():
            if pattern not in scales:
                yield checkpoint.finding(
                    f"`{pattern}` is in the checkpoint and not in the model"
                    f" ({checkpoint.count(len(keys), 'key')}, such as `{keys[0]}`): what was trained there is dropped",
                    help="build the model that was saved, or drop the key on purpose",
                    about=pattern,
                    line=checkpoint.line_of(keys[0]),
                )
