"""The rule checkpoint-key-missing."""

from __future__ import annotations

from shardlint.rule import Bad, CheckpointKeys, CheckpointRule, Findings, Good, observation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shardlint.rule import Checkpoint

_NET = """
    embed.weight                       [100, 16]  bf16
    layers.{0..3}.attn.{q,k}.weight    [16, 16]   bf16
    layers.{0..3}.attn.{q,k}.bias      [16]       bf16
    tied head.weight = embed.weight
"""
_SAVED = """
    {a}embed.weight                    [100, 16]  fp32
    {a}layers.{{{b}}}.{c}.{{q,k}}.weight  [16, 16]   fp32
    {a}layers.{{{b}}}.{c}.{{q,k}}.bias    [16]       fp32
"""
_WHOLE = _SAVED.format(a="model/", b="0..3", c="attn")
_OTHER = """
    format: safetensors  # error
    text.shared [7, 3] fp32
"""
_FURTHER = "buffer rope.scale [8] fp32\nfilter [5, 5] fp32"


class CheckpointKeyMissing(CheckpointRule):
    """Reports parameters and buffers of a model that a checkpoint does not have, with the cause where there is one.

    Why is this bad?
    Loaders that are not strict, and those of Transformers, leave such a tensor as it was initialised: part of the model
    is random, the loss starts higher than it ended, and nobody knows why. Strict loaders stop the job after it has
    waited for its nodes. A wrapper's prefix (`module.`, `_orig_mod.`) does this to every key at once.

    Use instead
    Save the state of the inner module, not of the wrapper; give the loader the renames, which `--write-mapping` prints
    for review; build the model with as many layers as the checkpoint has.

    Known limits
    A rename is a guess from equal shapes, equal layers and names that resemble each other. What the job adds on purpose
    (a new head) is reported too: ignore the rule for that checkpoint.
    """

    severity = "error"
    since = "0.1.0"
    evidence = observation("https://docs.pytorch.org/docs/stable/distributed.checkpoint.html")
    suspects = CheckpointKeys()
    symptoms = (
        r"Missing key(?:s|\(s\)) in (?:checkpoint )?state_dict",
        r"Some weights of .* were not initialized from the model checkpoint",
        r"newly initialized",
    )
    proof = ("test_checkpoint_contents", "a load that is not strict leaves the weight as initialised")
    bad = (
        Bad(model=_NET, checkpoint="format: dcp  # error" + _SAVED.format(a="model/module.", b="0..3", c="attn")),
        Bad(model=_NET, checkpoint="format: safetensors  # error" + _SAVED.format(a="_orig_mod.", b="0..3", c="attn")),
        Bad(model=_NET, checkpoint="format: dcp  # error" + _SAVED.format(a="", b="0..2", c="attn")),
        Bad(model=_NET, checkpoint="format: dcp  # error" + _SAVED.format(a="model/", b="0..3", c="attention")),
        Bad(model=_NET + _FURTHER, checkpoint="format: dcp  # error" + _WHOLE),
        Bad(model=_NET, checkpoint=_OTHER),
    )
    good = (
        Good(model=_NET, checkpoint="format: dcp" + _WHOLE + "optimizer/state/embed.weight/exp_avg [100, 16] fp32"),
        Good(model=_NET, checkpoint="format: safetensors" + _SAVED.format(a="", b="0..3", c="attn")),
        Good(model=_NET, checkpoint="format: dcp" + _WHOLE.replace("embed.weight ", "head.weight ")),
        Good(model=_NET, checkpoint="format: dcp" + _WHOLE + "model/layers.4.attn.q.weight [16, 16] fp32"),
    )

    def judge(self, checkpoint: Checkpoint) -> Findings:
        compared = checkpoint.compared
        if compared.nothing_agrees:
            yield checkpoint.finding(
                f"none of the {len(compared.wanted)} tensors of the model is in the checkpoint: it is of another model",
                help="compare the keys of both, or name the folder of the right checkpoint",
                about="*",
            )
            return
        if compared.prefix is not None:
            p = compared.prefix
            has, other = (f"`{one}.`" if one else "no prefix" for one in (p.old, p.new))
            where = f"{has} within them" if p.anywhere else f"{has} before them"
            needs = "does not" if p.anywhere or not p.new else f"has {other}"
            yield checkpoint.finding(
                f"{checkpoint.count(p.count, 'key')} of the checkpoint have {where} and the model {needs}: "
                "none of them is found, and the model stays as it was initialised",
                help="rename the keys while loading (`--write-mapping` prints how), or save the inner module's state",
                about=f"{p.old} -> {p.new}",
            )
        for gap in compared.missing_layers:
            yield checkpoint.finding(
                f"`{gap.holder}` has {len(gap.here)} entries in the model and {len(gap.there)} in the checkpoint: "
                f"{checkpoint.count(len(gap.keys), 'tensor')} of {checkpoint.ranges(gap.lacking)} stay as initialised",
                help="build the model with as many layers as were saved, or load the checkpoint of this size",
                about=gap.holder,
            )
        for one in compared.renames:
            given, wanted = one.pairs[0]
            rivals = f"; `{one.rivals[0]}` may be meant as well" if one.rivals else ""
            yield checkpoint.finding(
                f"`{wanted}` is not in the checkpoint; a candidate with the same shapes is `{given}`"
                f" ({checkpoint.count(one.keys, 'key')}){rivals}",
                help="rename it while loading if they are the same; `--write-mapping` prints the table to review",
                about=wanted,
            )
        for pattern, keys in compared.missing.items():
            yield checkpoint.finding(
                f"`{pattern}` is in the model and not in the checkpoint"
                f" ({checkpoint.count(len(keys), 'key')}, such as `{keys[0]}`): it stays as it was initialised",
                help="load a checkpoint that has it, or ignore this rule if the job means to train it anew",
                about=pattern,
            )
