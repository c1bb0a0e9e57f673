"""The rule collective-on-temporary."""

from __future__ import annotations

import ast

from shardlint.rule import Bad, Call, Expression, Findings, Good, LocalRule, Site, observation

_FILLED = {
    **dict.fromkeys(("all_reduce", "broadcast", "recv", "irecv"), "tensor"),
    "all_gather_into_tensor": "output_tensor",
    **dict.fromkeys(("reduce_scatter_tensor", "all_to_all_single"), "output"),
}
_PACKAGES = ("torch.distributed", "torch.distributed.distributed_c10d", "deepspeed.comm", "deepspeed.comm.comm")
_COPIES = {
    "clone": "",
    "contiguous": " where `{0}` is not contiguous",
    "cpu": " where `{0}` is on a GPU",
    "cuda": " where `{0}` is on the CPU",
    "to": " where `{0}` has another device or dtype",
    **dict.fromkeys(("float", "double", "half", "bfloat16", "int", "long"), " where `{0}` has another dtype"),
}
"""Methods that give a copy of a tensor, and when they do not give the tensor itself."""

_VIEWS = frozenset(("t", "transpose", "permute", "movedim", "narrow", "chunk", "split", "unbind", "expand", "unfold"))


class CollectiveOnTemporary(LocalRule):
    """Reports a collective that writes its result into a copy which no name holds.

    Why is this bad?
    `dist.all_reduce(x.contiguous())` reduces in place. Where `x` is contiguous that is `x`; where it is not, it is a
    copy that is thrown away, and `x` keeps the value of this rank alone. No error says so, and a test with contiguous
    tensors passes. `.cpu()`, `.to(...)` and `.float()` are alike, and `.clone()` is always a copy.

    Use instead
    `x = x.contiguous()` before the collective, and `x` from then on.

    Known limits
    Whether a parameter is contiguous is for its callers to say; what the function computed itself is taken for
    contiguous, unless it is a view. A call under a test of the rank may be that of the sender, and is not reported.
    """

    severity = "warning"
    since = "0.1.0"
    evidence = observation("https://github.com/NVIDIA/Megatron-LM/issues/5337")
    suspects = Call(*(f"{package}.{name}" for package in _PACKAGES for name in _FILLED))
    ranks = (
        "rank 0 reduces a copy of its tensor and throws the copy away",
        "rank 1 does the same",
        "both ranks go on with their own numbers, and nothing is said",
    )
    symptoms = (r"[Ll]oss differs (?:between|across) (?:tensor[- ]parallel )?ranks",)
    bad = (
        Bad(
            """
            import torch.distributed as dist

            def total(x):
                dist.all_reduce(x.contiguous())  # error
                assert x.sum() == 16, "not reduced"
                turned = x.transpose(0, 1)
                dist.all_reduce(turned.contiguous())  # error
                return turned
            """,
            raises={"total(torch.ones(2, 4).t())": "AssertionError: not reduced"},
        ),
        Bad(
            """
            from torch.distributed import all_reduce as reduce_over
            from deepspeed import comm

            class Region:
                def forward(self, ctx, grad):
                    reduce_over(grad.float(), group=self.group, async_op=True).wait()  # error
                    comm.broadcast(tensor=self.scale.to("cuda"), src=0)  # error
                    comm.all_gather_into_tensor(self.table.clone(), grad)  # error
                    return grad
            """
        ),
    )
    good = (
        Good(
            """
            import torch.distributed as dist
            import torch.distributed._functional_collectives as funcol

            def total(x):
                x = x.contiguous()
                dist.all_reduce(x)
                dist.all_reduce(x.view(-1))
                scores, warm = x.sum(0), x + 1
                dist.all_reduce(scores.contiguous())
                dist.all_reduce(warm.clone())
                dist.all_reduce(y := x.clone())
                return funcol.all_reduce(x.contiguous(), "sum", dist.group.WORLD), y, scores

            def give(x, other):
                if dist.get_rank() == 0:
                    dist.broadcast(x.contiguous(), src=0)
                else:
                    dist.broadcast(other, src=0)
            """,
            runs=("total(torch.ones(2, 4).t())", "give(torch.ones(2), torch.zeros(2))"),
        ),
    )

    def judge(self, site: Site) -> Findings:
        filled = site.argument(_FILLED[site.name.rpartition(".")[2]], 0)
        copy = filled.as_site() if filled is not None else None
        source = copy.receiver if copy is not None else None
        if copy is None or source is None or site.on_some_ranks:
            return
        method = copy.called.rpartition(".")[2]
        if method not in _COPIES or (method == "contiguous" and self._fresh(source)) or not self._used(site, source):
            return
        yield site.finding(
            f"`{site.called}` writes its result into `{copy.text}`, which is a copy"
            f"{_COPIES[method].format(source.text)} and then lost: `{source.text}` keeps the values of this rank alone",
            help=f"bind it first, `{source.text} = {copy.text}`, and use `{source.text}` from then on",
            at=copy,
        )

    def _used(self, site: Site, source: Expression) -> bool:
        """Whether something has a use for the result: another reader of an attribute, or a later place of a name."""
        if not isinstance(source.ast, ast.Name):
            return isinstance(source.ast, (ast.Attribute, ast.Subscript))
        names = [node for node in ast.walk(site.function.ast) if isinstance(node, ast.Name) and node is not source.ast]
        return any(node.id == source.text and site.function.flow.reaches(site.ast, node) for node in names)

    def _fresh(self, source: Expression) -> bool:
        """Whether the tensor was computed just before: most operations give contiguous ones, views do not."""
        made = [value.as_site() for value in source.values] if isinstance(source.ast, ast.Name) else []
        return any(call is None or call.called.rpartition(".")[2] not in _VIEWS for call in made)
