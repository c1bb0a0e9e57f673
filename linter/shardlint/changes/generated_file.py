"""A changed file that a generator writes: who says so, what it is made from, and whether that explains the change."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import cached_property

from shardlint.changes.edit import parsed
from shardlint.changes.generated import Header, generated_header
from shardlint.changes.lock import LOCK, digest, locked
from shardlint.changes.patchgen import Drift, drifts_of, is_patch_config
from shardlint.changes.sources import declared_sources, justifies
from shardlint.changes.states import ChangeSet, FileChange
from shardlint.discover import compile_patterns, matcher

Declared = tuple[tuple[str, ...], tuple[tuple[bool, str], ...], tuple[str, ...], str]
"""One entry of the `generated` settings: patterns, compiled patterns, patterns of the sources, command."""

_NO_HEADER = Header(0, "", "", ())

_PINS = ("pyproject.toml", "setup.py", "setup.cfg", "uv.lock", "poetry.lock", "pdm.lock", "pixi.lock", "pixi.toml")
"""Files with the versions of other packages, beside ``requirements*.txt`` and ``environment*.yml``."""

_GENERATORS = frozenset(("codegen", "gen", "generate", "generator", "generators", "patchgen"))
"""Words in the paths of programs that write files, for headers that do not name theirs."""

_NO_SOURCES = (".md", ".rst", ".txt", ".lock", ".ipynb", ".svg", ".png")


class GeneratedFile:
    """A changed file that is generated. What it comes from is worked out when it is asked for.

    `said_by` is "header", "settings" or ".gitattributes"; `line` is that of the header in the later state, from 1, and
    0 where no header says it; `words` are the header's own; `command` is what regenerates the file, as the settings
    say, or "". `regenerated` tells whether the file is new or its header another: the generator ran, with other inputs.
    """

    def __init__(
        self,
        file: FileChange,
        changes: ChangeSet,
        headers: tuple[Header | None, Header | None],
        declared: Declared | None,
    ) -> None:
        before, after = headers
        self.said_by = "header" if before or after else "settings" if declared is not None else ".gitattributes"
        self.line = after.line if after is not None else 0
        self._header = before or after or _NO_HEADER
        self.words = self._header.text
        self.command = declared[3] if declared is not None else ""
        self.regenerated = file.before is None or (before.block if before else "") != (after.block if after else "")
        self._file = file
        self._changes = changes
        self._names = {file.path, file.old_path or file.path}
        self._patterns = declared[2] if declared is not None else ()
        self._declared = matcher(tuple(compile_patterns(self._patterns)))

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """The files of the repository that it is written from, as far as they are known."""
        present = self._changes.paths_after()
        exists = frozenset(present).__contains__
        found = {source for name in self._names for source in declared_sources(name, self._header, exists)}
        if self._patterns:
            found.update(path for path in present if self._declared(path))
        return tuple(sorted(found))

    @property
    def copied(self) -> bool:
        """Whether the header names sources and the repository has none: the file was taken from elsewhere."""
        return bool(self._header.sources) and not self.sources

    @cached_property
    def drifts(self) -> tuple[Drift, ...]:
        """Where it parts, since this change, from what its patch configuration generates."""
        configs = [source for source in self.sources if is_patch_config(source)]
        file, changes = self._file, self._changes
        if not configs or file.after is None:
            return ()
        drifts = drifts_of(file.path, file.after, configs, changes.read_after)
        before = file.before if drifts else None
        old = drifts_of(file.path, before, configs, changes.read_before) if before is not None else []
        known = {drift.name for drift in old}
        return tuple(drift for drift in drifts if drift.name not in known)

    @cached_property
    def recorded(self) -> str:
        """What the record of generated files tells: "same" if it holds this content, "edited" if it holds another
        while all sources are as recorded, "" if it tells nothing."""
        entry = locked(self._changes.read_after(LOCK)).get(self._file.path)
        if entry is None or self._file.after is None:
            return ""
        if entry.output == digest(self._file.after):
            return "same"
        contents = {source: self._changes.read_after(source) for source in entry.sources}
        held = all(data is not None and digest(data) == entry.sources[source] for source, data in contents.items())
        return "edited" if held and contents else ""

    @property
    def explained(self) -> bool:
        """Whether a file that changed along can be why it changed."""
        touched = {path for change in self._changes.changes for path in (change.path, change.old_path or change.path)}
        others = touched - self._names
        if any(self._named(path) for path in others):
            return True
        return self.recorded != "edited" and any(self._may_cause(path) for path in others)

    def _named(self, path: str) -> bool:
        if self._declared(path) or _is_generator(path) or (self._foreign and _is_pin(path)):
            return True
        return any(justifies(name, self._header, path) for name in self._names)

    @property
    def _foreign(self) -> bool:
        """Whether the header names a module, which can be one of another package."""
        return any("." in source and "/" not in source for source in self._header.sources)

    def _may_cause(self, path: str) -> bool:
        """Whether a source imports a changed file; where no source is known, whether the file can be one.

        That is any file that is not generated itself and no document.
        """
        if self.sources:
            return path in self._imported
        if path.endswith(_NO_SOURCES) or path == LOCK:
            return False
        content = self._changes.read_after(path) or self._changes.read_before(path)
        return content is None or generated_header(content) is None

    @cached_property
    def _imported(self) -> frozenset[str]:
        return frozenset(
            path for source in self.sources for path in _imported(source, self._changes.read_after(source))
        )


def declaration(path: str, settings: Sequence[Declared]) -> Declared | None:
    """The entry of the `generated` settings that a path matches."""
    return next((entry for entry in settings if matcher(entry[1])(path)), None)


def generated_file(file: FileChange, changes: ChangeSet, declared: Declared | None) -> GeneratedFile | None:
    """The facts of a changed file that is generated in the earlier state, or in the later one if it is new.

    None for any other file, and for one that is gone.

    Args:
        file: the changed file.
        changes: the change that it is part of.
        declared: the entry of the settings that its path matches.

    What ``.gitattributes`` alone calls generated counts for Python files only: elsewhere, lock files and vendored data
    are marked the same way, and they change by themselves.
    """
    if file.after is None:
        return None
    headers = generated_header(file.before) if file.before is not None else None, generated_header(file.after)
    marked = changes.marked_generated(file.path)
    if marked is False and declared is None:
        return None
    stated = headers[0] or (headers[1] if file.before is None else None)
    if stated is None and declared is None and not (marked and file.path.endswith((".py", ".pyi"))):
        return None
    return GeneratedFile(file, changes, headers, declared)


def _is_generator(path: str) -> bool:
    folders, _, name = path.rpartition("/")
    words = [*folders.split("/"), *name.partition(".")[0].split("_")]
    return not _GENERATORS.isdisjoint(words)


def _is_pin(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name in _PINS or (name.startswith(("requirements", "environment")) and name.endswith((".txt", ".yml")))


def _imported(source: str, content: bytes | None) -> Iterator[str]:
    """Paths of the modules that a Python source imports, at its top, from its own folder or one beside it.

    A generator that resolves inheritance copies from them (a model that extends another one); what lies further away
    is used at run time only.
    """
    if content is None or not source.endswith(".py"):
        return
    tree = parsed(content)
    folder = source.rpartition("/")[0]
    for node in tree.body if tree is not None else ():
        if isinstance(node, ast.ImportFrom) and node.level in (1, 2):
            base = folder if node.level == 1 else folder.rpartition("/")[0]
            parts = [*base.split("/"), *(node.module or "").split(".")]
            module = "/".join(part for part in parts if part)
            yield module + ".py"
            yield from (f"{module}/{name.name}.py" for name in node.names)
