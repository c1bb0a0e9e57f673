"""The rule clip-before-unscale."""

from __future__ import annotations

import ast
import re

from shardlint.rule import Bad, Call, Edit, Findings, Good, InFunctionWith, LocalRule, Method, Site, observation, unsafe

_SCALERS = (
    "torch.amp.GradScaler",
    "torch.amp.grad_scaler.GradScaler",
    "torch.cuda.amp.GradScaler",
    "torch.cuda.amp.grad_scaler.GradScaler",
    "torch.distributed.fsdp.sharded_grad_scaler.ShardedGradScaler",
)
_STEP = Method(_SCALERS, "step", named=("scaler", "grad_scaler", "amp_scaler", "loss_scaler", "gradscaler", "_scaler"))
_CLIP = Call(
    *(
        f"torch.nn.utils.{module}{name}"
        for module in ("", "clip_grad.")
        for name in ("clip_grad_norm_", "clip_grad_value_", "clip_grad_norm", "clip_grads_with_norm_")
    ),
    "*.clip_grad_norm_",
    "*.clip_grad_value_",
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
    Call `scaler.unscale_(optimizer)` after the last backward of the step and before clipping. `scaler.step` knows that
    it was done.

    Known limits
    Clipping and `scaler.step` must stand in one function. Where any `unscale_` may run before the clipping in the same
    round, or where the clipping stands under a test about precision that `scaler.step` does not share, nothing is
    reported. A scaler that is known only by its name is reported with lower confidence.
    """

    severity = "error"
    since = "0.1.0"
    evidence = observation("https://docs.pytorch.org/docs/stable/notes/amp_examples.html#gradient-clipping")
    suspects = _CLIP & InFunctionWith(_STEP)
    fixes = unsafe("every step gets the size that the clipping asks for, which changes the training")
    bad = (
        Bad(
            """
            import torch

            scaler = torch.amp.GradScaler("cuda")

            def step(model, opt, loss):
                scaler.scale(loss).backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # error
                scaler.step(opt)
                scaler.update()
            """,
            fixed="""
            import torch

            scaler = torch.amp.GradScaler("cuda")

            def step(model, opt, loss):
                scaler.scale(loss).backward()
                scaler.unscale_(opt)
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # error
                scaler.step(opt)
                scaler.update()
            """,
        ),
        Bad(
            """
            from torch.cuda.amp import GradScaler as Scaler
            from torch.nn.utils import clip_grad_value_ as clip

            class Trainer:
                def __init__(self):
                    self.s = Scaler(enabled=self.args.fp16)

                def train(self, batches):
                    for batch in batches:
                        self.s.scale(self.loss(batch)).backward()
                        clip(self.model.parameters(), 1.0)  # error
                        self.s.unscale_(self.opt)
                        self.s.step(self.opt)
            """
        ),
        Bad(
            """
            def step(model, optimizer, scaler, loss):
                scaler.scale(loss).backward()
                norm = model.clip_grad_norm_(1.0)  # error
                scaler.step(optimizer)
                return norm
            """
        ),
    )
    good = (
        Good(
            """
            import torch
            from torch.nn.utils import clip_grad_norm_

            def plain(model, opt, loss, scaler):
                scaler.scale(loss).backward()
                scaler.unscale_(opt)
                clip_grad_norm_(model.parameters(), 1.0)
                scaler.step(opt)

            def with_or_without(model, opt, batches, scaler=None):
                for batch in batches:
                    loss = model(batch)
                    if scaler is None:
                        loss.backward()
                        clip_grad_norm_(model.parameters(), 1.0)
                        opt.step()
                    else:
                        scaler.scale(loss).backward()
                        scaler.unscale_(opt)
                        clip_grad_norm_(model.parameters(), 1.0)
                        scaler.step(opt)

            def two_tests(model, opt, scaler, loss):
                if scaler is not None:
                    scaler.unscale_(opt)
                clip_grad_norm_(model.parameters(), 1.0)
                if scaler is not None:
                    scaler.step(opt)
                else:
                    opt.step()

            def when_asked(model, opt, scaler, limit):
                if limit:
                    scaler.unscale_(opt)
                    clip_grad_norm_(model.parameters(), limit)
                scaler.step(opt)

            def bf16(model, opt, loss):
                scaler = torch.amp.GradScaler("cuda", enabled=False)
                scaler.scale(loss).backward()
                clip_grad_norm_(model.parameters(), 1.0)
                scaler.step(opt)

            def helper(model, opt, scaler, unscale_gradients):
                unscale_gradients(scaler, opt)
                clip_grad_norm_(model.parameters(), 1.0)
                scaler.step(opt)

            def wrapped(model, opt, accelerator, scaler):
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
                scaler.step(opt)
            """
        ),
    )

    def judge(self, site: Site) -> Findings:
        if site.name.startswith("*.") and (site.receiver is None or site.receiver.last_name in _UNSCALES_ITSELF):
            return
        step = _step(site)
        if step is None or step.receiver is None:
            return
        unscales = _unscales(site)
        flow = site.function.flow
        if _disabled(step) or any(flow.between(unscale, site.ast, site.loops) for unscale in unscales):
            return
        scaler = step.receiver.text
        yield site.finding(
            f"gradients are clipped while they are still multiplied by the loss scale: `{site.called}` runs before "
            f"`{scaler}.unscale_`, so every step is far too small",
            help=f"call `{scaler}.unscale_({_optimizer(step)})` before clipping",
            related=[step.note("stepped here")],
            certainty=step.certainty,
            fixable=not unscales and bool(step.positional),
        )

    def fix(self, site: Site, edit: Edit) -> None:
        step = _step(site)
        if step is not None and step.receiver is not None:
            edit.insert_before(site.statement, f"{step.receiver.text}.unscale_({_optimizer(step)})", site)


def _step(clip: Site) -> Site | None:
    """The step of a scaler that follows the clipping in the same round, under no test about precision of its own."""
    for step in clip.function.calls(_STEP):
        around = set(step.module.ancestors(step.call))
        own = [at for at in clip.module.ancestors(clip.call) if isinstance(at, ast.If) and at not in around]
        if clip.reaches_in_round(step) and not any(_PRECISION.search(clip.module.source(at.test)) for at in own):
            return step
    return None


def _unscales(clip: Site) -> list[ast.Call]:
    """The calls of its function that may unscale, helpers included: their name says so."""
    calls = [call for word, found in clip.module.calls.items() if "unscale" in word for call in found]
    return [call for call in calls if clip.module.function(call) is clip.function.ast]


def _disabled(step: Site) -> bool:
    made = [value.as_site() for value in step.receiver.values] if step.receiver else []
    flags = [one.argument("enabled") for one in made if one is not None]
    return bool(flags) and all(flag is not None and flag.literal is False for flag in flags)


def _optimizer(step: Site) -> str:
    return step.positional[0].text if step.positional else "optimizer"
