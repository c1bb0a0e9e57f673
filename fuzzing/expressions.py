"""Conditions on config files: expressions by their grammar, held against Python's own answer, and hostile ones."""

from __future__ import annotations

import ast
import json
import math
import operator
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

from fuzzing.case import Broken
from shardlint.configs.document import BrokenDocument, RefusedDocument, read_document
from shardlint.knowledge.compiler import Scope
from shardlint.knowledge.config_check import ConfigCheck
from shardlint.knowledge.expression import Condition, Expression
from shardlint.knowledge.key_source import PlainSource
from shardlint.knowledge.kinds import KINDS
from shardlint.knowledge.problem import CheckProblem
from shardlint.knowledge.trial import Trial
from shardlint.knowledge.unknown import UNKNOWN
from shardlint.knowledge.value_tests import is_items, is_mapping

NUMBERS = (0, 1, 2, 3, 7, 8, 64, 4096, -1, -3, 0.5, 1.0, -2.5, 1e308, 2**70, True, False)
TEXTS = ("", "a", "ab", "muon", "fsdp2", "10", "%d", "{0}")
PATTERNS = ("^a", "u+n", "[0-9]$", "(a|b)c?", "fsdp[12]")

KEYS = ("a", "b", "t.x", "t.y", "t.z", "u.v.w", "l", "m", "s", "n")
"""Keys of the values: `l` and `m` are lists, `s` a text, `n` null, the others anything."""

NARROWER = re.compile(
    r"128 bits|characters|more than [\d,]+ values|is for numbers|has no answer|takes numbers|takes a|takes two"
    r"|runs over a list|cannot look for|is no key of a mapping|longer than|too large for a float|of an empty list"
    r"|has no `"
)
"""Where the language gives no answer though Python may: bounds, and operations on values that it leaves out."""

HOSTILE = (
    "__import__('os').system('true')",
    "().__class__.__bases__[0].__subclasses__()",
    "a.__class__",
    "_a",
    "(lambda: 1)()",
    "(a := 1)",
    "f'{a}'",
    "'%999999999d' % 1",
    "'{0.__class__}'.format(a)",
    "s.join(l)",
    "'a' * 999999999",
    "[0] * 999999999",
    "l * 999999999",
    "9 ** 9 ** 9",
    "1 << 999999999",
    "9" * 1900,
    "0x" + "f" * 1900,
    "(" * 900 + ")" * 900,
    "-" * 1900 + "1",
    "not " * 450 + "a",
    "[" * 900 + "]" * 900,
    "a" + ".a" * 900,
    "a" + "[0]" * 600,
    "sum(x for x in l for y in l for z in l)",
    "all(x in l for x in l)",
    "all([y for y in l] for x in l)",
    "sum([sum(l) for x in l])",
    "all(l + l + l + l for x in l)",
    "all(matches(x, '.*a.*b') for x in l)",
    "matches(s, '(a+)+$')",
    "matches(s, '(a|a)*b')",
    "matches(s, '(?=a)*')",
    "matches(s, '(?P<x>a)(?P=x)')",
    "matches(s, s)",
    "min(max(l, l), l)",
    "product(l)",
    "{x: x for x in l}",
    "{1, 2}",
    "*l",
    "a[1:2]",
    "a[b]",
    "exec('1')",
    "open('/etc/passwd')",
    "exists()",
    "default(a)",
    "values('*.*.*.*')",
    "version(a)",
    "world_size()",
    "len(x=1)",
    "len(*l)",
    "yield",
    "await a",
    "a if",
    "a\x00b",
    "\ud800",
    "a\n# b\nand c",
    "true true",
    "1j",
    "b'a'",
    "...",
    "a @ b",
    "~a",
    "a | b",
    "'\\N{DIGIT ONE}'",
)


