"""All generated files of a project whose sources it has, and whether they still belong together."""

from __future__ import annotations

from shardlint.changes.generated import HEAD, generated_header
from shardlint.changes.lock import Locked, digest
from shardlint.changes.patchgen import drifts_of, is_patch_config
from shardlint.changes.sources import declared_sources
from shardlint.discover import compile_patterns, matcher

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from shardlint.changes.generated_file import Declared

    Read = Callable[[str], bytes | None]


class Written:
    """A generated file with its sources, sorted. `drifts` are the places where it parts from them: line and words;
    `entry` is what is to be recorded of it."""

    def __init__(self, path: str, sources: tuple[str, ...], drifts: tuple[tuple[int, str], ...], entry: Locked) -> None:
        self.path = path
        self.sources = sources
        self.drifts = drifts
        self.entry = entry


def inventory(
    paths: Sequence[str], read: Read, declared: Sequence[Declared], recorded: Mapping[str, Locked]
) -> Iterator[Written]:
    """The generated files among `paths` that have a source among them.

    Args:
        paths: all files of the project, relative to its root.
        read: the content of a file, None if it cannot be read.
        declared: the `generated` settings.
        recorded: what was recorded of them before.
    """
    exists = frozenset(paths).__contains__
    for path in paths:
        content = read(path)
        if content is None:
            continue
        header = generated_header(content[:HEAD])
        found = set(declared_sources(path, header, exists)) if header is not None else set[str]()
        for entry in declared:
            if matcher(entry[1])(path):
                named = matcher(tuple(compile_patterns(entry[2])))
                found.update(source for source in paths if named(source) and source != path)
        if found:
            yield _written(path, content, tuple(sorted(found)), read, recorded.get(path))


def _written(path: str, content: bytes, sources: tuple[str, ...], read: Read, old: Locked | None) -> Written:
    digests = {source: digest(data) for source in sources if (data := read(source)) is not None}
    entry = Locked(digest(content), digests)
    if old is not None and old.output == entry.output and (old.accepted or old.sources == digests):
        entry.accepted = old.accepted
    if entry.accepted:
        return Written(path, sources, (), entry)
    configs = [source for source in sources if is_patch_config(source)]
    drifts = [
        (drift.line, f"`{drift.name}` {drift.words} ({drift.source}:{drift.source_line})")
        for drift in drifts_of(path, content, configs, read)
    ]
    # What was accepted and is now as the configuration asks has come back to it.
    back = old is not None and bool(old.accepted and configs)
    if not drifts and not back and old is not None and old.output != entry.output and old.sources == digests:
        drifts.append((1, f"it is another than recorded, and its sources are as recorded: {', '.join(sources)}"))
    return Written(path, sources, tuple(drifts), entry)
