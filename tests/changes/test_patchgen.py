"""Bodies of generated modeling files against the patch configurations that they come from."""

from __future__ import annotations

import pytest

from shardlint.changes.patch_spec import read_specs
from shardlint.changes.patchgen import drifts_of, generated_from, patch_drifts

CONFIG = "pkg/models/a/a_gpu_patch_gen_config.py"
OUTPUT = "pkg/models/a/generated/patched_modeling_a_gpu.py"
SPEC = '''\
import torch
from patchgen import PatchConfig, create_patch_from_external

config = PatchConfig(source_module="hub.a.modeling_a", target_file="patched_modeling_a_gpu.py")
config.add_import("pkg.ops", names=["fused_moe"])
config.drop_import_names("OldOutput")
config.exclude_from_output("AForTokens")
config.add_post_import_block(
    """
    from pkg.dispatch import Slot
    loss_slot = Slot("loss", "causal")
    """
)
config.patches.append(create_patch_from_external("ANorm", "fast.norm", "FastNorm"))


@config.add_helper
def ids(h, w):
    return h * w


@config.replace_class("AExperts", description="fused")
class PatchedAExperts(torch.nn.Module):
    def forward(self, x):
        return fused_moe(x)


@config.replace_function("rotary")
def rotary_patched(q, k):
    return q + k


@config.override_method("AModel.forward", description="shards the sequence")
@torch.no_grad()
def a_model_forward(self, x):
    """Runs.

    In shards.
    """
    from pkg import one
    from pkg import two

    y = one(x) + 1
    if two:
        y = y * 2
    return y
'''
BODY = """\
#  AUTO-GENERATED FILE - DO NOT EDIT DIRECTLY
#  Source: hub.a.modeling_a
#
#  Patches applied:
#    - class_replacement: ANorm
#    - class_replacement: AExperts
#      fused
#    - function_replacement: rotary
#    - method_override: AModel.forward
#      shards the sequence

import torch
from hub import Kept

from pkg.ops import fused_moe
from pkg.dispatch import Slot

loss_slot = Slot("loss", "causal")


def ids(h, w):
    return h * w


from fast.norm import FastNorm as ANorm


class AExperts(torch.nn.Module):
    def forward(self, x):
        return fused_moe(x)


def rotary(q, k):
    return q + k


class AModel(torch.nn.Module):
    def __init__(self):
        super().__init__()

    @capture
    @torch.no_grad()
    def forward(self, x):
        # in shards
        from pkg import two
        from pkg import one

        y = (
            one(x)
            + 1
        )
        if two:
            y = y * 2
        return y
"""


def drifts(body: str = BODY, spec: str = SPEC, **others: str) -> list[tuple[str, str]]:
    """The names that drift, each with the text of the line where that shows."""
    files = {CONFIG: spec, **others}
    found = drifts_of(OUTPUT, body.encode(), (CONFIG,), lambda path: files[path].encode() if path in files else None)
    return [(drift.name, body.split("\n")[drift.line - 1].strip()) for drift in found]


def test_what_the_generator_wrote_does_not_drift_whatever_its_layout() -> None:
    assert drifts() == []


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("            + 1\n", "            + 3\n", ("AModel.forward", "+ 3")),
        ("y = y * 2", "y = y * 4", ("AModel.forward", "y = y * 4")),
        ("        return y\n", "        y = y + 1\n        return y\n", ("AModel.forward", "y = y + 1")),
        ("    @torch.no_grad()\n", "", ("AModel.forward", "@capture")),
        ("def forward(self, x):\n        # in", "def forward(self, x, z):\n        # in", ("AModel.forward", "z")),
        ("return fused_moe(x)", "return fused_moe(-x)", ("AExperts", "return fused_moe(-x)")),
        ("return q + k", "return q - k", ("rotary", "return q - k")),
        ("return h * w", "return h", ("ids", "return h")),
        ('Slot("loss", "causal")', 'Slot("loss", "masked")', ("loss_slot", 'loss_slot = Slot("loss", "masked")')),
        ("from pkg.ops import", "from pkg.slow import", ("fused_moe", "from pkg.slow import fused_moe")),
        ("from hub import Kept", "from hub import Kept, OldOutput", ("OldOutput", "from hub import Kept, OldOutput")),
        ("from fast.norm import FastNorm", "from slow import Norm", ("ANorm", "from slow import Norm as ANorm")),
        ("from fast.norm import FastNorm as ANorm\n", "class ANorm:\n    pass\n", ("ANorm", "class ANorm:")),
        ("class AModel(", "class AForTokens:\n    pass\n\n\nclass AModel(", ("AForTokens", "class AForTokens:")),
        (
            "    def forward(self, x):\n        # in",
            "    def go(self, x):\n        # in",
            ("AModel.forward", "class AModel"),
        ),
        ("#    - function_replacement: rotary\n", "", ("rotary", "#    - method_override: AModel.forward")),
        ("rotary\n#", "rotary\n#    - method_override: B.go\n#", ("B.go", "#    - method_override: AModel.forward")),
    ],
)
def test_an_edit_is_found_where_it_is(old: str, new: str, found: tuple[str, str]) -> None:
    assert BODY.count(old) == 1
    name, line = found
    got = drifts(BODY.replace(old, new))
    assert [each[0] for each in got] == [name]
    assert line in got[0][1]


