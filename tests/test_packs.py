"""Rule packs of others: an installed one works in every command, a broken one is refused in one sentence."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import Project

PACK = Path(__file__).resolve().parent / "packs" / "good_pack"
WAITS = "import torch.distributed as dist\n\n\ndef wait():\n    dist.barrier()\n"
RULE = "acme_rules/comm/raw_barrier.py"
SECOND = """
class RawBroadcast(RawBarrier):
    '''Another.'''
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that pip installed the pack into."""
    folder = tmp_path_factory.mktemp("site")
    source = shutil.copytree(PACK, tmp_path_factory.mktemp("source") / "pack")
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"),
            *("--no-build-isolation", "--no-index", "--target", str(folder), str(source)),
        ],
        check=True,
        capture_output=True,
        env={**os.environ, "PIP_ROOT_USER_ACTION": "ignore"},
    )
    return folder


def run(project: Project, site: Path, *arguments: str) -> tuple[int, str, str]:
    """A command line with the packs of `site` on the import path."""
    project.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(site), os.environ.get("PYTHONPATH"))))
    code, out, err = project.run(*arguments, python=("-m", "shardlint"))
    return code, out.decode(), err.decode()


def test_an_installed_pack_is_listed_with_its_rule(project: Project, installed: Path) -> None:
    code, out, err = run(project, installed, "rules", "--output-format", "json")

    assert (code, err) == (0, "")
    (listed,) = [rule for rule in json.loads(out) if rule["pack"] == "acme"]
    assert (listed["name"], listed["family"], listed["severity"]) == ("raw-barrier", "comm", "warning")
    assert listed["summary"].startswith("Reports a barrier that goes around")


def test_a_rule_of_an_installed_pack_fires(project: Project, installed: Path) -> None:
    project.write("train.py", WAITS)

    code, out, err = run(project, installed, "check", "--select", "raw-barrier", "--output-format", "concise")

    assert (code, err) == (1, "")
    assert out.startswith("train.py:5:5: warning raw-barrier `dist.barrier` does not say which rank is missing")


def test_a_rule_of_an_installed_pack_is_explained(project: Project, installed: Path) -> None:
    code, out, _ = run(project, installed, "explain", "raw-barrier")

    assert code == 0
    assert "d.barrier()  # error" in out


@pytest.mark.parametrize("name", ["acme", "acme_rules", str(PACK / "acme_rules")])
def test_the_examples_of_a_pack_are_run_by_entry_point_package_and_folder(
    project: Project, installed: Path, name: str
) -> None:
    folder = installed if os.sep not in name else project.root

    assert run(project, folder, "rules", "test", name) == (0, "1 rule, 2 examples: all hold\n", "")


def test_the_catalogue_of_shardlint_leaves_other_packs_out(project: Project, installed: Path) -> None:
    code, out, _ = run(project, installed, "rules", "--catalogue")

    assert code == 0
    assert "raw-barrier" not in out


def broken(site: Path, path: str, text: str) -> None:
    """An installed copy of the good pack in which one file has another text."""
    shutil.copytree(PACK / "acme_rules", site / "acme_rules", ignore=shutil.ignore_patterns("__pycache__"))
    (site / path).write_text(text)
    information = site / "acme_rules-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-rules\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text("[shardlint.rules]\nacme = acme_rules\n")


MISTAKES = {
    "no-heading": ("    Use instead\n", "", "the docstring of RawBarrier has no heading `Use instead`"),
    "no-severity": ('    severity = "warning"\n', "", "RawBarrier has no `severity`"),
    "misspelt-field": ("    since =", "    sinc =", "RawBarrier.sinc is no part of a rule (did you mean `since`?)"),
    "misspelt-hook": ("def judge(", "def judgee(", "did you mean `judge`?"),
    "no-python": ("d.barrier()  # error", "d.barrier(  # error", "RawBarrier.bad[0]: example.py is not Python: line 4"),
    "no-mark": ("d.barrier()  # error", "d.barrier()", "RawBarrier.bad[0] must mark its line with `# error`"),
    "overconfident": ("    since =", "    confidence = 0.99\n    since =", "above the ceiling of observation, 0.95"),
    "no-reference": ("= observation()", "= research()", "RawBarrier.evidence is research without a reference"),
    "other-class": ("class RawBarrier", "class Barrier", "the class must be named RawBarrier after its file"),
    "unproved-proof": ("    since =", "    proof = 'a run'\n    since =", "RawBarrier.proof must be a test module"),
    "no-rank": ("    since =", "    ranks = ('it waits',)\n    since =", "RawBarrier.ranks has at most 4 texts, each"),
    "raises": ("class RawBarrier", 'raise OSError("no kernels")\nclass RawBarrier', "(OSError: no kernels)"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_broken_rule_is_refused_in_one_sentence(project: Project, tmp_path: Path, mistake: str) -> None:
    old, new, sentence = MISTAKES[mistake]
    text = (PACK / RULE).read_text().replace("Site, observation", "Site, observation, research")
    assert old in text
    broken(tmp_path / "broken", RULE, text.replace(old, new))

    code, out, err = run(project, tmp_path / "broken", "check")

    assert (code, out) == (2, "")
    assert err.startswith("shardlint: rule pack `acme`: acme_rules.comm.raw_barrier")
    assert sentence in err
    assert err.count("\n") == 1


def test_two_rules_in_one_file_are_refused(project: Project, tmp_path: Path) -> None:
    broken(tmp_path / "broken", RULE, (PACK / RULE).read_text() + SECOND)

    code, _, err = run(project, tmp_path / "broken", "check")

    assert code == 2
    assert err == (
        "shardlint: rule pack `acme`: acme_rules.comm.raw_barrier must define exactly one rule, it defines 2\n"
    )


@pytest.mark.parametrize("path", ["acme_rules/__init__.py", "acme_rules/comm/__init__.py"])
def test_a_pack_whose_package_cannot_be_imported_is_refused(project: Project, tmp_path: Path, path: str) -> None:
    broken(tmp_path / "broken", path, 'raise ImportError("acme_kernels is not installed")\n')

    code, _, err = run(project, tmp_path / "broken", "check")

    assert code == 2
    assert err.startswith("shardlint: rule pack `acme`")
    assert "ImportError: acme_kernels is not installed" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("stem", "sentence"),
    [
        ("rank_guarded_checkpoint", "rule `rank-guarded-checkpoint` is in two packs, `acme` and `builtin`"),
        ("syntax_error", "`syntax-error` is the name of a rule of shardlint itself"),
    ],
)
def test_a_rule_with_a_taken_name_is_refused(project: Project, tmp_path: Path, stem: str, sentence: str) -> None:
    name = "".join(part.capitalize() for part in stem.split("_"))
    broken(tmp_path / "broken", f"acme_rules/comm/{stem}.py", (PACK / RULE).read_text().replace("RawBarrier", name))

    code, _, err = run(project, tmp_path / "broken", "check")

    assert code == 2
    assert sentence in err
    assert err.count("\n") == 1


def test_a_rule_whose_examples_do_not_hold_fails_the_test_of_its_pack(project: Project, tmp_path: Path) -> None:
    text = (PACK / RULE).read_text().replace("comm.barrier()\n", "comm.barrier()\n                raise  # no\n")
    broken(tmp_path / "broken", RULE, text.replace('"torch.distributed.barrier"', '"acme.comm.barrier"'))

    code, out, err = run(project, tmp_path / "broken", "rules", "test", "acme")

    assert (code, err) == (1, "")
    assert out.splitlines() == [
        "raw-barrier, bad example 1: nothing is reported at example.py:4",
        "raw-barrier, good example 1: example.py:4 is reported and not marked: "
        "`comm.barrier` does not say which rank is missing when it waits",
        "1 rule, 2 examples: 2 fail",
    ]


def test_a_pack_that_is_not_there_is_named_with_those_that_are(project: Project, installed: Path) -> None:
    code, out, err = run(project, installed, "rules", "test", "acmee")

    assert (code, out) == (2, "")
    assert err == "shardlint: `acmee` is no installed rule pack and no folder; installed: `acme`, `builtin`\n"
