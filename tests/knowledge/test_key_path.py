"""Key paths as they are written."""

from __future__ import annotations

import pytest

from shardlint.configs.document import pointer_of
from shardlint.knowledge.key_path import key_path, key_pattern, word_of
from shardlint.knowledge.problem import CheckProblem


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("train", ("train",)),
        ("train.optimizer.lr", ("train", "optimizer", "lr")),
        ("layers[2].dim", ("layers", 2, "dim")),
        ('plugins."a.b"', ("plugins", "a.b")),
        ("plugins.'a b'.c", ("plugins", "a b", "c")),
        ("grid[0][1]", ("grid", 0, 1)),
        ("lora-config._target_", ("lora-config", "_target_")),
        (" train ", ("train",)),
        ("été.über", ("été", "über")),
    ],
)
def test_a_path_is_read(text: str, path: tuple[str | int, ...]) -> None:
    assert key_path(text, ()) == path
    assert key_path(pointer_of(path), ()) == path


@pytest.mark.parametrize(
    "text", ["", ".", "a.", ".a", "a..b", "a b", "a[", "a[x]", "a['b']", "a[-1]", '"a"b', "a\nb", 3, None]
)
def test_what_is_no_path_is_refused(text: object) -> None:
    with pytest.raises(CheckProblem, match="key path") as caught:
        key_path(text, ("at",))
    assert caught.value.where == ("at",)


def test_a_long_path_is_refused() -> None:
    with pytest.raises(CheckProblem, match="at most 400"):
        key_path("a." * 300 + "a", ())


def test_one_key_is_no_pattern() -> None:
    with pytest.raises(CheckProblem, match="stands for many keys"):
        key_path("train.muon_*", ())


@pytest.mark.parametrize(
    ("text", "step", "fits"),
    [
        ("muon_*", "muon_lr", True),
        ("muon_*", "muon_", True),
        ("muon_*", "adam_lr", False),
        ("?p16", "fp16", True),
        ("?p16", "p16", False),
        ("'muon_*'", "muon_lr", False),
        ("'muon_*'", "muon_*", True),
        ("*", 0, False),
        ("fp16", "fp16", True),
    ],
)
def test_a_glob_fits_one_step(text: str, step: str | int, fits: bool) -> None:
    assert key_pattern(text, ()).fits(0, step) is fits


def test_a_glob_of_items_fits_indexes_alone() -> None:
    pattern = key_pattern("sources[*].name", ())
    assert pattern.path is None
    assert (pattern.fits(1, 3), pattern.fits(1, "x")) == (True, False)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("train.optimizer.lr", "lr"),
        ("train.optimizer.muon_*", "optimizer"),
        ("layers[0]", "layers"),
        ("*", ""),
        ("*.*", ""),
        ('a."x-longest.y"', "longest"),
    ],
)
def test_the_word_is_one_that_the_file_must_spell(text: str, word: str) -> None:
    pattern = key_pattern(text, ())
    assert pattern.word == word
    if pattern.path is not None:
        assert word_of(pattern.path) == word
