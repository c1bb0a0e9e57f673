"""One file -> its record: the local rules for Python, the config rules for documents. Cold path only."""

from __future__ import annotations

import ast
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeVar

from shardlint.environment import Environment
from shardlint.errors import UndecodableSource
from shardlint.facts.matching import matches
from shardlint.facts.module import FUNCTIONS, Module
from shardlint.facts.program import FileFacts, Stored
from shardlint.facts.project_words import ProjectWords
from shardlint.facts.rank_conditions import RankConditions
from shardlint.facts.site import Site
from shardlint.facts.yaml_readers import YamlReaders
from shardlint.finding import Finding, Fix, Span, pack
from shardlint.loading import Row, make
from shardlint.not_judged import NotJudged
from shardlint.parsing import broken, parse, syntax_error, too_deep
from shardlint.query import Scalars
from shardlint.questions import Questions
from shardlint.record import Record
from shardlint.rule import ConfigRule, LocalRule, Rule
from shardlint.sieve import Suspect
from shardlint.skeleton import Keep, sparse
from shardlint.source import Source, decode
from shardlint.suppress import read_suppressions
from shardlint.syntax.edit import Edit

if TYPE_CHECKING:
    from shardlint.configs.document import Document
    from shardlint.configs.launches import Launches
    from shardlint.facts.entry_scripts import EntryScripts, Launched
    from shardlint.knowledge.rules import AtWork

Subject = TypeVar("Subject")

_MOST_KEPT = 600_000
"""Nodes of the trees that are kept for the program rules, which often ask for further functions of these files."""

DOCUMENTS = ("yaml", "json", "toml")

_LONGEST = 10_000
"""Characters of a line. No line written by hand is longer."""


class Crash:
    """A rule that failed on a file: isolated, reported, exit code 2."""

    __slots__ = ("detail", "path", "rule")

    def __init__(self, rule: str, path: str, detail: str) -> None:
        self.rule = rule
        self.path = path
        self.detail = detail


