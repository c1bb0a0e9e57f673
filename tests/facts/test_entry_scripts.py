"""What an entry script makes its samples with, told by its code."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import dedent

import pytest

from shardlint.configs.launches import Launches
from shardlint.facts.entry_scripts import Entry, EntryScripts
from shardlint.facts.project_words import ProjectWords

MEDIA, CONDITIONS = ("data.mm_configs",), ("model.condition_model_path",)
TRAINER = """
    from .base import Base
    from .load import build_tokenizer
    class Trainer:
        def __init__(self, args):
            self.base = Base.__new__(Base)
            self.base.args = args
            with scope():
                self._assets()
                self.base.data()
        def _assets(self):
            self.base.tokenizer = build_tokenizer(self.base.args.model.path)
    """
LOAD = """
    from transformers import AutoProcessor, AutoTokenizer
    def build_tokenizer(path):
        return AutoTokenizer.from_pretrained(path)
    def build_processor(path):
        return _get_processor(path)
    def _get_processor(path):
        if custom(path):
            return AutoProcessor.from_pretrained(path, custom=True)
        return AutoProcessor.from_pretrained(path)
    """
BASE = "class Base:\n    def data(self):\n        self.set = make(self.args.data.path)\n"
PACKAGE = {"lib/__init__.py": "", "lib/trainer.py": TRAINER, "lib/load.py": LOAD, "lib/base.py": BASE}
START = "from lib.trainer import Trainer\nif __name__ == '__main__':\n    args = parse()\n    Trainer(args).train()\n"


def entry(files: Mapping[str, str]) -> Entry:
    """What `train.py` of these files builds."""
    contents = {path: dedent(text).encode() for path, text in files.items()}
    contents.update({"c.yaml": b"", "run.sh": b"python train.py c.yaml"})
    words = ProjectWords([path for path in contents if path.endswith(".py")], contents.__getitem__)
    scripts = EntryScripts(words.modules, Launches(["run.sh"], contents, contents.__getitem__))
    (launched,) = scripts.of("c.yaml")
    assert launched.entry is not None
    return launched.entry


def kind(files: Mapping[str, str]) -> str:
    made = entry(files).makes(MEDIA, CONDITIONS)
    return made.kind if made is not None else ""


def test_a_trainer_is_followed_through_its_methods_and_what_it_holds() -> None:
    found = entry({"train.py": START, **PACKAGE})
    made = found.makes(MEDIA, CONDITIONS)
    assert made is not None
    assert (made.kind, made.place.path, made.place.line) == ("tokenizer", "lib/trainer.py", 12)
    assert "data.path" in found.reads
    assert found.used >= {"train.py", "lib/trainer.py", "lib/base.py", "lib/load.py"}


def changed(file: str, old: str, new: str) -> dict[str, str]:
    """The package with one change, started by `train.py`."""
    files = {"train.py": START, **PACKAGE}
    assert old in files[file]
    return {**files, file: files[file].replace(old, new)}


VARIANTS = {
    "processor": (changed("lib/trainer.py", "build_tokenizer", "build_processor"), "processor"),
    "only under a condition": (
        changed("lib/trainer.py", "                self._assets()", "                if args.x: self._assets()"),
        "",
    ),
    "after a way out": (
        changed("lib/trainer.py", "            with scope", "            if args.x: return\n            with scope"),
        "",
    ),
    "the base loads a processor": (
        changed(
            "lib/base.py",
            BASE,
            "import transformers\n" + BASE.replace("make(", "transformers.AutoProcessor.from_pretrained("),
        ),
        "",
    ),
    "a processor is spoken of": (changed("lib/base.py", "make(", "make(processor="), ""),
    "media are read": (changed("lib/base.py", "data.path", "data.mm_configs"), ""),
    "a method that is not run loads": (changed("lib/base.py", "def data", "def other"), "tokenizer"),
    "neither": (
        changed(
            "lib/trainer.py", "build_tokenizer(self.base.args.model.path)", "self.base.args.model.condition_model_path"
        ),
        "neither",
    ),
    "nothing is known": (changed("lib/trainer.py", "build_tokenizer(", "unknown("), ""),
    "another library's name": (changed("lib/load.py", "from transformers", "from ours"), ""),
}


@pytest.mark.parametrize(("files", "wanted"), VARIANTS.values(), ids=VARIANTS.keys())
def test_a_kind_is_told_only_if_it_is_sure(files: dict[str, str], wanted: str) -> None:
    assert kind(files) == wanted


def test_a_class_that_extends_the_trainer_and_starts_itself_is_followed() -> None:
    script = """
        from lib.trainer import Trainer
        class Own(Trainer):
            def __init__(self, args):
                super().__init__(args)
        Own(parse())
        """
    assert kind({"train.py": script, **PACKAGE}) == "tokenizer"
    over = script.replace(
        "        Own(parse())", "            def _assets(self):\n                pass\n        Own(parse())"
    )
    assert kind({"train.py": over, **PACKAGE}) == ""


def test_a_main_of_another_file_is_entered() -> None:
    main = "from transformers import AutoTokenizer\ndef main():\n    AutoTokenizer.from_pretrained('m')\n"
    assert kind({"train.py": "from app import main\nmain()\n", "app.py": main}) == "tokenizer"


@pytest.mark.parametrize(
    ("code", "wanted"),
    [
        ("processor = AutoProcessor.from_pretrained(p)", "processor"),
        ("processor = AutoProcessor.from_pretrained(p)\ntokenizer = AutoTokenizer.from_pretrained(p)", ""),
        ("processor = AutoProcessor.from_pretrained(p)\nt = getattr(processor, 'tokenizer', processor)", ""),
        ("processor = AutoProcessor.from_pretrained(p)\nisinstance(processor, ProcessorMixin)", ""),
        ("processor = AutoProcessor.from_pretrained(p)\nhasattr(processor, 'video_processor')", "processor"),
        ("tokenizer = AutoTokenizer.from_pretrained(p)", "tokenizer"),
        ("tokenizer = AutoTokenizer.from_pretrained(p) if p else None", ""),
        ("try:\n    tokenizer = AutoTokenizer.from_pretrained(p)\nexcept OSError:\n    pass", ""),
        ("def unused():\n    AutoTokenizer.from_pretrained(p)", ""),
        ("x = args.model.condition_model_path", "neither"),
        ("tokenizer_path = 'm'", ""),
    ],
)
def test_a_script_that_does_it_all_is_told_by_its_own_code(code: str, wanted: str) -> None:
    assert kind({"train.py": "from transformers import AutoProcessor, AutoTokenizer\n" + code + "\n"}) == wanted


def test_a_script_that_does_not_parse_says_nothing() -> None:
    assert kind({"train.py": "def broken(:\n"}) == ""
