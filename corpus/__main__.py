"""`make corpus`: run shardlint over the pinned code and hold what it finds against the labels.

Exit code 0: every finding has a verdict, and the tables are written. 1: findings are new or have vanished, a label is
not complete, or a rule is wrong too often for its severity. 2: something could not be checked.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .blind import drawn, sheet
from .comparison import Comparison, compare
from .labels import FINDINGS, Label, read_labels, write_labels
from .running import Found, Size, findings_in, size_of
from .sources import FOLDER, CorpusError, NotAvailable, Package, packages, tree
from .tables import PRECISION, README, below_its_severity, evidence, precision_table, read_sizes, readme, write_sizes


def main() -> int:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m corpus", description=__doc__, formatter_class=_AsWritten)
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where downloads and trees lie (default: .corpus)")
    parser.add_argument("--clones", type=Path, help="a folder with local clones of the repositories")
    parser.add_argument("--only", action="append", metavar="NAME", help="only this package; may be repeated")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--label", action="store_true", help="write a line for each new finding, drop vanished ones")
    what.add_argument("--tables", action="store_true", help="run nothing, write the tables from the labels")
    what.add_argument(
        "--blind", type=Path, metavar="FILE", help="write the sheet of what is to be judged a second time"
    )
    asked = parser.parse_args()
    try:
        if asked.tables:
            return write_tables()
        pins = _chosen(packages(), asked.only)
        if asked.blind:
            return _write_sheet(pins, asked.folder, asked.clones, asked.blind)
        return check(pins, asked.folder, asked.clones, label=asked.label)
    except CorpusError as error:
        print(f"corpus: {error}", file=sys.stderr)
        return 1


class _AsWritten(argparse.RawDescriptionHelpFormatter):
    pass


def _chosen(pins: list[Package], names: list[str] | None) -> list[Package]:
    unknown = set(names or ()) - {package.name for package in pins}
    if unknown:
        raise CorpusError(f"packages.toml does not pin {', '.join(sorted(unknown))}")
    return [package for package in pins if names is None or package.name in names]


def check(pins: list[Package], folder: Path, clones: Path | None, *, label: bool) -> int:
    """Run and compare, package by package; write the tables if nothing differs.

    Args:
        pins: what to check.
        folder, clones: as for `sources.tree`.
        label: write labels without a verdict for new findings, and drop vanished ones.
    """
    missing: list[str] = []
    differing = 0
    sizes: dict[str, Size] = read_sizes(packages())
    for package in pins:
        labels = read_labels(_file(package), judged=not label)
        try:
            at = tree(package, folder, clones)
        except NotAvailable as error:
            missing.append(str(error))
            continue
        sizes[package.slug] = size_of(at)
        compared = compare(findings_in(at), labels)
        print("\n".join(_shown(package, compared)), flush=True)
        if label:
            write_labels(_file(package), [*compared.kept, *map(_unjudged, compared.new)])
        elif compared.new or compared.vanished:
            differing += len(compared.new) + len(compared.vanished)
        else:
            write_labels(_file(package), compared.kept)
    write_sizes(packages(), sizes)
    print(
        f"{len(pins) - len(missing)} of {len(pins)} checked",
        *(f"not checked: {reason}" for reason in missing),
        sep="\n",
    )
    if differing:
        print(
            f"{differing} findings are new (+) or have vanished (-): `make corpus LABEL=1` writes the lines to fill in"
        )
        return 1
    if label:
        return 0
    return write_tables() or (2 if missing else 0)


def write_tables() -> int:
    """Write both tables from the labels; 1 if a rule is wrong too often for its severity."""
    known = evidence()
    PRECISION.write_text(precision_table(known), encoding="utf-8")
    README.write_text(readme(known), encoding="utf-8")
    wrong = below_its_severity(known)
    print(*wrong, sep="\n", end="\n" if wrong else "")
    return 1 if wrong else 0


def _file(package: Package) -> Path:
    return FINDINGS / f"{package.slug}.jsonl"


def _unjudged(found: Found) -> Label:
    return Label(found.path, found.line, found.hash, found.rule, found.severity, found.shown)


def _shown(package: Package, compared: Comparison) -> list[str]:
    lines = [f"{package.shown}: {len(compared.kept)} as judged"]
    lines += [f"  + {new.path}:{new.line} {new.severity} {new.rule}: {new.message}" for new in compared.new]
    lines += [f"  - {old.path}:{old.line} {old.rule} ({old.verdict or 'not judged'})" for old in compared.vanished]
    return lines


def _write_sheet(pins: list[Package], folder: Path, clones: Path | None, file: Path) -> int:
    known = evidence()
    wanted = [name for name in drawn(known.places) if name not in known.answers]
    slugs = {known.places[name].package.slug for name in wanted}
    seen = {
        package.slug: (at, findings_in(at))
        for package in pins
        if package.slug in slugs
        for at in (tree(package, folder, clones),)
    }
    wanted = [name for name in wanted if known.places[name].package.slug in seen]
    file.write_text(sheet(wanted, known.places, seen), encoding="utf-8")
    print(f"{len(wanted)} findings to judge again: {file}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
