"""Recall by mutation: `make mutate` puts each rule's defect into healthy code and counts what shardlint catches.

    python -m corpus.mutate [--clones FOLDER] [--rule NAME] [--most N]

Each mutator (`corpus/mutations/`) says which places it takes. Of all places of a rule up to N are drawn, package by
package in turn, within a package in the order of a hash of package, path and line, so that every run draws the same. A
defect is put into a copy of the package, alone. It counts as caught when the rule reports it in the changed lines,
where it had nothing to say before, with a confidence that is shown by default.
"""

from __future__ import annotations

import argparse
import ast
import heapq
import itertools
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from .mutations import recall
from .mutations.families import mutators
from .mutations.package import Package
from .mutations.recall import Trace
from .mutations.rewrite import SiteNotFound
from .mutations.site import Injection, Mutator, Site
from .mutations.trial import Trial, environment
from .sources import FOLDER, HERE, CorpusError, packages, tree

MOST = 20
FURTHER = HERE / "healthy.toml"


class Bench:
    """The packages, and one copy of each for as long as the run lasts."""

    def __init__(self, packages: Sequence[Package], scratch: Path) -> None:
        self.packages = {package.name: package for package in packages}
        self._scratch = scratch
        self._installed = environment(packages, scratch / "environment")
        self._trials: dict[tuple[str, bool], Trial] = {}

    def trial(self, package: str, versioned: bool) -> Trial:
        """The copy of a package, made on first use."""
        key = package, versioned
        if key not in self._trials:
            folder = self._scratch / ("versioned" if versioned else "plain")
            chosen = self.packages[package]
            self._trials[key] = Trial(chosen, folder, versioned=versioned, installed=self._installed)
        return self._trials[key]

    def traces(self, mutator: Mutator, most: int) -> Iterator[Trace]:
        """What became of up to `most` defects of one rule."""
        left = most
        # No more than that are drawn from one package, and each holds the tree of its file.
        few = (heapq.nsmallest(most, mutator.sites(one), key=_order) for one in self.packages.values())
        for site in drawn(itertools.chain.from_iterable(few)):
            if left == 0:
                return
            trial = self.trial(site.package, mutator.versioned)
            try:
                injection = site.inject()
            except SiteNotFound:
                continue
            if not trial.healthy(mutator, injection.places):
                continue
            check_syntax(site, injection)
            caught, reason = trial.judge(mutator, injection)
            left -= 1
            yield Trace(mutator.rule, site.package, site.path, site.line, site.what, caught, reason)


def _order(site: Site) -> bytes:
    return site.order


def drawn(sites: Iterable[Site]) -> Iterator[Site]:
    """Sites in the order in which they are taken: of every package one, then of every package a second, and so on.

    Of copies of the same code, in whatever packages, only the first is taken.
    """
    waiting: dict[str, list[Site]] = {}
    for site in sorted(sites, key=_order):
        waiting.setdefault(site.package, []).append(site)
    seen: set[str] = set()
    while waiting:
        for package in sorted(waiting):
            while waiting[package]:
                site = waiting[package].pop(0)
                if site.copy not in seen:
                    seen.add(site.copy)
                    yield site
                    break
        waiting = {package: sites for package, sites in waiting.items() if sites}


def check_syntax(site: Site, injection: Injection) -> None:
    """Raises SyntaxError when a mutator wrote what is no Python: a defect that no job could have."""
    for path, text in injection.files.items():
        if path.endswith(".py") and text is not None:
            ast.parse(text, f"{site.package}/{path}")


def explained(traces: Iterable[Trace], earlier: Iterable[Trace]) -> Iterator[Trace]:
    """Traces with the reasons that a reader gave for the same misses before."""
    reasons = {trace.key: trace.reason for trace in earlier if not trace.caught}
    for trace in traces:
        reason = trace.reason or ("" if trace.caught else reasons.get(trace.key, ""))
        yield Trace(trace.rule, trace.package, trace.path, trace.line, trace.changed, trace.caught, reason)


def pinned(folder: Path, clones: Path | None) -> Iterator[Package]:
    """What `packages.toml` and `healthy.toml` pin, unpacked where it is not there yet.

    Raises:
        NotAvailable: a pin cannot be had on this machine: a recall over less would be another figure.
    """
    for pin in (*packages(), *packages(FURTHER)):
        yield Package(pin.slug, tree(pin, folder, clones), of=pin.distribution)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where downloads and trees lie (default: .corpus)")
    parser.add_argument("--clones", type=Path, help="a folder with local clones of the repositories")
    parser.add_argument("--sources", type=Path, help="take each folder in this folder instead of what is pinned")
    parser.add_argument("--record", type=Path, default=recall.RECORD, help="the file to write (default: recall.jsonl)")
    parser.add_argument("--rule", action="append", help="only this rule; may be repeated")
    parser.add_argument("--most", type=int, default=MOST, help="defects a rule at most (default: %(default)s)")
    asked = parser.parse_args(arguments)
    try:
        found = folders_in(asked.sources) if asked.sources else list(pinned(asked.folder, asked.clones))
    except CorpusError as error:
        print(f"mutate: {error}", file=sys.stderr)
        return 2
    chosen = [one for one in mutators() if asked.rule is None or one.rule in asked.rule]
    measure(found, chosen, asked.most, asked.record)
    return 0


def measure(found: Sequence[Package], chosen: Sequence[Mutator], most: int, record: Path) -> None:
    """Run mutators; after each, print its row and write the record, in which the traces of all others stay."""
    with tempfile.TemporaryDirectory(prefix="shardlint-mutate-") as scratch:
        bench = Bench(found, Path(scratch))
        for mutator in chosen:
            earlier = recall.read(record)
            fresh = list(explained(bench.traces(mutator, most), earlier))
            recall.write([*(trace for trace in earlier if trace.rule != mutator.rule), *fresh], record)
            row = recall.section(fresh).splitlines()[2] if fresh else f"| {mutator.rule} | no site |"
            print(row, flush=True)


def folders_in(folder: Path) -> list[Package]:
    """A package for each folder in a folder."""
    return [Package(root.name, root) for root in sorted(folder.iterdir()) if root.is_dir()]


if __name__ == "__main__":
    sys.exit(main())
