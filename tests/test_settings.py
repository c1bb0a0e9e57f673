"""Where settings are found, what they may say, and how a mistake in them is told."""

from __future__ import annotations

import marshal
import re
from pathlib import Path

import pytest

from shardlint.errors import SettingsError
from shardlint.settings import Settings, find_settings, load_settings, parse_toml, schema

FULL = """\
knowledge = ["docs/rules.md"]
select = ["ALL"]
ignore = ["moe"]
extend-select = ["some-rule"]
exclude = ["old/"]
extend-exclude = ["*.bak.py"]
include = ["*.py"]
fail-on = "error"
min-confidence = 0.7
baseline = "ci/known.json"
environment = "../env"
generated = ["gen/*.py", {paths = ["out/**"], sources = ["in/*.toml"], command = "make gen"}]

[severity]
some-rule = "off"

[per-file-ignores]
"tests/**" = ["data", "some-rule"]

[[suppress]]
rule = "config-unknown-key"
path = "conf/*.json"
pointer = "/a/b"
reason = "read by another tool"

[collectives]
"mylib.comm.gather" = {group = 1}
"mylib.comm.sync" = {group = "pg"}
"mylib.comm.wait" = {}

[[plan]]
name = "moe"
model = {factory = "train.model:build", kwargs = {layers = 2}}
plan = "veomni"
mesh = {ep = 8, ep_fsdp = 4}
world = 32
fsdp = {wrap = ["Block"], dim = {experts = 1}, ignore = ["*.experts"]}
wrappers = ["base_model.model."]
expect = {uncovered-ok = ["*.gate.weight"]}
budget-gib = 80
python = ".venv/bin/python"

[modality.models]
OurOmni = "text image audio"

[modality.collators]
"ourlib.Collator" = "latents"

[world]
sizes = [8, 64]
"""


def own(folder: Path, text: str) -> Path:
    file = folder / "shardlint.toml"
    file.write_text(text, encoding="utf-8")
    return file


def shared(folder: Path, text: str) -> Path:
    file = folder / "pyproject.toml"
    file.write_text(text, encoding="utf-8")
    return file


def load(folder: Path) -> Settings:
    return load_settings(find_settings(str(folder)))


def test_without_settings_the_defaults_hold(tmp_path: Path) -> None:
    settings = load(tmp_path)
    assert settings == Settings()
    assert (settings.select, settings.fail_on, settings.min_confidence) == (None, "warning", 0.5)


def test_every_key_is_read(tmp_path: Path) -> None:
    own(tmp_path, FULL)
    settings = load(tmp_path)
    assert settings.select == ("ALL",)
    assert settings.exclude == ("old/", "*.bak.py")
    assert len(settings.exclude_regexes) == 2
    assert settings.severity == {"some-rule": "off"}
    assert (settings.fail_on, settings.min_confidence) == ("error", 0.7)
    assert (settings.baseline, settings.environment) == ("ci/known.json", "../env")
    assert [(paths, sources, command) for paths, _, sources, command in settings.generated] == [
        (("gen/*.py",), (), ""),
        (("out/**",), ("in/*.toml",), "make gen"),
    ]
    assert [(glob, names) for glob, _, names in settings.per_file_ignores] == [("tests/**", ("data", "some-rule"))]
    rule, path, regexes, pointer, reason = settings.suppress[0]
    assert (rule, path, pointer, reason) == ("config-unknown-key", "conf/*.json", "/a/b", "read by another tool")
    assert re.search(regexes[0][1], "conf/a.json")
    assert settings.collectives == {
        "mylib.comm.gather": {"group": 1},
        "mylib.comm.sync": {"group": "pg"},
        "mylib.comm.wait": {},
    }
    assert settings.modality == {
        "models": {"OurOmni": "text image audio"},
        "collators": {"ourlib.Collator": "latents"},
    }
    assert [(target["name"], target["mesh"]) for target in settings.plan] == [("moe", {"ep": 8, "ep_fsdp": 4})]
    assert (settings.knowledge, settings.world) == (("docs/rules.md",), (8, 64))
    assert set(schema()["properties"]) == set(parse_toml("shardlint.toml", FULL))


