"""The rule set-iteration-order."""

from __future__ import annotations

import ast
import re

from shardlint.rule import Bad, Call, Expression, Findings, Good, LocalRule, Site, Spelled, research

_PACKAGES = ("torch.distributed", "torch.distributed.distributed_c10d")
_NAMES = (
    *("all_reduce", "broadcast", "broadcast_object_list", "reduce", "all_gather", "all_gather_into_tensor", "barrier"),
    *("all_gather_object", "gather", "scatter", "reduce_scatter_tensor", "all_to_all_single", "new_group"),
)
_SETS = frozenset(("builtins.set", "builtins.frozenset"))
_KEEPS = frozenset(("builtins.list", "builtins.tuple", "builtins.enumerate", "builtins.iter"))
_COMBINES = frozenset(("union", "intersection", "difference", "symmetric_difference"))
_TEXT = re.compile(r"(?:\b|_)(?:name|key|fqn|prefix|path|tag|task|label|metric)s?(?:\b|_)|['\"]|named_")


class SetIterationOrder(LocalRule):
    """Reports a loop over a set of texts that issues a collective or makes a group in each round.

    Why is this bad?
    The order of a set of texts follows their hashes, and Python draws another seed for these in every process. Each
    rank goes through the same names in an order of its own: one reduces the loss while the other reduces the accuracy.
    Where the shapes agree the sums are wrong without an error; otherwise the ranks wait until the timeout.

    Use instead
    `for name in sorted(names):`, or a dict or list, which keep their order.

    Known limits
    Numbers have one hash everywhere, so a set of ranks is not reported; that items are texts is told by the set as it
    is written, or by the name of the variable of the loop.
    """

    severity = "error"
    since = "0.1.0"
    evidence = research("https://docs.python.org/3/using/cmdline.html#envvar-PYTHONHASHSEED")
    suspects = Call(*(f"{package}.{name}" for package in _PACKAGES for name in _NAMES)) & Spelled(
        "set", "frozenset", "{"
    )
    ranks = (
        "rank 0 goes through the set in the order of its own hash seed",
        "rank 1 goes through it in another one",
        "both ranks meet with different tensors: a shape error, a hang, or sums of what does not belong together",
    )
    symptoms = (r"[Mm]ismatch between collective operations on ranks", r"Watchdog caught collective operation timeout")
    unproved = "the two ranks of a proof are forked from one process, and have its hash seed"
    bad = (
        Bad(
            """
            import torch.distributed as dist

            def total(metrics, others):
                for name in set(metrics) | set(others):
                    dist.all_reduce(metrics[name])  # error
            """
        ),
        Bad(
            """
            from torch.distributed import all_reduce as reduce_over, new_group

            class Sums:
                def __init__(self, ranks):
                    self.parts = {"loss", "accuracy"}
                    self.groups = {kind: ranks for kind in ranks}
                    for kind in {"tp", "dp"}:
                        self.groups[kind] = new_group(ranks[kind])  # error

                def reduce(self, values):
                    for part in list(self.parts):
                        reduce_over(values[part])  # error
            """
        ),
        Bad(
            """
            import torch.distributed.distributed_c10d as c10d

            def share(model, frozen):
                kept = {name for name, _ in model.named_parameters()}
                for index, name in enumerate(kept.difference(frozen)):
                    c10d.broadcast(model.get_parameter(name), src=0)  # error
            """
        ),
    )
    good = (
        Good(
            """
            import torch.distributed as dist

            def total(metrics, others, ranks):
                for name in sorted(set(metrics) | set(others)):
                    dist.all_reduce(metrics[name])
                for name in dict.fromkeys(metrics):
                    dist.all_reduce(metrics[name])
                for rank in set(ranks):
                    dist.broadcast(metrics["loss"], src=rank)
                dist.all_reduce(metrics[next(iter({"loss"}))])
            """
        ),
    )

    def judge(self, site: Site) -> Findings:
        for loop in site.loops:
            if isinstance(loop, ast.While):
                continue
            over = Expression(site.module, loop.iter, site.voice)
            written = self._set(over)
            if written is not None and _TEXT.search(f"{site.module.source(loop.target)} {written.text}"):
                yield site.finding(
                    f"`{site.called}` runs in the order of the set `{over.text}`, another one in every process: "
                    "the ranks meet in different rounds, and mix their values or wait for each other",
                    help=f"go through `sorted({over.text})`",
                    related=[over.note("the loop over the set")],
                )
                return

    def _set(self, value: Expression) -> Expression | None:
        """The expression that makes a set, if a value is surely one, or a list in the order of one."""
        node = value.ast
        if isinstance(node, (ast.Name, ast.Attribute)):
            made = [self._set(one) if one.ast is not node else None for one in value.values]
            return made[0] if made and None not in made else None
        call = value.as_site()
        if call is not None and call.receiver is not None and call.called.rpartition(".")[2] in _COMBINES:
            return value if self._set(call.receiver) is not None else None
        if call is not None and call.positional and _KEEPS.intersection((call.name,)):
            return self._set(call.positional[0])
        if isinstance(node, ast.BinOp):
            sides = [Expression(value.module, side, value.voice) for side in (node.left, node.right)]
            return value if any(self._set(side) is not None for side in sides) else None
        made_here = isinstance(node, (ast.Set, ast.SetComp)) or (call is not None and call.name in _SETS)
        return value if made_here else None
