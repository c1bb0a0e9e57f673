"""The rule dcp-load-empty-template."""

from __future__ import annotations

import ast

from shardlint.rule import Bad, Call, Expression, Findings, Good, LocalRule, Site, research

_LOADS = Call(
    "torch.distributed.checkpoint.load",
    "torch.distributed.checkpoint.state_dict_loader.load",
    "torch.distributed.checkpoint.load_state_dict",
    "torch.distributed.checkpoint.state_dict_loader.load_state_dict",
)
_FILLS = ("get_optimizer_state_dict", "get_state_dict", "_init_optim_state", "init_optim_state", "set_state_dict")


class DcpLoadEmptyTemplate(LocalRule):
    """Reports a `dcp.load` whose template has no place for what it should load.

    Why is this bad?
    `dcp.load` fills the entries that the given state dict already has, and nothing else. A fresh optimizer has no
    moments yet, so `optimizer.state_dict()` offers no entry for them: they stay behind in the checkpoint, the load
    succeeds, and training goes on with Adam's moments at zero. An empty dict loads nothing at all.

    Use instead
    `get_optimizer_state_dict(model, optimizer)` or `get_state_dict(model, optimizer)`, which create the state first;
    or pass an object with `state_dict` and `load_state_dict` that uses them.

    Known limits
    Only an optimizer that is built in the same function is known to be fresh. A template that other functions fill is
    not judged.
    """

    severity = "error"
    since = "0.1.0"
    evidence = research("https://docs.pytorch.org/docs/stable/distributed.checkpoint.html")
    suspects = _LOADS
    symptoms = (r"loss (?:jumps|spikes) after resum",)
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
            """
        ),
        Bad(
            """
            from torch.distributed import checkpoint
            from torch.optim import SGD

            def resume(model, path):
                opt = SGD(model.parameters(), momentum=0.9)
                checkpoint.load(dict(optim=opt.state_dict()), checkpoint_id=path)  # error

            def peek(path):
                blob = {}
                checkpoint.load(blob, checkpoint_id=path)  # error
                return blob
            """
        ),
    )
    good = (
        Good(
            """
            import torch
            import torch.distributed.checkpoint as dcp
            from torch.distributed.checkpoint.state_dict import get_optimizer_state_dict

            def resume(model, path):
                optimizer = torch.optim.AdamW(model.parameters())
                state = {"optim": get_optimizer_state_dict(model, optimizer)}
                dcp.load(state, checkpoint_id=path)

            def later(model, optimizer, path):
                state = {"optim": optimizer.state_dict()}
                dcp.load(state, checkpoint_id=path)

            def stepped(model, path, loss):
                optimizer = torch.optim.AdamW(model.parameters())
                loss.backward()
                optimizer.step()
                state = {"optim": optimizer.state_dict()}
                dcp.load(state, checkpoint_id=path)

            def filled(model, path):
                state = {}
                state["model"] = model.state_dict()
                dcp.load(state, checkpoint_id=path)

            def planned(path, planner):
                state = {}
                dcp.load(state, checkpoint_id=path, planner=planner)
            """
        ),
    )

    def judge(self, site: Site) -> Findings:
        template = site.argument("state_dict", 0)
        if template is None or site.opaque:
            return
        values = template.values
        if len(values) != 1:
            return
        if self._is_empty(values[0]):
            if site.argument("planner") is None and not self._touched(site, template):
                yield site.finding(
                    f"`{template.text}` is empty, and `{site.called}` fills only the entries that it finds: "
                    "nothing is loaded",
                    help="give it a template with an entry for each tensor to load, such as `get_model_state_dict(model)`",
                )
            return
        fresh = next((name for part in values[0].parts if (name := self._fresh_optimizer(part, site))), None)
        if fresh is not None and not self._touched(site, template):
            yield site.finding(
                f"`{fresh}` has no state yet, so `{fresh}.state_dict()` has no entry for its moments, and "
                f"`{site.called}` leaves them in the checkpoint: the optimizer starts anew",
                help=f"use `get_optimizer_state_dict(model, {fresh})` for the template, and "
                "`set_optimizer_state_dict` after the load",
            )

    def _is_empty(self, value: Expression) -> bool:
        node = value.ast
        if isinstance(node, ast.Dict):
            return not node.keys
        return isinstance(node, ast.Call) and value.text == "dict()"

    def _fresh_optimizer(self, part: Expression, site: Site) -> str | None:
        """The name of the optimizer whose raw `state_dict()` a part of the template is, when it is known to be fresh."""
        call = part.as_site()
        if call is None or not call.called.endswith(".state_dict") or call.receiver is None:
            return None
        owner = call.receiver
        if not isinstance(owner.ast, ast.Name):
            return None
        made = owner.made_from
        if not made or not all(".optim." in name and "lr_scheduler" not in name for name in made):
            return None
        inside = site.function.ast
        if site.function.is_module or not any(b.ast in set(ast.walk(inside)) for b in owner.values):
            return None
        return None if self._used(site, owner) else owner.text

    def _used(self, site: Site, owner: Expression) -> bool:
        """Whether the function may have given the optimizer its state: a step, an initialiser, a load."""
        for node in ast.walk(site.function.ast):
            if not isinstance(node, ast.Call):
                continue
            called = ast.unparse(node.func)
            if called.rpartition(".")[2] in _FILLS:
                return True
            if called == f"{owner.text}.step" and node.lineno <= site.call.lineno:
                return True
            if any(isinstance(arg, ast.Name) and arg.id == owner.text for arg in node.args):
                return True
        return False

    def _touched(self, site: Site, template: Expression) -> bool:
        """Whether the template is changed between its making and the load."""
        if not isinstance(template.ast, ast.Name):
            return False
        name = template.ast.id
        for node in ast.walk(site.function.ast):
            if node is template.ast or not isinstance(node, (ast.Subscript, ast.Attribute, ast.Call)):
                continue
            if getattr(node, "lineno", 0) >= site.call.lineno:
                continue
            inside = node.args if isinstance(node, ast.Call) else [node.value]
            if any(isinstance(arg, ast.Name) and arg.id == name for arg in inside):
                return True
        return False
