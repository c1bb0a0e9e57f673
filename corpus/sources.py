"""The pinned code: which packages and repositories, and how their files come onto this machine.

`packages.toml` pins a distribution by the checksum of its file and a repository by its commit. A tree is what such a
pin unpacks to; nothing of it is ever run or committed. What is pinned once never changes, so a tree that is there is
used as it is.
"""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator, Set
from pathlib import Path
from typing import IO, Literal, NamedTuple

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).resolve().parent
PINS = HERE / "packages.toml"
FOLDER = HERE.parent / ".corpus"
"""Where downloads and trees lie unless a folder is given; git ignores it."""

Kind = Literal["sdist", "wheel", "repository"]

SETTINGS = "shardlint.toml"
_NEVER_UNPACKED = (".gitignore", SETTINGS)
"""A `.gitignore` would hide files that the package ships; the settings of the tree are ours (see `tree`)."""
_LARGEST = 4 << 20
"""Bytes. A larger file is no source or config, and partial clones do not have it: it is never unpacked."""
_GIT = ("git", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false")
_ENVIRONMENT = {"GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1"}
_DOWNLOAD_SECONDS = 600


class CorpusError(Exception):
    """What stops a command about the corpus. Its text is one sentence that says what to do."""


class BadPin(CorpusError):
    """An entry of `packages.toml` is not complete, or names one thing twice."""


class NotAvailable(CorpusError):
    """A pinned file or commit cannot be had on this machine, or is not what was pinned."""


class Package(NamedTuple):
    """One pin.

    `name`: of the distribution, or owner/name of the repository. `version`: of the distribution, or the commit in
    full. `kind`: how it is packed. `file`: the name of the distribution's file, "" for a repository. `digest`: the
    SHA-256 of that file in hexadecimal, or the commit. `distribution`: for a repository, the pinned distribution that
    is built from it, if any: what both hold is one finding, not two.
    """

    name: str
    version: str
    kind: Kind
    file: str
    digest: str
    distribution: str = ""

    @property
    def slug(self) -> str:
        """The name of its findings' file and of its folder: without a slash, and no two alike."""
        return self.name.replace("/", "--")

    @property
    def shown(self) -> str:
        """Name and version as people write them; a commit is cut to twelve digits."""
        return f"{self.name} {self.version[:12] if self.kind == 'repository' else self.version}"


def packages(pins: Path = PINS) -> list[Package]:
    """Everything that is pinned, distributions first, each group by name.

    Raises:
        BadPin: an entry lacks a key or has an unknown one, two entries have one name, or a repository names a
            distribution that is not pinned.
    """
    with pins.open("rb") as opened:
        read = tomllib.load(opened)
    found: list[Package] = []
    for entry in read.get("package", []):
        _demand(pins, entry, {"name", "version", "file", "sha256"})
        kind: Kind = "wheel" if entry["file"].endswith(".whl") else "sdist"
        found.append(Package(entry["name"], entry["version"], kind, entry["file"], entry["sha256"]))
    for entry in read.get("repository", []):
        _demand(pins, entry, {"name", "commit"}, optional={"distribution"})
        commit, distribution = entry["commit"], entry.get("distribution", "")
        if distribution and distribution not in {package.name for package in found if package.file}:
            raise BadPin(f"{pins.name}: {entry['name']} names the distribution {distribution}, which is not pinned")
        found.append(Package(entry["name"], commit, "repository", "", commit, distribution))
    names = [package.slug.lower() for package in found]
    for name in names:
        if names.count(name) > 1:
            raise BadPin(f"{pins.name} pins {name} twice: remove one of the entries")
    return sorted(found, key=lambda package: (package.kind == "repository", package.name.lower()))


def _demand(pins: Path, entry: dict[str, str], keys: set[str], optional: Set[str] = frozenset()) -> None:
    if keys ^ (entry.keys() - optional):
        raise BadPin(f"{pins.name}: the entry {entry.get('name', entry)} must have the keys {', '.join(sorted(keys))}")


def tree(package: Package, folder: Path = FOLDER, clones: Path | None = None) -> Path:
    """The folder with the files of a package, unpacked on first use.

    An empty `shardlint.toml` and an empty git repository make it a project of its own wherever it lies: inside of a
    checkout neither the settings further up nor what git ignores there counts. Only regular files are unpacked.

    Args:
        package: what to unpack.
        folder: where downloads and trees are kept; made when missing.
        clones: a folder with local clones of repositories, each named `name`, `owner--name` or `owner/name`. Without
            it, or where it lacks one, a repository is fetched from GitHub.

    Raises:
        NotAvailable: it cannot be had here, or what came has another checksum.
    """
    at = folder / "trees" / f"{package.slug}-{package.version[:12]}"
    if at.is_dir():
        return at
    at.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=at.parent, prefix=".unpacking-") as scratch:
        unpacked = Path(scratch) / "tree"
        unpacked.mkdir()
        if package.kind == "repository":
            _unpack_commit(package, clones, Path(scratch) / "fetched", unpacked)
        else:
            _unpack_file(_downloaded(package, folder / "downloads"), unpacked)
        (unpacked / SETTINGS).touch()
        _git(package, "init", "--quiet", "--template=", str(unpacked))
        try:
            unpacked.rename(at)
        except OSError:
            if not at.is_dir():
                raise  # else another process was faster, with the same files
    return at


