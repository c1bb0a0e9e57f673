"""Pins are complete, and what is unpacked is what was pinned. Nothing is downloaded here."""

from __future__ import annotations

import hashlib
import io
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest

from corpus.sources import BadPin, NotAvailable, Package, packages, tree


def run_git(folder: Path, *arguments: str) -> str:
    options = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *options, *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def pinned(folder: Path, name: str, content: bytes) -> Package:
    """A distribution that lies among the downloads already."""
    (folder / "downloads").mkdir()
    (folder / "downloads" / name).write_bytes(content)
    kind = "wheel" if name.endswith(".whl") else "sdist"
    return Package("thing", "1.0", kind, name, hashlib.sha256(content).hexdigest())  # type: ignore[arg-type]


def sdist(files: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for path, content in files.items():
            member = tarfile.TarInfo(path)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
        link = tarfile.TarInfo("thing-1.0/link.py")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    return packed.getvalue()


def files_of(at: Path) -> set[str]:
    return {str(file.relative_to(at)) for file in at.rglob("*") if file.is_file() and ".git/" not in str(file)}


def test_the_pins_are_what_the_corpus_promises() -> None:
    names = {package.name for package in packages() if package.kind != "repository"}

    assert names >= {
        *("veomni", "torchtitan", "accelerate", "trl", "peft", "verl", "ms-swift", "llamafactory", "deepspeed"),
        *("megatron-core", "lightning", "torchtune", "transformers", "diffusers", "axolotl"),
    }
    assert sum(package.kind == "repository" for package in packages()) >= 25
    for package in packages():
        assert len(package.digest) == (40 if package.kind == "repository" else 64)
        assert package.version in package.file or package.version == package.digest


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[[package]]\nname = "a"\nversion = "1"\nfile = "a.tar.gz"', "must have the keys file, name, sha256, version"),
        ('[[repository]]\nname = "a/b"\ncommit = "c"\nbranch = "d"', "must have the keys commit, name"),
        ('[[repository]]\nname = "a/b"\ncommit = "c"\n' * 2, "pins a--b twice"),
        ('[[repository]]\nname = "a/b"\ncommit = "c"\ndistribution = "b"', "the distribution b, which is not pinned"),
    ],
)
def test_a_pin_that_is_not_complete_is_refused(text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "packages.toml"
    file.write_text(text, encoding="utf-8")

    with pytest.raises(BadPin, match=said):
        packages(file)


def test_a_source_distribution_is_unpacked_without_the_folder_around_it(tmp_path: Path) -> None:
    inside = {"thing-1.0/a.py": b"x = 1\n", "thing-1.0/deep/b.yaml": b"x: 1\n", "thing-1.0/.gitignore": b"*\n"}
    package = pinned(tmp_path, "thing-1.0.tar.gz", sdist(inside))

    at = tree(package, tmp_path)

    assert files_of(at) == {"a.py", "deep/b.yaml", "shardlint.toml"}
    assert (at / "a.py").read_bytes() == b"x = 1\n"


def test_what_would_leave_the_folder_or_is_too_large_is_not_unpacked(tmp_path: Path) -> None:
    inside = {"thing-1.0/../../out.py": b"x\n", "thing-1.0/ok.py": b"x\n", "thing-1.0/big.json": bytes((4 << 20) + 1)}
    package = pinned(tmp_path, "thing-1.0.tar.gz", sdist(inside))

    assert files_of(tree(package, tmp_path)) == {"ok.py", "shardlint.toml"}
    assert not list(tmp_path.rglob("out.py"))


def test_a_wheel_is_unpacked_as_it_is(tmp_path: Path) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("thing/__init__.py", "x = 1\n")
    package = pinned(tmp_path, "thing-1.0-py3-none-any.whl", packed.getvalue())

    assert files_of(tree(package, tmp_path)) == {"thing/__init__.py", "shardlint.toml"}


def test_a_file_with_another_checksum_is_refused(tmp_path: Path) -> None:
    package = pinned(tmp_path, "thing-1.0.tar.gz", sdist({}))._replace(digest="0" * 64)

    with pytest.raises(NotAvailable, match=r"thing 1\.0: .* not the pinned one; remove the file"):
        tree(package, tmp_path)
    assert not list((tmp_path / "trees").glob("*"))


@pytest.fixture
def clone(tmp_path: Path) -> tuple[Path, str]:
    """A folder of clones with one repository, and the commit before its newest."""
    at = tmp_path / "clones" / "some--thing"
    (at / "configs").mkdir(parents=True)
    run_git(at, "init", "--quiet")
    (at / "a.py").write_text("x = 1\n", encoding="utf-8")
    (at / "configs" / "grün.yaml").write_text("x: 1\n", encoding="utf-8")
    (at / "link.py").symlink_to("a.py")
    run_git(at, "add", ".")
    run_git(at, "commit", "--quiet", "--message", "one")
    commit = run_git(at, "rev-parse", "HEAD")
    (at / "a.py").write_text("x = 2\n", encoding="utf-8")
    run_git(at, "commit", "--quiet", "--all", "--message", "two")
    return tmp_path / "clones", commit


def test_a_repository_is_unpacked_from_a_local_clone_at_its_commit(clone: tuple[Path, str], tmp_path: Path) -> None:
    clones, commit = clone

    at = tree(Package("some/thing", commit, "repository", "", commit), tmp_path / "made", clones)

    assert files_of(at) == {"a.py", "configs/grün.yaml", "shardlint.toml"}
    assert (at / "a.py").read_text(encoding="utf-8") == "x = 1\n"


def test_a_repository_that_cannot_be_had_is_named(
    clone: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_ALLOW_PROTOCOL", "none")  # no network in a test
    absent = Package("some/thing", "f" * 40, "repository", "", "f" * 40)

    with pytest.raises(NotAvailable, match=r"^some/thing ffffffffffff: `git` failed"):
        tree(absent, tmp_path / "made", clone[0])
    assert not list((tmp_path / "made" / "trees").glob("*"))


def test_a_tree_is_used_as_it_is(tmp_path: Path) -> None:
    package = pinned(tmp_path, "thing-1.0.tar.gz", sdist({"thing-1.0/a.py": b"x = 1\n"}))
    at = tree(package, tmp_path)
    (tmp_path / "downloads" / package.file).unlink()

    assert tree(package, tmp_path) == at
