"""The YAML of constraints, from a block of Markdown or from a file: a value with the line of each place in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from shardlint.configs.document import BrokenDocument, pointer_of, read_document
from shardlint.knowledge.problem import CheckProblem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shardlint.configs.document import Node

    Where = tuple[str | int, ...]

MOST_BYTES = 64_000
"""A longer block is no constraint."""

MOST_DEPTH = 20
MOST_DIGITS = 40
"""Characters of a number."""


class Unreadable(Exception):
    """A block that is not YAML, or that passes a limit. `line` counts in the block, from 1."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


class Written(NamedTuple):
    """A value of plain dicts, lists, texts, numbers, booleans and None; `lines`: place -> line in the block, from 1."""

    value: Any
    lines: Mapping[Where, int]


def read_block(text: str, most: int = MOST_BYTES) -> Written:
    """The YAML of a block, of at most so many bytes.

    Raises Unreadable for what is not YAML, for an anchor or alias, for what is too large or too deep, and for a value
    that is neither text nor number nor a list or mapping of these.
    """
    data = text.encode("utf-8", "surrogateescape")
    if len(data) > most:
        raise Unreadable(1, f"it has {len(data):,} bytes, and constraints are read up to {most:,}")
    try:
        document = read_document("constraint.yaml", data, kind="yaml")
    except BrokenDocument as error:
        raise Unreadable(error.span.line, error.message) from None
    for duplicate in document.duplicates:
        line = duplicate.first.line
        raise Unreadable(duplicate.second.line, f"`{duplicate.pointer}` stands here and on line {line}: keep one")
    if len(document.roots) != 1:
        line = document.roots[1].span.line if document.roots else 1
        raise Unreadable(line, "it must hold one YAML document" + (", not several" if document.roots else ""))
    lines: dict[Where, int] = {}
    return Written(_plain(document.roots[0], (), lines, 0), lines)


def _plain(node: Node, where: Where, lines: dict[Where, int], depth: int) -> Any:
    lines.setdefault(where, node.span.line)
    if depth > MOST_DEPTH:
        raise Unreadable(node.span.line, f"it is nested more than {MOST_DEPTH} levels deep here")
    if node.alias_of is not None or node.anchor is not None:
        raise Unreadable(node.span.line, "anchors and aliases (`&`, `*`) are not read here: write the value out")
    if node.kind == "mapping":
        found: dict[object, Any] = {}
        for entry in node.entries:
            if entry.via is not None:
                raise Unreadable(entry.span.line, "`<<` is not read here: write the keys out")
            key = _scalar(entry.key)
            step = key if isinstance(key, (str, int)) else str(key)
            inside = (*where, step)
            lines[inside] = entry.key.span.line
            found[key] = _plain(entry.value, inside, lines, depth + 1)
        return found
    if node.kind == "sequence":
        return [_plain(item, (*where, number), lines, depth + 1) for number, item in enumerate(node.items)]
    return _scalar(node)


def _scalar(node: Node) -> str | int | float | bool | None:
    value: object = node.value
    if node.tag and node.tag not in ("!!str", "!!int", "!!float", "!!bool", "!!null"):
        raise Unreadable(node.span.line, f"`{node.text[:40]}` is read as {node.tag}: quote it")
    if isinstance(value, (int, float)) and len(node.text) > MOST_DIGITS:
        raise Unreadable(node.span.line, f"a number of {len(node.text)} characters is more than {MOST_DIGITS}")
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    raise Unreadable(node.span.line, f"`{node.text[:40]}` is neither text nor number: quote it")


def schema_problem(schema: Mapping[str, Any], value: object) -> CheckProblem | None:
    """The first thing by which a value does not follow a JSON Schema, as a sentence; None when it does."""
    from jsonschema import Draft202012Validator

    validator: Any = Draft202012Validator(schema)
    errors: list[Any] = list(validator.iter_errors(value))
    if not errors:
        return None
    # An unknown key is what a user mistyped; it may be the cause of the rest.
    error = min(errors, key=lambda one: (one.validator != "additionalProperties", [str(part) for part in one.path]))
    where = tuple(error.absolute_path)
    named = f"`{pointer_of(where)}`" if where else "the block"
    if error.validator == "additionalProperties":
        return _unknown_key(error, where)
    if error.validator == "required":
        missing = next(name for name in error.validator_value if name not in error.instance)
        return CheckProblem(where, f"{named} has no `{missing}`: add it")
    return CheckProblem(where, f"{named} {_expected(error)}")


def _unknown_key(error: Any, where: Where) -> CheckProblem:
    from difflib import get_close_matches

    known = sorted(error.schema.get("properties", ()))
    key = next(name for name in error.instance if name not in known)
    close = get_close_matches(str(key), known, 1, 0.6)
    hint = f"did you mean `{close[0]}`?" if close else f"the keys are {', '.join(known)}"
    inside = f" of `{pointer_of(where)}`" if where else " of a constraint"
    return CheckProblem((*where, key), f"`{key}` is no key{inside}; {hint}")


_TYPES = {
    "array": "a list",
    "object": "a mapping",
    "string": "a text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "null": "nothing",
}


def _expected(error: Any) -> str:
    """What the schema wants, in words."""
    value = error.validator_value
    if error.validator == "type":
        types: list[str] = [value] if isinstance(value, str) else value
        return f"must be {' or '.join(_TYPES[one] for one in types)}"
    if error.validator in ("enum", "const"):
        allowed = value if error.validator == "enum" else [value]
        return "must be one of " + ", ".join(f"`{one}`" for one in allowed)
    if error.validator in ("minItems", "minLength", "minProperties"):
        return "must not be empty"
    if error.validator in ("maxLength", "maxItems", "maxProperties"):
        return f"is longer than {value}"
    if error.validator in ("minimum", "maximum"):
        return f"must be at {'least' if error.validator == 'minimum' else 'most'} {value}"
    return str(error.schema.get("$comment", f"is not as the schema wants it ({error.message[:120]})"))