class Writer:
    """Writes expressions of the language."""

    def __init__(self, chance: Random) -> None:
        self.chance = chance

    def expression(self, depth: int = 0) -> str:
        """An expression; deeper ones are smaller."""
        if depth > 3 or self.chance.random() < 0.25:
            return self.leaf()
        make = self.chance.choice(
            (*(self.arithmetic, self.comparison, self.logic) * 2, self.call, self.conditional, self.loop)
        )
        return f"({make(depth + 1)})"

    def leaf(self) -> str:
        """A key or a constant."""
        if self.chance.random() < 0.65:
            return self.chance.choice(KEYS)
        given = self.chance.choice((*NUMBERS, *TEXTS, None))
        return "null" if given is None else repr(given).lower() if isinstance(given, bool) else repr(given)

    def arithmetic(self, depth: int) -> str:
        """`a + b`, `-a`."""
        if self.chance.random() < 0.1:
            return f"-{self.expression(depth)}"
        symbol = self.chance.choice(("+", "-", "*", "/", "//", "%"))
        return f"{self.expression(depth)} {symbol} {self.expression(depth)}"

    def comparison(self, depth: int) -> str:
        """`a < b`, `a in b`, `a < b < c`, `a is null`."""
        kind = self.chance.random()
        if kind < 0.1:
            return f"{self.expression(depth)} {self.chance.choice(('is', 'is not'))} null"
        if kind < 0.3:
            container = self.chance.choice(("l", "m", "s", "[1, 2, 'a']", "('muon', 8)", "t"))
            return f"{self.expression(depth)} {self.chance.choice(('in', 'not in'))} {container}"
        symbols = ("==", "!=", "<", "<=", ">", ">=")
        text = f"{self.expression(depth)} {self.chance.choice(symbols)} {self.expression(depth)}"
        return text if kind < 0.9 else f"{text} {self.chance.choice(symbols)} {self.expression(depth)}"

    def logic(self, depth: int) -> str:
        """`a and b`, `not a`."""
        if self.chance.random() < 0.25:
            return f"not {self.expression(depth)}"
        word = self.chance.choice((" and ", " or "))
        return word.join(self.expression(depth) for _ in range(self.chance.choice((2, 2, 3))))

    def conditional(self, depth: int) -> str:
        """`a if b else c`."""
        return f"{self.expression(depth)} if {self.expression(depth)} else {self.expression(depth)}"

    def call(self, depth: int) -> str:
        """A call of any function that needs nothing but values and keys."""
        one, other = self.expression(depth), self.expression(depth)
        key = self.chance.choice(KEYS)
        return self.chance.choice(
            (
                f"len({one})",
                f"abs({one})",
                f"min({one}, {other})",
                f"max({one}, {other})",
                f"sum({self.chance.choice(('l', 'm', f'[{one}, {other}]'))})",
                f"product({one}, {other})",
                f"any([{one}, {other}])",
                f"all([{one}, {other}])",
                f"divides({one}, {other})",
                f"startswith({one}, {other})",
                f"matches({one}, {self.chance.choice(PATTERNS)!r})",
                f"exists({key})",
                f"default({key}, {self.leaf()})",
                f"key({key!r})",
            )
        )

    def loop(self, depth: int) -> str:
        """`any(... for x in l)`; a loop in a loop is refused."""
        over = self.chance.choice(("l", "m", "[a, b, 1]"))
        inner = self.chance.choice(("x", "x > 1", "x == a", "x in m", "len(x) > 1", f"x or {self.leaf()}"))
        keep = self.chance.choice(("", "", " if x", " if x != b"))
        del depth
        name = self.chance.choice(("any", "all", "sum", "min", "list"))
        return f"[{inner} for x in {over}{keep}]" if name == "list" else f"{name}({inner} for x in {over}{keep})"


def values(chance: Random) -> dict[str, Any]:
    """Known values for all keys."""

    def any_value() -> Any:
        return chance.choice((*NUMBERS, *NUMBERS, *TEXTS, None))

    return {
        "a": any_value(),
        "b": any_value(),
        "t": {"x": any_value(), "y": any_value(), "z": any_value()},
        "u": {"v": {"w": any_value()}},
        "l": [any_value() for _ in range(chance.choice((0, 1, 3)))],
        "m": [chance.choice(NUMBERS) for _ in range(chance.choice((1, 2)))],
        "s": chance.choice(TEXTS),
        "n": None,
    }


