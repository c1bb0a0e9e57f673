"""A finding: what a rule says about one place, independent of how it is printed.

Start-up reads findings from the cache and prints them, so this module imports nothing that costs time
(``dataclasses`` and ``typing`` would each cost more than a warm run may).
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    Severity = Literal["error", "warning", "note"]
    EvidenceKind = Literal["observation", "research", "inference"]

SEVERITIES = ("note", "warning", "error")
"""Severities from the mildest to the gravest."""


class _Frozen:
    """A value object: set once in ``__init__``, compared by its fields."""

    __slots__: tuple[str, ...] = ()

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen: `{name}` cannot be set")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen: `{name}` cannot be deleted")

    def fields(self) -> tuple[object, ...]:
        """The values of all fields, in the order of ``__slots__``."""
        return tuple(getattr(self, name) for name in self.__slots__)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self.fields() == other.fields()

    def __hash__(self) -> int:
        return hash(self.fields())

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__)
        return f"{type(self).__name__}({inside})"


class Span(_Frozen):
    """A range in a file: lines and columns count from 1, columns in characters, the end column is exclusive."""

    __slots__ = ("column", "end_column", "end_line", "line")
    line: int
    column: int
    end_line: int
    end_column: int

    def __init__(self, line: int, column: int, end_line: int, end_column: int) -> None:
        put = object.__setattr__
        put(self, "line", line)
        put(self, "column", column)
        put(self, "end_line", end_line)
        put(self, "end_column", end_column)


class Related(_Frozen):
    """Another place that explains a finding: a guard, a call on the way, the cause in another file."""

    __slots__ = ("column", "line", "message", "path")
    path: str
    line: int
    column: int
    message: str

    def __init__(self, path: str, line: int, column: int, message: str) -> None:
        put = object.__setattr__
        put(self, "path", path)
        put(self, "line", line)
        put(self, "column", column)
        put(self, "message", message)


class TextEdit(_Frozen):
    """Replace the text of a span by `text`."""

    __slots__ = ("span", "text")
    span: Span
    text: str

    def __init__(self, span: Span, text: str) -> None:
        put = object.__setattr__
        put(self, "span", span)
        put(self, "text", text)


class Fix(_Frozen):
    """Edits of one file: of `path`, or of the finding's own where that is None.

    `edits` is None while they have not been asked for (they need a syntax tree).
    """

    __slots__ = ("edits", "path", "reason", "safe")
    safe: bool
    reason: str
    edits: tuple[TextEdit, ...] | None
    path: str | None

    def __init__(
        self, safe: bool, reason: str = "", edits: tuple[TextEdit, ...] | None = None, path: str | None = None
    ) -> None:
        put = object.__setattr__
        put(self, "safe", safe)
        put(self, "reason", reason)
        put(self, "edits", edits)
        put(self, "path", path)


class Evidence(_Frozen):
    """What the mechanism of a rule rests on, with references."""

    __slots__ = ("kind", "references")
    kind: EvidenceKind
    references: tuple[str, ...]

    def __init__(self, kind: EvidenceKind, references: tuple[str, ...] = ()) -> None:
        put = object.__setattr__
        put(self, "kind", kind)
        put(self, "references", references)


class Finding(_Frozen):
    """One finding. `path` is relative to the project root with `/`; `key` is the config key path, if any.

    `fingerprint` names the finding across edits: rule, scope and text of the line, never its number.
    """

    __slots__ = (
        "confidence",
        "evidence",
        "family",
        "fingerprint",
        "fix",
        "help",
        "help_url",
        "key",
        "message",
        "path",
        "related",
        "rule",
        "severity",
        "span",
    )
    path: str
    span: Span
    rule: str
    family: str
    severity: Severity
    confidence: float
    evidence: Evidence
    message: str
    help: str
    key: str | None
    related: tuple[Related, ...]
    fix: Fix | None
    help_url: str
    fingerprint: str

    def __init__(
        self,
        *,
        path: str,
        span: Span,
        rule: str,
        family: str,
        severity: Severity,
        confidence: float,
        evidence: Evidence,
        message: str,
        help: str = "",
        key: str | None = None,
        related: tuple[Related, ...] = (),
        fix: Fix | None = None,
        help_url: str = "",
        fingerprint: str = "",
    ) -> None:
        put = object.__setattr__
        put(self, "path", path)
        put(self, "span", span)
        put(self, "rule", rule)
        put(self, "family", family)
        put(self, "severity", severity)
        put(self, "confidence", confidence)
        put(self, "evidence", evidence)
        put(self, "message", message)
        put(self, "help", help)
        put(self, "key", key)
        put(self, "related", related)
        put(self, "fix", fix)
        put(self, "help_url", help_url)
        put(self, "fingerprint", fingerprint)

    def replace(self, **changes: Any) -> Finding:
        """A copy with some fields changed."""
        values: dict[str, Any] = {name: getattr(self, name) for name in self.__slots__}
        values.update(changes)
        return Finding(**values)

    def sort_key(self) -> tuple[str, int, int, str, str]:
        """Findings are sorted by place, then by rule."""
        return (self.path, self.span.line, self.span.column, self.rule, self.message)

    def __lt__(self, other: Finding) -> bool:
        return self.sort_key() < other.sort_key()


def pack(finding: Finding) -> tuple[Any, ...]:
    """A finding as nested tuples of plain values, for the cache."""
    span, fix = finding.span, finding.fix
    packed_fix = None
    if fix is not None:
        edits = None
        if fix.edits is not None:
            edits = tuple((_pack_span(edit.span), edit.text) for edit in fix.edits)
        packed_fix = (fix.safe, fix.reason, edits, fix.path)
    return (
        finding.path,
        _pack_span(span),
        finding.rule,
        finding.family,
        finding.severity,
        finding.confidence,
        (finding.evidence.kind, finding.evidence.references),
        finding.message,
        finding.help,
        finding.key,
        tuple((at.path, at.line, at.column, at.message) for at in finding.related),
        packed_fix,
        finding.help_url,
        finding.fingerprint,
    )


def unpack(packed: tuple[Any, ...]) -> Finding:
    """The finding that `pack` packed."""
    path, span, rule, family, severity, confidence, evidence, message, help, key, related, fix, url, print_ = packed
    unpacked_fix = None
    if fix is not None:
        safe, reason, edits, in_path = fix
        if edits is not None:
            edits = tuple(TextEdit(Span(*where), text) for where, text in edits)
        unpacked_fix = Fix(safe, reason, edits, in_path)
    return Finding(
        path=path,
        span=Span(*span),
        rule=rule,
        family=family,
        severity=severity,
        confidence=confidence,
        evidence=Evidence(*evidence),
        message=message,
        help=help,
        key=key,
        related=tuple(Related(*at) for at in related),
        fix=unpacked_fix,
        help_url=url,
        fingerprint=print_,
    )


def _pack_span(span: Span) -> tuple[int, int, int, int]:
    return (span.line, span.column, span.end_line, span.end_column)


def any_at_least(findings: list[Finding], severity: str) -> bool:
    """Whether one of the findings is as grave as `severity`, or graver."""
    least = SEVERITIES.index(severity)
    return any(SEVERITIES.index(finding.severity) >= least for finding in findings)