def test_settings_survive_marshalling(tmp_path: Path) -> None:
    own(tmp_path, FULL)
    settings = load(tmp_path)
    assert Settings.from_plain(marshal.loads(marshal.dumps(settings.as_plain()))) == settings


def test_every_key_is_described() -> None:
    document = schema()
    for name, key in document["properties"].items():
        assert key["description"].endswith("."), name


def test_the_nearest_table_upwards_makes_the_root(tmp_path: Path) -> None:
    inner = tmp_path / "pkg" / "deep"
    inner.mkdir(parents=True)
    shared(tmp_path / "pkg", "[project]\nname = 'pkg'\n")
    file = shared(tmp_path, "[tool.shardlint]\nfail-on = 'note'\n")
    located = find_settings(str(inner))
    assert (located.root, located.file) == (str(tmp_path), str(file))
    assert load(inner).fail_on == "note"


def test_every_place_looked_at_is_told_even_if_nothing_is_there(tmp_path: Path) -> None:
    (tmp_path / "a" / ".git").mkdir(parents=True)
    own(tmp_path, "")
    located = find_settings(str(tmp_path / "a"))
    names = ("shardlint.toml", "pyproject.toml", ".git")
    assert located.root == str(tmp_path)
    assert located.consulted == tuple(str(folder / name) for folder in (tmp_path / "a", tmp_path) for name in names)


@pytest.mark.parametrize("mark", [".git", "pyproject.toml"])
def test_without_settings_a_marked_folder_is_the_root(tmp_path: Path, mark: str) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    assert find_settings(str(inner)).root == str(inner)
    (tmp_path / "a" / mark).touch()
    located = find_settings(str(inner))
    assert (located.root, located.file) == (str(tmp_path / "a"), None)
    assert str(Path(tmp_path.anchor) / "shardlint.toml") in located.consulted


def test_own_file_wins_over_a_pyproject_without_the_table(tmp_path: Path) -> None:
    shared(tmp_path, "[project]\nname = 'shardlint-user'\n")
    file = own(tmp_path, "fail-on = 'error'\n")
    assert find_settings(str(tmp_path)).file == str(file)


def test_two_sets_of_settings_in_one_folder_are_an_error(tmp_path: Path) -> None:
    shared(tmp_path, "[tool.shardlint]\n")
    own(tmp_path, "")
    with pytest.raises(SettingsError, match="both hold settings: keep one"):
        find_settings(str(tmp_path))


def test_a_broken_pyproject_matters_only_if_it_speaks_of_shardlint(tmp_path: Path) -> None:
    shared(tmp_path, "[tool.other\n")
    assert find_settings(str(tmp_path)).file is None
    shared(tmp_path, "[tool.shardlint]\nfail-on = = 1\n")
    with pytest.raises(SettingsError, match=r"pyproject\.toml:2:11: the file is not valid TOML"):
        find_settings(str(tmp_path))


