"""Which rules are on."""

from __future__ import annotations

import pytest

from shardlint.errors import SettingsError, UsageError
from shardlint.loading import Row
from shardlint.selection import ENGINE_RULES, Choice, active_rows, engine_rules, known_names
from shardlint.session import Session
from shardlint.settings import Settings


def row(name: str, family: str, *, preview: bool = False) -> Row:
    return {"name": name, "family": family, "preview": preview}


ROWS = [row("a", "ddp"), row("b", "ddp"), row("c", "moe"), row("p", "moe", preview=True)]


def session(**settings: object) -> Session:
    made = Settings()
    for name, value in settings.items():
        setattr(made, name, value)
    return Session("/project", "/project/shardlint.toml", made, {}, ROWS, b"")


def on(choice: Choice, **settings: object) -> str:
    return "".join(row["name"] for row in active_rows(session(**settings), choice))


@pytest.mark.parametrize(
    ("choice", "names"),
    [
        (Choice(), "abc"),
        (Choice(["ALL"]), "abc"),
        (Choice(["ddp"]), "ab"),
        (Choice(["a", "moe"]), "acp"),
        (Choice([]), ""),
        (Choice(["p"]), "p"),
        (Choice(ignore=["ddp"]), "c"),
        (Choice(ignore=["ALL"]), ""),
        (Choice(extend=["p"]), "abcp"),
        (Choice(extend=["ALL"]), "abc"),
        (Choice(["ddp"], ["b"], ["c"]), "ac"),
        (Choice(["a"], ["a"]), ""),
    ],
)
def test_names_on_the_command_line(choice: Choice, names: str) -> None:
    assert on(choice) == names


def test_the_command_line_replaces_what_the_settings_select_and_adds_to_what_they_ignore() -> None:
    assert on(Choice(), select=("ddp",), ignore=("a",)) == "b"
    assert on(Choice(["c"]), select=("ddp",)) == "c"
    assert on(Choice(ignore=["b"]), ignore=("a",)) == "c"
    assert on(Choice(extend=["c"]), extend_select=("p",), select=("a",)) == "acp"


def test_the_severity_off_wins_over_every_selection() -> None:
    assert on(Choice(["a", "b"]), severity={"a": "off"}) == "b"


def test_an_unknown_name_says_where_it_stands_and_what_is_near() -> None:
    with pytest.raises(UsageError, match=r"--select: `dpd` is no rule and no family; did you mean `ddp`\?"):
        on(Choice(["dpd"]))
    with pytest.raises(SettingsError, match=r"shardlint\.toml: `severity` names `zzz`, which is no rule"):
        on(Choice(), severity={"zzz": "off"})


def test_the_engines_own_rules_stay_on_under_select_and_can_be_ignored() -> None:
    assert engine_rules(session(), Choice(["a"])) == frozenset(ENGINE_RULES)
    assert "syntax-error" not in engine_rules(session(ignore=("syntax-error",)), Choice())
    assert "syntax-error" not in engine_rules(session(severity={"syntax-error": "off"}), Choice())
    assert engine_rules(session(), Choice(ignore=["engine"])) == frozenset()


def test_known_names_are_rules_families_and_the_engines() -> None:
    assert known_names(ROWS) == {"a", "b", "c", "p", "ddp", "moe", "engine", *ENGINE_RULES}
