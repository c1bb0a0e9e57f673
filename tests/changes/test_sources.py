from __future__ import annotations

import pytest

from shardlint.changes.generated import Header
from shardlint.changes.sources import declared_sources, justifies


def header(*sources: str) -> Header:
    return Header(1, "AUTO-GENERATED", "AUTO-GENERATED", sources)


CASES = [
    (
        "models/a/generated/patched_modeling_a_gpu.py",
        ("hub.models.a.modeling_a",),
        ("models/a/a_gpu_patch_gen_config.py",),
    ),
    (
        "models/a/generated/patched_modeling_a_npu.py",
        (),
        ("models/a/a_npu_patch_gen_config.py", "models/a/a_gpu_patch_gen_config.py"),
    ),
    ("src/p/models/a/modeling_a.py", ("src/p/models/a/modular_a.py",), ("src/p/models/a/modular_a.py",)),
    ("p/models/a/modeling_a.py", ("src/p/models/a/modular_a.py",), ("p/models/a/modular_a.py",)),
    ("p/models/a/image_processing_a.py", (), ("p/models/a/modular_a.py",)),
    ("proto/a_pb2.py", ("proto/a.proto",), ("proto/a.proto",)),
    ("proto/a_pb2_grpc.py", (), ("proto/a.proto",)),
    ("proto/a_pb2.pyi", ("a.proto",), ("proto/a.proto",)),
    ("lib/table.py", ("tools/gen.py", "ops.yaml"), ("tools/gen.py", "lib/ops.yaml")),
    ("lib/table.py", ("../tools/gen.py",), ("tools/gen.py",)),
    ("lib/table.py", ("lib.spec",), ("lib/spec.py",)),
    ("table.py", ("lib.spec",), ("src/lib/spec.py",)),
    ("lib/table.py", (), ("lib/table.py.jinja", "lib/table.diff")),
    ("lib/table.py", ("lib/table.py", "gone.py"), ()),
]


@pytest.mark.parametrize(("path", "named", "expected"), CASES)
def test_declared_sources_are_files_of_the_repository(
    path: str, named: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    present = {path, *expected}
    assert set(declared_sources(path, header(*named), present.__contains__)) == set(expected)


@pytest.mark.parametrize(("path", "named", "expected"), CASES)
def test_a_declared_source_justifies_and_the_file_itself_does_not(
    path: str, named: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    assert all(justifies(path, header(*named), changed) for changed in expected)
    assert not justifies(path, header(*named), path)
    assert not justifies(path, header(*named), "lib/other.py")


@pytest.mark.parametrize(
    ("named", "changed"),
    [
        (("src/p/models/a",), "packages/core/src/p/models/a/configuration_a.py"),
        (("gen.py",), "tools/gen.py"),
        (("hub.a.modeling_a",), "src/hub/a/modeling_a.py"),
        ((), "models/base/base_gpu_patch_gen_config.py"),
    ],
)
def test_what_lies_elsewhere_justifies_if_it_is_what_the_header_names(named: tuple[str, ...], changed: str) -> None:
    assert justifies("models/a/generated/patched_modeling_a.py", header(*named), changed)


def test_a_patch_configuration_justifies_nothing_outside_of_the_folder_for_generated_files() -> None:
    assert not justifies("models/a/modeling_a.py", header(), "models/a/a_gpu_patch_gen_config.py")
