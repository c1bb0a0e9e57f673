"""A test of a constraint, as its block writes it, as an example that a rule can run on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shardlint.example import Bad, Example, Good
from shardlint.knowledge.problem import CheckProblem

if TYPE_CHECKING:
    from typing import TypeGuard

    from shardlint.knowledge.block import Where

FORMS = "text; `path` and `text`; `files`; `before` and `after`"


def example_of(snippet: Any, where: Where, *, bad: bool, config: bool) -> Example:
    """The example that a snippet writes: code as text, a file with its path, several files, or two states.

    config: whether text is a YAML document rather than Python.

    Raises CheckProblem for a snippet of another form.
    """
    kind = Bad if bad else Good
    if isinstance(snippet, str):
        return kind(snippet, path="example.yaml" if config else "example.py")
    if _is_mapping(snippet):
        if snippet.keys() == {"path", "text"} and isinstance(snippet["text"], str):
            return kind({str(snippet["path"]): snippet["text"]})
        if snippet.keys() == {"files"} and _are_texts(snippet["files"]):
            return kind(snippet["files"])
        if snippet.keys() == {"before", "after"} and _are_texts(snippet["before"]) and _are_texts(snippet["after"]):
            return kind(before=snippet["before"], after=snippet["after"])
    raise CheckProblem(where, f"a test is one of these: {FORMS}" + ("; a mapping: the document" if config else ""))


def names_paths(snippet: Any) -> bool:
    """Whether a snippet says where its files lie, so that the paths of the constraint count."""
    return not isinstance(snippet, str)


def is_document(snippet: Any) -> TypeGuard[dict[str, Any]]:
    """Whether the snippet of a config constraint is the document itself."""
    return _is_mapping(snippet) and snippet.keys() not in ({"path", "text"}, {"files"})


def _is_mapping(value: Any) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def _are_texts(value: Any) -> TypeGuard[dict[str, str]]:
    return _is_mapping(value) and all(isinstance(text, str) for text in value.values())
