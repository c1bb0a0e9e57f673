"""The fuzzer: a sample of its inputs, and that it would notice what it is there to notice."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from shardlint.errors import UsageError
from shardlint.registry import load_rows

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT))

from fuzzing import trial  # noqa: E402 - the fuzzer lies beside the tests, in no installed package
from fuzzing.case import Broken, Case, Failure  # noqa: E402
from fuzzing.kinds import KINDS, World  # noqa: E402
from fuzzing.limits import limited  # noqa: E402
from fuzzing.mutations import MUTATIONS  # noqa: E402
from fuzzing.place import Answer  # noqa: E402
from fuzzing.shrink import smallest  # noqa: E402
from fuzzing.vocabulary import Vocabulary  # noqa: E402

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="workers are forked")


def fuzz(*arguments: str, path: str = "", out: Path) -> tuple[int, str]:
    """Exit code and output of `python -m fuzzing ARGUMENTS`."""
    inherited = [path, *filter(None, [os.environ.get("PYTHONPATH")])]
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, inherited))}
    command = [sys.executable, "-m", "fuzzing", "--out", str(out), *arguments]
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout + done.stderr


def test_a_sample_of_all_kinds_breaks_nothing(tmp_path: Path) -> None:
    code, said = fuzz("--count", "100", "--seed", "1", out=tmp_path)
    assert code == 0, said
    for kind in KINDS:
        assert re.search(rf"^{kind.name} +{kind.share} .* 0$", said, re.M), said


def test_a_rule_that_crashes_is_found_and_its_input_written_down(pack: Path, tmp_path: Path) -> None:
    arguments = ("--count", "100", "--kind", "cache", "--rule", "probe-crash", "--shrink", "20")
    code, said = fuzz(*arguments, path=str(pack), out=tmp_path / "found")
    assert code == 1
    assert "rule probe-crash crashed: ValueError: broken rule" in said
    written = (tmp_path / "found").glob("rule-probe-crash-crashed*/**/*.py")
    assert any("probe.crash()" in file.read_text() for file in written), said


def test_a_number_makes_the_same_input_whatever_order_sets_have() -> None:
    code = (
        "from fuzzing import trial, kinds; world = kinds.World.of([]);"
        "print([trial.made(world, 3, n) for n in range(60) if trial.kind_of(n).name != 'whim'])"
    )
    command = [sys.executable, "-c", code]
    one, other = (
        subprocess.check_output(command, cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": seed}) for seed in ("1", "2")
    )
    assert one == other
    assert len(one) > 10_000


def test_every_rule_lends_its_examples() -> None:
    rows, _ = load_rows()
    words = Vocabulary.of(rows)
    assert "dcp.save(state, checkpoint_id=path)" in words.calls
    assert len(words.changes) >= sum(row["kind"] == "change" for row in rows)
    assert len(words.plans) >= sum(row["kind"] == "plan" for row in rows)


def test_the_kinds_share_a_hundred() -> None:
    assert sum(kind.share for kind in KINDS) == 100
    assert {trial.kind_of(number).name for number in range(100)} == {kind.name for kind in KINDS}


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.__name__)
def test_every_mutation_changes_something(mutation: object) -> None:
    from random import Random

    data = b"import torch\n\nif rank == 0:\n    torch.save(1)\n    x = [1, 2]\n"
    assert callable(mutation)
    assert any(mutation(data, Random(seed)) != data for seed in range(5))


@pytest.mark.parametrize(
    ("code", "out", "err", "mark"),
    [
        (3, "", "", "exit code 3"),
        (2, "", "oops\n", "exit code 2 without a sentence"),
        (0, "\x1b[31m", "", "control character"),
        (
            2,
            "",
            'Traceback\n  File "/x/shardlint/cli.py", line 3, in f\nValueError: x\n',
            "traceback ValueError cli.py:3",
        ),
        (2, "", "shardlint: rule `a-b` failed on c (E: d); its other findings stand, this", "rule a-b crashed: E: d"),
    ],
)
def test_an_answer_that_no_user_may_get_is_a_failure(code: int, out: str, err: str, mark: str) -> None:
    with pytest.raises(Broken) as caught:
        Answer(("check",), code, out, err).judged()
    assert caught.value.mark.startswith(mark)


@pytest.mark.parametrize(("code", "err"), [(0, ""), (1, "a note\n"), (2, "shardlint: no such rule\n")])
def test_an_answer_that_a_user_may_get_is_none(code: int, err: str) -> None:
    assert Answer(("check",), code, "a.py:1:1 text\n", err).judged().code == code


def test_what_takes_too_long_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fuzzing.limits.SECONDS", 0.2)
    started = time.process_time()

    def busy() -> None:
        with limited(("x",)):
            while time.process_time() < started + 20:
                pass

    with pytest.raises(Broken, match="hang"):
        busy()
    assert time.process_time() < started + 10


def test_a_failing_input_is_made_small() -> None:
    case = Case("x", {"a.py": b"one\ntwo\nthree\n", "b.py": b"four\n"})
    small = smallest(case, lambda one: b"w" in one.files.get("a.py", b""), 10)
    assert small.files == {"a.py": b"w"}


def test_the_world_has_real_files(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    (tmp_path / "b.yaml").write_text("a: 1\n")
    with pytest.raises(UsageError, match="`no-rule` is no rule"):
        World.of([], ["no-rule"])
    world = World.of([str(tmp_path)], ["unsafe-checkpoint-load"])
    assert set(world.words.calls) < set(Vocabulary.of(world.rows).calls)
    assert world.words.plans
    assert (len(world.real[".py"]), len(world.real[".yaml"])) == (1, 1)
    assert Failure("a", "b").mark == "a"
