"""Messages with values in them: `global_batch_size {train.global_batch_size} is not a multiple of {micro * dp}`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from shardlint.knowledge.expression import Expression
from shardlint.knowledge.problem import CheckProblem
from shardlint.knowledge.unknown import UNKNOWN
from shardlint.knowledge.value_tests import is_list, is_mapping

if TYPE_CHECKING:
    from shardlint.knowledge.compiler import Scope
    from shardlint.knowledge.trial import Trial

MAX_TEMPLATE = 4_000
"""Characters of a template."""

MAX_FIELDS = 20
"""Expressions in one template."""

FEASIBLE = "feasible.world_size"
"""The field that stands for the world sizes with which the condition would hold."""

KEY = "at"
"""The field that stands for the key that the finding points to."""

_LONGEST_VALUE = 120
_MOST_VALUES = 4
_MOST_ITEMS = 20


class _Field(NamedTuple):
    """A field that is no expression."""

    name: str


class Template:
    """A text with expressions between braces; `{{` and `}}` are braces. Raises CheckProblem.

    Args:
        text: the text.
        where: its place in the block, for the error.
        scope: the names that its expressions may use.
        bound: a name for the value of the key that the finding points to.

    Attributes:
        feasible: whether it asks for the feasible world sizes.
    """

    __slots__ = ("_parts", "feasible")

    def __init__(self, text: str, where: tuple[str | int, ...], scope: Scope, bound: str = "") -> None:
        if len(text) > MAX_TEMPLATE:
            raise CheckProblem(where, f"a message has at most {MAX_TEMPLATE:,} characters")
        self._parts: list[str | Expression | _Field] = []
        for part, is_field in _split(text, where):
            if not is_field:
                self._parts.append(part)
            elif part.strip() in (FEASIBLE, KEY):
                self._parts.append(_Field(part.strip()))
            else:
                self._parts.append(Expression(part, where, scope, bound))
        if sum(not isinstance(part, str) for part in self._parts) > MAX_FIELDS:
            raise CheckProblem(where, f"a message has at most {MAX_FIELDS} expressions in braces")
        self.feasible = any(isinstance(part, _Field) and part.name == FEASIBLE for part in self._parts)

    def __bool__(self) -> bool:
        return bool(self._parts)

    def filled(self, trials: Sequence[Trial], key: str, feasible: Sequence[int] = ()) -> str:
        """The text with the values of one file.

        Args:
            key: what `{at}` stands for.
            trials: one for each world size that was tried; values that differ are joined by `or`.
            feasible: what `{feasible.world_size}` stands for.
        """
        texts: list[str] = []
        for part in self._parts:
            if isinstance(part, str):
                texts.append(part)
            elif isinstance(part, _Field):
                texts.append(key if part.name == KEY else ", ".join(map(str, feasible)) or "none")
            else:
                texts.append(_alternatives([shown(part.of(trial), part.source) for trial in trials]))
        return "".join(texts)


def literal(text: str) -> str:
    """A text as a template that gives it unchanged."""
    return text.replace("{", "{{").replace("}", "}}")


def shown(value: object, source: str = "") -> str:
    """A value as YAML would write it, on one line; an unknown one by the source of its expression."""
    if value is UNKNOWN:
        return f"`{source.strip()}`"
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    if is_list(value):
        text = f"[{_joined([shown(item, '?') for item in value[:_MOST_ITEMS]], len(value))}]"
    elif is_mapping(value):
        inside = [f"{name}: {shown(inner, '?')}" for name, inner in list(value.items())[:_MOST_ITEMS]]
        text = f"{{{_joined(inside, len(value))}}}"
    else:
        text = " ".join(str(value)[: 2 * _LONGEST_VALUE].split())
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 3]}..."


def _joined(texts: list[str], count: int) -> str:
    return ", ".join([*texts, *(["..."] if count > len(texts) else [])])


def _alternatives(texts: list[str]) -> str:
    different = list(dict.fromkeys(texts))
    more = ["..."] if len(different) > _MOST_VALUES else []
    return " or ".join([*different[:_MOST_VALUES], *more])


def _split(text: str, where: tuple[str | int, ...]) -> list[tuple[str, bool]]:
    """The parts of a template in order: (text, whether it is an expression)."""
    parts: list[tuple[str, bool]] = []
    plain, at = "", 0
    while at < len(text):
        letter = text[at]
        if text[at : at + 2] in ("{{", "}}"):
            plain, at = plain + letter, at + 2
        elif letter == "}":
            raise CheckProblem(where, "a `}` stands alone in the message; write `}}` for a brace")
        elif letter == "{":
            end = _closing(text, at + 1)
            if end < 0:
                raise CheckProblem(where, "a `{` of the message is not closed; write `{{` for a brace")
            parts += [(plain, False), (text[at + 1 : end], True)]
            plain, at = "", end + 1
        else:
            plain, at = plain + letter, at + 1
    parts.append((plain, False))
    return [(part, is_field) for part, is_field in parts if part or is_field]


def _closing(text: str, at: int) -> int:
    """The offset of the `}` that closes a field, -1 without one; quotes inside may hold braces."""
    quote = ""
    while at < len(text):
        letter = text[at]
        if quote and letter == "\\":
            at += 1
        elif quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif letter == "}":
            return at
        at += 1
    return -1
