"""Which versions of which packages the linted project uses, read off its files.

The environment's Python never runs and nothing of it is imported: the names of its folders and the text of METADATA say
enough. Not part of start-up: a rule about moved APIs asks for it.
"""

from __future__ import annotations

import os
import re

from shardlint.errors import SettingsError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any, Literal, TypeGuard

    EvidenceOfVersion = Literal["installed", "locked", "pinned"]

NAMES = (
    "torch",
    "transformers",
    "accelerate",
    "deepspeed",
    "datasets",
    "megatron-core",
    "lightning",
    "pytorch-lightning",
    "peft",
    "trl",
    "torchtitan",
    "torchao",
    "torchdata",
    "transformer-engine",
    "flash-attn",
)
"""The packages whose versions rules ask for, by their names on the package index."""

_LOCK_FILES = ("uv.lock", "poetry.lock", "pdm.lock", "pylock.toml")
_LARGEST = 50_000_000
"""Bytes of a lock file; the largest seen are a few MB."""
_HEADER = 65_536
"""Bytes of a METADATA file that surely hold its name and version; its description follows."""


class Version:
    """The version of a package, and how it is known.

    `kind`: `installed` in the environment; `locked` to this version by a lock file or `==`; or `pinned` by a lower
    bound, and the real version may be higher (`operator` is `>=`, `>`, `~=`, `^`, `~`, or `==` with a `*`).
    `file`: where it was read, relative to the root if inside of it.
    """

    __slots__ = ("file", "kind", "name", "operator", "text")

    def __init__(self, name: str, text: str, kind: EvidenceOfVersion, file: str, operator: str = "==") -> None:
        self.name = name
        self.text = text
        self.kind: EvidenceOfVersion = kind
        self.file = file
        self.operator = operator

    @property
    def release(self) -> tuple[int, ...]:
        """The leading numbers, to compare by: 2.5.1+cu121 is (2, 5, 1)."""
        return release(self.text)

    def __repr__(self) -> str:
        return f"Version({self.name} {self.operator} {self.text}, {self.kind} in {self.file})"


def release(text: str) -> tuple[int, ...]:
    """The leading numbers of a version text: 2.5.1+cu121 is (2, 5, 1), 2.6.0.dev2 is (2, 6, 0)."""
    found = re.match(r"v?(?:\d+!)?(\d+(?:\.\d+)*)", text)
    return tuple(int(part[:9]) for part in found[1].split(".")) if found else ()


def versions(
    root: str, environ: Mapping[str, str], names: Sequence[str] = NAMES, *, setting: str | None = None
) -> dict[str, Version]:
    """The version of each named package of which something is known.

    Looks, for each package, into the environment (`setting`; without it `VIRTUAL_ENV`, `.venv` in the root and
    `CONDA_PREFIX`), then into lock files, then requirements with `==`, then lower bounds; the first answer counts. With
    `setting`, no other environment is read.

    Args:
        root: the root folder of the project.
        environ: the environment variables.
        names: package names; the keys of the result are written alike.
        setting: the folder that the setting `environment` names, relative to the root or absolute.

    A file that cannot be read or understood counts as absent: a version is evidence, not a condition of a run.
    """
    wanted = {normalised(name): name for name in names}
    known: dict[str, Version] = {}
    for source in (
        _installed(root, environ, setting, wanted),
        _locked(root, wanted),
        _from_requirements(root, wanted),
        _from_pyproject(root, wanted),
    ):
        for version in source:
            before = known.get(version.name)
            if before is None or (before.kind == "pinned" and version.kind == "locked"):
                known[version.name] = version
        if len(known) == len(wanted) and all(version.kind != "pinned" for version in known.values()):
            break
    return {wanted[name]: version for name, version in sorted(known.items())}


def normalised(name: str) -> str:
    """The name of a package as the index compares it: Megatron_Core is megatron-core."""
    return re.sub(r"[-_.]+", "-", name).lower()


def site_packages(folder: str) -> list[str]:
    """The folders of an environment that hold packages; `folder` may be one itself."""
    if os.path.basename(os.path.normpath(folder)) in ("site-packages", "dist-packages"):
        return [folder]
    found: list[str] = []
    for lib in ("lib", "lib64"):
        for name in _listed(os.path.join(folder, lib)):
            path = os.path.join(folder, lib, name, "site-packages")
            if name.startswith(("python", "pypy")) and os.path.isdir(path):
                found.append(path)
    return found


