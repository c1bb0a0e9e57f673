"""Which rules are on: names and families from the settings and the command line."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from shardlint.loading import Row
    from shardlint.session import Session

ENGINE_RULES = ("syntax-error", "broken-document", "unused-suppression", "unknown-suppression", "not-checked")
"""The engine's own findings, family `engine`."""

UNREAD = frozenset(("syntax-error", "broken-document"))
"""Those of a file that no rule could look at."""

ALL = "ALL"


class Choice:
    """The names given on the command line; None where an option was not given."""

    __slots__ = ("extend", "ignore", "select")

    def __init__(
        self, select: Sequence[str] | None = None, ignore: Sequence[str] = (), extend: Sequence[str] = ()
    ) -> None:
        self.select = select
        self.ignore = ignore
        self.extend = extend


def known_names(rows: Iterable[Row]) -> frozenset[str]:
    """Every name of a rule or a family, the engine's included."""
    names = {"engine", *ENGINE_RULES}
    for row in rows:
        names.add(row["name"])
        names.add(row["family"])
    return frozenset(names)


def active_rows(session: Session, choice: Choice) -> list[Row]:
    """The rules that run, sorted by name.

    Raises SettingsError or UsageError for a name that is no rule and no family.
    """
    settings = session.settings
    known = known_names(session.rows)
    for option, names in (
        ("--select", choice.select or ()),
        ("--ignore", choice.ignore),
        ("--extend-select", choice.extend),
    ):
        _check(names, known, option, None)
    for key, given in (
        ("select", settings.select or ()),
        ("ignore", settings.ignore),
        ("extend-select", settings.extend_select),
    ):
        _check(given, known, key, session.file)
    _check(settings.severity, known, "severity", session.file)
    select = choice.select if choice.select is not None else settings.select
    extend = (*settings.extend_select, *choice.extend)
    ignore = (*settings.ignore, *choice.ignore)
    active: list[Row] = []
    for row in session.rows:
        if settings.severity.get(row["name"]) == "off" or _among(row, ignore, by_all=True):
            continue
        usual = not row["preview"]
        on = usual if select is None else _among(row, select, by_all=usual)
        if on or _among(row, extend, by_all=usual):
            active.append(row)
    return active


def engine_rules(session: Session, choice: Choice) -> frozenset[str]:
    """Which of the engine's own findings are on; they stay on under `--select`, since they speak of the run itself."""
    off = {*session.settings.ignore, *choice.ignore}
    off |= {name for name, severity in session.settings.severity.items() if severity == "off"}
    return frozenset() if "engine" in off else frozenset(name for name in ENGINE_RULES if name not in off)


def _among(row: Row, names: Iterable[str], *, by_all: bool) -> bool:
    return any(name == row["name"] or name == row["family"] or (by_all and name == ALL) for name in names)


def _check(names: Iterable[str], known: frozenset[str], option: str, file: str | None) -> None:
    for name in names:
        if name not in known and name != ALL:
            from difflib import get_close_matches

            from shardlint.errors import SettingsError, UsageError

            close = get_close_matches(name, sorted(known), 1)
            hint = f"did you mean `{close[0]}`?" if close else "`shardlint rules` lists the names"
            if file is None:
                raise UsageError(f"{option}: `{name}` is no rule and no family; {hint}")
            raise SettingsError(f"{file}: `{option}` names `{name}`, which is no rule and no family; {hint}")
