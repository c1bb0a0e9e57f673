"""The rule raw-barrier."""

from __future__ import annotations

from shardlint.rule import Bad, Call, Findings, Good, LocalRule, Site, observation


class RawBarrier(LocalRule):
    """Reports a barrier that goes around the team's own, which names the rank that is missing.

    Why is this bad?
    When one rank is late, `torch.distributed.barrier` says nothing until the timeout, and then not who was late.

    Use instead
    Call `acme.comm.barrier`.

    Known limits
    Barriers inside of libraries are not seen.
    """

    severity = "warning"
    since = "1.0"
    evidence = observation()
    suspects = Call("torch.distributed.barrier")
    bad = (
        Bad(
            """
            from torch import distributed as d

            def wait():
                d.barrier()  # error
            """
        ),
    )
    good = (
        Good(
            """
            from acme import comm

            def wait():
                comm.barrier()
            """
        ),
    )

    def judge(self, site: Site) -> Findings:
        yield site.finding(
            f"`{site.called}` does not say which rank is missing when it waits",
            help="call `acme.comm.barrier`",
        )
