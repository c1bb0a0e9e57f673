"""The rule fsdp-no-wrap."""

from __future__ import annotations

from shardlint.rule import Bad, Findings, Good, PlanRule, PlanUnits, gib, observation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shardlint.rule import Plan

_MODEL = """
    module model.layers                    ModuleList
    module model.layers.{0..7}             LlamaDecoderLayer
    module model.layers.{0..7}.mlp         LlamaMLP
    module visual.blocks.{0..3}            VisionBlock
    model.embed.weight                     [32000, 512]  bf16
    model.layers.{0..7}.attn.weight        [2048, 512]   bf16
    model.layers.{0..7}.mlp.weight         [2048, 2048]  bf16
    visual.blocks.{0..3}.weight            [64, 64]      bf16
    lm_head.weight                         [32000, 512]  bf16
"""
_SMALL = """
    no_split GPT2Block
    module h.{0..1}         GPT2Block
    wte.weight              [50000, 64]   fp32
    h.{0..1}.weight         [64, 64]      fp32
"""

_GROWN = 0.1
_MOST = 0.5


class FsdpNoWrap(PlanRule):
    """Reports a wrap list of FSDP2 that leaves the blocks of the model to the root.

    Why is this bad?
    What no unit takes lands in the root unit, without a word. The root is gathered as a whole before the first layer
    and stays whole until the backward pass: the job runs out of memory with an FSDP that is on, or overlaps nothing.

    Use instead
    The names of the classes as `type(module).__name__` gives them, one for each kind of block. `_no_split_modules` of
    a model from Transformers names them; a class of your own that replaces one has another name.

    Known limits
    A list may name classes of other variants of the model. So a name without a module is reported where it is surely a
    slip, or where blocks of a numbered list stay outside of all units: a tenth of the model, or half of it where every
    name is alive. Embeddings and heads are no blocks.
    """

    severity = "warning"
    since = "0.1.0"
    evidence = observation("https://docs.pytorch.org/docs/stable/distributed.fsdp.fully_shard.html")
    suspects = PlanUnits()
    symptoms = (r"Could not find the transformer layer class \S+ in the model", r"CUDA out of memory")
    proof = ("test_plan_in_torch", "all layers are whole before the first one runs")
    bad = (
        Bad(model=_MODEL, plan="matcher: hf\nunit LlamaDecoderLayer\nunit VisionBlok  # error"),
        Bad(model=_MODEL, plan="matcher: veomni\nunit MistralDecoderLayer, VisionBlock bottom-up  # error"),
        Bad(model=_MODEL, plan="matcher: torch  # error\nunit VisionBlock\nunit lm_head"),
        Bad(model=_MODEL, plan="matcher: torch\nunit layers.*  # error\nunit visual.blocks.*"),
        Bad(model=_MODEL, plan='matcher: torch  # error\nunit ""'),
    )
    good = (
        Good(model=_MODEL, plan="matcher: hf\nunit LlamaDecoderLayer, AudioEncoderLayer bottom-up"),
        Good(model=_MODEL, plan="matcher: torch\nunit model.layers.*"),
        Good(model=_MODEL, plan="matcher: torch\nmodel.layers.*.mlp: ColwiseParallel"),
        Good(model=_SMALL, plan="matcher: hf\nunit _no_split_modules bottom-up"),
    )

    def judge(self, plan: Plan) -> Findings:
        layout, whole = plan.layout, sum(share.whole for share in plan.layout.shares)
        blocks = [share for share in layout.root if any(part.isdecimal() for part in share.parameter.name.split("."))]
        outside = sum(share.whole for share in blocks)
        part = outside / whole if whole else 0.0
        what = f"`{layout.block_of(blocks)}`" if blocks else ""
        lands = f"{part:.0%} of the model, {what} above all, stays in the root unit: {gib(outside)} gathered at once"
        idle = plan.wrapping.idle
        for unit, target in idle:
            meant = plan.wrapping.near(target)
            if meant is None and part < _GROWN:
                continue
            after = f", so {lands}" if part >= _GROWN else ", so what it means gets no unit of its own"
            yield plan.finding_at(
                unit.place,
                f"no module of the model {'lies at' if '.' in target else 'is a'} `{target}`{after}",
                help=f"write `{meant}`"
                if meant
                else "name the classes of the blocks as `type(module).__name__` gives them",
                scope=target,
            )
        if plan.units and part > _MOST and not idle:
            yield plan.finding_at(
                plan.head,
                f"no unit takes most of the blocks: {lands} before the first layer and kept until the backward pass",
                help="add a unit for each kind of block, by its class",
            )
