"""The short forms of a config check: each becomes conditions of the one evaluator, with a message of its own.

| kind | keys of its own | what must hold |
|---|---|---|
| `exclusive` | `keys` | at most one of them is set |
| `requires` | `keys`, `needs` | where one of `keys` is set, all of `needs` are |
| `divides` | `value`, `by` | `value` is a multiple of `by` |
| `product` | `value`, `factors` | `value` is the product of `factors` |
| `one-of` | `keys`, `values` | each key that is written and not null has one of the values |
| `no-effect` | `keys`, with `when` or `unless` | none of the keys is written (null is as good as not written) |
| `renamed` | `from`, `to`, `since`, `package` | the old key is not written |
| `removed` | `keys`, `since`, `package` | none of the keys is written |
| `env` | `name`, `values`, with `when` | the environment variable is set, to one of the values |
| `version` | `package`, `needs`, with `when` | the project's version of the package fits |

A key is *set* if it is written with a value that counts as true, or has such a default by its contract.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from math import isfinite
from typing import NamedTuple

from shardlint.knowledge.key_path import KeyPattern, key_path, key_pattern
from shardlint.knowledge.language import parse, shortened
from shardlint.knowledge.problem import CheckProblem
from shardlint.knowledge.template import literal
from shardlint.knowledge.value_tests import is_list

ITEM = "it"
"""The name, in the conditions of a short form, of the value of the key that is looked at."""

MAX_KEYS = 30
"""Keys, values or factors in one list."""

_BOUND = re.compile(r"\s*(>=|<=|==|!=|~=|<|>)\s*(\d+(?:\.\d+)*)\s*")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PACKAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")

Plain = Mapping[str, object]


class Clause(NamedTuple):
    """One thing that must hold, in the words of the expression language.

    `each` are keys: the clause is asked for each one that is written, which `it` then stands for. `given` must hold too
    besides the check's own `when`. Messages are templates. `where` is the key of the block that an error points to.
    """

    require: object
    message: str
    help: str = ""
    given: str = ""
    at: str = ""
    each: tuple[KeyPattern, ...] = ()
    where: tuple[str | int, ...] = ("kind",)


class Kind(NamedTuple):
    """A short form: the keys that it must have and may have, and what it becomes."""

    needs: tuple[str, ...]
    may: tuple[str, ...]
    clauses: Callable[[Plain], Iterator[Clause]]


def _keys(plain: Plain, name: str, least: int = 1) -> list[KeyPattern]:
    """The keys in a list, or the only one."""
    return [key_pattern(text, (name, index)) for index, text in enumerate(_list(plain, name, least))]


def _list(plain: Plain, name: str, least: int = 1) -> Sequence[object]:
    given = plain[name]
    items = given if is_list(given) else [given]
    if not least <= len(items) <= MAX_KEYS:
        raise CheckProblem((name,), f"`{name}` is a list of {least} to {MAX_KEYS}, and here are {len(items)}")
    return items


def _text(plain: Plain, name: str, form: re.Pattern[str] | None = None, what: str = "text") -> str:
    given = plain[name]
    if not isinstance(given, str) or not given.strip() or (form is not None and not form.fullmatch(given)):
        raise CheckProblem((name,), f"`{name}` is the name of {what}" if form else f"`{name}` is a {what} in quotes")
    return given.strip()


def _expression(given: object, *where: str | int) -> str:
    """The source of an expression, in brackets."""
    return f"({ast.unparse(parse(given, where))})"


def _is_set(key: KeyPattern) -> str:
    """The condition that a key is set."""
    return f"default({key.text!r}, false)" if key.path is not None else f"any(values({key.text!r}))"


def _named(key: KeyPattern) -> str:
    return f"`{literal(key.text)}`"


def _exclusive(plain: Plain) -> Iterator[Clause]:
    for one, other in combinations(_keys(plain, "keys", 2), 2):
        yield Clause(
            f"not ({_is_set(one)} and {_is_set(other)})",
            f"{_named(one)} and {_named(other)} exclude each other, and both are set",
            "leave one of them out",
            at=other.text if other.path is not None else "",
        )


def _requires(plain: Plain) -> Iterator[Clause]:
    keys = tuple(_keys(plain, "keys"))
    for need in _keys(plain, "needs"):
        yield Clause(
            f"not {ITEM} or {_is_set(need)}",
            f"`{{at}}` is set, and {_named(need)}, which it needs, is not",
            f"set {_named(need)}, or leave `{{at}}` out",
            each=keys,
        )


def _divides(plain: Plain) -> Iterator[Clause]:
    value, by = _expression(plain["value"], "value"), _expression(plain["by"], "by")
    yield Clause(
        f"divides({by}, {value})",
        f"{_with_value(value)} is no multiple of {_with_value(by)}",
        f"choose a multiple of {{{by}}}, or another {_source(by)}",
        at=_as_key(value),
        where=("value",),
    )


def _product(plain: Plain) -> Iterator[Clause]:
    value = _expression(plain["value"], "value")
    factors = [_expression(given, "factors", index) for index, given in enumerate(_list(plain, "factors", 2))]
    multiplied = f"product({', '.join(factors)})"
    yield Clause(
        f"{value} == {multiplied}",
        f"{_with_value(value)} is not the product of {', '.join(map(_with_value, factors))}, which is {{{multiplied}}}",
        "change one of them so that they agree",
        at=_as_key(value),
        where=("value",),
    )


def _one_of(plain: Plain) -> Iterator[Clause]:
    values = _list(plain, "values")
    for index, value in enumerate(values):
        finite = not isinstance(value, float) or isfinite(value)
        if not finite or (not isinstance(value, (str, int, float)) and value is not None):
            raise CheckProblem(("values", index), "a value is a text, a number, true, false or null")
    named = literal(", ".join(str(value) for value in values))
    yield Clause(
        f"{ITEM} is null or {ITEM} in [{', '.join(map(repr, values))}]",
        f"`{{at}}` is {{{ITEM}}}, which is none of {named}",
        f"write one of {named}",
        each=tuple(_keys(plain, "keys")),
    )


def _no_effect(plain: Plain) -> Iterator[Clause]:
    if "when" not in plain and "unless" not in plain:
        raise CheckProblem(("kind",), "`no-effect` needs `when` or `unless`, to say where the keys have none")
    why = [f"`{literal(_conditions(plain[name], by))}` {is_}" for name, by, is_ in _STATES if name in plain]
    yield Clause(
        f"{ITEM} is null",
        f"`{{at}}` has no effect here: {' and '.join(why)}",
        "leave it out, or change what takes its effect away",
        each=tuple(_keys(plain, "keys")),
    )


_STATES = (("when", " and ", "holds"), ("unless", " or ", "does not hold"))


def _conditions(given: object, by: str) -> str:
    """The text of `when` or `unless`, which may be a list."""
    return shortened(by.join(map(str, given)) if is_list(given) else str(given))


def _renamed(plain: Plain) -> Iterator[Clause]:
    old, new = key_pattern(plain["from"], ("from",)), key_path(plain["to"], ("to",))
    if old.path is None or old.path == new:
        raise CheckProblem(("from",), "`from` is one key, and `to` is another")
    target = literal(str(plain["to"]).strip())
    yield Clause(
        "false",
        f"`{{at}}` was renamed `{target}`{_since(plain)}",
        f"write `{target}`",
        given=_released(plain),
        each=(old,),
    )


def _removed(plain: Plain) -> Iterator[Clause]:
    yield Clause(
        "false",
        f"`{{at}}` was removed{_since(plain)}",
        "leave it out",
        given=_released(plain),
        each=tuple(_keys(plain, "keys")),
    )


def _since(plain: Plain) -> str:
    if "since" not in plain:
        return ""
    of = f"{_text(plain, 'package', _PACKAGE, 'a package')} " if "package" in plain else ""
    return f" in {literal(of + _text(plain, 'since'))}"


def _released(plain: Plain) -> str:
    """The condition that the project has the version that no longer takes a key."""
    if "package" not in plain:
        return ""
    if "since" not in plain:
        raise CheckProblem(("package",), "`package` needs `since`, the version from which on the key is gone")
    if not re.fullmatch(r"\d+(\.\d+)*", _text(plain, "since")):
        raise CheckProblem(("since",), "with `package`, `since` is a version such as '0.1.10'")
    return f"version({_text(plain, 'package', _PACKAGE, 'a package')!r}) >= {_text(plain, 'since')!r}"


def _env(plain: Plain) -> Iterator[Clause]:
    _needs_when(plain, "env")
    name = _text(plain, "name", _VARIABLE, "an environment variable")
    if "values" not in plain:
        yield Clause(f"env({name!r}) is not null", f"the job needs the environment variable `{name}`", f"export {name}")
        return
    values = [str(value) for value in _list(plain, "values")]
    named = literal(" or ".join(values))
    yield Clause(
        f"env({name!r}) in {values!r}",
        f"the job needs `{name}={named}` in its environment, and it is {{env({name!r})}}",
        f"export {name}={named}",
    )


def _version(plain: Plain) -> Iterator[Clause]:
    _needs_when(plain, "version")
    package, needs = _text(plain, "package", _PACKAGE, "a package"), _text(plain, "needs")
    asked = f"version({package!r})"
    tests: list[str] = []
    for part in needs.split(","):
        bound = _BOUND.fullmatch(part)
        if bound is None:
            raise CheckProblem(("needs",), f"`{shortened(part)}` is no bound such as '>=2.6' or '>=2.6,<3'")
        tests += _bound_tests(asked, bound[1], bound[2])
    yield Clause(
        " and ".join(tests),
        f"this needs `{package}` {literal(needs)}, and the project has {{{asked}}}",
        f"install a version of `{package}` that fits, or leave it out",
    )


def _bound_tests(asked: str, operator: str, version: str) -> Iterator[str]:
    if operator != "~=":
        yield f"{asked} {operator} {version!r}"
        return
    numbers = [int(part) for part in version.split(".")]
    if len(numbers) < 2:
        raise CheckProblem(("needs",), f"`~={version}` needs two numbers, as in '~=2.6'")
    upper = [*numbers[:-2], numbers[-2] + 1]
    yield f"{asked} >= {version!r}"
    yield f"{asked} < {'.'.join(map(str, upper))!r}"


def _needs_when(plain: Plain, kind: str) -> None:
    if "when" not in plain:
        raise CheckProblem(("kind",), f"`{kind}` needs `when`, to say for which configs it holds")


def _source(expression: str) -> str:
    """The source of `_expression` for a message."""
    return f"`{literal(shortened(expression[1:-1]))}`"


def _with_value(expression: str) -> str:
    """An expression and its value, as a template; a number stands for itself."""
    inner = expression[1:-1]
    return inner if re.fullmatch(r"[\d.]+", inner) else f"{_source(expression)} = {{{expression}}}"


def _as_key(expression: str) -> str:
    """The key that an expression is, empty if it is more."""
    inner = expression[1:-1]
    return inner if re.fullmatch(r"[A-Za-z]\w*(\.[A-Za-z]\w*)*", inner) else ""


KINDS: Mapping[str, Kind] = {
    "exclusive": Kind(("keys",), (), _exclusive),
    "requires": Kind(("keys", "needs"), (), _requires),
    "divides": Kind(("value", "by"), (), _divides),
    "product": Kind(("value", "factors"), (), _product),
    "one-of": Kind(("keys", "values"), (), _one_of),
    "no-effect": Kind(("keys",), (), _no_effect),
    "renamed": Kind(("from", "to"), ("since", "package"), _renamed),
    "removed": Kind(("keys",), ("since", "package"), _removed),
    "env": Kind(("name",), ("values",), _env),
    "version": Kind(("package", "needs"), (), _version),
}
