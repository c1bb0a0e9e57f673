"""From the tree of an expression to closures: one for its value, one for its truth.

Known values give what Python gives. An unknown value makes the result unknown, except where the rest decides alone
(Kleene): `a and b` is false as soon as one is. What did not decide is taken out of the trace of reads again. What
Python would raise on is `Uncomputable` for the whole expression, as it would be for the program.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from shardlint.configs.document import pointer_of
from shardlint.knowledge import operations
from shardlint.knowledge.functions import FUNCTIONS, Function
from shardlint.knowledge.key_path import key_path, key_pattern
from shardlint.knowledge.problem import CheckProblem
from shardlint.knowledge.regex import bounded, longest, power
from shardlint.knowledge.trial import Read, Trial
from shardlint.knowledge.unknown import ABSENT, UNKNOWN, Truth, Uncomputable
from shardlint.knowledge.value_tests import is_items, is_list, is_mapping

if TYPE_CHECKING:
    from shardlint.configs.document import Path

Value = Callable[[Trial], object]
Test = Callable[[Trial], Truth]

CONSTANTS: Mapping[str, object] = {"null": None, "true": True, "false": False}
"""Names as YAML writes them."""

WORLD = "world_size"
_IS_CONSTANT = (None, True, False)


class Scope:
    """What the expressions of one check share.

    Attributes:
        lets: the names defined so far, each with its closures for value and truth, and its tree.
        uses: which facts besides the file are asked for: `world`, `version`, `env`.
        packages: those whose version is asked for.
    """

    def __init__(self) -> None:
        self.lets: dict[str, tuple[Value, Test, ast.expr]] = {}
        self.uses: set[str] = set()
        self.packages: set[str] = set()


class Compiler:
    """Compiles one expression. `bound` holds the name that stands for the item at hand, if there is one."""

    def __init__(self, where: tuple[str | int, ...], scope: Scope, bound: frozenset[str] = frozenset()) -> None:
        self.where = where
        self.scope = scope
        self.bound = bound

    def refused(self, message: str) -> CheckProblem:
        return CheckProblem(self.where, message)

    # values

    def value(self, node: ast.expr) -> Value:
        """The closure that gives the value of a node."""
        method = _VALUES[type(node)]
        return method(self, node)

    def constant(self, node: ast.Constant) -> Value:
        return _always(node.value)

    def name(self, node: ast.Name) -> Value:
        name = node.id
        if name in self.bound:
            return lambda trial: trial.item
        if name in self.scope.lets:
            return self.scope.lets[name][0]
        if name in CONSTANTS:
            return _always(CONSTANTS[name])
        if name == WORLD:
            return self.world()
        if name == "feasible":
            raise self.refused("`feasible.world_size` stands in messages alone, as `{feasible.world_size}`")
        return self.read((name,))

    def world(self) -> Value:
        self.scope.uses.add("world")
        read = Read("world", WORLD)

        def world(trial: Trial) -> object:
            trial.reads.append(read)
            return UNKNOWN if trial.world is None else trial.world

        return world

    def read(self, path: Path) -> Value:
        read = Read("key", pointer_of(path), path)

        def key(trial: Trial) -> object:
            trial.reads.append(read)
            return trial.key(read)

        return key

    def step(self, node: ast.Attribute | ast.Subscript) -> Value:
        """`a.b`, `a["b"]`, `a[0]`: a key path where it begins with a key, else a step into a value."""
        path = self.path(node)
        if path is not None:
            return self.name(ast.Name("feasible")) if path[0] == "feasible" else self.read(path)
        step = _index(node)
        if step is None:
            raise self.refused("between brackets stands a number or a text, as in `layers[0]` or `plugins['a.b']`")
        inner = self.value(node.value)

        def stepped(trial: Trial) -> object:
            value = inner(trial)
            return UNKNOWN if value is UNKNOWN else _stepped(value, step)

        return stepped

    def path(self, node: ast.expr) -> Path | None:
        """The key path that a node is, None if it is something else."""
        steps: list[str | int] = []
        while isinstance(node, (ast.Attribute, ast.Subscript)):
            step = _index(node)
            if step is None or (isinstance(step, int) and step < 0):
                return None
            steps.append(step)
            node = node.value
        if not isinstance(node, ast.Name) or node.id in self.bound or node.id in self.scope.lets:
            return None
        if node.id in CONSTANTS or node.id == WORLD:
            return None
        return (node.id, *reversed(steps))

    def unary(self, node: ast.UnaryOp) -> Value:
        if isinstance(node.op, ast.Not):
            return self.truth(node)
        inner = self.value(node.operand)
        apply = operations.negative if isinstance(node.op, ast.USub) else operations.positive

        def signed(trial: Trial) -> object:
            value = inner(trial)
            return UNKNOWN if value is UNKNOWN else apply(value)

        return signed

    def binary(self, node: ast.BinOp) -> Value:
        left, right = self.value(node.left), self.value(node.right)
        symbol, apply = operations.BINARY[type(node.op)]
        for side in (node.left, node.right):
            if isinstance(side, ast.Constant) and isinstance(side.value, str) and symbol != "+":
                raise self.refused(f"`{symbol}` is for numbers: it neither repeats nor formats a text")

        def calculated(trial: Trial) -> object:
            one, other = left(trial), right(trial)
            return UNKNOWN if one is UNKNOWN or other is UNKNOWN else apply(one, other)

        def joined(trial: Trial) -> object:
            result = calculated(trial)
            if is_list(result) or isinstance(result, str):
                trial.spend(len(result) // 10)
            return result

        return joined if symbol == "+" else calculated

    def either_value(self, node: ast.BoolOp) -> Value:
        """`a or b` as a value: the operand that decides, as in Python."""
        parts = [self.value(part) for part in node.values]
        stop = isinstance(node.op, ast.Or)

        def chosen(trial: Trial) -> object:
            value: object = UNKNOWN
            for part in parts:
                value = part(trial)
                if value is UNKNOWN or bool(value) is stop:
                    return value
            return value

        return chosen

    def conditional(self, node: ast.IfExp) -> Value:
        test, body, other = self.truth(node.test), self.value(node.body), self.value(node.orelse)

        def chosen(trial: Trial) -> object:
            answer = test(trial)
            return UNKNOWN if answer is UNKNOWN else body(trial) if answer else other(trial)

        return chosen

    def sequence(self, node: ast.List | ast.Tuple) -> Value:
        items = [self.value(item) for item in node.elts]
        if isinstance(node, ast.Tuple):
            return lambda trial: tuple(item(trial) for item in items)
        return lambda trial: [item(trial) for item in items]

    def listed(self, node: ast.ListComp) -> Value:
        over, keep, inner = self.loop(node)
        element = inner.value(node.elt)

        def listed(trial: Trial) -> object:
            found: list[object] = []
            items = over(trial)
            if items is None:
                return UNKNOWN
            before = trial.item
            for trial.item in items:
                kept = keep(trial)
                if kept is UNKNOWN:
                    # A name under `let` may be computed inside of another loop, which goes on with its own item.
                    trial.item = before
                    return UNKNOWN
                if kept:
                    found.append(element(trial))
            trial.item = before
            return found

        return listed

    def loose_generator(self, _node: ast.GeneratorExp) -> Value:
        raise self.refused("`x for x in y` stands in brackets, or alone in a call such as `all(...)`")

    def loop(
        self, node: ast.ListComp | ast.GeneratorExp
    ) -> tuple[Callable[[Trial], list[object] | None], Test, Compiler]:
        """What a comprehension runs over, which items it keeps, and the compiler of its element."""
        (clause, *more) = node.generators
        if more or self.bound:
            raise self.refused("one `for` in an expression is enough: none may stand beside or inside of another")
        if not isinstance(clause.target, ast.Name):
            raise self.refused("the variable of a `for` is one name")
        name = clause.target.id
        if name in RESERVED or name in self.scope.lets:
            raise self.refused(f"`{name}` has a meaning already; call the variable of the `for` otherwise")
        source = self.value(clause.iter)
        inner = Compiler(self.where, self.scope, frozenset((name,)))
        keep = inner.all_true([inner.truth(test) for test in clause.ifs])

        def over(trial: Trial) -> list[object] | None:
            items = source(trial)
            if items is UNKNOWN:
                return None
            if not (is_items(items) or is_mapping(items)):
                raise Uncomputable(f"a `for` runs over a list, and this is {operations.kind_of(items)}")
            trial.spend(len(items))
            return [*items]

        return over, keep, inner

    # calls

    def call(self, node: ast.Call) -> Value:
        assert isinstance(node.func, ast.Name)
        name, arguments = node.func.id, node.args
        asking = _ASKING.get(name)
        if asking is not None:
            return asking(self, node)
        function = FUNCTIONS.get(name)
        if function is None:
            known = ", ".join(sorted((*FUNCTIONS, *_ASKING)))
            raise self.refused(f"`{name}` is no function of expressions; there are {known}")
        self.check_count(node, function.least, function.most)
        if isinstance(arguments[0], ast.GeneratorExp) and len(arguments) == 1:
            return self.over_generator(name, function, arguments[0])
        values = [self.decider(argument) if name in ("any", "all") else self.value(argument) for argument in arguments]
        call = function.call

        def called(trial: Trial) -> object:
            given = [value(trial) for value in values]
            for value in given:
                if value is UNKNOWN:
                    return UNKNOWN
                if is_items(value) and name != "len":
                    trial.spend(len(value))
            return call(given)

        return called

    def over_generator(self, name: str, function: Function, node: ast.GeneratorExp) -> Value:
        if name in ("any", "all"):
            return self.quantified(node, name == "any")
        if name == "len":
            raise self.refused("`len` takes a list: `len([x for x in y])`")
        as_list = ast.ListComp(node.elt, node.generators)
        items = self.listed(as_list)

        def called(trial: Trial) -> object:
            value = items(trial)
            return UNKNOWN if value is UNKNOWN else function.call([value])

        return called

    def quantified(self, node: ast.GeneratorExp, some: bool) -> Test:
        """`any(test for x in list)`, and `all` as its opposite: it stops where the answer is known."""
        over, keep, inner = self.loop(node)
        element = inner.truth(node.elt)

        def quantified(trial: Trial) -> Truth:
            items = over(trial)
            if items is None:
                return UNKNOWN
            before, answer = trial.item, not some
            unsure = False
            for trial.item in items:
                kept = keep(trial)
                if kept is False:
                    continue
                test = element(trial)
                if test is UNKNOWN or (kept is UNKNOWN and test is some):
                    unsure = True
                elif test is some:
                    answer = some
                    break
            trial.item = before
            return answer if answer is some or not unsure else UNKNOWN

        return quantified

    def check_count(self, node: ast.Call, least: int, most: int | None) -> None:
        assert isinstance(node.func, ast.Name)
        count = len(node.args)
        if count < least or (most is not None and count > most):
            wanted = f"{least}" if least == most else f"{least} or more" if most is None else f"{least} to {most}"
            raise self.refused(f"`{node.func.id}` takes {wanted} arguments, and {count} are given")

    def key_argument(self, node: ast.Call) -> Read:
        """The key that the first argument names: a key path, or its text."""
        assert isinstance(node.func, ast.Name)
        first = node.args[0]
        if isinstance(first, ast.Constant) and isinstance(first.value, str):
            path: Path | None = key_path(first.value, self.where)
        else:
            path = self.path(first)
        if path is None or path[0] == "feasible":
            raise self.refused(f"`{node.func.id}` takes a key, such as `train.optimizer.lr`")
        return Read("key", pointer_of(path), path)

    def text_argument(self, node: ast.Call, index: int, what: str) -> str:
        given = node.args[index]
        if isinstance(given, ast.Constant) and isinstance(given.value, str) and given.value:
            return given.value
        assert isinstance(node.func, ast.Name)
        raise self.refused(f"`{node.func.id}` takes {what} as a text in quotes")

    def exists(self, node: ast.Call) -> Value:
        self.check_count(node, 1, 1)
        read = self.key_argument(node)._replace(kind="exists")

        def exists(trial: Trial) -> object:
            trial.reads.append(read)
            return trial.exists(read)

        return exists

    def default(self, node: ast.Call) -> Value:
        self.check_count(node, 2, 2)
        read = self.key_argument(node)._replace(kind="default")
        other = self.value(node.args[1])

        def default(trial: Trial) -> object:
            trial.reads.append(read)
            value = trial.key_or(read, ABSENT)
            return other(trial) if value is ABSENT else value

        return default

    def key(self, node: ast.Call) -> Value:
        self.check_count(node, 1, 1)
        return self.read(self.key_argument(node).path)

    def values(self, node: ast.Call, *, deciding: bool = False) -> Value:
        """`values("a.*")`. Where more keys may come from elsewhere it is unknown.

        deciding: it is then the known values and an unknown one, which lets `any` and `all` decide by the known ones.
        """
        self.check_count(node, 1, 1)
        pattern = key_pattern(self.text_argument(node, 0, "keys such as 'train.optimizer.muon_*'"), self.where)

        name = (f"values {pattern.text}", deciding)

        def values(trial: Trial) -> object:
            known = trial.lets.get(name)
            if known is None:
                paths = trial.source.matching(pattern)
                trial.spend(len(paths))
                reads = tuple(Read("key", pointer_of(path), path) for path in paths)
                found = [trial.key(read) for read in reads]
                hiding = trial.source.hiding(pattern)
                if hiding is None:
                    known = (found, reads)
                else:
                    reads = (*reads, Read("key", pointer_of(hiding), hiding))
                    known = ([*found, UNKNOWN] if deciding else UNKNOWN, reads)
                trial.lets[name] = known
            trial.reads += known[1]
            return known[0]

        return values

    def decider(self, node: ast.expr) -> Value:
        """The list of which `any` or `all` is asked."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "values":
            return self.values(node, deciding=True)
        return self.value(node)

    def version(self, node: ast.Call) -> Value:
        self.check_count(node, 1, 1)
        package = self.text_argument(node, 0, "the name of a package")
        self.scope.uses.add("version")
        self.scope.packages.add(package)
        read = Read("version", package)

        def version(trial: Trial) -> object:
            trial.reads.append(read)
            return trial.version(package)

        return version

    def env(self, node: ast.Call) -> Value:
        self.check_count(node, 1, 1)
        name = self.text_argument(node, 0, "the name of an environment variable")
        self.scope.uses.add("env")
        read = Read("env", name)

        def variable(trial: Trial) -> object:
            trial.reads.append(read)
            return trial.variable(name)

        return variable

    def matches(self, node: ast.Call) -> Value:
        self.check_count(node, 2, 2)
        text = self.value(node.args[0])
        pattern = bounded(self.text_argument(node, 1, "a regular expression"), self.where)
        limit, exponent = longest(pattern), power(pattern)

        def matches(trial: Trial) -> object:
            value = text(trial)
            if value is UNKNOWN:
                return UNKNOWN
            if not isinstance(value, str):
                raise Uncomputable(f"`matches` takes a text, and this is {operations.kind_of(value)}")
            if len(value) > limit:
                raise Uncomputable(f"the text is longer than the {limit} characters that this pattern may search")
            trial.spend(len(value) ** exponent // 1000)
            return pattern.search(value) is not None

        return matches

    # truth

    def truth(self, node: ast.expr) -> Test:
        """The closure that says whether a node counts as true."""
        if isinstance(node, ast.BoolOp):
            parts = [self.truth(part) for part in node.values]
            return self.all_true(parts) if isinstance(node.op, ast.And) else self.some_true(parts)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return _negated(self.truth(node.operand))
        if isinstance(node, ast.Compare):
            return self.compared(node)
        if isinstance(node, ast.IfExp):
            return self.conditional_truth(node)
        if isinstance(node, ast.Name) and node.id in self.scope.lets and node.id not in self.bound:
            return self.scope.lets[node.id][1]
        value = self.value(node)

        def counts(trial: Trial) -> Truth:
            given = value(trial)
            return UNKNOWN if given is UNKNOWN else bool(given)

        return counts

    def all_true(self, parts: list[Test]) -> Test:
        return parts[0] if len(parts) == 1 else _decided(parts, False)

    def some_true(self, parts: list[Test]) -> Test:
        return _decided(parts, True)

    def conditional_truth(self, node: ast.IfExp) -> Test:
        test, body, other = self.truth(node.test), self.truth(node.body), self.truth(node.orelse)

        def chosen(trial: Trial) -> Truth:
            answer = test(trial)
            if answer is not UNKNOWN:
                return body(trial) if answer else other(trial)
            one, two = body(trial), other(trial)
            return one if one is two else UNKNOWN

        return chosen

    def compared(self, node: ast.Compare) -> Test:
        """A comparison; `a < b < c` is `a < b and b < c`, with b once."""
        operands = [self.value(side) for side in (node.left, *node.comparators)]
        links = [(_counted(type(op)), side) for op, side in zip(node.ops, operands[1:], strict=True)]
        for op, side in zip(node.ops, node.comparators, strict=True):
            if isinstance(op, (ast.Is, ast.IsNot)) and not self.is_constant(side):
                raise self.refused("`is` stands before null, true and false alone; write `==`")
        first = operands[0]
        if len(links) == 1:
            ((compare, second),) = links

            def once(trial: Trial) -> Truth:
                left, right = first(trial), second(trial)
                return UNKNOWN if left is UNKNOWN or right is UNKNOWN else compare(trial, left, right)

            return once

        def chained(trial: Trial) -> Truth:
            left, answer = first(trial), True
            unsure = False
            for compare, side in links:
                right = side(trial)
                link = UNKNOWN if left is UNKNOWN or right is UNKNOWN else compare(trial, left, right)
                if link is False:
                    return False
                unsure = unsure or link is UNKNOWN
                left = right
            return UNKNOWN if unsure else answer

        return chained

    def is_constant(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Constant):
            return any(node.value is constant for constant in _IS_CONSTANT)
        return isinstance(node, ast.Name) and node.id in CONSTANTS and node.id not in self.scope.lets


_SMALL = frozenset((int, float, bool, type(None)))


def _counted(operator: type[ast.cmpop]) -> Callable[[Trial, object, object], Truth]:
    """A comparison that counts what it looks at in lists and texts."""
    compare = operations.COMPARISONS[operator]

    def counted(trial: Trial, left: object, right: object) -> Truth:
        if type(right) not in _SMALL:
            trial.spend(operations.weight(right))
        return compare(left, right)

    return counted


def _always(value: object) -> Value:
    def always(_trial: Trial) -> object:
        return value

    return always


def _decided(parts: list[Test], stop: bool) -> Test:
    """`and` for `stop` False, `or` for `stop` True: the first part that is `stop` decides alone."""

    def decided(trial: Trial) -> Truth:
        reads = trial.reads
        mark = len(reads)
        answer: Truth = not stop
        for part in parts:
            start = len(reads)
            truth = part(trial)
            if truth is stop:
                del reads[mark:start]
                return stop
            if truth is UNKNOWN:
                answer = UNKNOWN
        return answer

    return decided


def _negated(test: Test) -> Test:
    def negated(trial: Trial) -> Truth:
        answer = test(trial)
        return UNKNOWN if answer is UNKNOWN else not answer

    return negated


def _index(node: ast.Attribute | ast.Subscript) -> str | int | None:
    """The constant step of `a.b` or `a[0]`, None if it is no constant."""
    if isinstance(node, ast.Attribute):
        return node.attr
    index = node.slice
    if isinstance(index, ast.UnaryOp) and isinstance(index.op, ast.USub) and isinstance(index.operand, ast.Constant):
        number = index.operand.value
        return -number if isinstance(number, int) and not isinstance(number, bool) else None
    value = index.value if isinstance(index, ast.Constant) else None
    return value if isinstance(value, (str, int)) and not isinstance(value, bool) else None


def _stepped(value: object, step: str | int) -> object:
    """The part of a value that a step leads to."""
    try:
        if is_items(value) and isinstance(step, int):
            return value[step]
        if is_mapping(value):
            return value[step]
    except (IndexError, KeyError):
        pass
    raise Uncomputable(f"{operations.kind_of(value)} has no `{step}`")


_VALUES: Mapping[type[ast.expr], Callable[[Compiler, Any], Value]] = {
    ast.Constant: Compiler.constant,
    ast.Name: Compiler.name,
    ast.Attribute: Compiler.step,
    ast.Subscript: Compiler.step,
    ast.UnaryOp: Compiler.unary,
    ast.BinOp: Compiler.binary,
    ast.BoolOp: Compiler.either_value,
    ast.IfExp: Compiler.conditional,
    ast.Compare: Compiler.truth,
    ast.List: Compiler.sequence,
    ast.Tuple: Compiler.sequence,
    ast.ListComp: Compiler.listed,
    ast.GeneratorExp: Compiler.loose_generator,
    ast.Call: Compiler.call,
}

_ASKING: Mapping[str, Callable[[Compiler, ast.Call], Value]] = {
    "exists": Compiler.exists,
    "default": Compiler.default,
    "key": Compiler.key,
    "values": Compiler.values,
    "version": Compiler.version,
    "env": Compiler.env,
    "matches": Compiler.matches,
}
"""Functions whose argument is a key or a constant, or that ask the project."""

RESERVED = frozenset((*CONSTANTS, WORLD, "feasible", *FUNCTIONS, *_ASKING))
"""Names that nothing else may take."""
