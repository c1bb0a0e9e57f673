"""What is kept between runs: one file a project for results, one for facts, one a folder for the session table.

They lie in the user's cache folder, private to the user, never in the linted tree. Each file starts with a magic word
and a digest of its content; anything that does not match (another version, a torn write, another user's file) reads as
absent, and the run is a cold one.
"""

from __future__ import annotations

import marshal
import os
import sys
import time

from shardlint import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, TypeGuard

MAGIC = b"shardlint-cache-1\n"
_DIGEST = 16
RACE = 2_000_000_000
"""Nanoseconds. What was written so shortly before it was read could change again under the same time stamp."""


def digest(data: bytes) -> bytes:
    """A 16 byte digest. The C module itself is used: hashlib costs a third of a warm run."""
    try:
        from _blake2 import blake2b
    except ImportError:
        from hashlib import blake2b
    return blake2b(data, digest_size=_DIGEST).digest()


def folder(environ: Mapping[str, str]) -> str:
    """The cache folder of this version: SHARDLINT_CACHE_DIR, XDG_CACHE_HOME or the platform's own place."""
    base = environ.get("SHARDLINT_CACHE_DIR")
    if not base:
        home = os.path.expanduser("~")
        default = os.path.join(home, "Library", "Caches") if sys.platform == "darwin" else os.path.join(home, ".cache")
        given = environ.get("XDG_CACHE_HOME", "")
        # Its specification says that a relative path is to be ignored; it would also lie in the linted tree.
        base = os.path.join(given if os.path.isabs(given) else default, "shardlint")
        if not os.path.isabs(base):
            return os.devnull  # a user without a home folder has no cache: below this no file can be made
    tag = f"{__version__}-{sys.implementation.cache_tag}"
    return os.path.join(base, tag)


def path(environ: Mapping[str, str], kind: str, key: str) -> str:
    """Where a kind of record for one folder lies; `key` is the absolute path of the folder."""
    return os.path.join(folder(environ), f"{digest(key.encode('utf-8', 'surrogateescape')).hex()}.{kind}")


def load(file: str) -> dict[str, Any] | None:
    """The table that `save` wrote, or None when there is none that can be trusted."""
    try:
        handle = os.open(file, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
    except OSError:
        return None
    try:
        status = os.fstat(handle)
        if hasattr(os, "getuid") and status.st_uid != os.getuid():
            return None
        data = b""
        while True:
            part = os.read(handle, max(status.st_size - len(data), 65536))
            if not part:
                break
            data += part
    except OSError:
        return None
    finally:
        os.close(handle)
    start = len(MAGIC) + _DIGEST
    if not data.startswith(MAGIC) or digest(data[start:]) != data[len(MAGIC) : start]:
        return None
    try:
        value = marshal.loads(data[start:])
    except (ValueError, EOFError, TypeError):
        return None
    return value if _is_table(value) else None


def _is_table(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def save(file: str, value: dict[str, Any]) -> None:
    """Write a table of plain values whole or not at all. A cache that cannot be written is no failure of the run."""
    try:
        content = marshal.dumps(value)
    except ValueError:
        return  # the facts of some file are nested more deeply than marshal goes: every run works them out
    temporary = f"{file}.{os.getpid()}.{time.monotonic_ns()}"
    try:
        os.makedirs(os.path.dirname(file), mode=0o700, exist_ok=True)
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError:
        return
    try:
        with open(handle, "wb") as opened:
            opened.write(MAGIC + digest(content) + content)
        os.replace(temporary, file)
    except OSError:
        os.unlink(temporary)
