"""`check --show-settings`: the settings in force, as a TOML file that would say the same."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from shardlint.selection import Choice, active_rows
from shardlint.session import Session

if TYPE_CHECKING:
    from typing import TypeGuard


def shown_settings(session: Session, choice: Choice | None = None) -> str:
    """The root, the settings file, every setting with its value, and the rules that are on."""
    settings = session.settings
    source = os.path.relpath(session.file, session.root) if session.file else "none: these are the defaults"
    lines = [f"# project root: {session.root}", f"# settings file: {source}", ""]
    if settings.select is None:
        lines.append("# select is not given: every rule runs that is on by default")
    else:
        lines.append(_pair("select", settings.select))
    lines += [
        _pair("ignore", settings.ignore),
        _pair("extend-select", settings.extend_select),
        _pair("exclude", settings.exclude),
        _pair("include", settings.include),
        _pair("fail-on", settings.fail_on),
        _pair("min-confidence", settings.min_confidence),
        *(_pair(key, value) for key, value in _optional(session)),
        *([_pair("knowledge", settings.knowledge)] if settings.knowledge else []),
    ]
    lines += _tables(session)
    on = [row["name"] for row in active_rows(session, choice or Choice())]
    lines += ["", f"# {len(on)} of {len(session.rows)} rules are on:", *(f"#   {name}" for name in on)]
    return "\n".join(lines) + "\n"


def _optional(session: Session) -> list[tuple[str, str]]:
    pairs = (("baseline", session.settings.baseline), ("environment", session.settings.environment))
    return [(key, value) for key, value in pairs if value is not None]


def _tables(session: Session) -> list[str]:
    settings = session.settings
    lines: list[str] = []
    if settings.severity:
        lines += ["", "[severity]", *(_pair(name, value) for name, value in sorted(settings.severity.items()))]
    if settings.per_file_ignores:
        lines += ["", "[per-file-ignores]"]
        lines += [_pair(_text(pattern), names) for pattern, _, names in settings.per_file_ignores]
    if settings.collectives:
        lines += ["", "[collectives]"]
        for name, entry in settings.collectives.items():
            inside = ", ".join(f"{key} = {_value(value)}" for key, value in entry.items())
            lines.append(f"{_text(name)} = {{{inside}}}")
    for kind, entries in settings.modality.items():
        lines += ["", f"[modality.{kind}]", *(_pair(_text(name), words) for name, words in entries.items())]
    for patterns, _, sources, command in settings.generated:
        lines += _entry("generated", {"paths": patterns, "sources": sources, "command": command})
    for rule, path, _, pointer, reason in settings.suppress:
        lines += _entry("suppress", {"rule": rule, "path": path, "pointer": pointer, "reason": reason})
    if settings.world:
        lines += ["", "[world]", _pair("sizes", settings.world)]
    for target in settings.plan:
        lines += ["", "[[plan]]", *(_pair(key, value) for key, value in target.items())]
    return lines


def _entry(name: str, pairs: Mapping[str, str | tuple[str, ...]]) -> list[str]:
    return ["", f"[[{name}]]", *(_pair(key, value) for key, value in pairs.items() if value)]


def _pair(key: str, value: Any) -> str:
    return f"{key} = {_value(value)}"


def _value(value: Any) -> str:
    """A value of a settings file, as TOML writes it."""
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return repr(value)
    if _is_table(value):
        return f"{{{', '.join(f'{_key(key)} = {_value(item)}' for key, item in value.items())}}}"
    return f"[{', '.join(_value(item) for item in value)}]"


def _is_table(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _text(key)


def _text(text: str) -> str:
    """A TOML string; what JSON escapes, TOML escapes alike, except DEL, which TOML forbids."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
