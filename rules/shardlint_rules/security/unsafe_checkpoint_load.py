"""The rule unsafe-checkpoint-load."""

from __future__ import annotations

import re

from shardlint.rule import Bad, Call, Edit, Findings, Good, LocalRule, Pinned, Site, Spelled, file_calls, research, safe

_SAVE = Call("torch.save", "torch.serialization.save")
_PLAIN = ("torch.nn.", "torch.optim.", "torchvision.models.")
_OWN_STATE = re.compile(r"extra_state|transformer_engine|__getstate__")


class UnsafeCheckpointLoad(LocalRule):
    """Reports `torch.load(..., weights_only=False)`, and a missing argument where the project's torch is below 2.6.

    Why is this bad?
    A checkpoint is a pickle, and unpickling runs whatever code the file asks for, on every rank. With
    `weights_only=True`, the default since torch 2.6, only tensors and plain containers are read.

    Use instead
    `weights_only=True`. Where the file holds a few classes of your own, name them with
    `torch.serialization.safe_globals([...])`; keep settings and random states as tensors or JSON. The fix is offered
    only where the loaded value goes straight into `load_state_dict` of a torch module or optimizer, whose state dict
    holds nothing else than tensors and plain containers.

    Known limits
    A missing argument is reported only where an installed, locked or least allowed torch is known to be below 2.6.
    Where the same file also writes the path with `torch.save`, where the checkpoint lies in memory (`io.BytesIO`), and
    in tests, the confidence is below the default threshold: such a file is one's own.
    """

    severity = "warning"
    since = "0.1.0"
    evidence = research("https://docs.pytorch.org/docs/stable/generated/torch.load.html")
    suspects = Call("torch.load", "torch.serialization.load") & (
        Spelled("weights_only") | Pinned("torch", below=(2, 6))
    )
    fixes = safe("a state dict of a torch module or optimizer loads under `weights_only=True` too")
    symptoms = (r"Weights only load failed", r"WeightsUnpickler error")
    proof = ("test_unsafe_checkpoint_load", "a checkpoint makes a file while it is loaded")
    bad = (
        Bad(
            """
            import torch
            from torch import load as read

            def settings(path):
                return torch.load(path, map_location="cpu", weights_only=False)["args"]  # error

            def restore(path, size):
                net = torch.nn.Linear(size, size)
                net.load_state_dict(read(path, weights_only=False))  # error
                return net
            """,
            fixed="""
            import torch
            from torch import load as read

            def settings(path):
                return torch.load(path, map_location="cpu", weights_only=False)["args"]  # error

            def restore(path, size):
                net = torch.nn.Linear(size, size)
                net.load_state_dict(read(path, weights_only=True))  # error
                return net
            """,
        ),
        Bad("import torch\n\nstate = torch.load('a.pt')  # error", versions={"torch": "2.5.1"}),
    )
    good = (
        Good("import torch\n\nstate = torch.load('a.pt')", versions={"torch": "2.6.0"}),
        Good(
            """
            import json
            import torch

            def load(path, weights_only):
                torch.load(path)
                torch.load(path, weights_only=True)
                torch.load(path, weights_only=weights_only)
                torch.jit.load(path)
                return json.load(path, weights_only=False)
            """
        ),
    )

    def judge(self, site: Site) -> Findings:
        given = site.argument("weights_only")
        old = site.environment.may_be_below("torch", 2, 6) if given is None and not site.opaque else None
        if old is None and (given is None or given.literal is not False):
            return
        how = f"without `weights_only`, under torch {old.text} ({old.file})," if old else "with `weights_only=False`"
        path = site.argument("f", 0)
        what = f"the file `{path.text}`" if path is not None and len(path.text) <= 40 else "the file"
        yield site.finding(
            f"`{site.called}` {how} runs whatever code {what} asks for",
            help="load with `weights_only=True`; for classes of your own use `torch.serialization.safe_globals`",
            certainty=0.45 if _own_file(site) else None,
            fixable=(given is None or given.text == "False") and _only_tensors(site),
        )

    def fix(self, site: Site, edit: Edit) -> None:
        edit.set_argument(site, "weights_only", "True")


def _own_file(site: Site) -> bool:
    """Whether the code reads what it wrote itself: a path that it saves to, a buffer in memory, a file of a test."""
    path = site.argument("f", 0)
    if path is None or "io.BytesIO" in path.made_from or site.in_tests:
        return path is not None
    saves = [save.argument("f", 1) for save in file_calls(site, _SAVE)]
    return any(written is not None and (path.same_as(written) or path.text == written.text) for written in saves)


def _only_tensors(site: Site) -> bool:
    """Whether the value is the state dict of a torch module or optimizer, and used as nothing else."""
    if _OWN_STATE.search(site.module.text):
        return False
    for use in file_calls(site, Call("*.load_state_dict")):
        given = use.argument("state_dict", 0)
        if given is not None and given.ast is site.ast and use.receiver is not None:
            return any(name.startswith(_PLAIN) for name in use.receiver.classes)
    return False
