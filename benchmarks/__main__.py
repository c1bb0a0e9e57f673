"""Speed and memory of shardlint beside other tools: `make bench`, `make bench-peers`, or one tree of your choice.

Costs are CPU seconds (user and system, of a command and all its children), because wall time on a busy machine says
little. Only the ratios compare between machines. Exit code 1: a bound was not held.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import growth, machine, page, peers, speed
from benchmarks.trees import copy
from corpus.sources import FOLDER, CorpusError, Package, packages, tree

ROUNDS = 5
ONE_PACKAGE = "veomni"
ENVIRONMENTS = page.HERE.parent / ".venv-peers"


def distributions() -> list[Package]:
    """The pinned packages; the pinned repositories repeat some of them and add little Python."""
    return [package for package in packages() if package.kind != "repository"]


def one_package() -> Package:
    return next(package for package in distributions() if package.name == ONE_PACKAGE)


def bench(folder: Path, rounds: int, scratch: Path) -> bool:
    """Measures one package, the whole corpus and samples of it, and writes the report; true if all bounds are held."""
    pinned = distributions()
    whole = scratch / "corpus"
    for package in pinned:
        copy(tree(package, folder), whole / package.slug)
    trees: list[speed.TreeCosts] = []
    for name, source, kind in (
        (one_package().shown, whole / one_package().slug, False),
        (f"All {len(pinned)} pinned packages in one tree", whole, True),
    ):
        here = scratch / f"tree-{len(trees)}"
        trees.append(speed.measure(copy(source, here / "tree"), name, kind, here, rounds))
        print(page.tree_section(trees[-1]), end="\n\n", flush=True)
    points = growth.measure(whole, scratch, rounds)
    everything = trees[-1]
    points.append({"files": everything["files"], "lines": everything["lines"], "seconds": everything["seconds"]})
    found: page.Rounds = {"machine": machine.described(), "rounds": rounds, "trees": trees, "points": points}
    page.write(page.read() | {"rounds": found})
    print(page.growth_section(points))
    return page.held(found)


def bench_peers(folder: Path, scratch: Path) -> None:
    """Measures the slow peers, once, and writes the report."""
    package = one_package()
    copy(tree(package, folder) / peers.FOLDER, scratch / "tree" / peers.FOLDER)
    name = f"`{peers.FOLDER}` of {package.shown}"
    costs = peers.measure(scratch / "tree", name, ENVIRONMENTS, scratch)
    found: page.Once = {"machine": machine.described(), "peers": costs}
    page.write(page.read() | {"peers": found})
    print(page.peers_section(found))


def bench_tree(source: Path, rounds: int, scratch: Path) -> bool:
    """Measures one tree and prints the figures; true if its bounds are held."""
    costs = speed.measure(copy(source, scratch / "tree"), source.name, False, scratch, rounds)
    print(page.tree_section(costs))
    return all(row.held for row in speed.rows(costs))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("what", choices=("rounds", "peers", "tree"), help="beside ruff, the slow peers, or one tree")
    parser.add_argument("tree", nargs="?", type=Path, help="for `tree`: a source tree; it is copied and not changed")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="rounds to take the median of (default %(default)s)")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where downloads and unpacked packages are kept")
    options = parser.parse_args()
    if options.what == "tree" and not (options.tree and options.tree.is_dir()):
        sys.exit("say which source tree: `python -m benchmarks tree FOLDER`")
    started = time.monotonic()
    held = True
    with tempfile.TemporaryDirectory(prefix="shardlint-bench-") as made:
        scratch = Path(made)
        try:
            if options.what == "tree":
                held = bench_tree(options.tree, options.rounds, scratch)
            elif options.what == "peers":
                bench_peers(options.folder, scratch)
            else:
                held = bench(options.folder, options.rounds, scratch)
        except CorpusError as error:
            sys.exit(str(error))
    print(f"\ntook {time.monotonic() - started:.0f} s", file=sys.stderr)
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