class Environment:
    """What is known of the versions that the linted project uses: a fact that rules ask for."""

    __slots__ = ("folders", "installed", "packages", "versions")

    def __init__(
        self,
        versions: Mapping[str, Version],
        folders: Sequence[str] = (),
        installed: Sequence[str] = (),
        files: Mapping[str, str] | None = None,
    ) -> None:
        """`folders`: where packages lie; `installed`: the names of their metadata; `files`: see `Packages`."""
        from shardlint.facts.packages import Packages

        self.versions = dict(versions)
        self.folders = tuple(folders)
        self.installed = tuple(installed)
        self.packages = Packages(folders, files)

    def may_be_below(self, name: str, *bound: int) -> Version | None:
        """The version of a package when the project says that it may be lower than `bound` (2, 6); None otherwise.

        An installed or locked version is compared itself. A lower bound leaves open what will be installed, so it
        counts only when it is the bound itself that is lower. Where nothing is known, nothing is claimed.
        """
        version = self.versions.get(name)
        return version if version is not None and version.release and version.release < bound else None

    @classmethod
    def of(cls, root: str, environ: Mapping[str, str], setting: str | None = None) -> Environment:
        """The environment of a project; the arguments are those of `versions`."""
        folders = [packages for folder in _folders(root, environ, setting) for packages in site_packages(folder)]
        known = [name for at in folders for name in _listed(at) if name.endswith((".dist-info", ".egg-info"))]
        return cls(versions(root, environ, setting=setting), folders, known)

    def as_plain(self) -> dict[str, Any]:
        """The versions and packages as values that `marshal` takes."""
        known = {name: (v.name, v.text, v.kind, v.file, v.operator) for name, v in self.versions.items()}
        return {"versions": known, "folders": self.folders, "installed": self.installed}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Environment:
        """The environment that `as_plain` gave."""
        known = {name: Version(*fields) for name, fields in plain["versions"].items()}
        return cls(known, plain["folders"], plain["installed"])


def consulted(root: str, environ: Mapping[str, str], setting: str | None = None) -> list[str]:
    """The files and folders that `versions` reads, present or absent, so that a caller can tell when to ask again."""
    found = [os.path.join(root, name) for name in (*_LOCK_FILES, "pyproject.toml", "requirements.txt")]
    found += [os.path.join(root, name) for name in _listed(root) if re.fullmatch(r"requirements.*\.txt|pylock.*", name)]
    inside = os.path.join(root, "requirements")
    found += [inside, *(os.path.join(inside, name) for name in _listed(inside) if name.endswith(".txt"))]
    for folder in _folders(root, environ, setting):
        found += [folder, *site_packages(folder)]
    return found


def _folders(root: str, environ: Mapping[str, str], setting: str | None) -> list[str]:
    if setting:
        return [os.path.join(root, os.path.expanduser(setting))]
    candidates = (environ.get("VIRTUAL_ENV"), os.path.join(root, ".venv"), environ.get("CONDA_PREFIX"))
    return [folder for folder in candidates if folder]


def _installed(
    root: str, environ: Mapping[str, str], setting: str | None, wanted: Mapping[str, str]
) -> Iterator[Version]:
    for folder in _folders(root, environ, setting):
        for packages in site_packages(folder):
            for entry in _listed(packages):
                stem, ending = os.path.splitext(entry)
                name, _, text = stem.partition("-")
                if ending not in (".dist-info", ".egg-info") or normalised(name) not in wanted:
                    continue
                path = os.path.join(packages, entry)
                text = _metadata_version(path) or text.partition("-py")[0]
                if text:
                    yield Version(normalised(name), text, "installed", _relative(path, root))


def _metadata_version(path: str) -> str | None:
    for name in ("METADATA", "PKG-INFO"):
        header = _text(os.path.join(path, name), _HEADER)
        found = re.search(r"^Version:[ \t]*(\S+)", header, re.MULTILINE) if header else None
        if found is not None:
            return found[1]
    return None


