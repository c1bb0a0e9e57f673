"""The rule dcp-load-empty-template."""

from __future__ import annotations

import ast

from shardlint.rule import Bad, Call, Expression, Findings, Good, LocalRule, Site, is_fresh, observation

_DCP = "torch.distributed.checkpoint"


class DcpLoadEmptyTemplate(LocalRule):
    """Reports a `dcp.load` whose template has no place for what it should load.

    Why is this bad?
    `dcp.load` fills the entries that the given state dict already has, and nothing else. A fresh optimizer has no
    moments yet, so `optimizer.state_dict()` offers no entry for them: they stay in the checkpoint, the load succeeds,
    and training goes on with Adam's moments at zero. An empty dict loads nothing at all. Both were seen in a run.

    Use instead
    `get_optimizer_state_dict(model, optimizer)` or `get_state_dict(model, optimizer)`, which create the state first,
    as long as no parameter has a gradient; or an object with `state_dict` and `load_state_dict` that uses them.

    Known limits
    Only an optimizer that is built in the same function, or by every caller of it, and is passed to no other one, is
    known to be fresh. A template that is changed before the load, or a load with a planner of its own, is not judged.
    """

    severity = "error"
    since = "0.1.0"
    evidence = observation("https://docs.pytorch.org/docs/stable/distributed.checkpoint.html")
    suspects = Call(f"{_DCP}.load", f"{_DCP}.state_dict_loader.load", f"{_DCP}.load_state_dict")
    ranks = (
        "both ranks ask the empty dict which keys to load, and load none",
        "both ranks go on with freshly initialised state, and nothing is said",
    )
    symptoms = (r"[Ll]oss (?:jumps|spikes) after resum",)
    proof = ("test_dcp_load_empty_template", "a fresh optimizer has no moments after the load, and no error says so")
    bad = (
        Bad(
            """
            import torch
            import torch.distributed.checkpoint as dcp

            def resume(model, path):
                optimizer = torch.optim.AdamW(model.parameters())
                state = {"model": model.state_dict(), "optim": optimizer.state_dict()}
                dcp.load(state, checkpoint_id=path)  # error
                optimizer.load_state_dict(state["optim"])
                return optimizer

            def peek(path):
                blob = {}
                dcp.load(blob, checkpoint_id=path)  # error
                return blob
            """
        ),
    )
    good = (
        Good(
            """
            import torch
            import torch.distributed.checkpoint as dcp
            from torch.distributed.checkpoint.state_dict import get_optimizer_state_dict, set_optimizer_state_dict

            def resume(model, path):
                optimizer = torch.optim.AdamW(model.parameters())
                state = {"optim": get_optimizer_state_dict(model, optimizer)}
                dcp.load(state, checkpoint_id=path)
                set_optimizer_state_dict(model, optimizer, state["optim"])
                return optimizer

            def later(model, optimizer, path):
                dcp.load({"optim": optimizer.state_dict()}, checkpoint_id=path)

            def stepped(model, path):
                optimizer = torch.optim.AdamW(model.parameters())
                optimizer.step()
                state = {"optim": optimizer.state_dict()}
                dcp.load(state, checkpoint_id=path)

            def filled(model, path, planner):
                state = {}
                dcp.load(state, checkpoint_id=path, planner=planner)
                state["model"] = model.state_dict()
                dcp.load(state, checkpoint_id=path)
            """
        ),
    )

    def judge(self, site: Site) -> Findings:
        template = site.argument("state_dict", 0)
        if template is None or site.opaque or site.argument("planner") is not None or len(template.values) != 1:
            return
        made = template.values[0]
        if isinstance(template.ast, ast.Name) and self._changed(site, template.ast.id):
            return
        if made.text in ("{}", "dict()"):
            yield site.finding(
                f"`{template.text}` is empty, and `{site.called}` fills only entries that it finds: nothing is loaded",
                help="give it an entry for each tensor to load, such as `get_model_state_dict(model)`",
            )
        for name in sorted({name for part in made.parts if (name := self._fresh(site, part))}):
            yield site.finding(
                f"`{name}` has no state yet, so `{name}.state_dict()` has no entry for its moments: "
                f"`{site.called}` leaves them in the checkpoint, and the optimizer starts anew",
                help=f"use `get_optimizer_state_dict(model, {name})` for the template, and "
                "`set_optimizer_state_dict` after the load",
            )

    def _fresh(self, site: Site, part: Expression) -> str | None:
        """The optimizer whose raw `state_dict()` a part of the template is, when it has no state yet."""
        call = part.as_site()
        owner = call.receiver if call is not None and call.called.endswith(".state_dict") else None
        return owner.text if owner is not None and is_fresh(site, owner) else None

    def _changed(self, site: Site, name: str) -> bool:
        """Whether the function hands the template on, or sets an entry of it, before the load."""
        parts = [node for node in ast.walk(site.function.ast) if isinstance(node, (ast.Subscript, ast.Attribute))]
        set_or_read = [part for part in parts if isinstance(part.value, ast.Name) and part.value.id == name]
        return any(use.lineno < site.call.lineno for use in (*set_or_read, *site.function.handing(name)))
