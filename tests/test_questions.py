"""A file judged by what others say is judged again when they say something else, and only then."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shardlint.facts.project_words import ProjectWords
from shardlint.questions import EXTENDED, HELD, MATCHED, SET, SPELLED, Questions, answer

from .conftest import Project

COLLATOR = """\
class TextCollator:
    def __call__(self, samples):
        return {"input_ids": [s["input_ids"] for s in samples]}
"""
FIGURES = """\
class Figures:
    def __getitem__(self, index):
        return {"input_ids": self.ids[index], "pixel_values": self.images[index]}
"""
TRAIN = """\
from torch.utils.data import DataLoader
from data import Figures
from collators import TextCollator

def loader(collator):
    return DataLoader(Figures(), collate_fn=collator)

loader(TextCollator())
"""
QUIET = "def add(a, b):\n    return a + b\n"
RULE = "collator-modality-mismatch"


@pytest.fixture
def trained(project: Project) -> Project:
    """A project in which the rule fires, judged once; `quiet.py` says nothing to anybody."""
    for path, text in {"train.py": TRAIN, "data.py": FIGURES, "collators.py": COLLATOR, "quiet.py": QUIET}.items():
        project.write(path, text)
    assert judged(project) == (1, True)
    assert judged(project) == (1, False)
    return project


def judged(project: Project) -> tuple[int, bool]:
    """How many findings a run gives, which must be those of a cold run, and whether it looked at any file."""
    _, out, err = project.run("check", "--select", RULE, "--output-format", "concise", "--timings")
    _, cold, _ = project.run("check", "--select", RULE, "--output-format", "concise", "--no-cache")
    assert out == cold
    return out.decode().count(RULE), b"none ran" not in err


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("quiet.py", QUIET + "# more\n"),
        ("quiet.py", "class Model:\n    def forward(self, samples):\n        return samples['pixel_values']\n"),
        ("quiet.py", "from torch.utils.data import DataLoader\n"),
        ("quiet.py", "("),
    ],
)
def test_a_change_that_answers_no_question_looks_at_nothing(trained: Project, path: str, text: str) -> None:
    trained.write(path, text, settled=False)
    assert judged(trained) == (1, False)


CHANGES = {
    "the dataset": ("data.py", FIGURES.replace("pixel_values", "labels"), 0),
    "the collator": ("collators.py", COLLATOR.replace('"input_ids": [s["input_ids"]', '"all": [s'), 0),
    "one more caller, with something unknown": ("quiet.py", "from train import loader\nloader(build())\n", 0),
    "one more caller, in a file that did not parse": ("quiet.py", "from train import loader\n(", 0),
    "the function is handed on": ("quiet.py", "import train\nregister(train.loader)\n", 0),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_an_answer_is_seen_and_so_is_its_undoing(trained: Project, change: str) -> None:
    path, text, findings = CHANGES[change]
    before = (trained.root / path).read_text()
    trained.write(path, text, settled=False)
    assert judged(trained) == (findings, True)
    trained.write(path, before, settled=False)
    assert judged(trained) == (1, True)


def test_a_new_file_may_be_what_a_name_means(trained: Project) -> None:
    trained.write("pkg/__init__.py", "")
    trained.write("pkg/data.py", QUIET)
    assert judged(trained)[1]


def test_questions_of_an_earlier_run_still_count_when_one_file_was_judged_anew(trained: Project) -> None:
    trained.write("other.py", "import torch.utils.data as d\nd.DataLoader(data, collate_fn=make())\n")
    assert judged(trained)[1]
    trained.write("other.py", "import torch.utils.data as d\nd.DataLoader(data, collate_fn=made)\n", settled=False)
    assert judged(trained)[1]
    trained.write("quiet.py", "from train import loader\nloader(build())\n", settled=False)
    assert judged(trained) == (0, True)


ANSWERS = {
    "a word": ((SPELLED, "loader", ""), b"x = loader()", b"x = loaders()"),
    "a base": ((EXTENDED, "Base", ""), b"class A(pkg.Base): pass", b"class Base(A): pass"),
    "an expression": ((MATCHED, "def", r"^def\b"), b"x = 1\ndef f(): pass\n", b"x = 'def'\n"),
    "an attribute from outside": ((SET, "Model", "head"), b"m = Model()\nm.head = 1\n", b"Model().head == 1\n"),
    "an attribute of another class": ((SET, "Model", "head"), b"Model.head = 1", b"Models.head = 1"),
    "a text": ((HELD, "model_type", ""), b"model_type = 'a'", b"model = 'a'"),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_a_file_answers_by_its_bytes(name: str) -> None:
    question, said, silent = ANSWERS[name]
    assert answer(question, said)
    assert not answer(question, silent)


ASKED: dict[str, Callable[[ProjectWords], object]] = {
    "holding": lambda words: words.holding("word"),
    "naming": lambda words: words.naming("word", 4),
    "naming of a common one": lambda words: words.naming("word", 1),
    "extending": lambda words: words.extending("Word"),
    "sets": lambda words: words.sets("Word", "x"),
    "reads": lambda words: words.reads("word"),
    "count": lambda words: words.count("word", r"word\d"),
    "matching": lambda words: words.matching("word", r"word\d"),
    "anywhere": lambda words: words.anywhere("word", r"word\d"),
    "texts": lambda words: list(words.texts_with("word")),
    "text": lambda words: words.text("a.py"),
    "binds": lambda words: words.binds("a.py", "word"),
    "files": lambda words: words.files,
}  # fmt: skip
SAYS = (
    b"",
    b"word",
    b"word1\nx.word",
    b"class A(Word): pass",
    b"Word\ny.x = 1",
    b"word2",
    b"from b import *",
    b"'word'",
)


@pytest.mark.parametrize("name", ASKED)
def test_every_change_of_an_answer_matters(name: str) -> None:
    ask = ASKED[name]
    for here in SAYS:
        for there in SAYS:
            for now in SAYS:
                files = {"a.py": here, "b.py": there, "c.py": b"word x"}
                words = ProjectWords(files, files.__getitem__)
                before = ask(words)
                kept = Questions.from_plain(words.questions.as_plain())
                after = ask(ProjectWords(files, {**files, "a.py": now}.__getitem__))
                if before != after:
                    assert kept.matters("a.py", now), (here, there, now)


def test_a_file_that_says_the_same_does_not_matter() -> None:
    files = {"a.py": b"word1\n", "b.py": b"other", "c.py": b"x"}
    words = ProjectWords(files, files.__getitem__)
    for name, ask in ASKED.items():
        if name not in ("text", "texts", "binds", "files"):
            ask(words)
    assert not words.questions.matters("b.py", b"other, changed")
    assert not words.questions.matters("a.py", b"changed, with word1")
    assert words.questions.matters("a.py", b"changed, with word2 and word3")
