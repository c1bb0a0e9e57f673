"""Collators of the project: what one takes of each sample, puts into a batch, and asks a processor for."""

from __future__ import annotations

import ast
from typing import NamedTuple

from shardlint.facts.module import FUNCTIONS, Module
from shardlint.facts.names import resolve
from shardlint.facts.samples import Keys, method, read_keys, result_keys
from shardlint.facts.value_sources import Frame, Source, Unresolved, constructed, sources

MEDIA_ARGUMENTS = {
    "images": "image", "image": "image", "videos": "video", "video": "video", "audio": "audio", "audios": "audio",
    "raw_speech": "audio",
}  # fmt: skip
"""Arguments of a processor's call, and what they carry. Source: `ProcessorMixin.__call__` of transformers."""


class Collating(NamedTuple):
    """The function that makes a batch. `at` is it with what the object or `partial` around it was made with."""

    module: Module
    function: ast.FunctionDef
    at: Source

    @property
    def reads(self) -> Keys | None:
        """The keys that it takes of each sample; None if others may pass."""
        return read_keys(self.module, self.function)

    @property
    def emits(self) -> Keys | None:
        """The keys of the batches; None if they are not all written out."""
        return result_keys(self.module, self.function)

    def asked(self) -> list[tuple[list[Source], str, ast.Call]]:
        """The calls in it that hand media to something: the sources of what is called, the medium, and the call."""
        found: list[tuple[list[Source], str, ast.Call]] = []
        for call in ast.walk(self.function):
            if not isinstance(call, ast.Call) or not isinstance(call.func, (ast.Name, ast.Attribute)):
                continue
            named = [word.arg for word in call.keywords if not _is_none(word.value)]
            media = [MEDIA_ARGUMENTS[word] for word in named if word in MEDIA_ARGUMENTS]
            if not media:
                continue
            try:
                found.append((sources(Source(self.module, call.func, self.at.frame)), media[0], call))
            except Unresolved:
                continue
        return found


def collating(source: Source) -> Collating | None:
    """The function of the project behind a collator: a function, `partial`, a lambda that calls one, or an object."""
    module, node, outer, definition = source
    if isinstance(node, ast.Lambda):
        return _of_lambda(source, node)
    if definition is None:
        return None
    found = definition.node
    if isinstance(found, ast.ClassDef):
        called = method(found, "__call__") or method(found, "torch_call")
        made = constructed(source)
        return Collating(definition.module, called, made) if called is not None and made is not None else None
    if not isinstance(found, ast.FunctionDef):
        return None
    if isinstance(node, ast.Call):
        if resolve(module, node.func).names != ("functools.partial",) or len(node.args) != 1:
            return None
        bound = ast.copy_location(ast.Call(node.args[0], [], node.keywords), node)
        return Collating(definition.module, found, Source(module, node, Frame(found, bound, module, outer)))
    return Collating(definition.module, found, Source(definition.module, node))


def _of_lambda(source: Source, node: ast.Lambda) -> Collating | None:
    """`lambda batch: collate(batch, processor)`, where the batch is handed on as it is."""
    call, names = node.body, [one.arg for one in node.args.args]
    if not isinstance(call, ast.Call) or len(names) != 1 or not call.args:
        return None
    first, called = call.args[0], resolve(source.module, call.func).names
    if not isinstance(first, ast.Name) or first.id != names[0] or len(called) != 1:
        return None
    found = source.module.project().modules.definition(called[0], source.module)
    if found is None or not isinstance(found.node, ast.FunctionDef) or found.node.decorator_list:
        return None
    frame = Frame(found.node, call, source.module, source.frame)
    return Collating(found.module, found.node, Source(found.module, node, frame))


def is_parameter(module: Module, node: ast.expr) -> bool:
    """Whether an expression only hands on a parameter of the function around it."""
    from shardlint.facts.names import bindings_at

    found = bindings_at(module, node) if isinstance(node, ast.Name) else None
    if found is None or len(found[0]) != 1 or found[0][0].kind != "param":
        return False
    return any(isinstance(at, FUNCTIONS) for at in module.ancestors(node))


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
