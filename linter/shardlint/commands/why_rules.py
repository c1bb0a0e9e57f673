"""Which rules can fire in a file, and what keeps the others from looking at it."""

from __future__ import annotations

from shardlint.environment import Environment
from shardlint.prefilter import Words, passes
from shardlint.session import Session
from shardlint.sieve import holds_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from shardlint.loading import Row

_OTHERS = {
    "config": "judge documents, not Python files",
    "change": "judge changed files: the index against HEAD, or what `--base` names",
    "plan": "judge parallel plans against facts of a model, in `shardlint plan`",
}
_NAMED = 3
"""How many words of a choice are named before the rest is counted."""


def rule_lines(session: Session, active: list[Row], data: bytes, path: str) -> list[str]:
    """A sentence for each rule of Python files, those that can fire first, then one for each other kind."""
    words = Words(data, lambda: Environment.from_plain(session.environment), path)
    on = {row["name"] for row in active}
    can: list[str] = []
    cannot: list[str] = []
    others: dict[str, int] = {}
    for row in session.rows:
        name: str = row["name"]
        if row["kind"] in _OTHERS:
            others[row["kind"]] = others.get(row["kind"], 0) + 1
        elif name not in on:
            cannot.append(f"{name} is off: {_off(session, row)}")
        elif not holds_in(row, path):
            cannot.append(f"{name} does not hold in this file: its `paths` or `exclude` leave it out")
        elif passes(row["needs"], words):
            can.append(f"{name} looks at this file")
        else:
            cannot.append(f"{name} passes over this file: it does not spell {missing(row['needs'], words)}")
    rest = [f"{kind} rules ({count}) {_OTHERS[kind]}" for kind, count in others.items()]
    return [*can, *cannot, *rest]


def _off(session: Session, row: Row) -> str:
    settings = session.settings
    if settings.severity.get(row["name"]) == "off":
        return "the settings give it the severity `off`"
    if row["name"] in settings.ignore or row["family"] in settings.ignore:
        return "the settings ignore it"
    return "it is a preview, select it by name" if row["preview"] else "it is not selected, or ignored"


def missing(needs: tuple[Any, ...], words: Words) -> str:
    """What a file lacks for a query to match in it: of several ways, the one that it comes nearest to."""
    kind = needs[0]
    if kind in ("word", "text"):
        return f"`{needs[1]}`"
    if kind == "pinned":
        return f"`{needs[1]}` below {'.'.join(str(part) for part in needs[2])}"
    if kind in ("reach", "own", "imports"):
        return f"a use of `{needs[1]}`"
    if kind == "patch":
        return "an assignment to an attribute of an installed package"
    if kind == "all":
        return next(missing(part, words) for part in needs[1:] if not passes(part, words))
    if kind == "any":
        if all(part[0] in ("word", "text") for part in needs[1:]):
            choices = list(dict.fromkeys(missing(part, words) for part in needs[1:]))
            named = " or ".join(choices[:_NAMED])
            return f"{named} or {len(choices) - _NAMED} others" if len(choices) > _NAMED else named
        return min((_lacks(part, words), missing(part, words)) for part in needs[1:])[1]
    return "a rank test"


def _lacks(needs: tuple[Any, ...], words: Words) -> int:
    """How many parts of a choice the file lacks: the choice that it comes nearest to says most."""
    if needs[0] == "all":
        return sum(_lacks(part, words) for part in needs[1:] if not passes(part, words))
    if needs[0] == "any":
        return min(_lacks(part, words) for part in needs[1:])
    return 1
