"""More cases of dcp-load-empty-template."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shardlint.example import Example

CASES = {
    "alias-and-dict-call": """
        from torch.distributed import checkpoint
        from torch.optim import SGD

        def resume(model, path):
            opt = SGD(model.parameters(), momentum=0.9)
            checkpoint.load(dict(optim=opt.state_dict()), checkpoint_id=path)  # error
        """,
    "empty-dict-call": """
        from torch.distributed import checkpoint

        def peek(path):
            blob = dict()
            checkpoint.load(blob, checkpoint_id=path)  # error
            return blob
        """,
    "local-import-and-old-name": """
        def peek(path):
            from torch.distributed.checkpoint import load_state_dict as read
            blob = {}
            read(blob, checkpoint_id=path)  # error
        """,
    "handed-to-another-function": """
        import torch
        import torch.distributed.checkpoint as dcp

        def filled(model, path, fill):
            optimizer = torch.optim.AdamW(model.parameters())
            fill(model, optimizer)
            dcp.load({"optim": optimizer.state_dict()}, checkpoint_id=path)

        def template(path, fill):
            state = {}
            fill(state)
            dcp.load(state, checkpoint_id=path)

        def entry(path, model):
            state = {}
            state["model"] = model.state_dict()
            dcp.load(state, checkpoint_id=path)
        """,
    "set-after-the-load": """
        import torch.distributed.checkpoint as dcp

        def late(path, model):
            state = {}
            dcp.load(state, checkpoint_id=path)  # error
            state["model"] = model.state_dict()
            print(state)
        """,
    "called-through-a-table": """
        import torch
        import torch.distributed.checkpoint as dcp

        def resume(model, path, hooks):
            optimizer = torch.optim.AdamW(model.parameters())
            hooks["start"]()
            make()()
            dcp.load({"optim": optimizer.state_dict()}, checkpoint_id=path)  # error
        """,
}


LOADING = """
    import torch.distributed.checkpoint as dcp

    def load(model, optimizer, path):
        state = {"model": model.state_dict(), "optim": optimizer.state_dict()}
        dcp.load(state, checkpoint_id=path)%s
        optimizer.load_state_dict(state["optim"])
    """
CALLERS = {
    "one-caller": (
        """
        import torch
        import loading

        def start(model, path):
            optimizer = torch.optim.AdamW(model.parameters())
            step = loading.load(model, optimizer, path) if path else 0
            return optimizer, step
        """,
        True,
    ),
    "another-caller-has-stepped": (
        """
        import torch
        from loading import load

        def start(model, path):
            optimizer = torch.optim.AdamW(model.parameters())
            load(model, optimizer=optimizer, path=path)

        def roll_back(model, path):
            optimizer = torch.optim.AdamW(model.parameters())
            optimizer.step()
            load(model, optimizer, path)
        """,
        False,
    ),
    "handed-to-another-function-first": (
        """
        import torch
        from loading import load

        def start(model, path, accelerator):
            optimizer = torch.optim.AdamW(model.parameters())
            accelerator.prepare(optimizer)
            load(model, optimizer, path)
        """,
        False,
    ),
    "handed-on-as-a-value": (
        """
        import torch
        from loading import load

        def start(model, path, hooks):
            optimizer = torch.optim.AdamW(model.parameters())
            load(model, optimizer, path)
            hooks.append(load)
        """,
        False,
    ),
    "an-argument-that-is-not-seen": (
        """
        from loading import load

        def start(model, path, *rest):
            load(model, *rest, path)
        """,
        False,
    ),
}


@pytest.mark.parametrize(("callers", "found"), CALLERS.values(), ids=CALLERS.keys())
def test_an_optimizer_that_every_caller_has_just_built_is_fresh(
    problems: Callable[[str, Example], list[str]], callers: str, found: bool
) -> None:
    files = {"loading.py": LOADING % ("  # error" if found else ""), "train.py": callers}
    assert problems("dcp-load-empty-template", Example(files)) == []


@pytest.mark.parametrize("source", CASES.values(), ids=CASES.keys())
def test_marked_lines_are_reported(problems: Callable[[str, Example], list[str]], source: str) -> None:
    assert problems("dcp-load-empty-template", Example(source)) == []
