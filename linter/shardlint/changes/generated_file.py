"""A changed file that a generator writes: who says so, what it is written from, and whether the change comes from there."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import NamedTuple

from shardlint.changes.edit import parsed
from shardlint.changes.generated import Header, generated_header
from shardlint.changes.sources import declared_sources, justifies
from shardlint.changes.states import ChangeSet, FileChange
from shardlint.discover import compile_patterns, matcher

Declared = tuple[tuple[str, ...], tuple[tuple[bool, str], ...], tuple[str, ...], str]
"""One entry of the `generated` settings: patterns, compiled patterns, patterns of the sources, command."""

_NO_HEADER = Header(0, "", "", ())

_PINS = ("pyproject.toml", "setup.py", "setup.cfg", "uv.lock", "poetry.lock", "pdm.lock", "pixi.lock", "pixi.toml")
"""Files that say which versions of other packages are installed, beside ``requirements*.txt`` and ``environment*.yml``."""

_GENERATORS = frozenset(("codegen", "gen", "generate", "generator", "generators", "patchgen", "template", "templates"))
"""Words in the paths of programs that write files, for headers that do not name theirs."""

_NO_SOURCES = (".md", ".rst", ".txt", ".lock", ".ipynb", ".svg", ".png")


class GeneratedFile(NamedTuple):
    """A changed file that is generated.

    Attributes:
        said_by: "header", "settings" or ".gitattributes".
        line: of the header in the later state, from 1; 0 where no header says it.
        words: the line of the header.
        sources: the files of the repository that it is written from, as far as they are known.
        command: what regenerates it, as the settings say; "" if they do not.
        regenerated: whether the header is another than before: the generator ran with other inputs.
        explained: whether a file that changed along explains the change.
    """

    said_by: str
    line: int
    words: str
    sources: tuple[str, ...]
    command: str
    regenerated: bool
    explained: bool


def generated_file(file: FileChange, changes: ChangeSet, declared: Declared | None) -> GeneratedFile | None:
    """The facts of a changed file that is generated in both states; None if it is not.

    Args:
        file: a file that both states have.
        changes: the change that it is part of.
        declared: the entry of the settings that its path matches.

    What ``.gitattributes`` alone calls generated counts for Python files only: elsewhere, lock files and vendored data
    are marked the same way, and they change by themselves.
    """
    if file.before is None or file.after is None:
        return None
    before, after = generated_header(file.before), generated_header(file.after)
    marked = changes.marked_generated(file.path)
    if marked is False and declared is None:
        return None
    if before is None and declared is None and not (marked and file.path.endswith((".py", ".pyi"))):
        return None
    said_by = "header" if before is not None else "settings" if declared is not None else ".gitattributes"
    header = before or _NO_HEADER
    origin = _Origin(file, changes, header, declared)
    return GeneratedFile(
        said_by=said_by,
        line=after.line if after is not None else 0,
        words=header.text,
        sources=origin.sources,
        command=declared[3] if declared is not None else "",
        regenerated=(before.block if before else "") != (after.block if after else ""),
        explained=any(origin.explains(path) for path in origin.others),
    )


class _Origin:
    """Where a generated file comes from, and which of the files that changed along can be the cause."""

    def __init__(self, file: FileChange, changes: ChangeSet, header: Header, declared: Declared | None) -> None:
        self._header = header
        self._changes = changes
        self._names = {file.path, file.old_path or file.path}
        self.others = {
            path
            for change in changes.changes
            for path in (change.path, change.old_path or change.path)
            if path not in self._names
        }
        present = frozenset(changes.paths_after())
        named = {source for name in self._names for source in declared_sources(name, header, present.__contains__)}
        patterns = declared[2] if declared is not None else ()
        self._declared = matcher(tuple(compile_patterns(patterns)))
        named.update(path for path in present if patterns and self._declared(path))
        self.sources = tuple(sorted(named))
        self._imported = {path for source in self.sources for path in _imported(source, changes.read_after(source))}
        outside = [source for source in header.sources if not any(justifies(file.path, header, p) for p in named)]
        self._foreign = bool(outside) or any("." in source and "/" not in source for source in header.sources)

    def explains(self, path: str) -> bool:
        """Whether the change of another file can be why the generated one changed."""
        if self._declared(path) or any(justifies(name, self._header, path) for name in self._names):
            return True
        if path in self._imported or _is_generator(path):
            return True
        if self._foreign and _is_pin(path):
            return True
        return not self.sources and self._may_be_a_source(path)

    def _may_be_a_source(self, path: str) -> bool:
        """Where no source is known, anything can be one that is not generated itself and no document."""
        if path.endswith(_NO_SOURCES):
            return False
        content = self._changes.read_after(path) or self._changes.read_before(path)
        return content is None or generated_header(content) is None


def _is_generator(path: str) -> bool:
    folders, _, name = path.rpartition("/")
    words = [*folders.split("/"), *name.partition(".")[0].split("_")]
    return not _GENERATORS.isdisjoint(words)


def _is_pin(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name in _PINS or (name.startswith(("requirements", "environment")) and name.endswith((".txt", ".yml")))


def _imported(source: str, content: bytes | None) -> Iterable[str]:
    """Paths of the modules that a Python source imports from its own folder or one beside it.

    A generator that resolves inheritance copies from them (a model that extends another one); what lies further away
    is used at run time only.
    """
    if content is None or not source.endswith(".py"):
        return
    tree = parsed(content)
    folder = source.rpartition("/")[0]
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.ImportFrom) and node.level in (1, 2):
            base = folder if node.level == 1 else folder.rpartition("/")[0]
            parts = [*base.split("/"), *(node.module or "").split(".")]
            module = "/".join(part for part in parts if part)
            yield module + ".py"
            yield from (f"{module}/{name.name}.py" for name in node.names)
