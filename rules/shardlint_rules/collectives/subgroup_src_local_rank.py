"""The rule subgroup-src-local-rank."""

from __future__ import annotations

from shardlint.rule import Bad, Call, Expression, Findings, Good, LocalRule, Site, file_calls, observation

# (name, keyword, its position, position of `group`)
_ROOTED = {
    "broadcast": ("src", 1, 2),
    "broadcast_object_list": ("src", 1, 2),
    "reduce": ("dst", 1, 3),
    "gather": ("dst", 2, 3),
    "gather_object": ("dst", 2, 3),
    "scatter": ("src", 2, 3),
    "scatter_object_list": ("src", 2, 3),
}
_PACKAGES = ("torch.distributed", "torch.distributed.distributed_c10d")
_WORLD = ("world", "default", "global", "gloo", "cpu", "all_ranks", "whole")
_MAKERS = Call(*(f"{package}.new_group" for package in _PACKAGES))
_RANK_CALLS = frozenset(f"{package}.get_rank" for package in _PACKAGES)


class SubgroupSrcLocalRank(LocalRule):
    """Reports a rooted collective in a subgroup whose `src` or `dst` is a rank within the group.

    Why is this bad?
    `src` and `dst` are global ranks, also when `group=` is given. `src=0` with a group that rank 0 is no member of
    raises `Global rank 0 is not part of group`; in the group that does hold rank 0 it works, so a small test passes.

    Use instead
    `group_src=0` (or `group_dst=0`), or `src=dist.get_global_rank(group, 0)`.

    Known limits
    Whether a group is the whole job is told by its name and by how it is made in the same file; a group that always
    holds the literal rank, as a group of the first node does, or one that spans the job, is reported. That is why the
    rule is off unless selected by name. Of a group that is only called `group` or `process_group` nothing is said.
    """

    severity = "warning"
    preview = True
    since = "0.1.0"
    evidence = observation("https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.broadcast")
    suspects = Call(*(f"{package}.{name}" for package in _PACKAGES for name in _ROOTED))
    ranks = (
        "rank 0 is in the first subgroup, where its number in the group and in the job is the same",
        "rank 1 is in another subgroup, and `src=0` is no member of that",
        "rank 1 raises `Global rank 0 is not part of group`, and the job ends",
    )
    symptoms = (r"Global rank \d+ is not part of group",)
    bad = (
        Bad(
            """
            import torch.distributed as dist

            def share(buffer, tp_group):
                dist.broadcast(buffer, src=0, group=tp_group)  # error
            """,
            raises={"share(torch.ones(1), dist.new_subgroups(1)[0])": "Global rank 0 is not part of group"},
        ),
        Bad(
            """
            from torch.distributed import gather_object as collect
            import torch.distributed as dist

            class Writer:
                def write(self, part, parts):
                    collect(part, parts, 0, self.dp_group)  # error
                    dist.reduce(part, dist.get_rank(self.dp_group), group=self.dp_group)  # error
            """
        ),
    )
    good = (
        Good(
            """
            import torch.distributed as dist

            def share(buffer, tp_group, src_rank):
                dist.broadcast(buffer, group=tp_group, group_src=0)
                dist.broadcast(buffer, src=dist.get_global_rank(tp_group, 0), group=tp_group)
                dist.broadcast(buffer, src=src_rank, group=tp_group)
                dist.broadcast(buffer, src=0)
                dist.broadcast(buffer, src=0, group=None)
                dist.broadcast(buffer, src=0, group=dist.group.WORLD)

            def whole(buffer, group=None):
                dist.broadcast(buffer, src=0, group=group)

            class Loop:
                def setup(self):
                    self.decisions = dist.new_group(backend="gloo")

                def share(self, items):
                    dist.broadcast_object_list(items, src=0, group=self.decisions)
            """,
            runs=("share(torch.ones(1), dist.new_subgroups(1)[0], rank); whole(torch.ones(1))",),
        ),
    )

    def judge(self, site: Site) -> Findings:
        keyword, position, place = _ROOTED[site.name.rpartition(".")[2]]
        group, root = site.argument("group", place), site.argument(keyword, position)
        if group is None or root is None or site.opaque or self._may_be_world(site, group):
            return
        if not self._within(root, group):
            return
        yield site.finding(
            f"`{keyword}={root.text}` is a global rank even with `group={group.text}`: a group without that rank "
            "raises an error or waits",
            help=f"write `group_{keyword}={root.text}`, or `{keyword}=dist.get_global_rank({group.text}, {root.text})`",
            certainty=0.8,
        )

    def _within(self, root: Expression, group: Expression) -> bool:
        if isinstance(root.literal, int):
            return True
        for value in root.values:
            call = value.as_site()
            if call is not None and call.name in _RANK_CALLS:
                inside = call.argument("group", 0)
                return inside is not None and inside.text == group.text
        return False

    def _may_be_world(self, site: Site, group: Expression) -> bool:
        """Whether the group can be that of all ranks, by its name or by how it was made."""
        text = group.text
        if text == "None" or "WORLD" in text or any(word in text.lower() for word in _WORLD):
            return True
        default = group.default
        if default is not None and default.literal is None:
            return True
        if text.rpartition(".")[2] in ("group", "process_group", "pg", "_group", "_process_group"):
            return True
        makers = [maker for maker in file_calls(site, _MAKERS) if maker.argument("ranks", 0) is None]
        return any(target.last_name == group.last_name for maker in makers for target in maker.targets)
