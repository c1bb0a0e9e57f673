"""A condition or value of a constraint: an expression in a subset of Python that is compiled, never run.

The subset (`language`), its meaning (`compiler`), what operators and functions do (`operations`, `functions`) and where
keys come from (`key_source`) have a module each. The page for users is `EXPRESSIONS.md`.
"""

from __future__ import annotations

import ast
import keyword

from shardlint.knowledge.compiler import RESERVED, Compiler, Scope, Test, Value
from shardlint.knowledge.language import parse, shortened
from shardlint.knowledge.problem import CheckProblem
from shardlint.knowledge.trial import Read, Trial
from shardlint.knowledge.unknown import UNKNOWN, Truth, Uncomputable
from shardlint.knowledge.value_tests import is_mapping

MAX_LETS = 40
"""Names that one check may define."""


class Expression:
    """One compiled expression that is asked for its value. `bound` is a name for the item that it is about.

    Raises CheckProblem for one that cannot be taken.

    Attributes:
        source: its text.
    """

    __slots__ = ("_run", "source")

    def __init__(self, source: object, where: tuple[str | int, ...], scope: Scope, bound: str = "") -> None:
        self.source = str(source).strip()
        self._run = Compiler(where, scope, _names(bound)).value(parse(source, where))

    def of(self, trial: Trial) -> object:
        """The value, or UNKNOWN; `trial.problem` then says whether Python would have failed."""
        return _computed(self._run, self.source, trial)


class Condition:
    """One compiled expression that is asked whether it is true. `bound` is a name for the item that it is about.

    Attributes:
        source: its text.
        tree: its tree.
    """

    __slots__ = ("_run", "source", "tree")

    def __init__(self, source: object, where: tuple[str | int, ...], scope: Scope, bound: str = "") -> None:
        self.tree = parse(source, where)
        self.source = str(source).strip()
        self._run = Compiler(where, scope, _names(bound)).truth(self.tree)

    def of(self, trial: Trial) -> Truth:
        """The answer; `trial.reads` then ends with what was read for it and decides it."""
        answer = _computed(self._run, self.source, trial)
        return answer if answer is True or answer is False else UNKNOWN


def _names(bound: str) -> frozenset[str]:
    return frozenset((bound,)) if bound else frozenset()


def _computed(run: Value, source: str, trial: Trial) -> object:
    item = trial.item
    try:
        return run(trial)
    except Uncomputable as reason:
        trial.item = item
        trial.problem = f"`{shortened(source)}` cannot be computed: {reason}"
        return UNKNOWN


def define(given: object, scope: Scope) -> None:
    """Compile the names under `let` into a scope, in their order. Raises CheckProblem."""
    if not is_mapping(given):
        raise CheckProblem(("let",), "`let` is a mapping of names to expressions")
    if len(given) > MAX_LETS:
        raise CheckProblem(("let",), f"`let` defines at most {MAX_LETS} names, and here are {len(given)}")
    names = [str(name) for name in given]
    for index, (name, source) in enumerate(given.items()):
        where = ("let", str(name))
        if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name) or name.startswith("_"):
            raise CheckProblem(
                where, f"`{shortened(str(name))}` cannot be a name: take letters, digits and `_`, a letter first"
            )
        if name in RESERVED:
            raise CheckProblem(where, f"`{name}` has a meaning already; choose another name")
        tree = parse(source, where)
        later = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} & set(names[index:])
        if later:
            one = min(later)
            what = "itself" if one == name else f"`{one}`, which comes after it"
            raise CheckProblem(where, f"`{name}` may use what is defined before it, and it uses {what}")
        compiler = Compiler(where, scope)
        scope.lets[name] = (
            _once((name, False), compiler.value(tree)),
            _once_true((name, True), compiler.truth(tree)),
            tree,
        )


def _once(key: tuple[str, bool], run: Value | Test) -> Value:
    """The closure of a name, which is computed once in a trial; what it read counts at every use."""

    def value(trial: Trial) -> object:
        known = trial.lets.get(key)
        if known is None:
            start = len(trial.reads)
            answer = run(trial)
            trial.lets[key] = (answer, _without_repeats(trial.reads[start:]))
            return answer
        trial.reads += known[1]
        return known[0]

    return value


def _once_true(key: tuple[str, bool], run: Test) -> Test:
    """The same for a name that is asked whether it is true."""
    value = _once(key, run)

    def truth(trial: Trial) -> Truth:
        answer = value(trial)
        return answer if isinstance(answer, bool) else UNKNOWN

    return truth


def _without_repeats(reads: list[Read]) -> tuple[Read, ...]:
    return tuple(dict.fromkeys(reads))
