"""The rule monkeypatch-dead-target."""

from __future__ import annotations

from shardlint.rule import Assigned, Bad, Findings, Good, LocalRule, Site, dead_patch, observation

_PACKAGES = ("transformers", "torch", "accelerate", "peft", "trl", "deepspeed", "megatron", "vllm", "diffusers")
_MORE = ("datasets", "lightning", "flash_attn", "torchvision", "liger_kernel", "huggingface_hub", "safetensors")


class MonkeypatchDeadTarget(LocalRule):
    """Reports an assignment to an attribute of an installed package that this version of the package does not have.

    Why is this bad?
    Python accepts it: the assignment makes a new attribute that nobody reads. After an upgrade that renamed or moved
    the function, the job runs with the package's own code, without an error, and the memory or the loss is wrong.

    Use instead
    The name that the installed version defines. `assert hasattr(module, "name")` before the patch makes the next
    rename an error.

    Known limits
    Only packages whose source lies in the environment that the project uses (`environment` in the settings,
    `VIRTUAL_ENV`, `.venv`, `CONDA_PREFIX`), and only `owner.name = value` on a line of its own or `setattr`, with an
    imported owner. Silent for compiled and lazy modules and bases that are not found; for flags and methods that the
    project adds on purpose, known by a read of `.name` or the text `"name"` anywhere in the project; for a class, also
    if the package spells the name anywhere; where a test of the version or of the attribute, or a `try`, stands around.
    A function that is still there but that nobody calls any more is not seen. Edits of an installed package in place
    are noticed with `--no-cache` only.
    """

    severity = "error"
    since = "0.1.0"
    evidence = observation("https://github.com/hiyouga/LlamaFactory/issues/4224")
    suspects = Assigned(*_PACKAGES, *_MORE)
    symptoms = (r"(?:module|type object) '[\w.]+' has no attribute '\w+'",)
    preview = True
    proof = ("test_monkeypatch_dead_target", "the assignment makes a new attribute, and the package keeps its function")
    bad = (
        Bad(
            """
            import transformers
            import transformers.masking as masks
            from transformers import masking, trainer as hf
            from transformers.trainer import Trainer

            def patched(*args):
                return None

            transformers.masking._make_mask = patched  # error

            def apply():
                original = masks.mask_of
                masks.mask_of = patched  # error
                setattr(hf, "load_state", patched)  # error
                Trainer.training_loop = lambda self: original()  # error
            """,
            installed={
                "transformers/__init__.py": "from .trainer import Trainer\n",
                "transformers/masking.py": "from .shared import *\ndef make_mask(): ...\n",
                "transformers/shared.py": "def other(): ...\n",
                "transformers/trainer.py": "class Trainer:\n    def _train(self): ...\ndef _load_state(): ...\n",
            },
        ),
    )
    good = (
        Good(
            """
            import transformers
            from transformers import Base, Model, lazy, masking, trainer, unknown

            def patched(*args):
                return masking._old_mask(*args)

            masking._old_mask = masking.make_mask
            masking.make_mask = patched
            masking.other = patched
            trainer.make_mask = patched
            trainer._patched_by_us = True
            transformers.Model.forward = patched
            Model.generate = Model.hidden = Model.scale = patched
            Model.added_on_purpose = patched
            Model().added_on_purpose()
            Base.may_come_from_elsewhere = lazy.anything = unknown.thing = patched

            if hasattr(masking, "_renamed"):
                masking._renamed = patched
            if transformers.__version__ < "5":
                masking._gone = patched
            try:
                masking._gone_too = patched
            except AttributeError:
                pass
            """,
            installed={
                "transformers/__init__.py": "from .models import *\nfrom . import masking\n",
                "transformers/models.py": """
                    from compiled import Root
                    class Mixin:
                        def generate(self): self.scale = 1
                    class Model(Mixin):
                        hidden: int
                        def forward(self): ...
                    class Base(Root): ...
                    """,
                "transformers/masking.py": "from .shared import *\nif True:\n    def make_mask(): ...\n",
                "transformers/shared.py": "def other(): ...\n",
                "transformers/trainer.py": "from .masking import make_mask\n",
                "transformers/lazy.py": "def __getattr__(name): ...\n",
            },
        ),
    )

    def judge(self, site: Site) -> Findings:
        patch = dead_patch(site)
        if patch is None:
            return
        version = site.environment.versions.get(patch.package)
        which = f"{patch.package} {version.text}" if version is not None else f"the installed {patch.package}"
        owner = site.argument("", 0)
        yield site.finding(
            f"the {patch.kind} `{patch.owner}` of {which} has no `{patch.name}` ({patch.file}), and nothing reads one: "
            "this patch changes nothing, and the package's own code runs",
            help=f"patch the name that it has now{f', perhaps `{patch.close}`' if patch.close else ''}, and put "
            f'`assert hasattr({owner.text if owner is not None else "..."}, "{patch.name}")` before the patch',
        )
