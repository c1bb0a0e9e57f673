"""Lists in which a project names parameters and modules of its models: parallel plans, LoRA targets, no-decay lists.

Read from Python files and from config documents; what a list means is told by the name that holds it, and by the
placements in it.
"""

from __future__ import annotations

import ast
import re
from typing import Literal, NamedTuple

from shardlint.facts.key_pattern import HOLE, dotted, pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from shardlint.configs.document import Document, Node, Place

    Use = Literal["plan", "target", "part", "class"]

_USES: tuple[tuple[Use, re.Pattern[str]], ...] = (
    ("plan", re.compile(r"_?(?:\w+_)?plan")),
    (
        "target",
        re.compile(r"(?:\w+_)?target_modules|modules_to_save|lora_targets?|exclude_modules|\w*no_shard_modules?"),
    ),
    (
        "part",
        re.compile(
            r"(?:\w+_)?no_(?:weight_)?decay\w*|_tied_weights_keys|_keep_in_fp32_modules\w*"
            r"|(?:\w+_)?(?:frozen|freeze|unfreeze|trainable)(?:_\w+)?"
        ),
    ),
    ("class", re.compile(r"_?(?:\w+_)?no_split_modules|(?:\w+_)?layer_cls_to_wrap|(?:fsdp_)?wrap_modules")),
)

HOLDER_WORDS = (
    b"plan", b"arallel", b"eplicate", b"wise", b"Shard(", b"target", b"modules_to_save", b"exclude_modules",
    b"no_shard", b"decay", b"_tied_weights_keys", b"_keep_in_fp32", b"froze", b"freez", b"trainable",
    b"no_split", b"wrap",
)  # fmt: skip
"""A file without any of these holds no such list."""

_PLACEMENTS = re.compile(r"\w*Parallel|PrepareModule\w*|Shard|Replicate|Partial")
_STYLES = re.compile(r"(?:\w+_)?(?:colwise|rowwise)\w*|sequence_parallel|replicated?(?:_\w+)?")

_READ_CALLS = ("list", "tuple", "set", "frozenset", "sorted", "dict", "field", "Field")


class KeyString(NamedTuple):
    """One string of a list, with its place, from 1. ``*`` stands where an f-string puts a value."""

    text: str
    line: int
    column: int


class KeyList(NamedTuple):
    """A list, or a plan's dict, that names parameters.

    Attributes:
        holder: the name that holds it; "" for a plan without one.
        use: "plan" and "target" name whole parts of keys, "part" any piece of one, "class" a class of modules.
        strings: what it holds; of a plan the keys.
    """

    holder: str
    use: Use
    strings: tuple[KeyString, ...]


def use_of(holder: str) -> Use | None:
    """What a list of that name is used for; None for any other name."""
    for use, names in _USES:
        if names.fullmatch(holder):
            return use
    return None


def python_lists(tree: ast.Module) -> Iterator[KeyList]:
    """The lists of a Python file."""
    seen: set[ast.AST] = set()
    for node in ast.walk(tree):
        for holder, value in _held(node):
            use = use_of(holder)
            strings = tuple(_strings(value, use, seen)) if use is not None else ()
            if use is not None and strings:
                yield KeyList(holder, use, strings)
        if isinstance(node, ast.Dict) and node not in seen and any(_places(value) for value in node.values):
            seen.add(node)
            strings = tuple(_texts(node.keys))
            if strings:
                yield KeyList("", "plan", strings)


def _held(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Names and the values that a node gives them."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Subscript):
                # `plan["layers.*.wq"] = ...` adds a key, `config["target_modules"] = [...]` gives a list.
                yield dotted(target.value).rpartition(".")[2], ast.Dict([target.slice], [node.value])
                if isinstance(target.slice, ast.Constant):
                    yield str(target.slice.value), node.value
            else:
                yield dotted(target).rpartition(".")[2], node.value
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        yield dotted(node.target).rpartition(".")[2], node.value
    elif isinstance(node, ast.keyword):
        yield node.arg or "", node.value
    elif isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                yield key.value, value
    elif isinstance(node, ast.arguments):
        named = [*node.posonlyargs, *node.args]
        for argument, default in zip(named[len(named) - len(node.defaults) :], node.defaults, strict=True):
            yield argument.arg, default
        for argument, given in zip(node.kwonlyargs, node.kw_defaults, strict=True):
            if given is not None:
                yield argument.arg, given


def _strings(value: ast.expr, use: Use | None, seen: set[ast.AST]) -> Iterator[KeyString]:
    """The strings that a value lists."""
    if isinstance(value, ast.Dict):
        seen.add(value)
        yield from _texts(value.keys)
        if use == "part":
            yield from _texts(value.values)
    elif isinstance(value, (ast.List, ast.Tuple, ast.Set)):
        yield from _texts(value.elts)
    elif isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        for side in (value.left, value.right):
            yield from _strings(side, use, seen)
    elif isinstance(value, ast.Call) and dotted(value.func).rpartition(".")[2] in _READ_CALLS:
        for given in [*value.args, *(word.value for word in value.keywords if word.arg == "default_factory")]:
            yield from _strings(given.body if isinstance(given, ast.Lambda) else given, use, seen)
    elif use != "plan":
        yield from _texts([value])


def _texts(nodes: list[ast.expr] | list[ast.expr | None]) -> Iterator[KeyString]:
    for node in nodes:
        if isinstance(node, (ast.Constant, ast.JoinedStr)):
            text = pattern(node, {})
            if text:
                yield KeyString(text.replace(HOLE, "*"), node.lineno, node.col_offset + 1)


def _places(value: ast.expr) -> bool:
    """Whether a value of a dict says how a tensor is divided."""
    if isinstance(value, ast.Call):
        return _PLACEMENTS.fullmatch(dotted(value.func).rpartition(".")[2]) is not None
    return (
        isinstance(value, ast.Constant) and isinstance(value.value, str) and _STYLES.fullmatch(value.value) is not None
    )


def document_lists(document: Document) -> Iterator[KeyList]:
    """The lists of a YAML, JSON or TOML document."""
    for place in document.places():
        if place.via is not None or not place.path:
            continue
        holder = str(place.path[-1])
        use = use_of(holder)
        strings = tuple(_document_strings(place, use)) if use is not None else ()
        if use is not None and strings:
            yield KeyList(holder, use, strings)


def _document_strings(place: Place, use: Use) -> Iterator[KeyString]:
    nodes: list[Node] = list(place.value.items)
    if place.value.kind == "scalar" and use != "plan":
        nodes = [place.value]
    elif place.value.kind == "mapping":
        nodes = [entry.key for entry in place.value.entries if entry.via is None]
    for node in nodes:
        if node.kind == "scalar" and isinstance(node.value, str):
            yield KeyString(node.value, node.span.line, node.span.column)
