"""What wakes the rules up, taken from their own examples: a new rule is fuzzed from the day it lands."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace

from shardlint.example import Example
from shardlint.loading import Row, make


@dataclass(frozen=True)
class Vocabulary:
    """Pieces of the rules' examples, each list without doubles and in a fixed order.

    Attributes:
        projects: the files of every example that has files: path -> text.
        changes: the two states of the examples of change rules.
        plans: (model, plan, mesh, checkpoint) of the examples of plan rules.
        imports: import statements.
        calls: calls, as source text.
        statements: whole statements, as they are written, indented from column 1.
        names, texts, bases, decorators: identifiers, string constants, bases of classes, decorators.
    """

    projects: tuple[Mapping[str, str], ...]
    changes: tuple[tuple[Mapping[str, str], Mapping[str, str]], ...]
    plans: tuple[tuple[str, str, str, str], ...]
    imports: tuple[str, ...]
    calls: tuple[str, ...]
    statements: tuple[str, ...]
    names: tuple[str, ...]
    texts: tuple[str, ...]
    bases: tuple[str, ...]
    decorators: tuple[str, ...]

    @classmethod
    def of(cls, rows: Iterable[Row]) -> Vocabulary:
        """The vocabulary of some rules."""
        examples = [example for row in rows for example in _examples(row)]
        projects = [example.files for example in examples if any(example.files.values())]
        found: dict[str, dict[str, None]] = {name: {} for name in _LISTS}
        for project in projects:
            for path, text in sorted(project.items()):
                if path.endswith(".py"):
                    _harvest(text, found)
        return cls(
            tuple(projects),
            tuple((example.before, example.files) for example in examples if example.before is not None),
            tuple((one.model, one.plan, one.mesh, one.checkpoint) for one in examples if one.model),
            **{name: tuple(values) for name, values in found.items()},
        )

    def filled(self, other: Vocabulary) -> Vocabulary:
        """This vocabulary, with the lists of another one in the place of empty ones."""
        empty = [one.name for one in fields(self) if not getattr(self, one.name)]
        return replace(self, **{name: getattr(other, name) for name in empty})


_LISTS = ("imports", "calls", "statements", "names", "texts", "bases", "decorators")


def _examples(row: Row) -> Iterator[Example]:
    rule = make(row)
    yield from (*rule.bad, *rule.good)


def _harvest(text: str, found: dict[str, dict[str, None]]) -> None:
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return
    lines = text.split("\n")
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            found["imports"][ast.unparse(node)] = None
        elif isinstance(node, ast.stmt):
            found["statements"][written(node, lines)] = None
        if isinstance(node, ast.Call):
            found["calls"][ast.unparse(node)] = None
        elif isinstance(node, ast.Name):
            found["names"][node.id] = None
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 60:
            found["texts"][node.value] = None
        if isinstance(node, ast.ClassDef):
            found["bases"].update(dict.fromkeys(map(ast.unparse, node.bases)))
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            found["decorators"].update(dict.fromkeys(map(ast.unparse, node.decorator_list)))


def written(node: ast.stmt, lines: list[str]) -> str:
    """A statement as it is written, with the comments inside of it, from column 1."""
    first = node.lineno
    if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and node.decorator_list:
        first = node.decorator_list[0].lineno
    last = node.end_lineno or node.lineno
    if lines[first - 1][: node.col_offset].strip() or ";" in lines[last - 1]:
        return ast.unparse(node)
    return textwrap.dedent("\n".join(lines[first - 1 : last]))