def test_a_patch_for_something_that_the_original_lacks_is_not_judged() -> None:
    assert drifts(SPEC and BODY.replace("def rotary(q, k):\n    return q + k\n", "")) == []


def test_a_configuration_may_be_annotated() -> None:
    spec = SPEC.replace("config = PatchConfig", "config: PatchConfig = PatchConfig")
    assert drifts(BODY.replace("q + k", "q"), spec) == [("rotary", "return q")]


def test_what_is_read_from_another_configuration_counts() -> None:
    npu = """\
from pkg.models.a.a_gpu_patch_gen_config import a_model_forward, config as gpu
from .a_gpu_patch_gen_config import rotary_patched

config = PatchConfig(source_module="hub.b", target_file="patched_modeling_a_npu.py")
config.helpers.extend(gpu.helpers)
NAMES = {"A": "B"}
config.override_method("BModel.forward", replacement=a_model_forward, name_map=NAMES)
config.replace_function("rotary")(rotary_patched)
"""
    path = CONFIG.replace("gpu", "npu")
    files = {CONFIG: SPEC, path: npu}

    def read(path: str) -> bytes | None:
        return files[path].encode() if path in files else None

    ((output, spec),) = generated_from(path, read)
    assert output == OUTPUT.replace("gpu", "npu")
    assert spec.complete
    body = BODY.replace("AModel", "BModel").replace("#    -", "#     ")
    assert patch_drifts(body.encode(), spec) == []
    edited = body.replace("y * 2", "y * 3").replace("q + k", "q - k").replace("h * w", "h")
    assert [drift.name for drift in patch_drifts(edited.encode(), spec)] == ["ids", "rotary", "BModel.forward"]


def test_a_configuration_can_go_on_with_one_that_it_imports() -> None:
    npu = """\
from .a_gpu_patch_gen_config import config

config.target_file = "patched_modeling_a_npu.py"


@config.replace_function("rotary")
def rotary_npu(q, k):
    return q @ k
"""
    path = CONFIG.replace("gpu", "npu")
    files = {CONFIG: SPEC, path: npu}
    (spec,) = read_specs(path, lambda path: files[path].encode() if path in files else None)
    assert (spec.target_file, spec.complete) == ("patched_modeling_a_npu.py", True)
    assert [drift.name for drift in patch_drifts(BODY.encode(), spec)] == ["rotary"]
    assert patch_drifts(BODY.replace("q + k", "q @ k").encode(), spec) == []


@pytest.mark.parametrize(
    "statement",
    ["for name in NAMES:\n    config.exclude_from_output(name)\n", "register(config)\n", "config.patches = []\n"],
)
def test_what_cannot_be_read_of_a_configuration_is_not_held_against_the_header(statement: str) -> None:
    body = BODY.replace("#    - function_replacement: rotary\n", "").replace("import Kept", "import Kept, OldOutput")
    assert drifts(body, SPEC + "\n\n" + statement) == []
    assert drifts(body.replace("q + k", "q"), SPEC + "\n\n" + statement) == [("rotary", "return q")]


def test_modules_that_import_each_other_and_broken_files_are_silent() -> None:
    loop = "from .b_patch_gen_config import config as other\n" + SPEC
    other = "from .a_gpu_patch_gen_config import config\n"
    assert drifts(spec=loop, **{"pkg/models/a/b_patch_gen_config.py": other}) == []
    assert drifts(body=BODY + "def (:\n") == []
    assert drifts(spec=SPEC + "def (:\n", body=BODY.replace("q + k", "q")) == []