WRONG = {
    "unknown key": ("selct = []", "1: `selct` is no setting of shardlint; did you mean `select`?"),
    "underscore": ("\nfail_on = 'note'", "2: `fail_on` is no setting of shardlint; did you mean `fail-on`?"),
    "nothing alike": ("xyzzy = 1", "1: `xyzzy` is no setting of shardlint; the keys are baseline, "),
    "value": ("fail-on = 'fatal'", '1: `fail-on` must be one of "error", "warning", "note"; it is "fatal"'),
    "type": ("select = 'a'", '1: `select` must be a list; it is "a"'),
    "type inside": ("select = ['a', 1]", "1: `select` must hold a text at each place; it is 1"),
    "type of alternatives": ("generated = [{paths = 'x'}]", '1: `generated.paths` must be a list; it is "x"'),
    "key of alternatives": (
        "generated = [{path = []}]",
        "`generated.path` is no setting of shardlint; did you mean `paths`?",
    ),
    "severity": ("[severity]\nmy-rule = 'bad'", "2: `severity.my-rule` must be one of"),
    "range": ("min-confidence = 2", "1: `min-confidence` must be at most 1; it is 2"),
    "nan": ("min-confidence = nan", "it is nan"),
    "empty": ("baseline = ''", "1: `baseline` must not be empty"),
    "missing": (
        "[[suppress]]\nrule = 'a'\npath = 'b'\nreason = 'c'\n[[suppress]]\nrule = 'a'\npath = 'b'",
        "5: an entry of `suppress` has no `reason`",
    ),
    "pointer": (
        "[[suppress]]\nrule='a'\npath='b'\nreason='c'\npointer='d'",
        "5: `suppress.pointer` must begin with a slash",
    ),
    "unquoted": (
        "[collectives]\nmylib.comm.gather = {group = 1}",
        "2: `collectives.mylib.comm`: a dotted name needs quotes",
    ),
    "undotted": ("[collectives]\ngather = {group = 1}", "2: `gather` in `collectives` is no dotted name"),
    "negative": ("[collectives]\n'a.b' = {group = -1}", "2: `collectives.a.b.group` must be at least 0; it is -1"),
    "boolean": (
        "[collectives]\n'a.b' = {group = true}",
        "`collectives.a.b.group` must be a number or a text; it is True",
    ),
    "unknown medium": (
        "[modality.models]\nOurOmni = 'text images'",
        "2: `modality.models.OurOmni` must be words of text, image, video, audio and latents",
    ),
    "unknown kind": ("[modality.collator]\n'a.b' = 'text'", "1: `modality.collator` is no setting of shardlint"),
    "pattern": ("exclude = ['[z-a]']", "`exclude`: `[z-a]` is not a pattern that git understands"),
    "baseline outside": ("baseline = '../../x'", "`baseline` must lie inside of the project"),
    "baseline absolute": ("baseline = '/etc/x'", "`baseline` must lie inside of the project"),
    "end of document": ("select = [1,\n  2", "the file is not valid TOML"),
    "nesting": ("select = " + "[" * 5000, "nested too deeply|not valid TOML"),
}


@pytest.mark.parametrize(("text", "sentence"), WRONG.values(), ids=WRONG.keys())
def test_a_mistake_is_told_with_file_and_line(tmp_path: Path, text: str, sentence: str) -> None:
    file = own(tmp_path, text)
    with pytest.raises(SettingsError) as caught:
        load(tmp_path)
    told = str(caught.value)
    assert told.startswith(f"{file}:")
    assert any(part in told for part in sentence.split("|"))


def test_a_line_in_pyproject_is_that_of_our_table(tmp_path: Path) -> None:
    shared(tmp_path, "[tool.other]\nfail-on = 1\n[tool.shardlint]\nselect = []\nfail-on = 1\n")
    with pytest.raises(SettingsError, match=r"pyproject\.toml:5: `fail-on`"):
        load(tmp_path)


def test_a_table_that_is_none_is_an_error(tmp_path: Path) -> None:
    shared(tmp_path, "[tool]\nshardlint = 3\n")
    with pytest.raises(SettingsError, match=r"must be a table: write \[tool\.shardlint\]"):
        find_settings(str(tmp_path))


def test_a_file_that_is_not_utf8_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "shardlint.toml").write_bytes(b"# a\n# \xe9\n")
    with pytest.raises(SettingsError, match=r"shardlint\.toml:2: the file is not UTF-8"):
        load(tmp_path)


def test_a_date_in_a_plan_target_is_refused(tmp_path: Path) -> None:
    own(tmp_path, '[[plan]]\nname = "a"\nmodel = {factory = "m:f", kwargs = {since = 2026-01-01}}\n')
    with pytest.raises(SettingsError, match="holds a date or a time"):
        load(tmp_path)
