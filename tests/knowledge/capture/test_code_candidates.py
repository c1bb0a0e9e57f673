"""What is proposed for a fix: the first candidate says what the fix changed, and nothing that only this code has."""

from __future__ import annotations

from typing import Any

import pytest

from shardlint.knowledge.capture.code_candidates import code_candidates
from shardlint.knowledge.capture.completion import completed

FIXES: list[tuple[str, str, str, dict[str, Any]]] = [
    (
        "a keyword that is given",
        "state = torch.load(path, map_location='cpu')",
        "state = torch.load(path, map_location='cpu', weights_only=True)",
        {"match": "torch.load(...)", "not": "torch.load(..., weights_only=True)"},
    ),
    (
        "a keyword that is no longer given",
        "loader = DataLoader(data, sampler=sampler, shuffle=True)",
        "loader = DataLoader(data, sampler=sampler)",
        {"match": "DataLoader(..., shuffle=True)"},
    ),
    (
        "a keyword with another value",
        "model = AutoModel.from_pretrained(name, attn_implementation='eager')",
        "model = AutoModel.from_pretrained(name, attn_implementation='sdpa')",
        {"match": "AutoModel.from_pretrained(..., attn_implementation='eager')"},
    ),
    (
        "another function",
        "torch.cuda.synchronize()",
        "synchronize()",
        {"match": "torch.cuda.synchronize(...)"},
    ),
    (
        "a call that leaves its guard",
        "if dist.get_rank() == 0:\n    save(model)\n    dist.barrier()",
        "if dist.get_rank() == 0:\n    save(model)\ndist.barrier()",
        {
            "match": "torch.distributed.barrier(...)",
            "inside": "if torch.distributed.get_rank() == $VALUE:\n    ...",
        },
    ),
    (
        "a call that gets a block around it",
        "def validate(model, batch):\n    loss = compute(model, batch)\n    return loss",
        "def validate(model, batch):\n    with torch.no_grad():\n        loss = compute(model, batch)\n    return loss",
        {"match": "compute(...)", "not_inside": "with torch.no_grad():\n    ..."},
    ),
    (
        "a call that gets a guard",
        "def stop():\n    dist.destroy_process_group()",
        "def stop():\n    if dist.is_initialized():\n        dist.destroy_process_group()",
        {
            "match": "torch.distributed.destroy_process_group(...)",
            "not_within_guard": "torch.distributed.is_initialized()",
        },
    ),
    (
        "a call that comes before another",
        "optimizer = AdamW(model.parameters())\nfully_shard(model)",
        "fully_shard(model)\noptimizer = AdamW(model.parameters())",
        {"match": "AdamW(...)", "not_after": "fully_shard(...)"},
    ),
    (
        "a call that was missing before another",
        "def step(self):\n    nn.utils.clip_grad_norm_(self.parameters(), 1.0)\n    self.scaler.step(self.optimizer)",
        "def step(self):\n    self.scaler.unscale_(self.optimizer)\n"
        "    nn.utils.clip_grad_norm_(self.parameters(), 1.0)\n    self.scaler.step(self.optimizer)",
        {
            "match": "torch.nn.utils.clip_grad_norm_(...)",
            "before": "$SCALER.step(...)",
            "not_after": "$SCALER.unscale_(...)",
        },
    ),
    (
        "a call that was missing after another",
        "def run():\n    work = dist.isend(t, 1)\n    t.zero_()",
        "def run():\n    work = dist.isend(t, 1)\n    work.wait()\n    t.zero_()",
        {"match": "$T.zero_(...)", "not_after": "$WORK.wait(...)"},
    ),
    (
        "a name inside of a text",
        "device = torch.device(f'cuda:{rank}')",
        "device = torch.device(f'cuda:{local_rank}')",
        {"match": "torch.device(f'cuda:{rank}', ...)"},
    ),
    (
        "a comparison",
        "if rank == 0:\n    download()",
        "if local_rank == 0:\n    download()",
        {"match": "rank == $VALUE"},
    ),
]


@pytest.mark.parametrize(("bad", "good", "check"), [fix[1:] for fix in FIXES], ids=[fix[0] for fix in FIXES])
def test_the_first_candidate_keeps_what_the_fix_changed(bad: str, good: str, check: dict[str, Any]) -> None:
    found = code_candidates(completed(bad), completed(good))

    assert found[0].kind == "pattern"
    assert found[0].check == check


def test_an_import_that_gets_a_guard_is_forbidden_without_it() -> None:
    found = code_candidates("import torch_npu\n", "if is_torch_npu_available():\n    import torch_npu\n")

    assert (found[0].kind, found[0].check) == (
        "forbidden",
        {"imports": ["torch_npu"], "guards": ["is_torch_npu_available()"]},
    )


def test_an_import_that_changes_with_its_use_comes_last() -> None:
    found = code_candidates("import apex\napex.init()\n", "import torch\ntorch.init()\n")

    assert found[0].check == {"match": "apex.init(...)"}
    assert found[-1].kind == "forbidden"


def test_code_that_does_not_change_gives_nothing() -> None:
    assert code_candidates("f(1)  # before\n", "f( 1 )\n") == []


def test_customary_imports_are_put_in_front() -> None:
    assert completed("x = dist.get_rank()\n") == "import torch.distributed as dist\n\nx = dist.get_rank()\n"
    assert completed("def f(torch): return torch.x\n") == "def f(torch): return torch.x\n"
    with pytest.raises(SyntaxError):
        completed("x = (")
