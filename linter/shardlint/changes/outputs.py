"""What is generated from a changed source: outputs that did not change along, and those that lost their source.

Looked for where names tell: beside the source, in `generated/` below it, and where the settings say. A generator that
an output names is no source here: it changes all the time without its output changing.
"""

from __future__ import annotations

import ast

from shardlint.changes.edit import parsed, same_code
from shardlint.changes.generated import HEAD, generated_header
from shardlint.changes.lock import LOCK, digest, locked
from shardlint.changes.patchgen import Drift, drifts_of, generated_from, is_patch_config
from shardlint.changes.sources import declared_sources
from shardlint.discover import compile_patterns, matcher

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shardlint.changes.generated_file import Declared
    from shardlint.changes.states import ChangeSet, FileChange

_TEMPLATES = (".proto", ".in", ".j2", ".jinja", ".tmpl", ".tpl", ".fbs", ".thrift", ".g4")
_MOST = 400
"""Files beside a source. A folder with more is one of data."""


class StaleOutput:
    """A generated file that stayed as it was. `line` is where it now parts from its source, or that of its header, from
    1; `drift` is the difference, None where only the change tells; `command` regenerates it, as the settings say, or
    is ""."""

    def __init__(self, path: str, line: int, drift: Drift | None = None, command: str = "") -> None:
        self.path = path
        self.line = line
        self.drift = drift
        self.command = command


def stale_outputs(file: FileChange, changes: ChangeSet, declared: Sequence[Declared]) -> list[StaleOutput]:
    """The outputs of a changed source that the change leaves behind, by path."""
    if file.before is None or file.after is None or file.status == "renamed":
        return []
    if is_patch_config(file.path):
        return list(_drifted(file.path, changes))
    if _is_modular(file.path) and same_code(file.path, _definitions(file.before), _definitions(file.after)):
        return []
    recorded = locked(changes.read_after(LOCK))
    found: list[StaleOutput] = []
    for path, line, command in _written_from(file.path, changes, declared):
        entry = recorded.get(path)
        agreed = entry is not None and entry.sources.get(file.path) == digest(file.after)
        if not agreed and not _touched(path, changes):
            found.append(StaleOutput(path, line, None, command))
    return found


def _is_modular(path: str) -> bool:
    return path.rpartition("/")[2].startswith("modular_") and path.endswith(".py")


def _definitions(content: bytes) -> str:
    """A modular file without what its output has of its own: imports and ``__all__``."""
    tree = parsed(content)
    kept = [
        node
        for node in (tree.body if tree is not None else ())
        if not isinstance(node, (ast.Import, ast.ImportFrom))
        and not (isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__")
    ]
    return "\n".join(ast.unparse(node) for node in kept)


def _drifted(config: str, changes: ChangeSet) -> Iterator[StaleOutput]:
    for path, origin in _configured(config, changes):
        content = changes.read_after(path)
        if content is not None and not _touched(path, changes):
            drift = _new_drift(path, origin, content, changes)
            if drift is not None:
                yield StaleOutput(path, drift.line, drift)


def _touched(path: str, changes: ChangeSet) -> bool:
    return any(path in (each.path, each.old_path) for each in changes.changes)


def orphans(file: FileChange, changes: ChangeSet, declared: Sequence[Declared]) -> list[tuple[str, int]]:
    """The generated files that remain although a deleted file was the last source they had: path and header's line."""
    if file.status != "deleted":
        return []
    had, has = frozenset(changes.paths_before()).__contains__, frozenset(changes.paths_after()).__contains__
    found: list[tuple[str, int]] = []
    for path, line, _ in _written_from(file.path, changes, declared):
        header = generated_header((changes.read_after(path) or b"")[:HEAD])
        if header is None or declared_sources(path, header, has):
            continue
        # Where several sources went at once, one of them speaks.
        if min(declared_sources(path, header, had)) == file.path:
            found.append((path, line))
    return found


def _written_from(source: str, changes: ChangeSet, declared: Sequence[Declared]) -> Iterator[tuple[str, int, str]]:
    """The files, of those that are there now, that are generated from `source`: path, header's line, command."""
    exists = frozenset((*changes.paths_after(), source)).__contains__
    near = [path for path in _near(source, changes.paths_after()) if path != source]
    changes.after.load(near)
    for path in near:
        header = generated_header((changes.read_after(path) or b"")[:HEAD])
        if header is not None and source in declared_sources(path, header, exists):
            yield path, header.line, ""
    for entry in declared:
        if entry[2] and matcher(tuple(compile_patterns(entry[2])))(source):
            matches = matcher(entry[1])
            yield from ((path, 1, entry[3]) for path in changes.paths_after() if matches(path) and path not in near)


def _near(source: str, present: Sequence[str]) -> list[str]:
    """Files that may be generated from a source that is called as sources are."""
    folder, slash, name = source.rpartition("/")
    here, ending = folder + slash, ""
    if is_patch_config(name):
        here += "generated/"
    elif _is_modular(name):
        ending = name.removeprefix("modular")
    elif not name.endswith(_TEMPLATES):
        return []
    near = [path for path in present if path.startswith(here) and "/" not in path[len(here) :]]
    return [path for path in near if path.endswith(ending)] if len(near) <= _MOST else []


def _configured(config: str, changes: ChangeSet) -> Iterator[tuple[str, str]]:
    """The outputs of a patch configuration and of those that take from it, each with its configuration."""
    others = [path for path in changes.paths_after() if is_patch_config(path)]
    changes.after.load(others)
    reached, waiting = {config}, [config]
    while waiting:
        current = waiting.pop()
        stem = current.rpartition("/")[2].removesuffix(".py").encode()
        users = [path for path in others if path not in reached and stem in (changes.read_after(path) or b"")]
        reached.update(users)
        waiting += users
    for path in sorted(reached):
        yield from ((output, path) for output, _ in generated_from(path, changes.read_after))


def _new_drift(path: str, config: str, content: bytes, changes: ChangeSet) -> Drift | None:
    """The first difference that was not there before the change."""
    drifts = drifts_of(path, content, (config,), changes.read_after)
    before = changes.read_before(path) if drifts else None
    old = drifts_of(path, before, (config,), changes.read_before) if before is not None else []
    known = {drift.name for drift in old}
    return next((drift for drift in drifts if drift.name not in known), None)
