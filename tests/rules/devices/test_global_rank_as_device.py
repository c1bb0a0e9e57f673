"""More cases of global-rank-as-device."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shardlint.example import Example

CASES = {
    "local-import-and-concatenation": """
        import os

        def main(model):
            import torch as t

            t.distributed.init_process_group()
            me = int(os.getenv("RANK", "0"))
            name = "cuda:" + str(me)
            device = t.device(name)  # error
            with t.cuda.device(me):  # error
                return model.to(device)
        """,
    "module-level": """
        import os
        import torch

        torch.cuda.set_device(int(os.environ["RANK"]))  # error
        """,
    "remainder-and-local-rank": """
        import os
        import torch
        import torch.distributed as dist

        local_rank = int(os.environ["LOCAL_RANK"])
        device_index = dist.get_rank() % torch.cuda.device_count()
        torch.cuda.set_device(device_index)
        where = torch.device(f"cuda:{local_rank}")
        """,
    "either-variable": """
        import os
        import torch

        def either():
            if "RANK" in os.environ:
                number = int(os.environ["RANK"])
            if "LOCAL_RANK" in os.environ:
                number = int(os.environ["LOCAL_RANK"])
            torch.cuda.set_device(number)
        """,
    "rank-zero-alone": """
        import torch
        import torch.distributed as dist

        def show(images):
            rank = dist.get_rank()
            device = f"cuda:{rank}"
            if rank == 0:
                images = images.to(device)
            if rank != 0:
                return images.to(device)  # error
            return images.to(device)
        """,
    "no-index": """
        import torch
        import torch.distributed as dist

        def on_cpu():
            dist.init_process_group()
            return torch.device("cpu", index=0), torch.ones(1).to(dtype=torch.float32)
        """,
}
RANKED = "import torch\nimport torch.distributed as dist\n\ntorch.cuda.set_device(dist.get_rank()){}"


@pytest.mark.parametrize("source", CASES.values(), ids=CASES.keys())
def test_marked_lines_are_reported(problems: Callable[[str, Example], list[str]], source: str) -> None:
    assert problems("global-rank-as-device", Example(source)) == []


@pytest.mark.parametrize("path", ["tests/run.py", "test_run.py", "pkg/testing/case.py", "run_test.py"])
def test_tests_run_on_one_machine(problems: Callable[[str, Example], list[str]], path: str) -> None:
    assert problems("global-rank-as-device", Example(RANKED.format(""), path=path)) == []


def test_a_folder_that_only_sounds_like_tests_is_judged(problems: Callable[[str, Example], list[str]]) -> None:
    assert problems("global-rank-as-device", Example(RANKED.format("  # error"), path="latest/run.py")) == []
