"""The rule clip-before-unscale."""

from __future__ import annotations

import re

from shardlint.rule import Bad, Call, Edit, Findings, Good, InFunctionWith, LocalRule, Method, Site, observation, unsafe

_AMP = ("torch.amp", "torch.amp.grad_scaler", "torch.cuda.amp", "torch.cuda.amp.grad_scaler")
_SHARDED = "torch.distributed.fsdp.sharded_grad_scaler.ShardedGradScaler"
_NAMES = ("scaler", "grad_scaler", "amp_scaler", "loss_scaler", "gradscaler", "_scaler")
_STEP = Method((*(f"{module}.GradScaler" for module in _AMP), _SHARDED), "step", named=_NAMES)
_CLIPS = ("clip_grad_norm_", "clip_grad_value_", "clip_grad_norm", "clip_grads_with_norm_")
_CLIP = Call(
    *(f"torch.nn.utils.{module}{name}" for name in _CLIPS for module in ("", "clip_grad.")),
    *("*.clip_grad_norm_", "*.clip_grad_value_"),
)
_UNSCALES_ITSELF = ("self", "accelerator", "_accelerator", "fabric", "trainer", "strategy", "engine", "plugin")
_PRECISION = re.compile(r"scaler|amp|16|half|mixed|precision", re.IGNORECASE)


class ClipBeforeUnscale(LocalRule):
    """Reports gradients that are clipped while they are still multiplied by the loss scale.

    Why is this bad?
    With fp16 the loss is multiplied by a scale, 65536 at first, and so are the gradients until `scaler.unscale_`
    divides them again. Clipped before that, they are cut to the limit and then divided by the scale: each step is tens
    of thousands of times too small. No error is raised; the learning rate seems to have no effect.

    Use instead
    Call `scaler.unscale_(optimizer)` after the last backward of the step and before clipping.

    Known limits
    Clipping and `scaler.step` must stand in one function, and the clipping must be torch's, not a method of one's own.
    Where any `unscale_` may run before the clipping in the same round, or where the clipping stands under a test about
    precision that `scaler.step` does not share, nothing is reported. A scaler that is known only by its name is
    reported with lower confidence.
    """

    severity, since = "error", "0.1.0"
    evidence = observation("https://docs.pytorch.org/docs/stable/notes/amp_examples.html#gradient-clipping")
    suspects = _CLIP & InFunctionWith(_STEP)
    fixes = unsafe("every step gets the size that the clipping asks for, which changes the training")
    symptoms = (r"(?i)learning rate (?:seems to have|has|had) no effect",)
    bad = (
        Bad(
            """
            import torch
            from torch.nn.utils import clip_grad_value_ as clip

            def step(model, opt, loss, scaler: torch.amp.GradScaler):
                scaler.scale(loss).backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # error
                scaler.step(opt)

            class Trainer:
                def __init__(self):
                    self.s = torch.cuda.amp.GradScaler()

                def train(self, batches):
                    for batch in batches:
                        self.s.scale(self.loss(batch)).backward()
                        clip(self.model.parameters(), 1.0)  # error
                        self.s.unscale_(self.opt)
                        getattr(self, "s").step(self.opt)
            """
        ),
    )
    good = (
        Good(
            """
            import torch
            from torch.nn.utils import clip_grad_norm_

            def two_tests(model, opt, scaler):
                if scaler is not None:
                    scaler.unscale_(opt)
                clip_grad_norm_(model.parameters(), 1.0)
                if scaler is not None:
                    scaler.step(opt)

            def bf16(model, opt):
                scaler = torch.amp.GradScaler("cuda", enabled=False)
                clip_grad_norm_(model.parameters(), 1.0)
                scaler.step(opt)
            """
        ),
    )

    def judge(self, site: Site) -> Findings:
        if site.name.startswith("*.") and (site.receiver is None or site.receiver.last_name in _UNSCALES_ITSELF):
            return
        step, flow = _step(site), site.function.flow
        unscales = site.function.calls_spelled_with("unscale")
        if step is None or _disabled(step) or any(flow.between(call.ast, site.ast, site.loops) for call in unscales):
            return
        remedy = _unscale(step)
        yield site.finding(
            f"gradients are clipped while they are still multiplied by the loss scale: `{site.called}` runs before "
            f"`{remedy.partition('(')[0]}`, so every step is far too small",
            help=f"call `{remedy}` before clipping",
            related=[step.note("stepped here")],
            certainty=step.certainty,
            fixable=not unscales and bool(step.positional),
        )

    def fix(self, site: Site, edit: Edit) -> None:
        step = _step(site)
        if step is not None:
            edit.insert_before(site.statement, _unscale(step), site)


def _step(clip: Site) -> Site | None:
    """The step of a scaler that follows the clipping in the same round, under no test about precision of its own."""
    for step in clip.function.calls(_STEP):
        tests = [guard.test for guard in clip.guards_apart_from(step) if guard.kind in ("if", "exit") and guard.test]
        if clip.reaches_in_round(step) and not any(_PRECISION.search(clip.module.source(test)) for test in tests):
            return step
    return None


def _disabled(step: Site) -> bool:
    values = step.receiver.values if step.receiver else []
    flags = [made.argument("enabled") for value in values if (made := value.as_site())]
    return bool(flags) and all(flag is not None and flag.literal is False for flag in flags)


def _unscale(step: Site) -> str:
    scaler = step.called.removesuffix(".step")
    return f"{scaler}.unscale_({step.positional[0].text if step.positional else 'optimizer'})"
