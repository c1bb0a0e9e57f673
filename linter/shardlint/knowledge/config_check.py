"""A constraint on config files: which files, what must hold, and what is said where it does not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from shardlint.configs.document import SUFFIXES, pointer_of
from shardlint.knowledge.compiler import WORLD, Scope
from shardlint.knowledge.expression import Condition, define
from shardlint.knowledge.firing_words import FiringWords, all_needed, one_needed, pattern_words
from shardlint.knowledge.key_path import key_path
from shardlint.knowledge.key_source import DocumentSource, PlainSource
from shardlint.knowledge.kinds import ITEM, KINDS, Clause
from shardlint.knowledge.language import shortened
from shardlint.knowledge.problem import CheckProblem
from shardlint.knowledge.template import Template, shown
from shardlint.knowledge.trial import Budget, Read, Trial
from shardlint.knowledge.unknown import ABSENT, UNKNOWN, Truth
from shardlint.knowledge.value_tests import is_list, is_mapping
from shardlint.not_judged import NotJudged

if TYPE_CHECKING:
    from shardlint.configs.document import Document, Path
    from shardlint.environment import Environment
    from shardlint.finding import Span
    from shardlint.knowledge.firing_words import Words
    from shardlint.knowledge.trial import Source

COMMON = ("files", "kind", "let", "when", "unless", "at")
"""What every config check may have."""

MAX_SIZES = 64
"""World sizes that a check is tried with; more are not looked at."""

MAX_FILES = 50
"""Patterns of paths."""

FEASIBLE_AMONG = tuple(sorted({2**power for power in range(13)} | {8 * nodes for nodes in range(1, 17)}))
"""World sizes that `{feasible.world_size}` chooses from: powers of two, and up to 16 nodes of 8."""

_MOST_FEASIBLE = 8


class Broken(NamedTuple):
    """A place where the constraint does not hold.

    Attributes:
        span: the key that the check points to, else the one that decided, else the nearest key above it.
        key: its pointer; empty for the whole file.
        message: what is wrong, with the values of the file.
        help: what to do; may be empty.
        reads: what was read and decided, each with its value as YAML writes it.
        sizes: the world sizes, none of which makes it hold; empty if they do not matter.
    """

    span: Span
    key: str
    message: str
    help: str
    reads: tuple[tuple[str, str], ...]
    sizes: tuple[int, ...]


class _Facts(NamedTuple):
    """What is known besides the file, and what may be spent on it."""

    environment: Environment | None
    environ: Mapping[str, str | None] | None
    defaults: Mapping[str, object] | None
    budget: Budget


class _Verdict(NamedTuple):
    """What one trial gave: whether the clause is broken, and what its conditions read."""

    broken: Truth
    trial: Trial
    required: Sequence[Read]
    others: Sequence[Read]


class ConfigCheck:
    """The compiled form of what stands under `config:` in a constraint.

    Args:
        plain: the mapping as the YAML loader gives it.
        message: the template of the constraint's message; without one a short form has its own, and a `require` says
            `title` and the values that it read.
        help: the template of what to do.
        title: the title of the constraint.

    Raises:
        CheckProblem: something in it cannot be taken.

    Attributes:
        files: the patterns of paths, as written; none means every config file.
        kinds: the kinds of documents that can be such files.
        words: a file that spells none of these identifiers cannot break the check, as long as no contract gives
            defaults; empty if any file can.
        uses: what it asks besides the file: `world`, `version`, `env`.
        packages: those whose version it asks for.
    """

    def __init__(self, plain: Mapping[str, object], *, message: str = "", help: str = "", title: str = "") -> None:
        written = _clauses(plain)
        scope = Scope()
        if "let" in plain:
            define(plain["let"], scope)
        when = [Condition(text, where, scope) for text, where in _conditions(plain, "when")]
        unless = [Condition(text, where, scope) for text, where in _conditions(plain, "unless")]
        self.files = _files(plain)
        self.kinds = _kinds(self.files)
        at = key_path(plain["at"], ("at",)) if "at" in plain else None
        given = (message, help, title)
        self._clauses = [_Compiled(clause, when, unless, at, given, scope) for clause in written]
        self.uses = frozenset(scope.uses)
        self.packages = tuple(sorted(scope.packages))
        words = one_needed(clause.words({name: let[2] for name, let in scope.lets.items()}) for clause in self._clauses)
        self.words: tuple[str, ...] = () if words is None else tuple(sorted(words))

    def judge(
        self,
        document: Document,
        *,
        world: Sequence[int] = (),
        environment: Environment | None = None,
        environ: Mapping[str, str | None] | None = None,
        defaults: Mapping[str, object] | None = None,
    ) -> Iterator[Broken | NotJudged]:
        """What is broken in a document, and what cannot be told.

        Args:
            document: the file; each document of a stream is judged by itself.
            world: the world sizes with which the job may run; without one `world_size` is unknown.
            environment: the versions of packages that the project may run with.
            environ: the environment variables of the job that are known; None stands for one that is not set.
            defaults: what the contract of the file gives to keys that it does not write, by pointer.

        What a file does not say is unknown, and an unknown condition breaks nothing. It is counted (`NotJudged`) if the
        file writes one of the keys that the check read.
        """
        if document.kind in self.kinds:
            for source in DocumentSource.of(document):
                yield from self._judged(source, world, _Facts(environment, environ, defaults, Budget()))

    def judge_plain(
        self,
        values: Mapping[str, object],
        *,
        world: Sequence[int] = (),
        environment: Environment | None = None,
        environ: Mapping[str, str | None] | None = None,
        defaults: Mapping[str, object] | None = None,
    ) -> Iterator[Broken | NotJudged]:
        """What is broken in a plain mapping, as in the tests of a constraint. All spans are the first character.

        Besides config keys it may hold what the check asks for: `world_size` (one or a list), `versions` (package to
        version) and `env` (variable to text, or null where it is not set).
        """
        rest = dict(values)
        if "world" in self.uses and not world and WORLD in rest:
            world = _sizes(rest.pop(WORLD))
        if "version" in self.uses and environment is None and is_mapping(rest.get("versions")):
            environment = _environment(rest.pop("versions"))
        if "env" in self.uses and environ is None and is_mapping(rest.get("env")):
            environ = _environ(rest.pop("env"))
        yield from self._judged(PlainSource(rest), world, _Facts(environment, environ, defaults, Budget()))

    def _judged(self, source: Source, world: Sequence[int], facts: _Facts) -> Iterator[Broken | NotJudged]:
        sizes = tuple(dict.fromkeys(world))[:MAX_SIZES] if "world" in self.uses else ()
        for clause in self._clauses:
            for target in clause.targets(source):
                found = clause.judged(source, target, sizes, facts)
                if found is not None:
                    yield found


class _Compiled:
    """One clause with its conditions."""

    def __init__(
        self,
        clause: Clause,
        when: Sequence[Condition],
        unless: Sequence[Condition],
        at: Path | None,
        given: tuple[str, str, str],
        scope: Scope,
    ) -> None:
        message, help_, title = given
        bound = ITEM if clause.each else ""
        self._clause = clause
        self._when = [*when, *([Condition(clause.given, ("kind",), scope)] if clause.given else [])]
        self._unless = unless
        self._require = Condition(clause.require, clause.where, scope, bound)
        self._at = at if at is not None else key_path(clause.at, ("at",)) if clause.at else None
        text = message or clause.message
        self._message = Template(text, ("message",), scope, "" if message else bound) if text else None
        self._help = Template(help_ or clause.help, ("help",), scope, "" if help_ else bound)
        self._title = title

    def words(self, lets: Mapping[str, Any]) -> Words:
        """The words of which a file must spell one for the clause to be broken."""
        reader, inner = FiringWords(lets), FiringWords(lets, ITEM)
        return all_needed(
            [
                pattern_words(self._clause.each) if self._clause.each else None,
                *(reader.truth(condition.tree, True) for condition in self._when),
                *(reader.truth(condition.tree, False) for condition in self._unless),
                (inner if self._clause.each else reader).truth(self._require.tree, False),
            ]
        )

    def targets(self, source: Source) -> Sequence[Path | None]:
        """The keys that the clause is asked for, None for one that is about the whole file."""
        if not self._clause.each:
            return (None,)
        return list(dict.fromkeys(path for pattern in self._clause.each for path in source.matching(pattern)))

    def judged(
        self, source: Source, target: Path | None, sizes: tuple[int, ...], facts: _Facts
    ) -> Broken | NotJudged | None:
        """What is said of one key, or of the file; None if it holds."""
        verdict = self._verdict(source, target, None, facts)
        if verdict.broken is True:
            return self._broken(source, target, (), [verdict], facts)
        if verdict.broken is False:
            return None
        verdicts = [self._verdict(source, target, size, facts) for size in sizes]
        if any(one.broken is False for one in verdicts):
            return None
        if verdicts and all(one.broken is True for one in verdicts):
            return self._broken(source, target, sizes, verdicts, facts)
        return self._unjudged(source, target, next((one for one in verdicts if one.broken is UNKNOWN), verdict))

    def _verdict(self, source: Source, target: Path | None, size: int | None, facts: _Facts) -> _Verdict:
        environment, environ, defaults, budget = facts
        trial = Trial(source, world=size, environment=environment, environ=environ, defaults=defaults, budget=budget)
        answer: Truth = True
        for condition, wanted in [*((one, True) for one in self._when), *((one, False) for one in self._unless)]:
            truth = condition.of(trial)
            if truth is not UNKNOWN and truth is not wanted:
                return _Verdict(False, trial, (), trial.reads)
            answer = UNKNOWN if truth is UNKNOWN else answer
        others, trial.reads = trial.reads, []
        if target is not None:
            read = Read("key", pointer_of(target), target)
            trial.reads.append(read)
            trial.item = trial.key(read)
        truth = self._require.of(trial)
        if truth is True:
            answer = False
        elif truth is UNKNOWN:
            answer = UNKNOWN
        required, trial.reads = trial.reads, []
        return _Verdict(answer, trial, required, others)

    def _broken(
        self, source: Source, target: Path | None, sizes: tuple[int, ...], verdicts: Sequence[_Verdict], facts: _Facts
    ) -> Broken:
        first = verdicts[0]
        path = self._place(source, target, first)
        key = pointer_of(path)
        trials = [verdict.trial for verdict in verdicts]
        reads: dict[str, str] = {}
        for read in (*first.required, *first.others):
            reads.setdefault(read.name, _value(read, first.trial))
        wants = (
            self._help.feasible or (self._message is not None and self._message.feasible) or (sizes and not self._help)
        )
        feasible = self._feasible(source, target, facts) if wants else ()
        message = self._said(reads) if self._message is None else self._message.filled(trials, key, feasible)
        help_ = self._help.filled(trials, key, feasible)
        if not help_ and feasible:
            help_ = f"it would hold with a world size of {', '.join(map(str, feasible))}"
        return Broken(source.span(path), key, message + _for_sizes(sizes), help_, tuple(reads.items()), sizes)

    def _said(self, reads: Mapping[str, str]) -> str:
        """The message of a check that has none: what must hold, and the values."""
        values = ", ".join(f"{name} is {value}" for name, value in [*reads.items()][:8])
        what = self._title or f"`{shortened(self._require.source)}` does not hold"
        return f"{what}: {values}" if values else what

    def _feasible(self, source: Source, target: Path | None, facts: _Facts) -> tuple[int, ...]:
        """World sizes with which the clause holds."""
        holding = (size for size in FEASIBLE_AMONG if self._verdict(source, target, size, facts).broken is False)
        return tuple(size for size, _ in zip(holding, range(_MOST_FEASIBLE), strict=False))

    def _unjudged(self, source: Source, target: Path | None, verdict: _Verdict) -> NotJudged | None:
        """What is counted where the answer is not known; nothing for a file that has none of the keys."""
        reads = (*verdict.others, *verdict.required)
        if not any(read.path and source.has(read.path) is True for read in reads):
            return None
        path = self._place(source, target, verdict)
        reasons = [_unknown(read, verdict.trial) for read in dict.fromkeys(reads)]
        reason = verdict.trial.problem or next(filter(None, reasons), "a value in a list is not known")
        return NotJudged(pointer_of(path), source.span(path).line, reason)

    def _place(self, source: Source, target: Path | None, verdict: _Verdict) -> Path:
        """The key to point to."""
        if self._at is not None:
            return self._at
        if target is not None:
            return target
        asked = [read.path for read in (*verdict.required, *verdict.others) if read.path]
        return next((path for path in asked if source.has(path) is True), asked[0] if asked else ())


def _value(read: Read, trial: Trial) -> str:
    """The value of something that was read, for a person."""
    value = _asked(read, trial)
    return "not written" if value is ABSENT else "not known" if value is UNKNOWN else shown(value)


def _asked(read: Read, trial: Trial) -> object:
    if read.kind == "exists":
        return trial.exists(read)
    if read.kind == "world":
        return UNKNOWN if trial.world is None else trial.world
    if read.kind == "version":
        return trial.version(read.name)
    return trial.variable(read.name) if read.kind == "env" else trial.key_or(read, ABSENT)


def _unknown(read: Read, trial: Trial) -> str:
    """Why something that was read is not known; empty if it is."""
    value = _asked(read, trial)
    if read.kind == "world" and value is UNKNOWN:
        return "the world size is not known"
    if read.kind == "env" and value is UNKNOWN:
        return f"the environment variable `{read.name}` is not known"
    if read.kind == "version":
        return f"the version of `{read.name}` is {'not known' if value is UNKNOWN else f'only known as {value}'}"
    missing = value is ABSENT and read.kind == "key"
    return trial.source.why(read.path) if value is UNKNOWN or missing else ""


def _for_sizes(sizes: tuple[int, ...]) -> str:
    if not sizes:
        return ""
    if len(sizes) == 1:
        return f" (world size {sizes[0]})"
    named = ", ".join(map(str, sizes[:8])) + (", ..." if len(sizes) > 8 else "")
    return f" (with each of the world sizes {named})"


def _clauses(plain: Mapping[str, object]) -> list[Clause]:
    """What the check asks for, by its kind or its `require`; all keys are known ones."""
    kind = plain.get("kind")
    if kind is None:
        _check_keys(plain, ("require",), ())
        source = plain["require"]
        return [Clause(source, "", where=("require",))]
    form = KINDS.get(kind) if isinstance(kind, str) else None
    if form is None:
        raise CheckProblem(
            ("kind",), f"`{shortened(str(kind))}` is no kind of config check: there are {', '.join(KINDS)}"
        )
    _check_keys(plain, form.needs, form.may)
    return list(form.clauses(plain))


def _check_keys(plain: Mapping[str, object], needs: Sequence[str], may: Sequence[str]) -> None:
    kind = plain.get("kind")
    for name in needs:
        if plain.get(name) is None:
            what = f"`{kind}` needs `{name}`" if kind else "say what must hold: add `require` or `kind`"
            raise CheckProblem((name,) if name in plain else (), what)
    known = (*COMMON, *needs, *may)
    for name in plain:
        if name not in known:
            from difflib import get_close_matches

            close = get_close_matches(str(name), known, 1)
            hint = f", did you mean `{close[0]}`?" if close else f": there are {', '.join(known)}"
            raise CheckProblem(
                (str(name),),
                f"`{shortened(str(name))}` is nothing that {f'`{kind}`' if kind else '`config`'} takes{hint}",
            )


def _conditions(plain: Mapping[str, object], name: str) -> Iterator[tuple[object, tuple[str | int, ...]]]:
    """The conditions under `when`, all of which must hold, or `unless`: one or a list."""
    given = plain.get(name, [])
    if is_list(given):
        yield from ((source, (name, index)) for index, source in enumerate(given))
    else:
        yield given, (name,)


def _files(plain: Mapping[str, object]) -> tuple[str, ...]:
    given = plain.get("files", [])
    names = given if is_list(given) else [given]
    if len(names) > MAX_FILES:
        raise CheckProblem(("files",), f"`files` has at most {MAX_FILES} patterns")
    for index, name in enumerate(names):
        if not isinstance(name, str) or not name.strip():
            raise CheckProblem(("files", index), "`files` are patterns of paths such as `configs/**/*.yaml`")
    return tuple(str(name) for name in names)


def _kinds(files: Sequence[str]) -> tuple[str, ...]:
    """The kinds of documents that the patterns can name."""
    every = tuple(dict.fromkeys(SUFFIXES.values()))
    named = {next((kind for suffix, kind in SUFFIXES.items() if name.endswith(suffix)), "") for name in files}
    return every if not files or "" in named else tuple(kind for kind in every if kind in named)


def _sizes(given: object) -> tuple[int, ...]:
    sizes = given if is_list(given) else [given]
    return tuple(size for size in sizes if isinstance(size, int) and size > 0)


def _environment(given: object) -> Environment:
    """Versions as a test writes them: `{torch: "2.5.1"}`."""
    from shardlint.environment import Environment, Version

    if not is_mapping(given):
        return Environment({})
    return Environment({str(name): Version(str(name), str(text), "locked", "") for name, text in given.items()})


def _environ(given: object) -> dict[str, str | None]:
    if not is_mapping(given):
        return {}
    return {str(name): None if text is None else str(text) for name, text in given.items()}