class _Keys(dict[str, Any]):
    """A mapping whose keys Python reads as attributes."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


def _with_attributes(value: Any) -> Any:
    return _Keys({str(key): _with_attributes(inner) for key, inner in value.items()}) if is_mapping(value) else value


def _divides(by: Any, value: Any) -> bool:
    if isinstance(value, str):
        raise TypeError
    return bool(value % by == 0)


def _multiplied(*given: Any) -> Any:
    items: Sequence[Any] = given if len(given) > 1 else (*given,)[0]
    if any(not isinstance(item, (int, float)) for item in items):
        raise TypeError
    return math.prod(items)


def _found(text: str, pattern: str) -> bool:
    return re.search(pattern, text) is not None


def _there(_value: Any) -> bool:
    return True


def _there_or(value: Any, _default: Any) -> Any:
    return value


class _Numeric(ast.NodeTransformer):
    """Takes from Python that `*` repeats and `%` formats: a text of some gigabytes would tell nothing."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        name = "_times" if isinstance(node.op, ast.Mult) else "_modulo"
        if not isinstance(node.op, (ast.Mult, ast.Mod)):
            return node
        return ast.copy_location(ast.Call(ast.Name(name, ast.Load()), [node.left, node.right], []), node)


def _for_numbers(apply: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def applied(left: Any, right: Any) -> Any:
        if not isinstance(left, (int, float)) or not isinstance(right, (int, float)):
            raise TypeError
        return apply(left, right)

    return applied


def _python(text: str, given: Mapping[str, Any]) -> Any:
    """What Python itself answers, with no name but those of the language. Raises what Python raises."""
    names: dict[str, Any] = {key: _with_attributes(value) for key, value in given.items()}

    def key(path: str) -> Any:
        value: Any = names
        for step in path.split("."):
            value = value[step]
        return value

    functions: dict[str, Callable[..., Any]] = {
        **{one.__name__: one for one in (len, min, max, abs, sum, any, all)},
        "product": _multiplied,
        "divides": _divides,
        "startswith": str.startswith,
        "matches": _found,
        "exists": _there,
        "default": _there_or,
        "key": key,
        "_times": _for_numbers(operator.mul),
        "_modulo": _for_numbers(operator.mod),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.fix_missing_locations(_Numeric().visit(ast.parse(text, mode="eval")))
        code = compile(tree, "<expression>", "eval")
        return eval(code, {"__builtins__": {}, "null": None, "true": True, "false": False, **functions, **names})


def agrees(text: str, given: Mapping[str, Any], chance: Random) -> str:
    """Hold an expression against Python, with all values known, then with some hidden. Raises Broken.

    Gives what came of it: `refused`, `known`, `unknown` or `raises`.
    """
    try:
        expression, condition = Expression(text, (), Scope()), Condition(text, (), Scope())
    except CheckProblem:
        return "refused"
    trial = Trial(PlainSource(given))
    ours, truth = expression.of(trial), condition.of(Trial(PlainSource(given)))
    try:
        python = _python(text, given)
    except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError):
        if ours is not UNKNOWN or truth is not UNKNOWN:
            raise Broken("an answer where Python raises", f"{text}\n{given}\n{ours!r} {truth!r}") from None
        return "raises"
    if ours is UNKNOWN:
        if not NARROWER.search(trial.problem):
            raise Broken("unknown where Python knows", f"{text}\n{given}\n{trial.problem!r}, Python: {python!r}")
        return "unknown"
    if not _same(ours, python) or truth is not bool(python):
        raise Broken("another answer than Python", f"{text}\n{given}\n{ours!r} {truth!r}, Python: {python!r}")
    _hidden(text, expression, condition, given, chance)
    return "known"


def _hidden(text: str, expression: Expression, condition: Condition, given: Mapping[str, Any], chance: Random) -> None:
    """An answer that is known with some values hidden must be Python's whatever they are."""
    hidden = chance.sample(("a", "b", "s", "n", "l"), 2)
    source = PlainSource({**given, **dict.fromkeys(hidden, "${x}")})
    ours, truth = expression.of(Trial(source)), condition.of(Trial(source))
    for _ in range(4):
        other = values(chance)
        full = {**given, **{key: other[key] for key in hidden}}
        try:
            python = _python(text, full)
        except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError):
            continue
        wrong = ours is not UNKNOWN and not _same(ours, python, hidden=True)
        if wrong or (truth is not UNKNOWN and truth is not bool(python)):
            raise Broken(
                "an answer that hidden values change", f"{text}\n{full}\n{ours!r} {truth!r}, Python: {python!r}"
            )


