"""The rule state-key-rename."""

from __future__ import annotations

from shardlint.rule import Bad, ChangedFiles, ChangeRule, Findings, Good, research

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shardlint.rule import Change

_MODEL = """
    from torch import nn

    class {name}(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.{key} = {made}(width, width){mark}

        def forward(self, x):
            return self.{key}(x)
    """


def _model(key: str, mark: str = "", *, name: str = "Attention", made: str = "nn.Linear") -> dict[str, str]:
    return {"model.py": _MODEL.format(key=key, mark=mark, name=name, made=made)}


class StateKeyRename(ChangeRule):
    """Reports a parameter, buffer or submodule that got another name while nothing maps the old one.

    Why is this bad?
    A checkpoint stores tensors under the names of attributes. After a rename, an old checkpoint has nothing for the
    new key: a strict load fails, and any other leaves the new weights as they were initialised. The optimizer's
    moments of the old key are lost with it. The loss after a resume is the only sign.

    Use instead
    Keep the name, or map the old key when a checkpoint is loaded: `_load_from_state_dict` or a load hook of the
    module, `_checkpoint_conversion_mapping` in transformers, a table of renames in the code that loads.

    Known limits
    Only classes that both states of a file have under one name, and renames that the text of the file proves: a key
    that is only removed is not reported, and a module that its config builds (`config.wq.build()`) is not seen. A
    mapping is looked for in the file, in the files that changed along and in 200 others of the package; one that lies
    elsewhere or is built at run time is not seen, and one that maps the same names of another model counts. Whether
    any checkpoint with the old names is still needed is not known. Tests and generated files are left out.
    """

    severity = "warning"
    since = "0.1.0"
    evidence = research(
        "https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.load_state_dict"
    )
    suspects = ChangedFiles(".py")
    symptoms = (
        r"Missing key\(s\) in state_dict",
        r"Unexpected key\(s\) in state_dict",
        r"[Mm]issing key in checkpoint state_dict",
        r"newly initialized",
    )
    bad = (
        Bad(before=_model("wq"), after=_model("q_proj", "  # error")),
        Bad(
            before={
                "m.py": "import torch.nn as N\nclass M(N.Module):\n    def __init__(self, n):\n        "
                "self.blocks = N.ModuleList(N.Linear(n, n) for _ in range(n))\n"
            },
            after={
                "m.py": "import torch.nn as N\nclass M(N.Module):\n    def __init__(self, n):\n        "
                "self.layers = N.ModuleList(N.Linear(n, n) for _ in range(n))  # error\n"
            },
        ),
        Bad(
            before={**_model("scale"), "loader.py": 'RENAMES = {"scale": "gain"}\n'},
            after={**_model("weight", "  # error"), "loader.py": 'RENAMES = {"scale": "gain"}\n'},
        ),
    )
    good = (
        Good(before=_model("wq"), after={**_model("q_proj"), "loader.py": 'RENAMES = {"wq": "q_proj"}\n'}),
        Good(before=_model("wq"), after=_model("wq", name="SelfAttention")),
        Good(before=_model("drop", made="nn.Dropout"), after=_model("dropout", made="nn.Dropout")),
        Good(
            before={"tests/test_a.py": _MODEL.format(key="a", mark="", name="A", made="nn.Linear")},
            after={"tests/test_a.py": _MODEL.format(key="b", mark="", name="A", made="nn.Linear")},
        ),
        Good(before=_model("wq"), after={"model.py": _model("wq")["model.py"].replace("self.wq(x)", "self.wq(x + 1)")}),
    )

    def judge(self, change: Change) -> Findings:
        if change.file.merged or change.in_tests or change.generated is not None:
            return
        for one in change.key_renames():
            owner = one.before.owner or one.class_name
            kept = "it" if one.before.kind in ("parameter", "buffer") else "everything below it"
            yield change.finding(
                f"`{owner}.{one.old}` is now `{one.new}`, and nothing in sight maps the old key: a checkpoint from "
                f"before has {kept} under the old name only, so a strict load fails, and any other leaves `{one.new}` "
                "as initialised and loses the optimizer's moments",
                help=f"keep the name `{one.old}`, or map it to `{one.new}` where checkpoints are loaded "
                "(`_load_from_state_dict`, a load hook, `_checkpoint_conversion_mapping`, a table of renames)",
                line=one.line,
                column=one.column,
                scope=owner,
                certainty=1.0 if one.sure else 0.6,
            )
