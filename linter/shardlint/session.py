"""What a run needs before it looks at a file: settings and rules, in one table kept between runs.

The table is keyed by what it was read from: every settings file that was looked at, present or absent, the folders in
which an installed pack would show, and the files of the packs. Only a miss imports tomllib, jsonschema,
importlib.metadata or a rule.
"""

from __future__ import annotations

import marshal
import os
import sys
import time

from shardlint import cache
from shardlint.settings import Settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from shardlint.loading import Row

    Stamp = tuple[int, int] | None


_PLAIN = 2
"""The last format of marshal that writes equal values as equal bytes; later ones also write which values are shared."""


class Session:
    """Settings, the root of the project, the versions that it uses (plain, for `Environment.from_plain`) and a row for
    each rule. `digest` changes when any of it does."""

    __slots__ = ("digest", "environment", "file", "root", "rows", "settings")

    def __init__(
        self,
        root: str,
        file: str | None,
        settings: Settings,
        environment: dict[str, Any],
        rows: list[Row],
        digest: bytes,
    ) -> None:
        self.root = root
        self.file = file
        self.settings = settings
        self.environment = environment
        self.rows = rows
        self.digest = digest


def _open(session: dict[str, Any], digest: bytes) -> Session:
    settings = Settings.from_plain(session["settings"])
    return Session(session["root"], session["file"], settings, session["environment"], session["rows"], digest)


def open_session(directory: str, environ: Mapping[str, str]) -> Session:
    """The session of a working directory, from the table or made anew.

    Raises SettingsError for wrong settings, PackError for a broken pack and ConstraintError for a wrong constraint.
    """
    where = cache.path(environ, "session", directory)
    stored = cache.load(where)
    if stored is not None and _fresh(stored, environ):
        return _open(stored["session"], stored["digest"])
    return _make(directory, where, environ)


def _outside(environ: Mapping[str, str]) -> tuple[list[str], str | None, str | None]:
    """What the table depends on besides files."""
    return list(sys.path), environ.get("VIRTUAL_ENV"), environ.get("CONDA_PREFIX")


def _fresh(stored: Any, environ: Mapping[str, str]) -> bool:
    try:
        stamps: list[tuple[str, Stamp]] = stored["stamps"]
        return bool(stored["outside"] == _outside(environ)) and all(_stamp(path) == known for path, known in stamps)
    except (KeyError, TypeError, ValueError):
        return False


def _stamp(path: str) -> Stamp:
    try:
        status = os.stat(path)
    except OSError:
        return None
    # Every commit touches the folder `.git`; that there is one is all that counts.
    return (0, 0) if path.endswith("/.git") else (status.st_mtime_ns, status.st_size)


def _make(directory: str, where: str, environ: Mapping[str, str]) -> Session:
    from shardlint.environment import Environment, consulted
    from shardlint.registry import load_rows, search_path, sources
    from shardlint.settings import find_settings, load_settings

    settled = time.time_ns() - cache.RACE
    located = find_settings(directory)
    settings = load_settings(located)
    rows, folders = load_rows()
    code = sources([*folders, os.path.dirname(__file__)])
    root = located.root
    written = [*located.consulted, *_take_constraints(root, rows, settings)]
    session: dict[str, Any] = {
        "root": root,
        "file": located.file,
        "settings": settings.as_plain(),
        "environment": Environment.of(root, environ, settings.environment).as_plain(),
        "rows": rows,
    }
    digest = cache.digest(marshal.dumps((session, _contents(code)), _PLAIN))
    watched = [*written, *consulted(root, environ, settings.environment), *search_path(), *code]
    stamps = [(path, _stamp(path)) for path in dict.fromkeys(watched)]
    fresh = (_stamp(path) for path in written)
    if not any(stamp is not None and stamp[0] > settled for stamp in fresh):
        cache.save(where, {"outside": _outside(environ), "stamps": stamps, "session": session, "digest": digest})
    return _open(session, digest)


def _take_constraints(root: str, rows: list[Row], settings: Settings) -> tuple[str, ...]:
    """Add what the project's constraints say to rows and settings; the paths that were looked at.

    Raises ConstraintError for a constraint that cannot be taken.
    """
    from shardlint.knowledge.places import constraint_places

    places = constraint_places(root, settings.knowledge)
    if not settings.knowledge and not any(os.path.exists(place) for place in places):
        return tuple(places)
    from shardlint.knowledge.files import read_knowledge
    from shardlint.knowledge.rows import add_constraints

    knowledge = read_knowledge(root, settings.knowledge)
    problems = knowledge.problems + add_constraints(knowledge.constraints, rows, settings)
    if problems:
        from shardlint.errors import ConstraintError

        raise ConstraintError("\n".join(map(str, problems)))
    return knowledge.watched


def _contents(paths: Iterable[str]) -> list[bytes]:
    """Results are valid for one state of the code that made them, so the code itself is part of the digest."""
    found: list[bytes] = []
    for path in paths:
        if os.path.isfile(path):
            with open(path, "rb") as file:
                found.append(cache.digest(file.read()))
    return found