def _same(ours: object, python: object, *, hidden: bool = False) -> bool:
    """Equal and of one type; a NaN is a NaN; in a list a hidden value is like any."""
    if hidden and ours is UNKNOWN:
        return True
    if is_items(ours) and is_items(python):
        pairs = zip(ours, python, strict=False)
        return len(ours) == len(python) and all(_same(one, other, hidden=hidden) for one, other in pairs)
    if isinstance(ours, float) and isinstance(python, float) and math.isnan(ours):
        return math.isnan(python)
    return bool(ours == python) and (type(ours) is type(python) or isinstance(python, dict))


def hostile(chance: Random) -> str:
    """An expression that must be refused, or end soon."""
    text = chance.choice(HOSTILE)
    if chance.random() < 0.5:
        return text
    other = chance.choice((*HOSTILE, Writer(chance).expression()))
    return chance.choice(
        (f"({text}) and ({other})", f"[{text}, {other}]", f"len({text})", text[: len(text) // 2] + other)
    )


def check(chance: Random) -> dict[str, Any]:
    """A config check with any of the keys that there are."""
    writer = Writer(chance)

    def some() -> Any:
        odd: tuple[Any, ...] = ("train.*", "a", 3, None, True, [], {}, ["a", "t.x"])
        return chance.choice((writer.expression(), hostile(chance), *odd))

    kind = chance.choice((None, *KINDS))
    plain: dict[str, Any] = {} if kind is None else {"kind": kind}
    for name in (*(KINDS[kind].needs if kind else ("require",)), *(KINDS[kind].may if kind else ())):
        plain[name] = {"keys": ["t.*", "a"], "needs": ["b"], "value": "a", "by": "b", "package": "torch"}.get(
            name, "a.b"
        )
        if chance.random() < 0.4:
            plain[name] = some()
    if kind is None:
        plain["require"] = chance.choice((writer.expression(), hostile(chance)))
    for name in ("when", "unless", "let", "at", "files"):
        if chance.random() < 0.3:
            plain[name] = (
                some() if name != "let" else {"y": writer.expression(), "z": chance.choice(("y + y", "z", "y"))}
            )
    return plain


def text_of_message(chance: Random) -> str:
    """A template, sound or not."""
    parts = (
        "{a}",
        "{{",
        "}}",
        "{",
        "}",
        " text ",
        "{t.x * 2}",
        "{feasible.world_size}",
        "{at}",
        "{s!r}",
        "{a:>9}",
        "{}",
    )
    return "".join(chance.choice(parts) for _ in range(chance.choice((0, 1, 3, 9))))


def judged(plain: Mapping[str, Any], message: str, data: bytes) -> str:
    """Compile a check and judge a document with it: `refused`, or the number of answers. Nothing else may come out."""
    try:
        config = ConfigCheck(plain, message=message, help=message)
    except CheckProblem as problem:
        if not str(problem) or "\n" in str(problem):
            raise Broken("a refusal that is no sentence", f"{json.dumps(plain)}\n{problem}") from None
        return "refused"
    try:
        document = read_document("a.yaml", data)
    except (BrokenDocument, RefusedDocument):
        return "refused"
    return str(sum(1 for _ in config.judge(document, world=(1, 8, 12))))
