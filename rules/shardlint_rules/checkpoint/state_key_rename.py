"""The rule state-key-rename."""

from __future__ import annotations

from shardlint.rule import Bad, ChangedFiles, ChangeRule, Findings, Good, research, unsafe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shardlint.rule import Change

_MODEL = """
    from torch import nn

    class {name}(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.{key} = {made}(width, {out}){mark}

        def forward(self, x):
            return self.{key}(x)
    """


def _model(
    key: str, mark: str = "", name: str = "Attention", made: str = "nn.Linear", out: str = "width"
) -> dict[str, str]:
    return {"model.py": _MODEL.format(key=key, mark=mark, name=name, made=made, out=out)}


class StateKeyRename(ChangeRule):
    """Reports a parameter, buffer or submodule that got another name or shape while nothing maps the old one.

    Why is this bad?
    A checkpoint stores tensors under the names of attributes. After a rename, an old checkpoint has nothing for the
    new key: a strict load fails, and any other leaves the new weights as they were initialised. The optimizer's
    moments of the old key are lost with it. The loss after a resume is the only sign. A tensor of another shape cannot
    be loaded at all.

    Use instead
    Keep the name, or map the old key when a checkpoint is loaded: in `_load_from_state_dict` or a load hook, in
    `_checkpoint_conversion_mapping`, in a table of renames. The fix adds the entry where the model has one such table
    whose entries show how the keys of this class are spelt.

    Known limits
    Only classes that both states of a file have under one name, and changes that the text of the file proves: a key
    that is only removed is not reported (`shardlint keys diff` lists it), and a module that its config builds
    (`config.wq.build()`) is not seen. A mapping is looked for in the file, in the files that changed along and in 200
    others of the package; one that lies elsewhere or is built at run time is not seen, and one that maps the same names
    of another model counts. Of a shape the arguments are compared: two that hold the same number at run time are taken
    for different. Where `shardlint keys lock` recorded the keys of a release, renames are counted from there, and
    classes that are not in the record are left out; elsewhere, classes that are newer than the last tag with a version
    number are. Tests and generated files are left out.
    """

    severity = "warning"
    since = "0.1.0"
    evidence = research(
        "https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.load_state_dict"
    )
    suspects = ChangedFiles(".py", keys=True)
    fixes = unsafe("review the entry: the code that loads has to apply this table to old checkpoints")
    symptoms = (
        r"Missing key\(s\) in state_dict",
        r"Unexpected key\(s\) in state_dict",
        r"[Mm]issing key in checkpoint state_dict",
        r"newly initialized",
    )
    proof = ("test_state_key_rename", "the new weight stays as initialised and its moments are zero")
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
        Bad(before=_model("wq"), after=_model("wq", "  # error", out="4 * width")),
    )
    good = (
        Good(before=_model("wq"), after={**_model("q_proj"), "loader.py": 'RENAMES = {"wq": "q_proj"}\n'}),
        Good(before=_model("wq"), after=_model("wq", name="SelfAttention")),
        Good(before=_model("drop", made="nn.Dropout"), after=_model("dropout", made="nn.Dropout")),
        Good(before={"tests/a.py": _model("a")["model.py"]}, after={"tests/a.py": _model("b")["model.py"]}),
        Good(before=_model("wq"), after={"model.py": _model("wq")["model.py"].replace("self.wq(x)", "self.wq(x + 1)")}),
        Good(
            before=_model("wq"),
            after={**_model("wq", out="9"), "load.py": "def convert(s):\n    s['wq'] = s['wq'].t()\n"},
        ),
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
                edit=change.rename_entry(one),
            )
        for one in change.key_reshapes():
            owner = one.before.owner or one.class_name
            now = one.after.shape if one.after else ""
            yield change.finding(
                f"`{owner}.{one.old}` was made with `{one.before.shape}` and is made with `{now}`: tensors of an older "
                "checkpoint have another shape, and loading them fails",
                help="convert the old tensors where checkpoints are loaded (`_load_from_state_dict`, a load hook)",
                line=one.line,
                column=one.column,
                scope=owner,
                certainty=0.8,
            )