class Analysis:
    """Looks at files with a set of rules. `edits` asks for the edits of fixes.

    `words`, given as `project`, is the text of the whole project with what was asked of it, `launches` gives the
    commands in it; `collectives` are the calls that its settings add, `modality` the modalities (kind -> name ->
    words), `world` the sizes that its jobs run with.
    """

    def __init__(
        self,
        rows: list[Row],
        *,
        environment: Environment | None = None,
        edits: bool = False,
        project: ProjectWords | None = None,
        collectives: Mapping[str, Mapping[str, object]] | None = None,
        modality: Mapping[str, Mapping[str, str]] | None = None,
        launches: Callable[[], Launches] | None = None,
        world: tuple[int, ...] = (),
        timed: bool = False,
    ) -> None:
        self.rows = rows
        self.environment = environment or Environment({})
        self.edits = edits
        self.timed = timed
        self.collectives = dict(collectives or {})
        self.modality = dict(modality or {})
        self.world = world
        own = {name.rpartition(".")[2] for name in self.collectives}
        self.asked = frozenset(word for row in rows for word in row["words"]) | own
        self.crashes: list[Crash] = []
        self.seconds: dict[str, float] = {}
        self.facts: dict[str, Stored] = {}
        self.modules: dict[str, Module] = {}
        self._kept = 0
        self.words = project or ProjectWords((), lambda _: b"")
        self._readers: YamlReaders | None = None
        self._launches = launches
        self._scripts: EntryScripts | None = None
        self._asked = False
        self._uses: set[str] | None = None
        self._not_judged: list[NotJudged] = []
        self._rules: dict[str, Rule] = {}
        self._constraints: dict[str, AtWork] = {}

    def rule(self, row: Row) -> Rule:
        """The rule of a row, imported on first use."""
        name: str = row["name"]
        if name not in self._rules:
            self._rules[name] = make(row)
        return self._rules[name]

    def constraint(self, row: Row) -> AtWork:
        """The constraint of a row, compiled on first use."""
        name: str = row["name"]
        if name not in self._constraints:
            from shardlint.knowledge.rules import made

            self._constraints[name] = made(row)
        return self._constraints[name]

    def look(self, suspect: Suspect, dotted: str = "") -> Record:
        """The record of a suspect. Facts for program rules are left in `facts`."""
        if suspect.kind == "python":
            if "modules" in vars(self.words):
                self.words.modules.shed()
            return self._python(suspect, dotted)
        if suspect.kind in DOCUMENTS:
            return self._document(suspect)
        text = suspect.data.decode("utf-8", "replace")
        kept = read_suppressions(suspect.kind, text).pack()
        return Record(suspect.stamp, suspect.content, suppressions=kept, claimed=False)

    def _python(self, suspect: Suspect, dotted: str) -> Record:
        path, stamp, content = suspect.path, suspect.stamp, suspect.content
        judged = bool(suspect.rows or suspect.program)
        try:
            source = decode(suspect.data)
        except UndecodableSource as error:
            finding = broken("syntax-error", path, Span(error.line, 1, error.line, 1), str(error), "")
            return Record(stamp, content, (pack(finding),) if judged else ())
        kept = read_suppressions("python", source.text).pack()
        if not judged:
            return Record(stamp, content, suppressions=kept)
        text = source.text
        conditions = RankConditions("\n".join(source.lines)) if suspect.program and not _is_minified(source) else None
        # Only the functions that speak of ranks are asked about where no rule looks at the file by itself.
        known = sparse(text, _ranked(conditions)) if conditions is not None and not suspect.rows else None
        tree, left_out = known or (parse(text), frozenset[int]())
        if isinstance(tree, SyntaxError):
            return Record(stamp, content, (pack(syntax_error(path, tree)),), kept)
        self._asked, self._not_judged = False, []
        module = Module(
            path,
            text,
            tree,
            dotted=dotted,
            environment=self.environment,
            project=self._project_words,
            modality=self.modality,
            left_out=left_out,
        )
        try:
            findings = [finding for row in suspect.rows for finding in self._clocked(self._local, row, module)]
            if suspect.program:
                self._rank_facts(path, module, conditions)
        except RecursionError:
            findings = [too_deep(path)]
        packed = tuple(pack(finding) for finding in sorted(findings))
        asked = b"?" if self._asked else b""
        return Record(
            stamp,
            content,
            packed,
            kept,
            root=bool(suspect.program),
            pending=self._pending(findings),
            asked=asked,
            not_judged=self._unjudged,
        )

    def _pending(self, findings: list[Finding]) -> bool:
        return any(finding.fix is not None and finding.fix.edits is None for finding in findings)

    def _clocked(self, judge: Callable[[Row, Subject], list[Finding]], row: Row, subject: Subject) -> list[Finding]:
        """The findings of a rule; under `--timings` its time is added up."""
        if not self.timed:
            return judge(row, subject)
        started = perf_counter()
        found = judge(row, subject)
        self.seconds[row["name"]] = self.seconds.get(row["name"], 0.0) + perf_counter() - started
        return found

    def _local(self, row: Row, module: Module) -> list[Finding]:
        if row["constraint"] is not None:
            return self._constrained(row, module)
        rule = self.rule(row)
        assert isinstance(rule, LocalRule)
        try:
            found: list[Finding] = []
            for hit in matches(module, rule.suspects):
                site = Site(module, hit, rule.voice)
                found += self._judged(rule.judge(site), rule, site)
            return found
        except RecursionError:
            raise
        except Exception:
            self.crashed(row, module.path)
            return []

    def _constrained(self, row: Row, subject: Module | Document) -> list[Finding]:
        """What a constraint of the project says of a file."""
        found: list[Finding] = []
        try:
            for judged in self.constraint(row).judge(subject, self):
                if isinstance(judged, NotJudged):
                    self._not_judged.append(judged)
                else:
                    found.append(judged)
        except RecursionError:
            raise
        except Exception:
            self.crashed(row, subject.path)
        return found

    def _judged(
        self, judgements: Iterable[Finding | NotJudged], rule: LocalRule | ConfigRule, site: Any
    ) -> Iterator[Finding]:
        """The findings, with their edits; what could not be judged is kept aside."""
        for judged in judgements:
            if isinstance(judged, NotJudged):
                self._not_judged.append(judged)
            else:
                yield self._with_edits(judged, rule, site)

    @property
    def _unjudged(self) -> tuple[tuple[str, int, str], ...]:
        """The places of the present file that could not be judged, as plain values."""
        return tuple((place.function, place.line, place.reason) for place in self._not_judged)

    def _with_edits(self, finding: Finding, rule: LocalRule | ConfigRule, site: Any) -> Finding:
        if not self.edits or finding.fix is None:
            return finding
        edit = Edit()
        rule.fix(site, edit)
        return finding.replace(fix=Fix(finding.fix.safe, finding.fix.reason, tuple(edit.edits)))

    def crashed(self, row: Row, path: str) -> None:
        """Record that a rule failed on a file, from inside the handler of the exception."""
        self.crashes.append(Crash(row["name"], path, traceback.format_exc(limit=-3).strip().splitlines()[-1]))

    def _rank_facts(self, path: str, module: Module, conditions: RankConditions | None) -> None:
        """Build the traces of the functions that can hold a rank test, and keep them as plain values.

        In a minified file every word is near every other, so all of its functions are traced: it has no `conditions`.
        """
        facts = FileFacts(path, None, lambda _: module, self.asked)
        text = "\n".join(module.lines)
        starts = _line_starts(text)
        ranked: list[str] = []
        for function in module.functions:
            first = min([function.lineno, *(decorator.lineno for decorator in function.decorator_list)])
            if conditions is None or conditions.test_in(starts[first - 1], starts[function.end_lineno or first]):
                ranked.append(module.qualified(function))
        outside = [statement for statement in module.tree.body if not isinstance(statement, (*FUNCTIONS, ast.ClassDef))]
        if conditions is None or any(
            conditions.test_in(starts[s.lineno - 1], starts[s.end_lineno or s.lineno]) for s in outside
        ):
            ranked.append("")
        for name in ranked:
            facts.trace(name)
        facts.stored["ranked"] = ranked
        self._kept += len(module.parents)
        if self._kept <= _MOST_KEPT:
            self.modules[path] = module
        self.facts[path] = facts.stored

    def _document(self, suspect: Suspect) -> Record:
        from shardlint.configs.document import BrokenDocument, read_document

        path, stamp, content, claimed = suspect.path, suspect.stamp, suspect.content, suspect.claimed
        self._asked, self._uses, self._not_judged = False, None, []
        try:
            document = read_document(path, suspect.data, kind=suspect.kind)
        except BrokenDocument as error:
            unread = (pack(broken("broken-document", path, error.span, str(error), "")),) if suspect.rows else ()
            return Record(stamp, content, unread, claimed=claimed)
        kept = read_suppressions(suspect.kind, document.text, document.comments()).pack()
        findings = [finding for row in suspect.rows for finding in self._clocked(self._config, row, document)]
        packed = tuple(pack(finding) for finding in sorted(findings))
        asked = (b"?" if self._uses is None else b"&") if self._asked else b"" if self._uses is None else b"!"
        return Record(
            stamp,
            content,
            packed,
            kept,
            claimed=claimed,
            pending=self._pending(findings),
            asked=asked,
            uses=tuple(sorted(self._uses or ())),
            not_judged=self._unjudged,
        )

    def _project_words(self) -> ProjectWords:
        """The text of the project, read when a rule asks; the file is then remembered as asked."""
        self._asked = True
        return self.words

    def _yaml_readers(self) -> YamlReaders:
        """What the project does with YAML, worked out when a rule asks; the document is then remembered as asked."""
        self._asked = True
        if self._readers is None:
            self._readers = YamlReaders(self.words)
        return self._readers

    def _launched(self, config: str) -> list[Launched]:
        """What launches a config, looked for when a rule asks; the document is then remembered as judged by that."""
        if self._launches is None:
            return []
        if self._scripts is None:
            from shardlint.facts.entry_scripts import EntryScripts

            self._scripts = EntryScripts(self.words.modules, self._launches())
        # The files behind a script are remembered with the document itself.
        questions, self.words.questions = self.words.questions, Questions()
        found = self._scripts.of(config)
        self.words.questions = questions
        self._uses = (self._uses or set()).union(*(one.entry.used for one in found if one.entry is not None))
        return found

    def _config(self, row: Row, document: Document) -> list[Finding]:
        if row["constraint"] is not None:
            return self._constrained(row, document)
        from shardlint.configs.site import Asked, scalars

        rule = self.rule(row)
        assert isinstance(rule, ConfigRule)
        assert isinstance(rule.suspects, Scalars)
        try:
            project = Asked(self._yaml_readers, self._launched, self.modality)
            found: list[Finding] = []
            for scalar in scalars(document, rule.suspects, rule.voice, project):
                found += self._judged(rule.judge(scalar), rule, scalar)
            return found
        except Exception:
            self.crashed(row, document.path)
            return []


def _is_minified(source: Source) -> bool:
    return max(map(len, source.lines)) > _LONGEST


def _ranked(conditions: RankConditions) -> Keep:
    return lambda _, text: conditions.speaks(text)


def _line_starts(text: str) -> list[int]:
    """The offset of each line, and of the end."""
    starts = [0]
    at = text.find("\n")
    while at >= 0:
        starts.append(at + 1)
        at = text.find("\n", at + 1)
    return [*starts, len(text)]
