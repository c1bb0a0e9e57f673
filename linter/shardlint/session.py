"""What a run needs before it looks at a file: settings and rules, in one table kept between runs.

The table is keyed by what it was read from: every settings file that was looked at, present or absent, the folders in
which an installed pack would show, and the files of the packs. Only a miss imports tomllib, jsonschema,
importlib.metadata or a rule.
"""

from __future__ import annotations

import marshal
import os
import sys

from shardlint import cache
from shardlint.settings import Settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    Row = dict[str, Any]
    Stamp = tuple[int, int] | None


class Session:
    """Settings, the root of the project, and a row for each rule. `digest` changes when any of it does."""

    __slots__ = ("digest", "file", "root", "rows", "settings")

    def __init__(self, root: str, file: str | None, settings: Settings, rows: list[Row], digest: bytes) -> None:
        self.root = root
        self.file = file
        self.settings = settings
        self.rows = rows
        self.digest = digest


def open_session(directory: str, environ: Mapping[str, str]) -> Session:
    """The session of a working directory, from the table or made anew.

    Raises SettingsError for wrong settings and PackError for a broken pack.
    """
    where = cache.path(environ, "session", directory)
    stored = cache.load(where)
    if stored is not None and _fresh(stored):
        session = stored["session"]
        settings = Settings.from_plain(session["settings"])
        return Session(session["root"], session["file"], settings, session["rows"], stored["digest"])
    return _make(directory, where)


def _fresh(stored: Any) -> bool:
    try:
        stamps: list[tuple[str, Stamp]] = stored["stamps"]
        return bool(stored["path"] == sys.path) and all(_stamp(path) == known for path, known in stamps)
    except (KeyError, TypeError, ValueError):
        return False


def _stamp(path: str) -> Stamp:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return (status.st_mtime_ns, status.st_size)


def _make(directory: str, where: str) -> Session:
    from shardlint.registry import load_rows, search_path, sources
    from shardlint.settings import find_settings, load_settings

    located = find_settings(directory)
    settings = load_settings(located)
    rows, folders = load_rows()
    watched = [*located.consulted, *search_path(), *sources([*folders, os.path.dirname(__file__)])]
    session = {"root": located.root, "file": located.file, "settings": settings.as_plain(), "rows": rows}
    digest = cache.digest(marshal.dumps((session, _contents(sources([*folders, os.path.dirname(__file__)])))))
    stamps = [(path, _stamp(path)) for path in watched]
    cache.save(where, {"path": list(sys.path), "stamps": stamps, "session": session, "digest": digest})
    return Session(located.root, located.file, settings, rows, digest)


def _contents(paths: Iterable[str]) -> list[bytes]:
    """Results are valid for one state of the code that made them, so the code itself is part of the digest."""
    found: list[bytes] = []
    for path in paths:
        if os.path.isfile(path):
            with open(path, "rb") as file:
                found.append(cache.digest(file.read()))
    return found
