"""The first look at a file: a record for what no rule can fire in, a suspect for what must be parsed.

Most files of most commits end here, so this imports no fact, no rule and no parser.
"""

from __future__ import annotations

from shardlint.changes.generated import generated_header
from shardlint.discover import matcher
from shardlint.prefilter import Words, passes
from shardlint.record import Record
from shardlint.source import content_hash

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from shardlint.environment import Environment
    from shardlint.loading import Row


_WIDE = (b"\xff\xfe", b"\xfe\xff")
"""How a document in UTF-16 begins, which YAML allows."""


class Suspect:
    """A file that some rule can fire in: `rows` are the local or config rules that can, `program` the program rules."""

    __slots__ = ("claimed", "content", "data", "kind", "path", "program", "rows", "stamp")

    def __init__(
        self,
        path: str,
        kind: str,
        stamp: tuple[int, int, int],
        content: bytes,
        data: bytes,
        rows: tuple[Row, ...],
        program: tuple[Row, ...],
        *,
        claimed: bool = True,
    ) -> None:
        self.path = path
        self.kind = kind
        self.stamp = stamp
        self.content = content
        self.data = data
        self.rows = rows
        self.program = program
        self.claimed = claimed


class Sieve:
    """Sifts files with the needs of a set of rules. Tests turn `prefilter` off.

    `environment` makes the facts about versions when a rule's query asks for them.
    """

    __slots__ = ("_config", "_environment", "_local", "_prefilter", "_program")

    def __init__(
        self, rows: list[Row], environment: Callable[[], Environment] | None = None, *, prefilter: bool = True
    ) -> None:
        self._local = [row for row in rows if row["kind"] == "local"]
        self._program = [row for row in rows if row["kind"] == "program"]
        self._config = [row for row in rows if row["kind"] == "config"]
        self._environment = environment
        self._prefilter = prefilter

    def sift(self, path: str, kind: str, stamp: tuple[int, int, int], data: bytes) -> Record | Suspect:
        """The record of a file that no rule can fire in, or the file as a suspect that must be looked at."""
        content = content_hash(data)
        text = _narrow(data) if kind == "yaml" and data.startswith(_WIDE) else data
        marked = b"shardlint:" in text
        words = Words(text, self._environment, path)
        if kind == "python":
            if generated_header(data) is not None:
                return Record(stamp, content, suppressions=_suppressions(data) if marked else (), generated=True)
            local, program = self._possible(self._local, words, path), self._possible(self._program, words, path)
            if not local and not program and not marked:
                return Record(stamp, content)
            return Suspect(path, kind, stamp, content, data, local, program)
        readers = [row for row in self._config if kind in row["documents"]]
        wanted = self._possible(readers, words, path)
        # A rule that asks for known keys says nothing of a document without them.
        claimed = bool(wanted) or any(row["all_documents"] for row in readers)
        if not wanted and not marked:
            return Record(stamp, content, claimed=claimed)
        return Suspect(path, kind, stamp, content, data, wanted, (), claimed=claimed)

    def _possible(self, rows: list[Row], words: Words, path: str) -> tuple[Row, ...]:
        possible = [row for row in rows if passes(row["needs"], words)] if self._prefilter else rows
        return tuple([row for row in possible if row["where"] is None or holds_in(row, path)])


def holds_in(row: Row, path: str) -> bool:
    """Whether a constraint speaks of a file; a rule of a pack speaks of all."""
    if row["where"] is None:
        return True
    inside, outside = row["where"]
    return (not inside or matcher(inside)(path)) and not matcher(outside)(path)


def _narrow(data: bytes) -> bytes:
    """A document in UTF-16 as UTF-8, in which words are looked for."""
    return data.decode("utf-16", "replace").encode()


def _suppressions(data: bytes) -> tuple[object, ...]:
    from shardlint.suppress import read_suppressions

    return read_suppressions("python", data.decode("utf-8", "replace")).pack()
