"""More cases of clip-before-unscale."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shardlint.example import Example
from shardlint.finding import Finding

RULE = "clip-before-unscale"
STEP = """
import torch

scaler = torch.amp.GradScaler("cuda")

def step(model, opt, loss):
    scaler.scale(loss).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # error
    scaler.step(opt)
    scaler.update()
"""
UNSCALED = STEP.replace("    torch.nn", "    scaler.unscale_(opt)\n    torch.nn")
BY_NAME = """
def step(model, optimizer, scaler, loss):
    scaler.scale(loss).backward()
    norm = model.clip_grad_norm_(1.0)  # error
    scaler.step(optimizer)
    return norm
"""
CASES = {
    "unscaled-after-clipping": """
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
        """,
    "unscaled-once-before-the-loop": """
        from torch.nn.utils import clip_grad_norm_

        def train(model, opt, batches, scaler):
            scaler.unscale_(opt)
            for batch in batches:
                scaler.scale(model(batch)).backward()
                clip_grad_norm_(model.parameters(), 1.0)  # error
                scaler.step(opt)
        """,
    "healthy": """
        from torch.nn.utils import clip_grad_norm_

        def plain(model, opt, loss, scaler):
            scaler.scale(loss).backward()
            scaler.unscale_(opt)
            clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(opt)
        """,
    "with-or-without-a-scaler": """
        from torch.nn.utils import clip_grad_norm_

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
        """,
    "two-tests-with-an-else": """
        from torch.nn.utils import clip_grad_norm_

        def two_tests(model, opt, scaler, loss):
            if scaler is not None:
                scaler.unscale_(opt)
            clip_grad_norm_(model.parameters(), 1.0)
            if scaler is not None:
                scaler.step(opt)
            else:
                opt.step()
        """,
    "unscaled-when-clipped": """
        from torch.nn.utils import clip_grad_norm_

        def when_asked(model, opt, scaler, limit):
            if limit:
                scaler.unscale_(opt)
                clip_grad_norm_(model.parameters(), limit)
            scaler.step(opt)
        """,
    "under-a-test-about-precision": """
        from torch.nn.utils import clip_grad_norm_

        def precise(model, opt, scaler, use_fp16):
            if not use_fp16:
                clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(opt)
        """,
    "under-a-test-of-both": """
        from torch.nn.utils import clip_grad_norm_

        def both(model, opt, scaler, use_fp16):
            if use_fp16:
                clip_grad_norm_(model.parameters(), 1.0)  # error
                scaler.step(opt)
        """,
    "disabled-scaler": """
        import torch
        from torch.nn.utils import clip_grad_norm_

        def bf16(model, opt, loss):
            scaler = torch.amp.GradScaler("cuda", enabled=False)
            scaler.scale(loss).backward()
            clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(opt)
        """,
    "helper-that-unscales": """
        from torch.nn.utils import clip_grad_norm_

        def helper(model, opt, scaler, unscale_gradients):
            unscale_gradients(scaler, opt)
            clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(opt)
        """,
    "wrapper-that-unscales": """
        def wrapped(model, opt, accelerator, scaler):
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(opt)
        """,
}


@pytest.mark.parametrize("source", CASES.values(), ids=CASES.keys())
def test_marked_lines_are_reported(problems: Callable[[str, Example], list[str]], source: str) -> None:
    assert problems(RULE, Example(source)) == []


def test_the_fix_unscales_before_clipping(problems: Callable[[str, Example], list[str]]) -> None:
    assert problems(RULE, Example(STEP, fixed=UNSCALED)) == []


def test_nothing_is_moved_where_an_unscale_stands_elsewhere(problems: Callable[[str, Example], list[str]]) -> None:
    late = STEP.replace("    scaler.step", "    scaler.unscale_(opt)\n    scaler.step")
    assert problems(RULE, Example(late, fixed=late)) == []


def test_a_scaler_known_by_name_only_is_less_certain(findings: Callable[[str, Example], list[Finding]]) -> None:
    (known,), (named,) = findings(RULE, Example(STEP)), findings(RULE, Example(BY_NAME))
    assert named.confidence < known.confidence
    assert named.help == "call `scaler.unscale_(optimizer)` before clipping"
