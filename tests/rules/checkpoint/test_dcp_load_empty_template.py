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


@pytest.mark.parametrize("source", CASES.values(), ids=CASES.keys())
def test_marked_lines_are_reported(problems: Callable[[str, Example], list[str]], source: str) -> None:
    assert problems("dcp-load-empty-template", Example(source)) == []
