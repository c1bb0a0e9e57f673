"""Versions read off environments, lock files and bounds, without running or importing anything."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from shardlint.environment import NAMES, Version, normalised, release, versions


def install(environment: Path, name: str, version: str, *, metadata: str | None = None) -> None:
    folder = environment / "lib/python3.11/site-packages" / f"{name}-{version}.dist-info"
    folder.mkdir(parents=True)
    if metadata is not None:
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {metadata}\n\nText\n")


def told(version: Version) -> tuple[str, str, str, str]:
    return (version.text, version.kind, version.operator, version.file)


def test_an_empty_project_says_nothing(tmp_path: Path) -> None:
    assert versions(str(tmp_path), {}) == {}


def test_installed_packages_are_read_by_path(tmp_path: Path) -> None:
    install(tmp_path / ".venv", "torch", "2.5.1", metadata="2.5.1+cu121")
    install(tmp_path / ".venv", "megatron_core", "0.9.0")
    install(tmp_path / ".venv", "unwanted", "1.0")
    known = versions(str(tmp_path), {})
    packages = ".venv/lib/python3.11/site-packages"
    assert told(known["torch"]) == ("2.5.1+cu121", "installed", "==", f"{packages}/torch-2.5.1.dist-info")
    assert known["torch"].release == (2, 5, 1)
    assert told(known["megatron-core"])[:2] == ("0.9.0", "installed")
    assert set(known) == {"torch", "megatron-core"}


def test_environments_are_asked_in_order_and_the_first_answer_counts(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    for number, place in enumerate((tmp_path / "active", root / ".venv", tmp_path / "conda")):
        install(place, "torch", f"2.{number}")
    install(tmp_path / "conda", "trl", "0.9")
    environ = {"VIRTUAL_ENV": str(tmp_path / "active"), "CONDA_PREFIX": str(tmp_path / "conda")}
    known = versions(str(root), environ)
    # As in a hook of pre-commit, the active environment need not hold everything.
    assert (known["torch"].text, known["trl"].text) == ("2.0", "0.9")
    assert versions(str(root), {"CONDA_PREFIX": environ["CONDA_PREFIX"]})["torch"].text == "2.1"


def test_the_setting_stands_for_all_environments(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    install(tmp_path / "active", "trl", "0.9")
    install(tmp_path / "mine", "torch", "2.4.0")
    environ = {"VIRTUAL_ENV": str(tmp_path / "active")}
    assert list(versions(str(root), environ, setting="../mine")) == ["torch"]
    packages = str(tmp_path / "mine/lib/python3.11/site-packages")
    assert list(versions(str(root), environ, setting=packages)) == ["torch"]


def test_an_egg_info_is_an_installed_package_too(tmp_path: Path) -> None:
    folder = tmp_path / ".venv/lib/python3.10/site-packages/deepspeed-0.14.0-py3.10.egg-info"
    folder.mkdir(parents=True)
    assert told(versions(str(tmp_path), {})["deepspeed"])[:2] == ("0.14.0", "installed")


LOCKS = {
    "uv.lock": '[[package]]\nname = "torch"\nversion = "2.6.0"\n[[package]]\nname = "torch"\nversion = "2.5.1+cpu"\n',
    "poetry.lock": '[[package]]\nname = "torch"\nversion = "2.5.1+cpu"\n',
    "pdm.lock": '[[package]]\nname = "Torch"\nversion = "2.5.1+cpu"\n',
    "pylock.toml": '[[packages]]\nname = "torch"\nversion = "2.5.1+cpu"\n',
    "pylock.gpu.toml": '[[packages]]\nname = "torch"\nversion = "2.5.1+cpu"\n',
    "requirements.txt": "--index-url https://example.org\ntorch==2.5.1+cpu ; python_version > '3.9' --hash=sha256:0\n",
    "requirements-train.txt": "torch[opt] == 2.5.1+cpu  # why\r\n",
    "requirements/base.txt": "TORCH===2.5.1+cpu\n",
    "pyproject.toml": '[project]\ndependencies = ["torch==2.5.1+cpu"]\n',
}


@pytest.mark.parametrize("file", LOCKS)
def test_a_lock_tells_the_version_and_the_lowest_of_several(tmp_path: Path, file: str) -> None:
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).write_text(LOCKS[file], encoding="utf-8", newline="")
    assert told(versions(str(tmp_path), {})["torch"]) == ("2.5.1+cpu", "locked", "==", file)


BOUNDS = [
    ('[project]\ndependencies = ["torch>=2.4,<3"]\n', "2.4", ">="),
    ('[project]\ndependencies = ["torch<3,>2.4"]\n', "2.4", ">"),
    ('[project.optional-dependencies]\ntrain = ["torch ~= 2.4"]\n', "2.4", "~="),
    ('[dependency-groups]\ndev = [{include-group = "x"}, "torch (>=2.4)"]\n', "2.4", ">="),
    ('[tool.poetry.dependencies]\ntorch = "^2.4"\n', "2.4", "^"),
    ('[tool.poetry.group.gpu.dependencies]\ntorch = {version = "~2.4", source = "gpu"}\n', "2.4", "~"),
    ('[project]\ndependencies = ["torch==2.4.*"]\n', "2.4.*", "=="),
]


@pytest.mark.parametrize(("text", "version", "operator"), BOUNDS)
def test_a_lower_bound_is_a_pin_with_its_operator(tmp_path: Path, text: str, version: str, operator: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")
    assert told(versions(str(tmp_path), {})["torch"]) == (version, "pinned", operator, "pyproject.toml")


@pytest.mark.parametrize(
    "text", ["torch", "torch<3", "torch!=2.1", "torch @ https://example.org/torch-2.1.whl", "torchx==1"]
)
def test_no_lower_bound_is_no_version(tmp_path: Path, text: str) -> None:
    (tmp_path / "requirements.txt").write_text(text + "\n", encoding="utf-8")
    assert "torch" not in versions(str(tmp_path), {})


def test_what_is_installed_counts_before_locks_and_locks_before_bounds(tmp_path: Path) -> None:
    install(tmp_path / ".venv", "torch", "2.5.0")
    (tmp_path / "uv.lock").write_text(LOCKS["uv.lock"] + '[[package]]\nname = "trl"\nversion = "0.9"\n')
    (tmp_path / "requirements.txt").write_text("trl>=0.7\npeft>=0.10\n")
    (tmp_path / "pyproject.toml").write_text('[project]\ndependencies = ["peft==0.11"]\n')
    known = versions(str(tmp_path), {})
    assert {name: (version.text, version.kind) for name, version in known.items()} == {
        "torch": ("2.5.0", "installed"),
        "trl": ("0.9", "locked"),
        "peft": ("0.11", "locked"),
    }


def test_names_come_back_as_they_were_asked(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("flash-attn==2.7\n")
    assert list(versions(str(tmp_path), {}, ("Flash_Attn",))) == ["Flash_Attn"]


def test_broken_and_odd_files_count_as_absent(tmp_path: Path) -> None:
    (tmp_path / "uv.lock").write_text("[[package\n")
    (tmp_path / "poetry.lock").write_text('package = "torch"\n[metadata]\n')
    (tmp_path / "pdm.lock").write_text('[[package]]\nname = 3\nversion = ["x"]\n')
    (tmp_path / "pyproject.toml").write_text("project = 3\n[tool]\npoetry = []\n")
    (tmp_path / "requirements-bad.txt").write_bytes(b"\xff\xfe\x00 torch\n\x80\x81")
    os.mkfifo(tmp_path / "requirements.txt")
    (tmp_path / "requirements").write_text("a file")
    assert versions(str(tmp_path), {"VIRTUAL_ENV": str(tmp_path / "none")}) == {}


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("2.5.1+cu121", (2, 5, 1)), ("2.6.0.dev2", (2, 6, 0)), ("1!2.0", (2, 0)), ("v3", (3,)), ("x", ())],
)
def test_release_is_the_leading_numbers(text: str, numbers: tuple[int, ...]) -> None:
    assert release(text) == numbers


def test_default_names_are_written_as_the_index_writes_them() -> None:
    assert [normalised(name) for name in NAMES] == list(NAMES)
