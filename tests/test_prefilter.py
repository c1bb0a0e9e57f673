"""The prefilter drops only files in which no rule can fire."""

from __future__ import annotations

import pytest

from shardlint.loading import make
from shardlint.prefilter import Words, passes
from shardlint.registry import load_rows
from shardlint.trial import findings_of


@pytest.mark.parametrize(
    ("needs", "expected"),
    [
        (("word", "save"), True),
        (("word", "load"), False),
        (("all",), True),
        (("any",), False),
        (("all", ("word", "save"), ("word", "dcp")), True),
        (("all", ("word", "save"), ("word", "load")), False),
        (("any", ("word", "load"), ("word", "dcp")), True),
        (("any", ("word", "load"), ("all", ("word", "x"))), False),
        (("rank",), False),
        (("any", ("rank",), ("word", "save")), True),
    ],
)
def test_needs_are_met_by_words(needs: tuple[object, ...], expected: bool) -> None:
    assert passes(needs, Words(b"import dcp\ndcp.save(state)\n")) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("if dist.get_rank() == 0:", True),
        ("if self.is_main_process:", True),
        ("if rank == 0:", True),
        ("match rank:", True),
        ("LoraConfig(rank=8)", False),
        ("rank = 8", False),
        ("frankly = 1", False),
        ("x = 1", False),
    ],
)
def test_rank_words_are_found(text: str, expected: bool) -> None:
    assert passes(("rank",), Words(text.encode())) is expected


def test_a_text_in_another_encoding_is_searched_too() -> None:
    assert passes(("rank",), Words("# é\nif dist.get_rank() == 0: pass".encode("latin-1")))
    assert Words("größe = 1".encode()).has("größe")


def test_a_word_between_typographic_quotes_is_spelled() -> None:
    assert passes(("word", "images"), Words("prompt = '“images” first'".encode()))
    assert not passes(("word", "images"), Words(b"all_images = 1"))


def test_the_same_question_gets_the_same_answer() -> None:
    words = Words(b"if rank == 0: pass")
    assert words.rank() is words.rank() is True
    assert words.has("rank") is words.has("rank") is True


def test_the_look_for_rank_conditions_leaves_no_function_out(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [row for row in load_rows()[0] if row["kind"] == "program"]
    cases = [(row, example) for row in rows for example in (*make(row).bad, *make(row).good)]
    shown = [findings_of(row, example) for row, example in cases]
    assert any(shown)
    monkeypatch.setattr("shardlint.analysis._LONGEST", -1)
    assert [findings_of(row, example, prefilter=False) for row, example in cases] == shown


@pytest.mark.parametrize(
    "line", ["os_, comm = os, dist", "comm = dist if ready else None", "(comm := dist)", "x = [dist]"]
)
def test_a_package_under_another_name_is_still_reached(line: str) -> None:
    needs = ("reach", "torch.distributed", ("barrier",))
    data = f"import os\nimport torch.distributed as dist\n{line}\ncomm.barrier()\n".encode()
    assert passes(needs, Words(data)) is (line != "x = [dist]")


def test_a_package_handed_on_by_its_dotted_name_is_still_reached() -> None:
    needs = ("reach", "torch.distributed", ("barrier",))
    assert passes(needs, Words(b"import torch\nd = torch.distributed\nd.barrier()\n"))
    assert not passes(needs, Words(b"import torch\nd = torch.distributed.nn\nd.barrier()\n"))


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("pkg/train.py", "from .device import get", True),
        ("pkg/train.py", "from .device import other", False),
        ("pkg/train.py", "from . import device", True),
        ("pkg/train.py", "from . import other", False),
        ("pkg/deep/train.py", "from ..device import *", True),
        ("pkg/deep/train.py", "from .. import device as d", True),
        ("pkg/deep/train.py", "from . import device", False),
        ("src/pkg/train.py", "from .device import get", True),
        ("pkg/device.py", "", True),
        ("pkg/device/__init__.py", "", True),
        ("pkg/other.py", "from pkg.device import get", False),
        ("setup.py", "", False),
        ("", "", True),
    ],
)
def test_a_file_near_to_a_package_need_not_spell_its_name(path: str, text: str, expected: bool) -> None:
    assert passes(("own", "pkg.device", ("get",)), Words(text.encode(), None, path)) is expected


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("pkg/train.py", "from . import anything", True),
        ("pkg/deep/train.py", "from .inner import anything", True),
        ("other/train.py", "from . import anything", False),
        ("pkg/train.py", "import anything", False),
    ],
)
def test_anything_of_a_package_is_near(path: str, text: str, expected: bool) -> None:
    assert passes(("own", "pkg", ()), Words(text.encode(), None, path)) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import torch.npu", True),
        ("import os, torch.npu as n", True),
        ("from torch import (\n    npu,\n)", True),
        ("from torch.npu.x import y", True),
        ("if a: import torch.npu", True),
        ("# import torch.npu", False),
        ("import torch\ntorch.npu", False),
        ("from torch import cuda", False),
    ],
)
def test_whether_a_module_is_imported(text: str, expected: bool) -> None:
    assert passes(("imports", "torch.npu"), Words(text.encode())) is expected
