"""What a rule is handed: a site (a call that a query found), its function, and the expressions around it.

Everything here answers from the facts; `Site.node` is the LibCST node of the call, parsed on first use.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from shardlint.environment import Environment
from shardlint.facts.guards import Guard, guards
from shardlint.facts.interpolation import taken_in
from shardlint.facts.matching import Hit, last_part, matches, with_bases
from shardlint.facts.module import FUNCTIONS, FunctionNode, Module, word_of
from shardlint.facts.names import BUILTINS, BY_NAME, bindings_at, resolve, self_class, self_values
from shardlint.facts.order import Flow, flow, statements
from shardlint.facts.path_roles import in_tests
from shardlint.facts.project_words import ProjectWords
from shardlint.facts.rank_tests import RankTest, rank_test
from shardlint.facts.rank_values import RankValue, rank_value
from shardlint.facts.samples import written_keys
from shardlint.facts.values import MISSING, identity, literal, made_from, parameter_default
from shardlint.finding import Finding, Related, Span
from shardlint.not_judged import NotJudged
from shardlint.query import Query

if TYPE_CHECKING:
    import libcst

    from shardlint.voice import Voice


class Expression:
    """An expression of the linted file with what the facts know of it."""

    def __init__(self, module: Module, node: ast.expr, voice: Voice) -> None:
        self.module = module
        self.ast = node
        self.voice = voice

    def __repr__(self) -> str:
        return f"Expression({self.text})"

    @property
    def text(self) -> str:
        """The expression as source, on one line."""
        return self.module.source(self.ast)

    @property
    def span(self) -> Span:
        """Its exact range."""
        return self.module.span(self.ast)

    @property
    def literal(self) -> object:
        """Its value when it is a constant, through names that hold one constant; MISSING otherwise."""
        return literal(self.module, self.ast)

    @property
    def names(self) -> tuple[str, ...]:
        """The dotted names that it may stand for."""
        return resolve(self.module, self.ast).names

    @property
    def made_from(self) -> tuple[str, ...]:
        """The classes or factories that its value may have come from."""
        return made_from(self.module, self.ast).names

    @property
    def classes(self) -> list[str]:
        """The class that its value certainly has, with the bases that this file shows; empty when it may be another."""
        made = made_from(self.module, self.ast)
        return with_bases(self.module, made.names) if len(made.names) == 1 and made.certainty == 1.0 else []

    @property
    def last_name(self) -> str:
        """The last identifier of a dotted expression: `scaler` of `self.scaler`; empty for anything else."""
        return last_part(self.ast)

    @property
    def default(self) -> Expression | None:
        """The default of the parameter that it reads, if it reads one that has a default."""
        found = parameter_default(self.module, self.ast) if isinstance(self.ast, ast.Name) else None
        return Expression(self.module, found, self.voice) if found is not None else None

    @property
    def rank(self) -> RankValue | None:
        """The process number that it holds, if it holds one."""
        return rank_value(self.module, self.ast)

    @property
    def rank_test(self) -> RankTest | None:
        """The rank test that it is, if its answer differs between ranks."""
        return rank_test(self.module, self.ast)

    @property
    def values(self) -> list[Expression]:
        """The expressions that may have given a name or `self.x` its value here; anything else is its own value."""
        if isinstance(self.ast, ast.Name):
            found = bindings_at(self.module, self.ast)
            if found is not None:
                kept = [b.value for b in found[0] if b.value is not None and b.exact and b.kind in ("assign", "walrus")]
                return [Expression(self.module, value, self.voice) for value in kept]
            return []
        if isinstance(self.ast, ast.Attribute) and isinstance(self.ast.value, ast.Name):
            owner = self_class(self.module, self.ast.value)
            if owner is not None:
                kept = [v for v in self_values(self.module, owner, self.ast.attr) if not isinstance(v, ast.Starred)]
                return [Expression(self.module, value, self.voice) for value in kept]
        return [self]

    @property
    def parts(self) -> list[Expression]:
        """Every expression inside it, itself first."""
        return [Expression(self.module, node, self.voice) for node in ast.walk(self.ast) if isinstance(node, ast.expr)]

    @property
    def taken_in(self) -> list[Expression]:
        """The expressions that stand in a string, list or tuple as they are; itself where it is none of these."""
        return [Expression(self.module, node, self.voice) for node in taken_in(self.ast)]

    @property
    def is_builtin(self) -> bool:
        """Whether it is the bare name of a Python builtin."""
        return isinstance(self.ast, ast.Name) and self.ast.id in BUILTINS

    def same_as(self, other: Expression | None) -> bool:
        """Whether both are known to be the same object."""
        if other is None:
            return False
        mine = identity(self.module, self.ast)
        return mine is not None and mine == identity(other.module, other.ast)

    @property
    def reads(self) -> list[Expression]:
        """Every place of the file that reads the same object through a name or an attribute of the same name."""
        key, word = identity(self.module, self.ast), self.last_name
        if key is None or not word:
            return []
        names: list[ast.Name | ast.Attribute] = [*self.module.nodes(ast.Name), *self.module.nodes(ast.Attribute)]
        same = [node for node in names if last_part(node) == word and isinstance(node.ctx, ast.Load)]
        found = [Expression(self.module, node, self.voice) for node in same if identity(self.module, node) == key]
        return sorted(found, key=lambda read: (read.span.line, read.span.column))

    @property
    def loops(self) -> list[ast.For | ast.AsyncFor | ast.While]:
        """The loops of its function that run it in each round, innermost first."""
        found: list[ast.For | ast.AsyncFor | ast.While] = []
        child: ast.AST = self.ast
        for at in self.module.ancestors(self.ast):
            if isinstance(at, (*FUNCTIONS, ast.ClassDef)):
                break
            if isinstance(at, (ast.For, ast.AsyncFor, ast.While)):
                # The iterable and the `else` run once; the test of a `while` runs in each round.
                parts: list[ast.AST] = [*at.body, at.test] if isinstance(at, ast.While) else [*at.body]
                if child in parts:
                    found.append(at)
            child = at
        return found

    @property
    def guards(self) -> list[Guard]:
        """The conditions under which the call runs, outermost first."""
        return guards(self.module, self.ast)

    @property
    def on_rank_zero(self) -> bool:
        """Whether rank 0 of the whole job alone gets here, by a test in the same function."""
        for guard in self.guards:
            test = rank_test(self.module, guard.test) if guard.test is not None else None
            if test is not None and test.key == "global rank == 0" and test.positive == guard.holds:
                return True
        return False

    @property
    def on_some_ranks(self) -> bool:
        """Whether a condition in the same function, or a part of one, asks for the rank before it runs."""
        tests = [Expression(self.module, guard.test, self.voice) for guard in self.guards if guard.test is not None]
        return any(part.rank_test is not None for test in tests for part in test.parts)

    def guards_apart_from(self, other: Expression) -> list[Guard]:
        """The conditions under which it runs that `other` does not share, outermost first."""
        shared = {guard.node for guard in other.guards}
        return [guard for guard in self.guards if guard.node not in shared]

    def attribute_of(self, attribute: str) -> Expression | None:
        """The owner, when the expression is `owner.attribute`."""
        if isinstance(self.ast, ast.Attribute) and self.ast.attr == attribute:
            return Expression(self.module, self.ast.value, self.voice)
        return None

    def as_site(self) -> Site | None:
        """The call that it is, if it is one."""
        if not isinstance(self.ast, ast.Call):
            return None
        names = resolve(self.module, self.ast.func)
        return Site(self.module, Hit(self.ast, names.names[0] if names else "", names.certainty), self.voice)

    def note(self, message: str) -> Related:
        """A related place for a finding."""
        return Related(self.module.path, self.span.line, self.span.column, message)


class Site(Expression):
    """A call that a query found."""

    def __init__(self, module: Module, hit: Hit, voice: Voice) -> None:
        super().__init__(module, hit.call, voice)
        self.call = hit.call
        self.name = hit.name
        self.certainty = hit.certainty

    def __repr__(self) -> str:
        return f"Site({self.module.path}:{self.call.lineno} {self.text})"

    @property
    def environment(self) -> Environment:
        """The versions that the linted project uses."""
        return self.module.environment

    @property
    def project(self) -> ProjectWords:
        """The text of the project's Python files and `config.json`. Whoever asks is asked again when one changes."""
        return self.module.project()

    def modality(self, kind: str) -> Mapping[str, str]:
        """What the settings say of a kind (`collators`, `models`, ...): name -> modalities, words in one string."""
        return self.module.modality.get(kind, {})

    @property
    def in_tests(self) -> bool:
        """Whether the file is part of tests."""
        return in_tests(self.module.path)

    @property
    def called(self) -> str:
        """What is called, as it is written: `dist.all_reduce`."""
        return self.module.source(self.call.func)

    @property
    def receiver(self) -> Expression | None:
        """The object that a method is called on."""
        func = self.call.func
        return Expression(self.module, func.value, self.voice) if isinstance(func, ast.Attribute) else None

    @property
    def function(self) -> Function:
        """The function around the call, or the module."""
        return Function(self.module, self.module.function(self.call), self.voice)

    @property
    def statement(self) -> ast.stmt:
        """The statement that holds the call."""
        return self.module.statement(self.call)

    @property
    def positional(self) -> list[Expression]:
        """The positional arguments; none when a `*args` hides their number."""
        if any(isinstance(argument, ast.Starred) for argument in self.call.args):
            return []
        return [Expression(self.module, argument, self.voice) for argument in self.call.args]

    @property
    def opaque(self) -> bool:
        """Whether `*args` or `**kwargs` may pass arguments that are not seen."""
        starred = any(isinstance(argument, ast.Starred) for argument in self.call.args)
        return starred or any(keyword.arg is None for keyword in self.call.keywords)

    def argument(self, keyword: str, position: int | None = None) -> Expression | None:
        """An argument by keyword or by position; None when it is not given."""
        for given in self.call.keywords:
            if given.arg == keyword:
                return Expression(self.module, given.value, self.voice)
        if position is not None and position < len(self.call.args):
            before = self.call.args[: position + 1]
            if not any(isinstance(given, ast.Starred) for given in before):
                return Expression(self.module, before[-1], self.voice)
        return None

    @property
    def targets(self) -> list[Expression]:
        """What the result of the call is assigned to: `model` in `model = FSDP(model)` or `m = FSDP(m) if c else m`."""
        value: ast.AST = self.call
        statement = self.module.parent(value)
        while isinstance(statement, (ast.IfExp, ast.BoolOp)):
            value, statement = statement, self.module.parent(statement)
        if isinstance(statement, ast.Assign) and statement.value is value:
            return [Expression(self.module, target, self.voice) for target in statement.targets]
        if isinstance(statement, (ast.AnnAssign, ast.NamedExpr)) and statement.value is value:
            return [Expression(self.module, statement.target, self.voice)]
        return []

    @property
    def holders(self) -> list[Expression]:
        """The names that hold its result, also where a function of this file that returns it is called."""
        from shardlint.facts.holders import holders

        return holders(self)

    def reaches(self, other: Expression) -> bool:
        """Whether `other` can run after this call in the same run of the function."""
        return self.function.flow.reaches(self.ast, other.ast)

    def dominates(self, other: Expression) -> bool:
        """Whether this call has always run when `other` runs."""
        return self.function.flow.dominates(self.ast, other.ast)

    def reaches_in_round(self, other: Expression) -> bool:
        """Whether `other` can run after this call in the same round of the loops around it."""
        return self.function.flow.between(self.ast, other.ast, self.loops)

    def reaches_without(self, other: Expression, avoid: Iterable[Expression]) -> bool:
        """Whether `other` can run after this call with none of `avoid` in between."""
        return self.function.flow.between(self.ast, other.ast, [place.ast for place in avoid])

    @property
    def node(self) -> libcst.Call:
        """The LibCST node of the call, for exact syntax."""
        from shardlint.syntax.nodes import call_node

        return call_node(self.module, self.call)

    def not_judged(self, reason: str) -> NotJudged:
        """What a rule gives instead of a finding where it cannot tell. `reason` names what is not known."""
        return NotJudged(self.function.name, self.call.lineno, reason)

    def finding(
        self,
        message: str,
        *,
        help: str,
        at: Expression | None = None,
        related: Sequence[Related] = (),
        certainty: float | None = None,
        fixable: bool = True,
    ) -> Finding:
        """A finding on this call (or on `at`). `certainty` lowers the confidence below that of the match."""
        place = at or self
        sure = self.certainty if certainty is None else min(self.certainty, certainty)
        return self.voice.finding(
            self.module.path,
            place.span,
            message,
            help=help,
            related=tuple(related),
            certainty=sure,
            scope=self.module.qualified(self.module.function(place.ast)),
            line="".join(self.module.lines[place.span.line - 1 : place.span.line]),
            fixable=fixable,
        )


