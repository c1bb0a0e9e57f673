"""The rule async-collective-not-waited."""

from __future__ import annotations

import ast

from shardlint.rule import Bad, Call, Findings, Good, LocalRule, Site, Spelled, handle, observation, tensor_uses

_ALWAYS = ("irecv", "isend", "batch_isend_irecv")
_ON_REQUEST = (
    "all_reduce broadcast reduce scatter gather all_gather all_gather_single all_gather_into_tensor _all_gather_base "
    "reduce_scatter reduce_scatter_single reduce_scatter_tensor _reduce_scatter_base all_to_all all_to_all_single"
)
_FILL_NOTHING = ("isend", "batch_isend_irecv", "gather")
_FILLED = ("output", "output_tensor", "output_tensor_list", "tensor_list", "tensor")
_SYNCHRONIZE = ("synchronize", "sync_all", "barrier")
_PACKAGES = ("torch.distributed", "deepspeed.comm")


class AsyncCollectiveNotWaited(LocalRule):
    """Reports a collective in the background that nothing waits for, or whose result is used before.

    Why is this bad?
    With `async_op=True`, as with `isend` and `irecv`, the call returns at once, and the tensor is filled later on.
    Without `wait()` the program goes on with what is there: results are slightly wrong, and differ from run to run. An
    event or a wait on the stream that issued the call is none: the collective runs on a stream of its own.

    Use instead
    `work = dist.all_reduce(x, async_op=True)`, and `work.wait()` before `x` is touched; or no `async_op`.

    Known limits
    A handle is followed in one function: one that is returned, kept in an object or handed on is believed to be waited
    for, and so is one that is mentioned on some way to the use. A later `synchronize` or barrier counts as a wait.
    """

    severity, since = "error", "0.1.0"
    evidence = observation("https://docs.pytorch.org/docs/stable/distributed.html#asynchronous-collective-operations")
    suspects = Call(*(f"{package}.{name}" for package in _PACKAGES for name in _ALWAYS)) | (
        Call(*(f"{package}.{name}" for package in _PACKAGES for name in _ON_REQUEST.split())) & Spelled("async_op")
    )
    ranks = (
        "rank 0 starts the collective and goes on at once",
        "rank 1 does, too, a moment later",
        "both ranks read the tensor while it is still being filled: each sees other numbers, and nothing is said",
    )
    symptoms = (
        r"(?i)gradients? (?:differ|is different) (?:between|from) runs?",
        r"(?i)non-?determinis\w+ (?:loss|grad)",
    )
    bad = (
        Bad(
            """
            import torch.distributed as dist

            def average(bucket):
                dist.all_reduce(bucket, async_op=True)  # error
                return bucket / dist.get_world_size()
            """,
            raises={"import time; time.sleep(rank); assert average(torch.ones(1) * rank) == 0.5": "AssertionError"},
        ),
        Bad(
            """
            import torch
            from torch.distributed import all_gather_into_tensor as gather_all, ReduceOp, irecv

            class Stage:
                def exchange(self, flat, shard):
                    work = gather_all(flat, shard, async_op=True)  # error
                    request = irecv(self.buffer, 0)  # error
                    flat.add_(torch.relu(self.buffer))
                    work.wait()

                def average(self, grads):
                    works = []
                    for grad in grads:
                        works.append(torch.distributed.all_reduce(grad, async_op=True))  # error
                    return grads
            """
        ),
    )
    good = (
        Good(
            """
            import torch, torch.distributed as dist

            def average(bucket, overlap=True):
                work = dist.all_reduce(bucket, async_op=True) if overlap else None
                work and work.wait()
                return bucket / 2

            def reduce_all(grads):
                for work in [dist.all_reduce(grad, async_op=True) for grad in grads]:
                    work.wait()

            def later(grad, hooks):
                work = dist.all_reduce(grad, async_op=True)
                hooks.append(lambda: work.wait())
                return dist.all_reduce(grad * 2, async_op=True)

            def rounds(grads):
                for grad in grads:
                    dist.all_reduce(grad.div_(4), async_op=True).wait()

            def together(tensor):
                dist.all_reduce(tensor, async_op=True)
                torch.cuda.synchronize()
                with dist._coalescing_manager(async_ops=True):
                    dist.all_reduce(tensor, async_op=True)
            """,
            runs=("average(torch.ones(2)); reduce_all([torch.ones(2)] * 2); rounds([torch.ones(2)])",),
        ),
    )

    def judge(self, site: Site) -> Findings:
        name, asked = site.name.rpartition(".")[2], site.argument("async_op")
        asked_for = name in _ALWAYS or (asked is not None and asked.literal is True)
        inside = [guard.test for guard in site.guards if guard.kind == "with" and guard.test]
        if not asked_for or any("coalesc" in ast.unparse(test) for test in inside):
            return
        filled = next((one for key in _FILLED if name not in _FILL_NOTHING and (one := site.argument(key, 0))), None)
        waits = [call for word in _SYNCHRONIZE for call in site.function.calls_spelled_with(word) if site.reaches(call)]
        work = handle(site)
        if work.dropped and not waits:
            what = f"`{filled.text}`" if filled and len(filled.text) < 40 else "the tensor"
            yield site.finding(
                f"`{site.called}` runs in the background, and nothing waits for it: {what} is used either way",
                help="keep the handle and call `wait()` on it before the tensor is used, or leave `async_op` out",
            )
        used = work.early(tensor_uses(site, filled)) if filled and not work.dropped else []
        if filled and used and not any(call.reaches(used[0]) for call in waits):
            yield site.finding(
                f"`{filled.text}` is used while `{site.called}` may still be filling it: nothing has waited by then",
                help="call `wait()` on the handle before the tensor is used",
                related=[used[0].note("used here")],
            )
