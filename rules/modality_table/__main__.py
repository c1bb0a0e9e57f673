"""`python -m modality_table [--into FOLDER] [SOURCES ...]`: writes the modality tables of the rule pack.

SOURCES are folders with unpacked distributions (wheels or sdists). Without any, the pinned versions are downloaded into
a temporary folder and unpacked there. Nothing of them is imported. pip asks the build backend of an sdist for metadata,
which runs its code; give the unpacked folder of such a package to avoid that.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

from modality_table.source import Package
from modality_table.tables import tables, write

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PINNED = {
    "axolotl": "0.19.0",
    "llamafactory": "0.9.5",
    "ms_swift": "4.6.0",
    "torchtune": "0.6.1",
    "transformers": "5.24.0",
    "trl": "1.16.0",
    "veomni": "0.1.12",
}
"""Distribution -> version that the shipped tables are made from."""

_IMPORT_FOLDER = {"ms_swift": "swift"}
_HERE = Path(__file__).parent


def main() -> None:
    """Read the arguments, find the sources, write the tables."""
    parser = argparse.ArgumentParser(prog="modality_table", description=__doc__)
    parser.add_argument("sources", nargs="*", type=Path, help="folders of unpacked distributions")
    parser.add_argument("--into", type=Path, default=_HERE.parent / "shardlint_rules" / "tables")
    given = parser.parse_args()
    supplement = tomllib.loads((_HERE / "supplement.toml").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as scratch:
        packages = found(given.sources or download(Path(scratch)))
        for file in write(given.into, tables(packages, supplement)):
            print(f"{file}: {file.stat().st_size} bytes")


def found(folders: Iterable[Path]) -> dict[str, Package]:
    """The known distributions in these folders, with the versions that their metadata states."""
    packages: dict[str, Package] = {}
    for folder in folders:
        for metadata in sorted([*folder.glob("*.dist-info/METADATA"), *folder.glob("PKG-INFO")]):
            fields = dict(line.split(": ", 1) for line in metadata.read_text("utf-8").split("\n") if ": " in line[:40])
            name = fields.get("Name", "").replace("-", "_").lower()
            package = folder / _IMPORT_FOLDER.get(name, name)
            if name in PINNED and package.is_dir():
                packages[name] = Package(name, fields.get("Version", "?"), package)
    return packages


def download(into: Path) -> list[Path]:
    """The folders of the pinned versions, downloaded and unpacked; sdists are unpacked, never built.

    Raises subprocess.CalledProcessError when pip cannot fetch one.
    """
    folders: list[Path] = []
    for name, version in PINNED.items():
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(into / "files" / name)]
        wheel = [*pip, "--only-binary", ":all:", "--python-version", "3.12", f"{name}=={version}"]
        if subprocess.run(wheel, stderr=subprocess.DEVNULL, check=False).returncode:
            subprocess.run([*pip, "--no-binary", ":all:", f"{name}=={version}"], check=True)
        folders += [_unpacked(file, into / name) for file in sorted((into / "files" / name).glob("*"))]
    return folders


def _unpacked(file: Path, into: Path) -> Path:
    if file.suffix == ".whl":
        with zipfile.ZipFile(file) as archive:
            archive.extractall(into)
        return into
    with tarfile.open(file) as archive:
        archive.extractall(into, filter="data")
    return next(one for one in into.iterdir() if one.is_dir())


if __name__ == "__main__":
    main()
