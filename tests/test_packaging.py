"""What is shipped: the sdist, the wheel built from it, and the command that the wheel installs."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import shardlint

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = {"shardlint": ROOT / "linter" / "shardlint", "shardlint_rules": ROOT / "rules" / "shardlint_rules"}

pytestmark = pytest.mark.xdist_group("packaging")


def run(*command: str, cwd: Path = ROOT) -> str:
    """Standard output of a command; a failure shows all that the command said."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command} failed:\n{done.stdout}\n{done.stderr}"
    return done.stdout


def files_below(folder: Path) -> set[str]:
    """What a fresh checkout has there: no bytecode, and no hidden folders, which are caches of tools."""
    paths = [path.relative_to(folder) for path in folder.rglob("*") if path.is_file()]
    return {path.as_posix() for path in paths if not any(part[0] in "._" for part in path.parts[:-1])}


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with an sdist and the wheel that was built from that sdist, not from the checkout."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT))
    return folder


@pytest.fixture(scope="module")
def wheel(dist: Path) -> Path:
    (found,) = dist.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def wheel_files(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.fixture(scope="module")
def sdist_files(dist: Path) -> set[str]:
    (found,) = dist.glob("*.tar.gz")
    with tarfile.open(found) as archive:
        return {name.partition("/")[2] for name in archive.getnames()}


@pytest.mark.parametrize("package", PACKAGES)
def test_wheel_has_every_file_of_each_package(package: str, wheel_files: set[str]) -> None:
    here = {f"{package}/{path}" for path in files_below(PACKAGES[package])}

    assert f"{package}/py.typed" in here
    assert {path for path in wheel_files if path.startswith(f"{package}/")} == here


def test_wheel_has_the_schemas_and_the_tables(wheel_files: set[str]) -> None:
    assert any(path.startswith("shardlint/") and path.endswith(".schema.json") for path in wheel_files)
    assert any(path.startswith("shardlint_rules/tables/") for path in wheel_files)


def test_wheel_installs_nothing_else_at_the_top(wheel_files: set[str]) -> None:
    info = f"shardlint-{shardlint.__version__}.dist-info"

    assert {path.partition("/")[0] for path in wheel_files} == {*PACKAGES, info}
    assert f"{info}/licenses/LICENSE" in wheel_files


def test_sdist_has_what_make_test_needs(sdist_files: set[str]) -> None:
    alone = {"Makefile", "pyproject.toml", "README.md", "LICENSE", ".pre-commit-hooks.yaml"}
    folders = ("linter", "rules", "tests", "examples", "benchmarks", "corpus")
    inside = {f"{folder}/{path}" for folder in folders for path in files_below(ROOT / folder)}

    assert alone | inside <= sdist_files


@pytest.mark.network
def test_installed_wheel_runs_without_the_checkout(wheel: Path, tmp_path: Path) -> None:
    run(sys.executable, "-m", "venv", str(tmp_path / "venv"))
    bin = tmp_path / "venv" / "bin"
    run(str(bin / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(wheel))

    assert run(str(bin / "shardlint"), "--version", cwd=tmp_path).strip() == f"shardlint {shardlint.__version__}"
    assert run(str(bin / "python"), "-m", "shardlint", "--version", cwd=tmp_path).endswith(f"{shardlint.__version__}\n")
    assert "rank-guarded-checkpoint" in run(str(bin / "shardlint"), "rules", cwd=tmp_path)