def _locked(root: str, wanted: Mapping[str, str]) -> Iterator[Version]:
    named = [name for name in _listed(root) if name.startswith("pylock.") and name.endswith(".toml")]
    for file in dict.fromkeys((*_LOCK_FILES, *named)):
        document = _toml(os.path.join(root, file))
        lowest: dict[str, Version] = {}
        for package in _tables(document.get("package")) + _tables(document.get("packages")):
            name, text = package.get("name"), package.get("version")
            if not isinstance(name, str) or not isinstance(text, str) or normalised(name) not in wanted:
                continue
            version = Version(normalised(name), text, "locked", file)
            # A lock for several platforms may hold several versions: what must work is the lowest.
            before = lowest.get(version.name)
            if before is None or version.release < before.release:
                lowest[version.name] = version
        yield from lowest.values()


def _from_requirements(root: str, wanted: Mapping[str, str]) -> Iterator[Version]:
    files = [name for name in _listed(root) if re.fullmatch(r"requirements.*\.txt", name)]
    files += [f"requirements/{name}" for name in _listed(os.path.join(root, "requirements")) if name.endswith(".txt")]
    for file in files:
        for line in _text(os.path.join(root, file), _LARGEST).split("\n"):
            yield from _from_requirement(line, file, wanted)


def _from_pyproject(root: str, wanted: Mapping[str, str]) -> Iterator[Version]:
    file = "pyproject.toml"
    document = _toml(os.path.join(root, file))
    project = _table(document.get("project"))
    groups = [project.get("dependencies")]
    groups += _table(project.get("optional-dependencies")).values()
    groups += _table(document.get("dependency-groups")).values()
    for group in groups:
        for requirement in group if _is_list(group) else ():
            if isinstance(requirement, str):
                yield from _from_requirement(requirement, file, wanted)
    poetry = _table(_table(document.get("tool")).get("poetry"))
    tables = [poetry.get("dependencies")]
    tables += [_table(group).get("dependencies") for group in _table(poetry.get("group")).values()]
    for table in tables:
        for name, value in _table(table).items():
            bounds = value if isinstance(value, str) else _table(value).get("version")
            if isinstance(bounds, str):
                bare = re.match(r"\d", bounds) is not None
                yield from _from_requirement(f"{name} {'==' if bare else ''}{bounds}", file, wanted)


_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[[^\]]*\])?\s*\(?([^;#@)]*)")
_BOUND = re.compile(r"\s*(===|==|~=|>=|>|\^|~)\s*([0-9][^\s,]*)")


def _from_requirement(text: str, file: str, wanted: Mapping[str, str]) -> Iterator[Version]:
    """The version that a requirement (PEP 508, or with poetry's `^` and `~`) fixes, or its lower bound."""
    found = _REQUIREMENT.match(text)
    name = normalised(found[1]) if found else ""
    if found is None or name not in wanted:
        return
    for part in found[2].split(","):
        bound = _BOUND.match(part)
        if bound is None:
            continue
        operator, version = bound[1], bound[2]
        exact = operator in ("==", "===") and not version.endswith("*")
        yield Version(name, version, "locked" if exact else "pinned", file, "==" if exact else operator)
        return


def _listed(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _text(path: str, limit: int) -> str:
    try:
        if not os.path.isfile(path):  # a fifo would block
            return ""
        with open(path, "rb") as file:
            data = file.read(limit)
    except OSError:
        return ""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):  # `pip freeze > file` of an older PowerShell
        return data.decode("utf-16", "replace")
    return data.decode("utf-8-sig", "replace").replace("\r\n", "\n").replace("\r", "\n")


def _toml(path: str) -> dict[str, Any]:
    from shardlint.settings import parse_toml

    try:
        return parse_toml(path, _text(path, _LARGEST))
    except SettingsError:
        return {}


def _table(value: object) -> dict[str, Any]:
    return value if _is_table(value) else {}


def _tables(value: object) -> list[dict[str, Any]]:
    return [item for item in value if _is_table(item)] if _is_list(value) else []


def _is_table(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def _is_list(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def _relative(path: str, root: str) -> str:
    prefix = os.path.join(os.path.abspath(root), "")
    absolute = os.path.abspath(path)
    return absolute[len(prefix) :] if absolute.startswith(prefix) else absolute
