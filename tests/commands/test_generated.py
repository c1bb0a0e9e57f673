"""`shardlint generated check` and `generated lock` through the real command line."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from shardlint.cli import main

CONFIG = "m/a_patch_gen_config.py"
OUTPUT = "m/generated/patched_modeling_a.py"
FILES = {
    CONFIG: """\
from patchgen import PatchConfig

config = PatchConfig(source_module="hub.a", target_file="patched_modeling_a.py")


@config.replace_function("scale")
def scale_patched(x):
    return x * 2
""",
    OUTPUT: """\
# AUTO-GENERATED FILE - DO NOT EDIT
#    - function_replacement: scale


def scale(x):
    return x * 2
""",
    "m/b/modular_b.py": "width = 8\n",
    "m/b/modeling_b.py": "# This file was automatically generated from m/b/modular_b.py. Do NOT edit it.\nwidth = 8\n",
    "table.py": "# AUTO-GENERATED FILE - DO NOT EDIT\nA = 1\n",
}

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with generated files, of which two have sources."""
    monkeypatch.setenv("SHARDLINT_CACHE_DIR", str(tmp_path / "cache"))
    folder = tmp_path / "project"
    for path, content in FILES.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(content)
    subprocess.run(("git", "init", "--quiet"), cwd=folder, check=True)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run `shardlint generated` with these arguments: exit code, standard output and error."""

    def run(*args: str) -> tuple[int, str, str]:
        code = main(["generated", *args])
        out, err = capsys.readouterr()
        return code, out, err

    return run


def recorded(root: Path) -> dict[str, dict[str, object]]:
    found: dict[str, dict[str, object]] = json.loads((root / "generated.lock.json").read_text())["files"]
    return found


def test_files_with_sources_are_recorded_and_recording_again_changes_nothing(root: Path, run: Run) -> None:
    assert run("check") == (0, "2 generated files, none drifted\n", "")
    assert not (root / "generated.lock.json").exists()
    assert run("lock") == (0, "recorded 2 generated files in generated.lock.json\n", "")
    assert sorted(recorded(root)) == ["m/b/modeling_b.py", OUTPUT]
    first = (root / "generated.lock.json").read_bytes()
    assert run("lock")[0] == 0
    assert (root / "generated.lock.json").read_bytes() == first


def test_a_drifted_body_is_shown_and_not_recorded_without_a_reason(root: Path, run: Run) -> None:
    (root / OUTPUT).write_text(FILES[OUTPUT].replace("x * 2", "x * 3"))
    for action in ("check", "lock"):
        code, out, _ = run(action)
        assert code == 1
        assert out.startswith(f"{OUTPUT}:6  `scale` is not what `scale_patched` generates ({CONFIG}:7)\n")
        assert "1 of 2 generated files drifted" in out
    assert not (root / "generated.lock.json").exists()


def test_an_output_that_changes_alone_drifts_from_its_record_until_a_reason_is_given(root: Path, run: Run) -> None:
    run("lock")
    before = (root / "generated.lock.json").read_bytes()
    (root / "m/b/modeling_b.py").write_text(FILES["m/b/modeling_b.py"].replace("8", "16"))
    code, out, _ = run("lock")
    assert code == 1
    assert out.startswith("m/b/modeling_b.py:1  it is another than recorded, and its sources are as recorded: ")
    assert (root / "generated.lock.json").read_bytes() == before
    code, out, _ = run("lock", "--accept", "waits for the generator")
    assert (code, "1 with a drift that was accepted" in out) == (0, True)
    assert recorded(root)["m/b/modeling_b.py"]["accepted"] == "waits for the generator"
    assert run("check") == (0, "2 generated files, none drifted\n", "")


def test_a_reason_holds_for_the_content_that_it_was_given_for(root: Path, run: Run) -> None:
    (root / OUTPUT).write_text(FILES[OUTPUT].replace("x * 2", "x * 3"))
    run("lock", "--accept", "a test")
    assert run("check")[0] == 0
    (root / OUTPUT).write_text(FILES[OUTPUT].replace("x * 2", "x * 4"))
    assert run("check")[0] == 1
    (root / OUTPUT).write_text(FILES[OUTPUT])
    assert run("lock")[0] == 0
    assert "accepted" not in recorded(root)[OUTPUT]


def test_regenerated_files_are_recorded_anew(root: Path, run: Run) -> None:
    run("lock")
    for path in (CONFIG, OUTPUT, "m/b/modular_b.py", "m/b/modeling_b.py"):
        (root / path).write_text(FILES[path].replace("* 2", "* 3").replace("= 8", "= 9"))
    assert run("lock")[0] == 0


def test_a_broken_record_and_one_that_is_a_link_are_refused(root: Path, run: Run, tmp_path: Path) -> None:
    lock = root / "generated.lock.json"
    lock.write_text("{")
    code, _, err = run("lock")
    assert (code, "generated.lock.json is broken" in err) == (2, True)
    lock.unlink()
    elsewhere = tmp_path / "elsewhere.json"
    elsewhere.write_text('{"version": 1, "files": {}}')
    lock.symlink_to(elsewhere)
    code, _, err = run("lock")
    assert (code, "cannot be read, or is a link" in err) == (2, True)
    assert elsewhere.read_text() == '{"version": 1, "files": {}}'


@pytest.mark.usefixtures("root")
@pytest.mark.parametrize("args", [("locks",), (), ("check", "--accept", "a reason"), ("lock", "--accept", " ")])
def test_what_is_not_understood_is_refused(run: Run, args: tuple[str, ...]) -> None:
    code, out, err = run(*args)
    assert (code, out) == (2, "")
    assert err.startswith("shardlint: ")


def test_a_project_without_git_is_read_from_disk(root: Path, run: Run) -> None:
    import shutil

    shutil.rmtree(root / ".git")
    assert run("check") == (0, "2 generated files, none drifted\n", "")


SETTINGS = """\
[[generated]]
paths = ["out/*.txt"]
sources = ["in.txt"]
command = "{command}"
"""


def generator(root: Path, command: str) -> None:
    (root / "shardlint.toml").write_text(SETTINGS.format(command=command))
    (root / "in.txt").write_text("two\n")
    (root / "out").mkdir()
    (root / "out" / "a.txt").write_text("one\n")
    (root / "out" / "b.txt").write_text("two\n")


def test_the_generator_runs_in_a_copy_and_its_differences_are_shown(root: Path, run: Run) -> None:
    generator(root, "cp in.txt out/a.txt; cp in.txt out/c.txt; rm out/b.txt; touch ran")
    code, out, err = run("check", "--run")
    assert (code, err) == (1, "")
    assert [line.partition(": ")[0] for line in out.splitlines()[:-1]] == ["out/a.txt", "out/b.txt", "out/c.txt"]
    assert out.splitlines()[-1].endswith("in a copy of the project: 3 files are not as it writes them")
    assert (root / "out" / "a.txt").read_text() == "one\n"
    assert sorted(path.name for path in (root / "out").iterdir()) == ["a.txt", "b.txt"]
    assert not (root / "ran").exists()


def test_a_generator_that_writes_the_same_is_silent(root: Path, run: Run) -> None:
    generator(root, "cp in.txt out/b.txt")
    assert run("check", "--run") == (
        0,
        "ran `cp in.txt out/b.txt` in a copy of the project: every file is as it writes it\n",
        "",
    )


def test_a_generator_that_fails_is_one_sentence(root: Path, run: Run) -> None:
    generator(root, "echo no model >&2; exit 3")
    code, out, err = run("check", "--run")
    assert (code, out) == (2, "")
    assert err == (
        "shardlint: `echo no model >&2; exit 3` failed in a copy of the project with exit code 3: no model\n"
    )


def test_without_a_command_or_with_lock_there_is_nothing_to_run(root: Path, run: Run) -> None:
    assert run("check", "--run")[2].startswith("shardlint: no entry of `generated` in the settings has a `command`")
    generator(root, "touch ran")
    assert run("lock", "--run")[0] == 2
    assert run("check")[0] == 0
    assert not (root / "ran").exists()
