"""The rule dcp-load-not-applied."""

from __future__ import annotations

import ast
import re

from shardlint.rule import Bad, Call, Expression, Findings, Good, LocalRule, Site, observation

_DCP = "torch.distributed.checkpoint"
_NUMBER = re.compile(
    r"(?:^|_)(?:steps?|epochs?|iterations?|iters?|tokens|samples)(?:$|_)|(?:^|_)seen(?:$|_)", re.IGNORECASE
)
_PLAIN = re.compile(r"sched|scaler|loader|sampler|(?:^|_)rng|random", re.IGNORECASE)


class DcpLoadNotApplied(LocalRule):
    """Reports a `dcp.load` into a dict that nothing reads afterwards, with entries that are no tensors.

    Why is this bad?
    `dcp.load` writes into the tensors of the dict, which a model shares, and puts everything else into the dict
    itself. A step, an epoch or the state of a scheduler is read from the checkpoint and then forgotten with the dict:
    the run goes on with the right weights, from step 0 and with the first learning rate.

    Use instead
    Read the entries after the load: `step = state["step"]`, `scheduler.load_state_dict(state["scheduler"])`.

    Known limits
    A dict that is made elsewhere, or that anything else reads, is not judged. That a value is a number or a plain dict
    is told by its name: step, epoch, iteration, scheduler, loader, sampler.
    """

    severity = "error"
    since = "0.1.0"
    evidence = observation("https://docs.pytorch.org/docs/stable/distributed.checkpoint.html")
    suspects = Call(f"{_DCP}.load", f"{_DCP}.state_dict_loader.load", f"{_DCP}.load_state_dict")
    symptoms = (
        r"[Rr]esum\w+ (?:starts )?(?:from|at) (?:step|epoch) 0",
        r"[Ll]earning rate (?:restarts|jumps) after resum",
    )
    proof = ("test_dcp_load_not_applied", "the weights are those of the checkpoint, the step and the schedule are not")
    bad = (
        Bad(
            """
            import torch.distributed.checkpoint as dcp

            def resume(model, scheduler, path, step=0):
                state = {"model": model.state_dict(), "scheduler": scheduler.state_dict(), "step": step}
                dcp.load(state, checkpoint_id=path)  # error
                return step
            """
        ),
        Bad(
            """
            from torch.distributed.checkpoint import load as restore
            from torch.distributed.checkpoint.state_dict_loader import load

            class Trainer:
                def resume(self, path):
                    restore({"model": self.model.state_dict(), "epoch": 0}, checkpoint_id=path)  # error
                    load(dict(model=self.model.state_dict(), seen=self.samples_seen), checkpoint_id=path)  # error
            """
        ),
    )
    good = (
        Good(
            """
            import torch.distributed.checkpoint as dcp

            def resume(model, scheduler, path, step=0):
                state = {"model": model.state_dict(), "scheduler": scheduler.state_dict(), "step": step}
                dcp.load(state, checkpoint_id=path)
                scheduler.load_state_dict(state["scheduler"])
                return state["step"]

            def weights(model, optimizer, path):
                state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "version": 2}
                dcp.load(state, checkpoint_id=path)

            def stateful(app, scheduler, path):
                dcp.load({"app": app, "scheduler": scheduler}, checkpoint_id=path)

            def handed_on(model, path):
                state = {"model": model.state_dict(), "step": 0}
                dcp.load(state, checkpoint_id=path)
                return state
            """
        ),
    )

    def judge(self, site: Site) -> Findings:
        template = site.argument("state_dict", 0)
        if template is None or len(template.values) != 1 or self._read_elsewhere(site, template):
            return
        lost = [key for key, value in self._entries(site, template.values[0]) if self._plain(key, value)]
        if lost:
            names = " and ".join(f"`{key}`" for key in lost)
            yield site.finding(
                f"`{site.called}` puts {names} into a dict that nothing reads afterwards: what was loaded is lost, and "
                "the run goes on with the values that it had",
                help=f'after the load read them from the dict, as in `{lost[0]} = state["{lost[0]}"]`',
            )

    def _read_elsewhere(self, site: Site, template: Expression) -> bool:
        """Whether anything but the load sees the dict."""
        if not isinstance(template.ast, ast.Name):
            return not isinstance(template.ast, (ast.Dict, ast.Call))
        names = [
            node for node in ast.walk(site.function.ast) if isinstance(node, ast.Name) and node is not template.ast
        ]
        return any(node.id == template.text and isinstance(node.ctx, ast.Load) for node in names)

    def _entries(self, site: Site, made: Expression) -> list[tuple[str, Expression]]:
        """The entries of a dict that is written out, with literal keys."""
        found: list[tuple[str | None, ast.expr]] = []
        if isinstance(made.ast, ast.Dict):
            pairs = zip(made.ast.keys, made.ast.values, strict=True)
            found = [(str(key.value), value) for key, value in pairs if isinstance(key, ast.Constant)]
        elif isinstance(made.ast, ast.Call) and made.text.startswith("dict("):
            found = [(given.arg, given.value) for given in made.ast.keywords]
        return [(key, Expression(site.module, value, site.voice)) for key, value in found if key is not None]

    def _plain(self, key: str, value: Expression) -> bool:
        """Whether a value is surely no tensor and no object that loads itself, and wanted back."""
        call = value.as_site()
        if call is not None:
            owner = call.receiver if call.called.endswith(".state_dict") else None
            return owner is not None and _PLAIN.search(owner.last_name) is not None
        return _NUMBER.search(key if isinstance(value.ast, ast.Constant) else value.last_name) is not None
