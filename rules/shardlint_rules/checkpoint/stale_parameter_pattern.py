"""The rule stale-parameter-pattern."""

from __future__ import annotations

from shardlint.rule import Bad, ChangedFiles, ChangeRule, Findings, Good, research

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shardlint.rule import Change

_MODEL = """
    from torch import nn

    class Attention(nn.Module):
        def __init__(self, n):
            super().__init__()
            self.wq = nn.Linear(n, n)
            self.wv = nn.Linear(n, n)

    class Block(nn.Module):
        def __init__(self, n):
            super().__init__()
            self.attention = Attention(n)
    """
_RENAMED = _MODEL.replace("self.wq", "self.query_in")
_PLAN = """
    from torch.distributed.tensor.parallel import ColwiseParallel, parallelize_module

    def shard(model, mesh):
        parallelize_module(model, mesh, {
            "attention.wq": ColwiseParallel(),MARK
            "attention.wv": ColwiseParallel(),
        })
    """
_LORA = "lora:\n  target_modules:\n    - wqMARK\n    - wv\n"
_TIED = "        _tied_weights_keys = ['wq.weight']\n"
_WRAP = 'from net import model\nNO_SPLIT = dict(_no_split_modules=["Block"])MARK\n'
_DECAY = 'from net.model import Block\nno_decay = [\n    "wq",MARK\n    "wv",\n]\n'


def _net(model: str, path: str, text: str, mark: str = "") -> dict[str, str]:
    return {"net/model.py": model, path: text.replace("MARK", mark)}


_LOST = {
    "plan": "the plan leaves these tensors whole on every rank",
    "target": "these modules are passed over in silence",
    "part": "the parameter is treated like any other",
    "class": "its modules are wrapped or split like any other",
}


class StaleParameterPattern(ChangeRule):
    """Reports a plan pattern, LoRA target or other list of names that a renamed parameter has left behind.

    Why is this bad?
    What applies such a list takes a name without a match for nothing to do. The plan no longer divides the weight, the
    adapter is not put there, the frozen layer trains, the bias decays: the job runs, uses more memory or trains
    something else, and no message says so.

    Use instead
    Rename the name in the list along with the attribute.

    Known limits
    Only renames that the text of the changed file proves, and only lists whose holder has a known name (`tp_plan`,
    `target_modules`, `no_decay`, `_tied_weights_keys`, `frozen_modules`) or that hold placements. Silent while a class
    that the list may mean has an attribute of the old name (beside the model those that it imports, elsewhere all of
    the project), when the list names the new one as well, for regular expressions with alternatives, in generated
    files, and, far from the renamed model, for names that models of public libraries share (`q_proj`, `mlp`).
    """

    severity = "warning"
    since = "0.1.0"
    evidence = research("https://docs.pytorch.org/docs/stable/distributed.tensor.parallel.html")
    suspects = ChangedFiles(".py")
    symptoms = (
        r"Parallelize plan key '.*' could not be resolved",
        r"Target modules .* not found in the base model",
        r"TP rules were not applied on any of the layers",
    )
    proof = ("test_stale_parameter_pattern", "`parallelize_module` leaves the renamed weight whole on every rank")
    bad = (
        Bad(before=_net(_MODEL, "net/tp.py", _PLAN), after=_net(_RENAMED, "net/tp.py", _PLAN, "  # error")),
        Bad(before=_net(_MODEL, "lora.yaml", _LORA), after=_net(_RENAMED, "lora.yaml", _LORA, "  # error")),
        Bad(before=_net(_MODEL, "opt/groups.py", _DECAY), after=_net(_RENAMED, "opt/groups.py", _DECAY, "  # error")),
        Bad(before={"m.py": _MODEL + _TIED}, after={"m.py": _RENAMED + _TIED.replace("]", "]  # error")}),
        Bad(
            before=_net(_MODEL, "net/wrap.py", _WRAP),
            after=_net(_MODEL.replace("Block", "DecoderLayer"), "net/wrap.py", _WRAP, "  # error"),
        ),
    )
    good = (
        Good(before=_net(_MODEL, "tp.py", _PLAN), after=_net(_RENAMED, "tp.py", _PLAN.replace("wq", "query_in"))),
        Good(
            before={**_net(_MODEL, "tp.py", _PLAN), "other/model.py": _MODEL},
            after={**_net(_RENAMED, "tp.py", _PLAN), "other/model.py": _MODEL},
        ),
        Good(
            before=_net(_MODEL, "opt/groups.py", _DECAY),
            after=_net(_MODEL.replace("self.wq", "self.wq_in"), "opt/groups.py", _DECAY),
        ),
        Good(before=_net(_MODEL, "lora.yaml", _LORA), after=_net(_RENAMED, "lora.yaml", _LORA + "    - query_in\n")),
        Good(
            before=_net(_MODEL.replace("wq", "q_proj"), "lora.yaml", _LORA.replace("wq", "q_proj")),
            after=_net(_RENAMED, "lora.yaml", _LORA.replace("wq", "q_proj")),
        ),
        Good(before=_net(_MODEL, "tests/tp.py", _PLAN), after=_net(_RENAMED, "tests/tp.py", _PLAN)),
    )

    def judge(self, change: Change) -> Findings:
        if change.file.merged or change.in_tests:
            return
        for stale in change.stale_patterns():
            cause, string, holder = stale.cause, stale.string, stale.listed.holder
            was = f"{cause.owner}.{cause.key}" if cause.owner else cause.key
            yield change.finding(
                f"`{string.text}` in {f'`{holder}`' if holder else 'this plan'} named `{was}`, which is now "
                f"`{cause.new_key}`: it matches nothing any more, and {_LOST[stale.listed.use]}",
                help=f"write `{stale.renewed}`",
                path=stale.path,
                line=string.line,
                column=string.column,
                related=((cause.path, cause.line, f"`{cause.key}` became `{cause.new_key}` here"),),
                scope=holder,
                certainty=1.0 if cause.sure else 0.6,
            )