def _downloaded(package: Package, folder: Path) -> Path:
    """The file of a distribution with the pinned checksum, fetched with pip when it is not there."""
    at = folder / package.file
    if not at.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        _download(package, folder)
    if not at.is_file():
        raise NotAvailable(f"{package.shown}: pip brought no file named {package.file}; correct the pin")
    with at.open("rb") as opened:
        digest = hashlib.sha256(opened.read()).hexdigest()
    if digest != package.digest:
        raise NotAvailable(f"{package.shown}: {at} has the checksum {digest}, not the pinned one; remove the file")
    return at


def _download(package: Package, folder: Path) -> None:
    form = ["--no-binary", package.name] if package.kind == "sdist" else ["--only-binary", ":all:"]
    with tempfile.TemporaryDirectory() as scratch:
        wanted = Path(scratch) / "wanted.txt"
        wanted.write_text(f"{package.name}=={package.version} --hash=sha256:{package.digest}\n", encoding="utf-8")
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", *form, "--dest", str(folder)]
        _run(package, [*pip, "--require-hashes", "--requirement", str(wanted)])


def _run(package: Package, command: list[str], given: bytes = b"") -> bytes:
    """The output of a command that must succeed.

    Raises:
        NotAvailable: it is not installed, failed, or took too long; the sentence has the last line that it printed.
    """
    environment = os.environ | _ENVIRONMENT
    try:
        done = subprocess.run(
            command, input=given, capture_output=True, env=environment, timeout=_DOWNLOAD_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotAvailable(f"{package.shown}: {error}") from None
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines() or ["no reason given"]
        raise NotAvailable(f"{package.shown}: `{Path(command[0]).stem}` failed: {said[-1]}")
    return done.stdout


def _git(package: Package, *arguments: str, given: bytes = b"") -> bytes:
    return _run(package, [*_GIT, *arguments], given)


def _unpack_commit(package: Package, clones: Path | None, fetched: Path, into: Path) -> None:
    clone = _clone(package, clones)
    if clone is None:
        clone = fetched
        source = f"https://github.com/{package.name}"
        _git(package, "init", "--quiet", "--bare", str(fetched))
        _git(package, "-C", str(fetched), "fetch", "--quiet", "--depth=1", source, package.digest)
    listed = _git(package, "-C", str(clone), "ls-tree", "-r", "-z", package.digest)
    paths: dict[bytes, list[str]] = {}
    for entry in os.fsdecode(listed).split("\0"):
        about, _, path = entry.partition("\t")
        if about.startswith("100"):  # a regular file; links and submodules are left out
            paths.setdefault(about.split()[2].encode(), []).append(path)
    batch = _git(package, "-C", str(clone), "cat-file", "--batch", given=b"\n".join(paths) + b"\n")
    for blob, content in _blobs(io.BytesIO(batch)):
        for path in paths[blob]:
            _write(into, path, io.BytesIO(content), len(content))


def _blobs(batch: IO[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """Name and content of each blob that `git cat-file --batch` printed; a partial clone lacks the largest ones."""
    for header in iter(batch.readline, b""):
        name, *about = header.split()
        if len(about) == 2:
            yield name, batch.read(int(about[1]))
            batch.read(1)


def _clone(package: Package, clones: Path | None) -> Path | None:
    """The local clone of a repository that holds its pinned commit, if there is one."""
    if clones is None:
        return None
    owner, _, name = package.name.partition("/")
    for candidate in (clones / owner / name, clones / f"{owner}--{name}", clones / name):
        if candidate.is_dir():
            try:
                _git(package, "-C", str(candidate), "cat-file", "-e", f"{package.digest}^{{commit}}")
            except NotAvailable:
                continue
            return candidate
    return None


def _unpack_file(file: Path, into: Path) -> None:
    """Unpack the regular files of a distribution; those of a source distribution without the folder around them."""
    if file.suffix == ".whl":
        with zipfile.ZipFile(file) as archive:
            for inside in archive.infolist():
                if not inside.is_dir():
                    with archive.open(inside) as opened:
                        _write(into, inside.filename, opened, inside.file_size)
        return
    with tarfile.open(file) as packed:
        for member in packed:
            content = packed.extractfile(member) if member.isfile() else None
            if content is not None:
                with content:
                    _write(into, member.name.partition("/")[2], content, member.size)


def _write(into: Path, path: str, content: IO[bytes], size: int) -> None:
    """Write one file of an archive, unless it is too large, never unpacked, or its path leads out of the folder."""
    parts = path.split("/")
    if size > _LARGEST or not path or path.startswith("/") or ".." in parts or parts[-1] in _NEVER_UNPACKED:
        return
    at = into.joinpath(*parts)
    at.parent.mkdir(parents=True, exist_ok=True)
    with at.open("wb") as opened:
        shutil.copyfileobj(content, opened)
