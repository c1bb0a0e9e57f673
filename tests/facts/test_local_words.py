"""Which texts can hold a test of local data, and a call that may lead to a collective."""

from __future__ import annotations

import pytest

from shardlint.facts.local_words import CLOCK, DATA, FILES, KINDS, NUMBERS, local_words
from shardlint.prefilter import Words


def found(text: str, kinds: tuple[str, ...] = KINDS) -> list[str]:
    words = local_words(kinds)
    return words.found(text, words.renamed(text))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("if path.exists():\n    dist.barrier()", FILES),
        ("from os.path import isdir as known\nif known(path):\n    dist.barrier()", FILES),
        ("while time.time() < end:\n    dist.all_reduce(x)", CLOCK),
        ("if torch.isnan(loss):\n    continue\nloss.backward()", DATA),
        ("if val_loss < best:\n    save_best(model)", DATA),
        ("if best > results['accuracy']:\n    checkpointer.save(model)", DATA),
    ],
)
def test_source_and_call_in_one_part(text: str, kind: str) -> None:
    assert found(text) == [kind]


@pytest.mark.parametrize(
    "text",
    [
        "if path.exists():\n    torch.load(path)",
        "def barrier():\n    return path.exists()",
        "if accelerator.ready < 3:\n    dist.barrier()",
        "def loss() -> int:\n    dist.barrier()",
        "if metric == 'accuracy':\n    dist.barrier()",
        "ctx.save_for_backward(x)\nif loss < 3:\n    pass",
    ],
)
def test_one_without_the_other(text: str) -> None:
    assert found(text) == []


def test_parts_of_a_file_are_looked_at_one_by_one() -> None:
    apart = b"def f(path):\n    return path.exists()\n\ndef g():\n    dist.barrier()\n"
    inside = b"class A:\n    def f(self, path):\n        if path.exists():\n            dist.barrier()\n"
    words = local_words((FILES,))
    assert not words.in_file(apart, Words(apart).identifiers())
    assert words.in_file(inside, Words(inside).identifiers())


def test_numbers_count_in_files_that_train() -> None:
    text = b"def f(loss, best):\n    if loss < best:\n        sync(loss)\n"
    words = local_words(NUMBERS)
    assert not words.in_file(text, Words(text).identifiers())
    training = text + b"trainer = 1\n"
    assert words.in_file(training, Words(training).identifiers())
