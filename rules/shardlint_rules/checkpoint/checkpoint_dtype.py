"""The rule checkpoint-dtype."""

from __future__ import annotations

from shardlint.rule import Bad, CheckpointKeys, CheckpointRule, Findings, Good, observation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shardlint.rule import Checkpoint

_WIDTHS = {"float64": 64, "float32": 32, "bfloat16": 16, "float16": 16}
_NET = """
    embed.weight               [100, 16]  fp32
    layers.{0..3}.up.weight    [32, 16]   fp32
    experts.up                 [8, 32]    bf16
    buffer steps               []         int64
"""


class CheckpointDtype(CheckpointRule):
    """Reports tensors whose dtype in the checkpoint cannot stand for the one in the model.

    Why is this bad?
    Loaders convert without a word. Integers and 8-bit floats without their scales become wrong weights; master weights
    in fp32 that come back from 16 bits have lost what small steps had added, and the resumed run is not the one
    that was saved. A pattern with two dtypes tells of a checkpoint that was converted halfway.

    Use instead
    Save what the job computes with: fp32 master weights in fp32. Dequantise before loading.

    Known limits
    Between bf16, fp16 and fp32 a checkpoint to start from is healthy; it is reported only where a job resumes.
    """

    severity = "warning"
    since = "0.1.0"
    evidence = observation("https://docs.pytorch.org/docs/stable/distributed.checkpoint.html")
    suspects = CheckpointKeys()
    symptoms = (r"loss (?:jumps|spikes) after (?:the )?resume", r"expected scalar type \w+ but found")
    proof = ("test_checkpoint_contents", "the load converts without a word, and the lost bits stay lost")
    bad = (
        Bad(
            model=_NET,
            checkpoint="""
                format: safetensors
                embed.weight               [100, 16]  bf16
                layers.{0..2}.up.weight    [32, 16]   fp32
                layers.3.up.weight         [32, 16]   bf16  # error
                experts.up                 [8, 32]    uint8  # error
                steps                      []         int64
            """,
        ),
        Bad(
            model=_NET,
            checkpoint="""
                format: dcp
                model/embed.weight             [100, 16]  bf16  # error
                model/layers.{0..3}.up.weight  [32, 16]   fp32
                model/experts.up               [8, 32]    fp8  # error
                model/steps                    []         int64
                object lr_scheduler/last_epoch
            """,
        ),
    )
    good = (
        Good(
            model=_NET,
            checkpoint="""
                format: safetensors
                embed.weight               [100, 16]  bf16
                layers.{0..3}.up.weight    [32, 16]   fp16
                experts.up                 [8, 32]    fp32
                steps                      []         int32
            """,
        ),
        Good(
            model=_NET,
            checkpoint="""
                format: dcp
                model/layers.{0..3}.up.weight  [32, 16]   fp32
                model/experts.up               [8, 32]    fp32
                optimizer/state/layers.{0..3}.up.weight/step  []  fp32
            """,
        ),
    )

    def judge(self, checkpoint: Checkpoint) -> Findings:
        found: dict[tuple[str, str, str, str], list[tuple[str, str, int]]] = {}
        for pattern, dtype, pairs in checkpoint.compared.dtypes:
            wanted = pairs[0].wanted.dtype
            least, most = _WIDTHS.get(dtype), _WIDTHS.get(wanted)
            if least is None or most is None:
                happens, help = "are converted without their scale", "convert the checkpoint to the dtype of the model"
            elif checkpoint.resumes and least < most:
                happens, help = "have lost what small steps had added", "save the master weights as they are"
            elif pairs[0].odd:
                happens, help = "differ from the rest of their pattern", "convert the whole checkpoint again"
            else:
                continue
            names = [(pattern, pair.wanted.name, pair.held.first.line) for pair in pairs]
            found.setdefault((dtype, wanted, happens, help), []).extend(names)
        for (dtype, wanted, happens, help), names in found.items():
            pattern, name, line = names[0]
            others = len({pattern for pattern, _, _ in names}) - 1
            more = f" and {checkpoint.count(others, 'other pattern')}" if others else ""
            yield checkpoint.finding(
                f"`{pattern}`{more} in {dtype} in the checkpoint, {wanted} in the model: "
                f"{checkpoint.count(len(names), 'tensor')} such as `{name}` {happens}",
                help=help,
                about=f"{dtype} -> {wanted}",
                line=line,
            )
