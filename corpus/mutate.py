"""Recall by mutation: `make mutate` puts each rule's defect into healthy code and counts what shardlint catches.

    python -m corpus.mutate --sources FOLDER [--sources FOLDER] [--rule NAME] [--most N]

A folder of sources holds one folder a package. Each mutator (`corpus/mutations/`) says which places it takes; of all
places a rule has, up to N are drawn, package by package in turn, within a package in the order of a hash of package, path
and line, so that every run draws the same. The defect is put into a copy of the package, one at a time, and counts as
caught only when the rule reports it in the changed lines, where it had nothing to say before, and is shown by default.
"""

from __future__ import annotations

import argparse
import ast
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from corpus.mutations import recall
from corpus.mutations.families import mutators
from corpus.mutations.package import Package
from corpus.mutations.recall import Trace
from corpus.mutations.rewrite import SiteNotFound
from corpus.mutations.site import Injection, Mutator, Site
from corpus.mutations.trial import Trial

MOST = 30


class Bench:
    """The packages, and one copy of each for as long as the run lasts."""

    def __init__(self, packages: Sequence[Package], scratch: Path) -> None:
        self.packages = {package.name: package for package in packages}
        self._scratch = scratch
        self._trials: dict[tuple[str, bool], Trial] = {}

    def trial(self, package: str, versioned: bool) -> Trial:
        """The copy of a package, made on first use."""
        key = package, versioned
        if key not in self._trials:
            folder = self._scratch / ("versioned" if versioned else "plain")
            self._trials[key] = Trial(self.packages[package], folder, versioned=versioned)
        return self._trials[key]

    def traces(self, mutator: Mutator, most: int) -> Iterator[Trace]:
        """What became of up to `most` defects of one rule."""
        left = most
        for site in drawn(site for package in self.packages.values() for site in mutator.sites(package)):
            if left == 0:
                return
            trial = self.trial(site.package, mutator.versioned)
            if not trial.healthy(mutator.rule, site.path, site.line, site.line):
                continue
            try:
                injection = site.inject()
            except SiteNotFound:
                continue
            check_syntax(site, injection)
            caught, reason = trial.judge(mutator.rule, injection)
            left -= 1
            yield Trace(mutator.rule, site.package, site.path, site.line, site.what, caught, reason)


def drawn(sites: Iterable[Site]) -> Iterator[Site]:
    """Sites in the order in which they are taken: of every package one, then of every package a second, and so on.

    Of copies of the same code, in whatever packages, only the first is taken.
    """
    waiting: dict[str, list[Site]] = {}
    for site in sorted(sites, key=lambda site: site.order):
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


def packages_in(folders: Sequence[Path]) -> list[Package]:
    """The packages of all folders; of two with the same name the first."""
    found: dict[str, Package] = {}
    for folder in folders:
        for root in sorted(path for path in folder.iterdir() if path.is_dir()):
            found.setdefault(root.name.lower().replace("-", "_"), Package(root.name, root))
    return list(found.values())


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sources", type=Path, action="append", required=True, help="a folder with one folder a package")
    parser.add_argument("--rule", action="append", help="only this rule (may be given several times)")
    parser.add_argument("--most", type=int, default=MOST, help="defects a rule at most (default %(default)s)")
    options = parser.parse_args(arguments)
    chosen = [one for one in mutators() if options.rule is None or one.rule in options.rule]
    earlier = recall.read()
    kept = [trace for trace in earlier if trace.rule not in {one.rule for one in chosen}]
    fresh: list[Trace] = []
    with tempfile.TemporaryDirectory(prefix="shardlint-mutate-") as scratch:
        bench = Bench(packages_in(options.sources), Path(scratch))
        for mutator in chosen:
            found = list(explained(bench.traces(mutator, options.most), earlier))
            fresh += found
            print(recall.section(found).splitlines()[2] if found else f"| {mutator.rule} | no site |", flush=True)
    recall.write([*kept, *fresh])
    return 0


if __name__ == "__main__":
    sys.exit(main())
