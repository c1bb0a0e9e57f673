"""Words of which a file must spell one for a check to fire in it, from the trees of its expressions.

An over-approximation without contract defaults: a condition has a definite answer only if the keys that decide it are
written, and a key that is written is spelled. `None` stands for "in any file".
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING

from shardlint.knowledge.compiler import CONSTANTS, WORLD
from shardlint.knowledge.key_path import key_path, key_pattern, word_of

if TYPE_CHECKING:
    from shardlint.configs.document import Path
    from shardlint.knowledge.key_path import KeyPattern

    Words = frozenset[str] | None

_ANYWHERE: Words = None
_NEVER: Words = frozenset()


def all_needed(needs: Iterable[Words]) -> Words:
    """The words where all parts must have their answer: those of the part that says most."""
    known = [words for words in needs if words is not None]
    return min(known, key=lambda words: (len(words), sorted(words))) if known else None


def one_needed(needs: Iterable[Words]) -> Words:
    """The words where one of the parts is enough."""
    found: frozenset[str] = frozenset()
    for words in needs:
        if words is None:
            return None
        found |= words
    return found


def pattern_words(patterns: Iterable[KeyPattern]) -> Words:
    """The words for one of the patterns to fit a key."""
    return one_needed(frozenset((pattern.word,)) if pattern.word else None for pattern in patterns)


class FiringWords:
    """Reads the trees of one check. `lets` are the trees of its names, `bound` stands for the key at hand."""

    def __init__(self, lets: Mapping[str, ast.expr], bound: str = "") -> None:
        self._lets = lets
        self._bound = bound
        self._known: dict[tuple[str, bool | None], Words] = {}

    def truth(self, node: ast.expr, answer: bool) -> Words:
        """The words for the node to be surely true, or surely false."""
        if isinstance(node, ast.BoolOp):
            parts = [self.truth(part, answer) for part in node.values]
            return all_needed(parts) if isinstance(node.op, ast.And) is answer else one_needed(parts)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return self.truth(node.operand, not answer)
        if isinstance(node, ast.IfExp):
            return one_needed(self.truth(part, answer) for part in (node.body, node.orelse))
        if isinstance(node, ast.Constant):
            return _ANYWHERE if bool(node.value) is answer else _NEVER
        if isinstance(node, ast.Name) and node.id in CONSTANTS and node.id not in self._lets:
            return _ANYWHERE if bool(CONSTANTS[node.id]) is answer else _NEVER
        if isinstance(node, ast.Name) and node.id in self._lets:
            return self._let(node.id, answer)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            return self._asked(node.func.id, node, answer)
        return self.value(node)

    def _asked(self, name: str, node: ast.Call, answer: bool) -> Words:
        """Calls that say no more than whether a key is there."""
        first = node.args[0]
        if name == "exists":
            return _word(self._named(first)) if answer else _ANYWHERE
        if name == "default":
            other = node.args[1]
            return _word(self._named(first)) if self.truth(other, answer) == _NEVER else _ANYWHERE
        if name == "any" and answer and isinstance(first, ast.Call) and ast.unparse(first.func) == "values":
            text = first.args[0]
            return pattern_words((key_pattern(text.value, ()),)) if isinstance(text, ast.Constant) else _ANYWHERE
        return self._call(node)

    def value(self, node: ast.expr) -> Words:
        """The words for the value of the node to be known."""
        path = self._path(node)
        if path is not None:
            return _word(path)
        if isinstance(node, ast.Name):
            return self._let(node.id, None) if node.id in self._lets else _ANYWHERE
        if isinstance(node, (ast.Attribute, ast.Subscript)):
            return self.value(node.value)
        if isinstance(node, ast.UnaryOp):
            if isinstance(node.op, ast.Not):
                return one_needed(self.truth(node.operand, answer) for answer in (True, False))
            return self.value(node.operand)
        if isinstance(node, ast.BinOp):
            return all_needed((self.value(node.left), self.value(node.right)))
        if isinstance(node, ast.BoolOp):
            return self.value(node.values[0])
        if isinstance(node, ast.Compare):
            return self._comparison(node)
        if isinstance(node, ast.Call):
            return self._call(node)
        # A list is known with unknown items in it; of a comprehension only what it runs over must be known.
        return self.value(node.generators[0].iter) if isinstance(node, (ast.ListComp, ast.GeneratorExp)) else _ANYWHERE

    def _comparison(self, node: ast.Compare) -> Words:
        """A link of a chain may decide alone."""
        sides = [self.value(side) for side in (node.left, *node.comparators)]
        return one_needed(all_needed(pair) for pair in pairwise(sides))

    def _call(self, node: ast.Call) -> Words:
        assert isinstance(node.func, ast.Name)
        name = node.func.id
        if name == "key":
            return _word(self._named(node.args[0]))
        if name in ("exists", "default", "version", "env", "values"):
            return _ANYWHERE
        arguments = node.args[:1] if name == "matches" else node.args
        return all_needed(self.value(argument) for argument in arguments)

    def _let(self, name: str, answer: bool | None) -> Words:
        if (name, answer) not in self._known:
            tree = self._lets[name]
            self._known[name, answer] = self.value(tree) if answer is None else self.truth(tree, answer)
        return self._known[name, answer]

    def _named(self, node: ast.expr) -> Path | None:
        """The key of `exists("a.b")`, `exists(a.b)` and the like."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return key_path(node.value, ())
        return self._path(node)

    def _path(self, node: ast.expr) -> Path | None:
        """The key path that a node is."""
        steps: list[str | int] = []
        while isinstance(node, (ast.Attribute, ast.Subscript)):
            steps.append(node.attr if isinstance(node, ast.Attribute) else _constant(node.slice))
            node = node.value
        if not isinstance(node, ast.Name) or node.id in self._lets:
            return None
        if node.id in CONSTANTS or node.id in (WORLD, self._bound):
            return None
        return (node.id, *reversed(steps))


def _constant(node: ast.expr) -> str | int:
    value = node.value if isinstance(node, ast.Constant) else None
    return value if isinstance(value, (str, int)) else 0


def _word(path: Path | None) -> Words:
    word = word_of(path) if path is not None else ""
    return frozenset((word,)) if word else _ANYWHERE