class Function:
    """A function of the linted file, or the file's own body."""

    def __init__(self, module: Module, node: FunctionNode | ast.Module, voice: Voice) -> None:
        self.module = module
        self.ast = node
        self.voice = voice

    @property
    def name(self) -> str:
        """Its qualified name; empty for the module."""
        return self.module.qualified(self.ast)

    @property
    def flow(self) -> Flow:
        """Its statement graph."""
        return flow(self.module, self.ast)

    @property
    def is_module(self) -> bool:
        """Whether it is the body of the file."""
        return isinstance(self.ast, ast.Module)

    @property
    def class_name(self) -> str:
        """The class that it is a method of; empty outside of a class."""
        owner = self.module.parent(self.ast)
        return owner.name if isinstance(owner, ast.ClassDef) else ""

    @property
    def statements(self) -> list[ast.stmt]:
        """All of its statements, nested blocks included, nested definitions not entered."""
        return list(statements(self.ast.body))

    @property
    def every_call(self) -> list[ast.Call]:
        """All calls in it, those of nested definitions included."""
        return [node for node in ast.walk(self.ast) if isinstance(node, ast.Call)]

    @property
    def words(self) -> set[str]:
        """Every name, last part of a dotted name, and text in it, those of nested definitions included."""
        return {word_of(node) for node in ast.walk(self.ast)}

    @property
    def written_keys(self) -> frozenset[str]:
        """Every literal key under which it, or what it defines, puts something into a dict."""
        return written_keys(self.ast)

    def leaves_out(self, limit: Expression) -> bool:
        """Whether it refuses or skips something by a test that names the limit."""
        word = word_of(limit.ast)
        tests = [
            node.test
            for node in ast.walk(self.ast)
            if isinstance(node, ast.If) and isinstance(node.body[-1], (ast.Raise, ast.Continue))
        ]
        return bool(word) and any(word in map(word_of, ast.walk(test)) for test in tests)

    def handing(self, name: str) -> list[ast.Call]:
        """The calls in it, nested definitions included, that are handed a name by position."""
        return [
            call
            for call in self.every_call
            if any(isinstance(given, ast.Name) and given.id == name for given in call.args)
        ]

    def calls_spelled_with(self, text: str) -> list[Site]:
        """Its calls of anything whose last name holds `text`: for helpers that only their name tells of."""
        spelled = [call for word, found in self.module.calls.items() if text in word for call in found]
        own = [call for call in spelled if self.module.function(call) is self.ast]
        return [Site(self.module, Hit(call, "", BY_NAME), self.voice) for call in own]

    def calls(self, query: Query, *, receiver: Expression | None = None) -> list[Site]:
        """The hits of a query in this function, in order; with `receiver`, those on the same object."""
        found: list[Site] = []
        for hit in matches(self.module, query):
            if self.module.function(hit.call) is not self.ast:
                continue
            site = Site(self.module, hit, self.voice)
            if receiver is None or (site.receiver is not None and receiver.same_as(site.receiver)):
                found.append(site)
        return found


def file_calls(site: Site, query: Query) -> list[Site]:
    """The hits of a query anywhere in the file of a site."""
    return [Site(site.module, hit, site.voice) for hit in matches(site.module, query)]


__all__ = ["MISSING", "Expression", "Function", "Site", "file_calls"]
