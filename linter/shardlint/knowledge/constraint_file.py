"""A constraint file -> its constraints: Markdown with fenced blocks, or YAML. Every problem is kept, with its line."""

from __future__ import annotations

import json
import os
import re
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from shardlint.knowledge.block import Unreadable, read_block, schema_problem
from shardlint.knowledge.checks import validate
from shardlint.knowledge.constraint import CHECKS, DEFAULT_EVIDENCE, Constraint
from shardlint.knowledge.markdown import read_markdown
from shardlint.knowledge.problem import CheckProblem
from shardlint.voice import CEILINGS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import TypeGuard

    from shardlint.finding import EvidenceKind
    from shardlint.knowledge.block import Where
    from shardlint.knowledge.markdown import Item

MOST_BYTES = 1_000_000
MARKDOWN = (".md", ".markdown")
YAML = (".yaml", ".yml")
_SCHEMA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "constraint.schema.json")


class Problem(NamedTuple):
    """What is wrong at a line of a constraint file."""

    file: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.message}"


class Contents(NamedTuple):
    """What a file holds. `items`: the numbered statements of a Markdown file."""

    constraints: tuple[Constraint, ...]
    problems: tuple[Problem, ...]
    items: tuple[Item, ...] = ()


def read_constraints(file: str, data: bytes) -> Contents:
    """The constraints of a file; `file` is its path relative to the root, whose ending tells how it is read."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        return Contents((), (Problem(file, line, "the file is not UTF-8: save it as UTF-8"),))
    if len(data) > MOST_BYTES:
        message = f"the file has {len(data):,} bytes, and constraints are read up to {MOST_BYTES:,}: split it"
        return Contents((), (Problem(file, 1, message),))
    reader = _Reader(file)
    if file.endswith(MARKDOWN):
        page = read_markdown(text)
        for block in page.blocks:
            reader.block(block.text, block.line, block.item)
        return Contents(tuple(reader.constraints), tuple(reader.problems), page.items)
    reader.yaml(text)
    return Contents(tuple(reader.constraints), tuple(reader.problems))


_TOP_KEY = re.compile(rb"(?:^|[{,][ \t]*\n?[ \t]*)[\"']?(version|constraints)[\"']?[ \t]*:", re.MULTILINE)
"""The two keys of a constraint file, at the beginning of a line or in a mapping in braces, as JSON has them."""


def is_constraint_document(data: bytes) -> bool:
    """Whether a YAML file says that it holds constraints; others may lie in a folder of that name."""
    found = {match[1] for match in _TOP_KEY.finditer(data.removeprefix(b"\xef\xbb\xbf"))}
    return {b"version", b"constraints"} <= found


@cache
def schema() -> Mapping[str, Any]:
    """The JSON Schema of a constraint file."""
    with open(_SCHEMA, encoding="utf-8") as file:
        loaded: dict[str, Any] = json.load(file)
    return loaded


class _Reader:
    """Collects the constraints of one file."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.constraints: list[Constraint] = []
        self.problems: list[Problem] = []

    def block(self, text: str, line: int, item: Item | None) -> None:
        """The one constraint of a fenced block whose text begins at `line`."""
        try:
            written = read_block(text)
        except Unreadable as error:
            self.problems.append(Problem(self.file, line + error.line - 1, str(error)))
            return
        lines = {where: line + number - 1 for where, number in written.lines.items()}
        self._take(written.value, lines, item)

    def yaml(self, text: str) -> None:
        """The constraints of a YAML file: `version: 1` and a list."""
        try:
            written = read_block(text, MOST_BYTES)
        except Unreadable as error:
            self.problems.append(Problem(self.file, error.line, str(error)))
            return
        problem = schema_problem({**schema(), "$defs": {"constraint": {}}}, written.value)
        if problem is not None:
            self._refuse(problem, written.lines)
            return
        for number, value in enumerate(written.value["constraints"]):
            start: Where = ("constraints", number)
            inside = {place[2:]: line for place, line in written.lines.items() if place[:2] == start}
            self._take(value, inside, None)

    def _refuse(self, problem: CheckProblem, lines: Mapping[Where, int]) -> None:
        where = problem.where
        line = next((lines[where[:end]] for end in range(len(where), -1, -1) if where[:end] in lines), 1)
        self.problems.append(Problem(self.file, line, str(problem)))

    def _take(self, value: Any, lines: Mapping[Where, int], item: Item | None) -> None:
        try:
            self.constraints.append(constraint_of(value, lines, self.file, item))
        except CheckProblem as problem:
            self._refuse(problem, lines)


def constraint_of(value: Any, lines: Mapping[Where, int], file: str, item: Item | None = None) -> Constraint:
    """The constraint that a block states. Its check is compiled once, so that what is wrong with it is said here.

    Raises CheckProblem.
    """
    if not _is_mapping(value):
        raise CheckProblem((), "a constraint is a mapping that begins with `id: some-name`")
    given = value
    kind = _kind(given)
    problem = schema_problem({**schema(), **schema()["$defs"]["constraint"]}, given)
    if problem is not None:
        raise problem
    title = given.get("title") or (item.title if item is not None else "")
    if not title:
        raise CheckProblem((), "it has no `title`, and stands in no numbered item that could give it one: add `title`")
    tests = given.get("tests", {})
    constraint = Constraint(
        given["id"],
        title,
        str(given.get("number") or (item.number if item is not None else "")),
        file,
        lines.get(("id",), 1),
        given.get("severity", ""),
        *_sureness(given),
        given.get("rationale") or (item.text if item is not None else ""),
        given.get("message", ""),
        given.get("help", ""),
        tuple(given.get("paths", ())),
        tuple(given.get("exclude", ())),
        kind,
        given[kind],
        tuple(tests.get("bad", ())),
        tuple(tests.get("good", ())),
        lines,
    )
    validate(constraint)
    return constraint


def _kind(given: Mapping[str, Any]) -> str:
    """The one kind of check that a block has."""
    kinds = [kind for kind in CHECKS if kind in given]
    if not kinds:
        # A mistyped key is the likelier mistake, and the schema names it.
        known = schema()["$defs"]["constraint"]["properties"]
        unknown = [key for key in given if key not in known]
        if not unknown:
            choices = ", ".join(f"`{kind}`" for kind in CHECKS)
            raise CheckProblem((), f"it checks nothing: give it one of {choices}")
        return CHECKS[0]
    if len(kinds) > 1:
        both = " and ".join(f"`{kind}`" for kind in kinds)
        raise CheckProblem((kinds[1],), f"it has {both}, and a constraint has exactly one check: make two of it")
    return kinds[0]


def _sureness(given: Mapping[str, Any]) -> tuple[tuple[EvidenceKind, tuple[str, ...]], float]:
    """The evidence with its references, and the confidence, which is no higher than the evidence allows."""
    stated: Any = given.get("evidence", DEFAULT_EVIDENCE)
    kind: EvidenceKind = stated["kind"] if _is_mapping(stated) else stated
    references: Sequence[str] = stated.get("references", ()) if _is_mapping(stated) else ()
    ceiling = CEILINGS[kind]
    confidence = given.get("confidence", ceiling)
    if kind == "research" and not references:
        raise CheckProblem(("evidence",), "evidence of the kind `research` names what it rests on: add `references`")
    if confidence > ceiling:
        raise CheckProblem(
            ("confidence",),
            f"`confidence` is {confidence}, and evidence of the kind `{kind}` justifies {ceiling:.2f} at most",
        )
    return (kind, tuple(references)), float(confidence)


def _is_mapping(value: Any) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)
