"""What a rule may state of its proof, and how the statement reads."""

from __future__ import annotations

import pytest

from shardlint.example import Bad, Good
from shardlint.proof import Proof, problem, proof_of
from shardlint.rule import LocalRule

BAD = "wait()  # error"


def rule(bad: Bad | None = None, good: Good | None = None, proof: object = None, unproved: str = "") -> type[LocalRule]:
    """A rule that states so much."""
    stated = {"bad": (bad or Bad(BAD),), "good": (good or Good("go()"),), "proof": proof, "unproved": unproved}
    return type("Waits", (LocalRule,), stated)


WAITS = Bad(BAD, waits={"wait()": "barrier", "wait(1)": "all_reduce", "wait(2)": "barrier"})
RAISES = Bad(BAD, raises={"wait()": "no rank"})
RUNS = Good("go()", runs=("go()",))


@pytest.mark.parametrize(
    ("stated", "proof"),
    [
        (rule(), Proof(False, "no proof is stated")),
        (rule(unproved="it needs a GPU"), Proof(False, "it needs a GPU")),
        (rule(proof=("test_waits", "both wait")), Proof(True, "both wait (test_waits.py)")),
        (
            rule(WAITS, RUNS),
            Proof(
                True,
                "two gloo processes run the examples: in the bad ones a rank waits in `barrier` or `all_reduce`, "
                "the good ones finish",
            ),
        ),
        (
            rule(RAISES, RUNS, ("test_waits", "both wait")),
            Proof(
                True,
                "two gloo processes run the examples: in the bad ones a rank raises `no rank`, the good ones finish; "
                "both wait (test_waits.py)",
            ),
        ),
    ],
)
def test_a_proof_is_told_in_one_line(stated: type[LocalRule], proof: Proof) -> None:
    assert problem(stated) is None
    assert proof_of(stated) == proof


@pytest.mark.parametrize(
    ("stated", "sentence"),
    [
        (rule(WAITS), "Waits has no good example with `runs`"),
        (rule(good=RUNS), "Waits has no bad example with `waits` or `raises`"),
        (rule(WAITS, RUNS, unproved="it needs a GPU"), "Waits.unproved says why no run shows the defect, but"),
        (rule(proof=("test_a", "it waits"), unproved="it needs a GPU"), "Waits.unproved says why no run"),
        (rule(proof=("proofs/test_a.py", "it waits")), "Waits.proof must be a test module and what it shows"),
        (rule(proof=("test_a", "it\nwaits")), "Waits.proof must be a test module and what it shows"),
        (rule(proof=("test_a", " ")), "Waits.proof must be a test module and what it shows"),
        (rule(proof="test_a"), "Waits.proof must be a test module and what it shows"),
        (rule(Bad(BAD, waits={"wait()": "barrier"}, runs=("wait()",)), RUNS), "Waits.bad[0] cannot have `runs`"),
        (rule(WAITS, Good("go()", raises={"go()": "x"}, runs=("go()",))), "Waits.good[0] cannot have `raises`"),
        (rule(WAITS, Good("go()", runs=("go(",))), "Waits.good[0]: the driver `go(` is not Python: line 1"),
        (rule(Bad(BAD, raises={"wait()": "(no"}), RUNS), "Waits.bad[0]: `(no` is no regular expression"),
    ],
)
def test_a_statement_that_cannot_be_a_proof_is_refused(stated: type[LocalRule], sentence: str) -> None:
    assert (problem(stated) or "").startswith(sentence)


def test_a_driver_sees_the_first_file_with_a_mark() -> None:
    assert Bad({"b.py": BAD, "a.py": "x = 1", "c.py": BAD}).main == "b.py"
    assert Good({"b.py": "x = 1", "a.py": "x = 1"}).main == "b.py"
    assert Bad({"a.yaml": "lr: 1e-5  # error", "train.py": "x = 1"}).main == "train.py"
    assert Bad("lr: 1e-5  # error", path="a.yaml").main == ""
