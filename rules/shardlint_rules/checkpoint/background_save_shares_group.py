"""The rule background-save-shares-group."""

from __future__ import annotations

from shardlint.rule import Bad, Call, Findings, Good, LocalRule, Site, observation, under_way

_CHECKPOINT = "torch.distributed.checkpoint"
_ASYNC = tuple(f"{_CHECKPOINT}.{module}async_save" for module in ("", "state_dict_saver."))
_OTHERS = tuple(f"{_CHECKPOINT}.{name}" for name in ("save", "state_dict_saver.save", "load", "state_dict_loader.load"))
_GROUP = {"barrier": 0, "monitored_barrier": 0, "broadcast_object_list": 2, "all_gather_object": 2, "gather_object": 3}
_MEETINGS = Call(*(f"torch.distributed.{name}" for name in _GROUP), *_ASYNC, *_OTHERS)
_WAITS = ("wait", "result", "finish", "final", "join", "flush", "synchron", "drain", "close", "shutdown")


class BackgroundSaveSharesGroup(LocalRule):
    """Reports `dcp.async_save` on the default process group while the main thread meets in that group, too.

    Why is this bad?
    `async_save` gathers and scatters plans from a thread. Without `process_group=` it does so in the CPU backend of the
    default group, where barriers and object collectives of the main thread go as well. Each rank issues the two in an
    order of its own: now and then a barrier meets the gather of another rank, and both wait until the timeout.

    Use instead
    A group of its own, made once: `process_group=dist.new_group(backend="gloo")`; or wait for the future first.

    Known limits
    Seen are barriers, object collectives and further checkpoint calls in the same function, or after a call of it where
    it drops or returns the future. Collectives of tensors are not: those on a GPU go through another backend.
    """

    severity, since = "error", "0.1.0"
    evidence = observation("https://docs.pytorch.org/docs/stable/distributed.checkpoint.html")
    suspects = Call(*_ASYNC)
    ranks = (
        "rank 0 has its save thread in a collective while its main thread enters another one",
        "rank 1 issues the two in the other order",
        "both ranks mix up the two, or wait for each other for ever",
    )
    symptoms = (r"AsyncCheckpointExecutor", r"Timed out waiting \d+ms for (?:send|recv) operation to complete")
    proof = ("test_background_save", "a rank that saves later waits in the barrier of another rank's gather")
    bad = (
        Bad(
            """
            import torch.distributed as dist
            import torch.distributed.checkpoint as dcp

            def save(state, writer):
                future = dcp.async_save(state, storage_writer=writer)  # error
                dist.barrier()
                return future.result()
            """
        ),
        Bad(
            {
                "ckpt.py": """
                from torch.distributed.checkpoint.state_dict_saver import async_save as save_later

                def save(state, path):
                    return save_later({"model": state}, checkpoint_id=path, process_group=None)  # error
                """,
                "train.py": """
                import torch.distributed as dist
                from ckpt import save

                def finish(state, path, names):
                    future = save(state, path)
                    dist.all_gather_object(names, path)
                    future.result()
                """,
            }
        ),
        Bad(
            """
            from torch.distributed import checkpoint

            class Trainer:
                def fit(self, state):
                    while self.step():
                        self.future = checkpoint.async_save(state, checkpoint_id=self.path)  # error
            """
        ),
    )
    good = (
        Good(
            """
            import torch.distributed as dist, torch.distributed.checkpoint as dcp
            from torch.distributed.checkpoint.state_dict_saver import AsyncCheckpointerType as Kind

            def save(state, writer, group):
                future = dcp.async_save(state, storage_writer=writer, process_group=group)
                dist.barrier()
                return future.result()

            def save_and_wait(state, path, count, pair):
                future = dcp.async_save(state, checkpoint_id=path)
                dist.all_reduce(count), dist.barrier(group=pair)
                future.result()
                dist.barrier()

            def save_in_process(state, path):
                dcp.async_save(state, checkpoint_id=path, async_checkpointer_type=Kind.PROCESS)
                dist.barrier()

            class Trainer:
                def fit(self, state):
                    while self.step():
                        self.future.result()
                        self.future = dcp.async_save(state, checkpoint_id=self.path)
            """
        ),
    )

    def judge(self, site: Site) -> Findings:
        kind = site.argument("async_checkpointer_type")
        if site.opaque or not _in_default_group(site) or (kind is not None and kind.last_name != "THREAD"):
            return
        for work in under_way(site):
            meetings = [call for call in work.start.function.calls(_MEETINGS) if _in_default_group(call)]
            waits = [call for word in _WAITS for call in work.start.function.calls_spelled_with(word)]
            early = [call for call in work.early(meetings) if work.start.reaches_without(call, waits)]
            if early:
                yield site.finding(
                    f"`{site.called}` meets other ranks in the default group from a thread, and `{early[0].called}` "
                    "does so, too: ranks that do the two in different orders wait until the timeout",
                    help="give it a group of its own: `process_group=dist.new_group(backend='gloo')`, made once",
                    related=[early[0].note("may run while the save is under way")],
                )
                return


def _in_default_group(call: Site) -> bool:
    name = call.name.rpartition(".")[2]
    given = call.argument("group", _GROUP[name]) if name in _GROUP else call.argument("process_group")
    alone = call.argument("no_dist") or call.argument("use_collectives")
    return not call.opaque and alone is None and (given is None or given.literal is None)
