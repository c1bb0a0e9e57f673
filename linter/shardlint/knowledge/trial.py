"""One evaluation of a check against one file: where values come from, what was read, what it may cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple, Protocol

from shardlint.environment import normalised
from shardlint.knowledge.unknown import ABSENT, UNKNOWN, Truth, Uncomputable
from shardlint.knowledge.version_range import VersionRange

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal

    from shardlint.configs.document import Path
    from shardlint.environment import Environment
    from shardlint.finding import Span
    from shardlint.knowledge.key_path import KeyPattern

    ReadKind = Literal["key", "exists", "default", "world", "version", "env"]

MAX_STEPS = 200_000
"""Values in lists that a check may look at in one file, all together; a search of a text counts as many."""


class Source(Protocol):
    """The file, or the plain mapping, whose keys are read."""

    def look(self, path: Path) -> object:
        """The value of a key, `UNKNOWN` or `ABSENT`."""
        ...

    def has(self, path: Path) -> Truth:
        """Whether a key is written, whatever its value."""
        ...

    def matching(self, pattern: KeyPattern) -> Sequence[Path]:
        """The keys that are written and fit a pattern, in the order of the file."""
        ...

    def hiding(self, pattern: KeyPattern) -> Path | None:
        """A key below which a run may have more keys that fit a pattern than are written; None without one."""
        ...

    def why(self, path: Path) -> str:
        """Why a key is `UNKNOWN` or `ABSENT`, as the end of a sentence."""
        ...

    def span(self, path: Path) -> Span:
        """Where the key is written, or the nearest key above it."""
        ...


class Read(NamedTuple):
    """Something that an expression asked for: a key by its path, or a fact by its name."""

    kind: ReadKind
    name: str
    path: Path = ()


class Budget:
    """What may still be looked at in one file."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = MAX_STEPS

    def spend(self, steps: int) -> None:
        """Count work. Raises Uncomputable when it is too much."""
        self.left -= steps
        if self.left < 0:
            raise Uncomputable(f"it would look at more than {MAX_STEPS:,} values")


class Trial:
    """What closures are called with.

    Attributes:
        source: the keys of the file.
        reads: what was read and decides the answer so far.
        lets: the values under `let`, with what was read for them.
        item: the value of the variable of a comprehension, or of the key that a clause is about.
        spend: counts work, and raises Uncomputable when it is too much.
        problem: why an expression could not be computed; empty if all could.
    """

    __slots__ = (
        "_defaults",
        "_environ",
        "_environment",
        "item",
        "lets",
        "problem",
        "reads",
        "source",
        "spend",
        "world",
    )

    def __init__(
        self,
        source: Source,
        *,
        world: int | None = None,
        environment: Environment | None = None,
        environ: Mapping[str, str | None] | None = None,
        defaults: Mapping[str, object] | None = None,
        budget: Budget | None = None,
    ) -> None:
        self.source = source
        self.world = world
        self.reads: list[Read] = []
        self.lets: dict[tuple[str, bool], tuple[object, tuple[Read, ...]]] = {}
        self.item: object = UNKNOWN
        self.problem = ""
        self.spend = (Budget() if budget is None else budget).spend
        self._environment = environment
        self._environ = environ
        self._defaults: Mapping[str, object] = {} if defaults is None else defaults

    def key(self, read: Read) -> object:
        """The value of a key, or its default by the contract. Raises nothing."""
        value = self.source.look(read.path)
        return self._defaults.get(read.name, UNKNOWN) if value is ABSENT else value

    def key_or(self, read: Read, default: object) -> object:
        """The value of a key, its default by the contract, or `default`."""
        value = self.source.look(read.path)
        return self._defaults.get(read.name, default) if value is ABSENT else value

    def exists(self, read: Read) -> Truth:
        """Whether the key is written."""
        return self.source.has(read.path)

    def version(self, package: str) -> object:
        """The versions of a package that the project may run with."""
        if self._environment is None:
            return UNKNOWN
        version = self._environment.versions.get(package) or self._environment.versions.get(normalised(package))
        return UNKNOWN if version is None or not version.release else VersionRange.of(version)

    def variable(self, name: str) -> object:
        """An environment variable of the job: None if it is surely not set."""
        return UNKNOWN if self._environ is None else self._environ.get(name, UNKNOWN)
