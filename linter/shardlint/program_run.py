"""The program rules over a whole program: from the files where ranks may part to whatever their functions call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from shardlint.analysis import Analysis
from shardlint.errors import UndecodableSource
from shardlint.facts.agreement import Agreement
from shardlint.facts.divergence import Guard, Split, splits
from shardlint.facts.divergent import Divergent
from shardlint.facts.effects import Effects
from shardlint.facts.expansion import Place
from shardlint.facts.lone_jobs import parts_nobody
from shardlint.facts.module import Module
from shardlint.facts.program import Program, Stored
from shardlint.facts.rank_conditions import RankConditions
from shardlint.finding import Finding
from shardlint.parsing import parse
from shardlint.program_result import ProgramResult
from shardlint.query import Divergence
from shardlint.rule import ProgramRule
from shardlint.skeleton import Keep, sparse
from shardlint.source import Source, decode


def run_program(
    analysis: Analysis,
    roots: Iterable[str],
    paths: Iterable[str],
    facts: Mapping[str, Stored],
    read: Callable[[str], bytes],
    dotted: Callable[[str], str],
) -> tuple[ProgramResult, dict[str, Stored]]:
    """Judge every divergence that starts in one of `roots`.

    Args:
        paths: all Python files of the project.
        facts: stored facts that are still valid, by path.
        read, dotted: the bytes and the import name of a path.
    """

    def load(path: str, function: str | None) -> Module | None:
        kept = analysis.modules.get(path)
        if kept is not None and (function is not None or not kept.left_out):
            return kept
        try:
            source = decode(read(path))
        except (UndecodableSource, OSError):
            return None
        known = sparse(source.text, _part(source, function)) if function is not None else None
        tree, left_out = known or (parse(source.text), frozenset[int]())
        if isinstance(tree, SyntaxError):
            return None
        return Module(path, source.text, tree, dotted=dotted(path), left_out=left_out)

    def text(path: str) -> bytes:
        try:
            return read(path)
        except OSError:
            return b""

    program = Program(paths, load, text, analysis.asked, facts.get)
    judge = _Judge(analysis, program, read)
    for path in sorted(roots):
        judge.file(path)
    return ProgramResult(sorted(judge.findings), program.used, sorted(judge.not_judged)), program.facts


def _part(source: Source, function: str) -> Keep:
    """The functions of a file that one of them can ask about: those of its name, and those that speak of ranks."""
    name = function.rpartition(".")[2]
    defined = f"def {name}("
    conditions = RankConditions(source.text)

    def keep(called: str, text: str) -> bool:
        return called == name or (name != "" and defined in text) or conditions.speaks(text)

    return keep


def _roots(stored: Stored, suspects: Divergence) -> list[str]:
    """The functions of a file where ranks may part for a rule."""
    if not suspects.local:
        ranked: list[str] = stored.get("ranked", [])
        return ranked
    found: dict[str, list[str]] = stored.get("local", {})
    return list(dict.fromkeys(name for kind in suspects.local for name in found.get(kind, ())))


class _Judge:
    def __init__(self, analysis: Analysis, program: Program, read: Callable[[str], bytes]) -> None:
        self.analysis = analysis
        self.program = program
        self.read = read
        self.findings: list[Finding] = []
        self.not_judged: set[tuple[str, str, int, str]] = set()
        self._lines: dict[str, list[str]] = {}
        self._extended: dict[Divergence, Effects] = {}

    def file(self, path: str) -> None:
        stored = self.program.file(path).stored
        for row in self.analysis.rows:
            if row["kind"] != "program":
                continue
            rule = self.analysis.rule(row)
            assert isinstance(rule, ProgramRule)
            assert isinstance(rule.suspects, Divergence)
            effects = self._effects(rule.suspects)
            functions = _roots(stored, rule.suspects)
            try:
                for function in functions:
                    if rule.suspects.local:
                        self._local(rule, path, function, rule.suspects.local, effects)
                    else:
                        self._ranked(rule, path, function, effects)
            except RecursionError:
                self.not_judged.add((path, "", 1, "its expressions or calls are nested too deeply"))
            except Exception:
                self.analysis.crashed(row, path)

    def _ranked(self, rule: ProgramRule, path: str, function: str, effects: Effects) -> None:
        unjudged: list[tuple[Guard, Place]] = []
        for split in splits(self.program, path, function, effects, unjudged):
            self._judge(rule, split)
        for guard, place in unjudged:
            reason = f"`{guard.text}` parts the ranks, and what the call in line {place[0]} does is not known"
            self.not_judged.add((path, function, guard.span[0], reason))

    def _local(self, rule: ProgramRule, path: str, function: str, kinds: tuple[str, ...], effects: Effects) -> None:
        """Tests of local data part nobody where some call has shared the value between the ranks before."""
        agreement = Agreement(self.program, effects)
        told: set[object] = set()
        for split in splits(self.program, path, function, effects, local=kinds):
            if split.first.place in told or parts_nobody(split.guard.kind, path, self.program.text(path)):
                continue
            agreed = agreement.of(split.guard.calls, path)
            if agreed is None:
                reason = f"whether all ranks give the same answer to `{split.guard.text}` is not known"
                self.not_judged.add((path, function, split.guard.span[0], reason))
            elif not agreed:
                told.add(split.first.place)
                self._judge(rule, split)

    def _effects(self, suspects: Divergence) -> Effects:
        """The effects of a query with those that the project's settings add; made once for each query."""
        if suspects not in self._extended:
            own = self.analysis.collectives
            if suspects.extended_by != "collectives":  # what waits for nobody does so for every rule
                own = {name: entry for name, entry in own.items() if entry.get("local")}
            self._extended[suspects] = suspects.effect.extended(own)
        return self._extended[suspects]

    def _judge(self, rule: ProgramRule, split: Split) -> None:
        if split.there.unknown:
            reason = f"`{split.guard.text}` parts the ranks, and a call on the other side is not known"
            self.not_judged.add((split.path, split.function, split.guard.span[0], reason))
        self.findings += rule.judge(Divergent(split, rule.voice, self._line(split), self.program))

    def _line(self, split: Split) -> str:
        path, span, _ = split.first.place
        if path not in self._lines:
            self._lines[path] = decode(self.read(path)).lines
        lines = self._lines[path]
        return lines[span[0] - 1] if span[0] <= len(lines) else ""
