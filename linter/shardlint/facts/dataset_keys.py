"""The keys of a dataset's samples: of a class of the project, or of a dataset of Hugging Face that functions add to."""

from __future__ import annotations

import ast
from collections.abc import Collection

from shardlint.facts.module import Module
from shardlint.facts.origins import Origin
from shardlint.facts.sample_media import added_keys, loaded_keys
from shardlint.facts.samples import Keys, result_keys
from shardlint.facts.value_sources import Source, Unresolved, argument, sources

_KEEPING = frozenset(
    ("select", "shuffle", "filter", "train_test_split", "take", "skip", "shard", "sort", "with_format")
)
"""Methods after which samples have the keys that they had. Source: `datasets.Dataset`."""

_STEPS = 12


def dataset_keys(dataset: Origin) -> Keys | None:
    """The keys of the samples that a dataset gives; None where nothing is known of them."""
    if dataset.source is None:
        return None
    return dataset.sample_keys if dataset.source.definition is not None else _of_pipeline(dataset.source, 0)


def dataset_media(dataset: Origin, known: Collection[str]) -> frozenset[str]:
    """The keys under which a dataset gives media that it loads, where code of the project shows that.

    Args:
        known: keys that hold media wherever they occur.
    """
    source = dataset.source
    if source is None:
        return frozenset()
    if source.definition is not None:
        made, owner = source.definition.module, source.definition.node
        return loaded_keys(made, owner, known) if isinstance(owner, ast.ClassDef) else frozenset()
    node = source.node
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "with_transform":
        added = _function(source, argument(node, "transform", 0))
        return added_keys(*added, known) if added is not None else frozenset()
    return frozenset()


def _of_pipeline(source: Source, step: int) -> Keys | None:
    """What `load(...).map(f)["train"].select(...)` is sure to have: the keys that its functions add."""
    node = source.node
    if step > _STEPS:
        return None
    if isinstance(node, ast.Subscript):
        return _of_owner(source, node.value, step)
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    made = node.func.attr
    if made in _KEEPING:
        return _of_owner(source, node.func.value, step)
    if made == "map":
        added = _given_back(source, argument(node, "function", 0))
        before = _of_owner(source, node.func.value, step)
        return None if added is None else added | (before or Keys((), (), open=True)) | Keys((), (), open=True)
    return _given_back(source, argument(node, "transform", 0)) if made == "with_transform" else None


def _of_owner(source: Source, owner: ast.expr, step: int) -> Keys | None:
    try:
        found = sources(Source(source.module, owner, source.frame))
    except Unresolved:
        return None
    return _of_pipeline(found[0], step + 1) if len(found) == 1 and found[0].definition is None else None


def _given_back(source: Source, function: ast.expr | None) -> Keys | None:
    """The keys of what a function of the project returns."""
    found = _function(source, function)
    return result_keys(*found) if found is not None else None


def _function(source: Source, function: ast.expr | None) -> tuple[Module, ast.FunctionDef] | None:
    """The function of the project behind an expression."""
    if function is None:
        return None
    try:
        found = sources(Source(source.module, function, source.frame))
    except Unresolved:
        return None
    definition = found[0].definition if len(found) == 1 else None
    if definition is None or not isinstance(definition.node, ast.FunctionDef):
        return None
    return definition.module, definition.node
