"""Registrations that run, and those that nothing sets off."""

from __future__ import annotations

import pytest

from shardlint.example import Good
from shardlint.registry import load_rows
from shardlint.trial import findings_of

HEAD = "from registry import REGISTRY\n"
FIRST = {"zoo/__init__.py": "from . import first\n", "zoo/first.py": f"{HEAD}REGISTRY.register('first', 1)\n"}
SECOND = {"zoo/second.py": f"{HEAD}\n@REGISTRY.register('second')\ndef second(): ...\n"}
LATE = {"zoo/late.py": f"{HEAD}def add():\n    REGISTRY.register('late', 1)\n"}


def found(*files: dict[str, str]) -> list[str]:
    row = next(row for row in load_rows()[0] if row["name"] == "registry-key-or-import")
    together = {path: text for group in files for path, text in group.items()}
    return [f"{finding.path}:{finding.span.line}" for finding in findings_of(row, Good(together))]


def test_a_module_beside_imported_ones_that_nothing_imports_is_reported() -> None:
    assert found(FIRST, SECOND) == ["zoo/second.py:3"]
    inner = {"zoo/second/__init__.py": "from .part import x\n" + SECOND["zoo/second.py"], "zoo/second/part.py": "x = 1"}
    assert found(FIRST, inner) == ["zoo/second/__init__.py:4"]


@pytest.mark.parametrize(
    "text",
    [
        "import zoo.second",
        "from zoo import first, second",
        "from zoo import (\n    first,\n    second,\n)",
        "from .second import *",
        "from .zoo.second import second",
        "module = 'zoo.second'",
        "import importlib\nimportlib.import_module(prefix + 'second')",
    ],
)
def test_a_module_that_something_may_import_is_silent(text: str) -> None:
    assert found(FIRST, SECOND, {"main.py": text}) == []


@pytest.mark.parametrize("text", ["from transformers.models.second import X", "kind = 'second'", "second = 2"])
def test_the_same_name_of_something_else_is_no_import(text: str) -> None:
    assert found(FIRST, SECOND, {"main.py": text}) == ["zoo/second.py:3"]


@pytest.mark.parametrize(
    "start", ["", "import first_of_all\n", "from . import first\nfor m in pkgutil.iter_modules(__path__): ...\n"]
)
def test_a_package_that_lists_no_registering_modules_says_nothing(start: str) -> None:
    assert found(FIRST, SECOND, {"zoo/__init__.py": start}) == []


def test_a_registration_in_a_function_that_nothing_names_is_reported() -> None:
    assert found(FIRST, LATE) == ["zoo/late.py:3"]


@pytest.mark.parametrize("text", ["from zoo.late import add\nadd()", "getattr(late, 'add')()", "__all__ = ['add']"])
def test_a_function_that_something_names_is_silent(text: str) -> None:
    assert found(FIRST, LATE, {"main.py": text}) == []


def test_functions_that_may_be_called_by_others_are_silent() -> None:
    decorated = {"zoo/late.py": f"{HEAD}@hook\ndef add():\n    REGISTRY.register('late', 1)\n"}
    method = {"zoo/late.py": f"{HEAD}class A:\n    def add(self):\n        REGISTRY.register('late', 1)\n"}
    assert found(FIRST, decorated) == found(FIRST, method) == []


def test_a_registry_that_is_always_filled_from_functions_is_silent() -> None:
    assert found(LATE) == []
