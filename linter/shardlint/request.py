"""What one run is asked for, and what it found."""

from __future__ import annotations

from shardlint.selection import Choice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shardlint.analysis import Crash
    from shardlint.discover import Discovery
    from shardlint.finding import Finding


class Request:
    """What one run is asked for."""

    __slots__ = (
        "base",
        "choice",
        "edits",
        "environ",
        "jobs",
        "paths",
        "prefilter",
        "staged",
        "timings",
        "use_cache",
    )

    def __init__(
        self,
        paths: Sequence[str] = (),
        *,
        choice: Choice | None = None,
        environ: Mapping[str, str],
        edits: bool = False,
        use_cache: bool = True,
        prefilter: bool = True,
        staged: bool = False,
        base: str | None = None,
        jobs: int = 0,
        timings: bool = False,
    ) -> None:
        self.paths = paths
        self.choice = choice or Choice()
        self.environ = environ
        self.edits = edits
        self.use_cache = use_cache
        self.prefilter = prefilter
        self.staged = staged
        self.base = base
        self.jobs = jobs
        self.timings = timings


class Outcome:
    """What a run found: findings after suppression, and what could not be done.

    `contents`: what was linted in place of the file on disk, under `--staged`. `hashes`: digests of the bytes that were
    linted, when edits were asked for. `stages` and `seconds`: the time spent in each stage and, when asked for, rule.
    `parsed`: bytes that LibCST parsed, of `total_bytes` that were read.
    """

    __slots__ = (
        "configs",
        "contents",
        "crashes",
        "discovery",
        "files",
        "findings",
        "generated",
        "hashes",
        "not_judged",
        "not_recognised",
        "parsed",
        "seconds",
        "stages",
        "total_bytes",
    )

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.files = 0
        self.configs = 0
        self.not_recognised: list[str] = []
        self.not_judged: list[tuple[str, str, int, str]] = []
        self.crashes: list[Crash] = []
        self.contents: dict[str, bytes] = {}
        self.generated: set[str] = set()
        self.discovery: Discovery | None = None
        self.hashes: dict[str, bytes] = {}
        self.seconds: dict[str, float] = {}
        self.stages: list[tuple[str, float]] = []
        self.parsed = 0
        self.total_bytes = 0
