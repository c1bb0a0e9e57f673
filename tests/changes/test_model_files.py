"""The files that a model is made of."""

from __future__ import annotations

import pytest

from shardlint.changes.model_files import model_files, model_folder


def reached(path: str, **files: str) -> list[str] | None:
    """The files of a model; `p__a` is ``p/a.py``, and `p__init` the ``__init__.py`` of a package."""
    contents: dict[str, str] = {}
    for name, text in files.items():
        folder, _, file = name.replace("__", "/").rpartition("/")
        contents[f"{folder}/{'__init__' if file == 'init' else file}.py"] = text
    return model_files(path, sorted(contents), lambda one: contents[one].encode())


@pytest.mark.parametrize(
    ("path", "folder"),
    [
        ("a.py", ""),
        ("m/a.py", "m/"),
        ("m/x/model/a.py", "m/x/"),
        ("model/a.py", "model/"),
        ("m/models/a.py", "m/models/"),
    ],
)
def test_the_folder_of_a_model_holds_its_plan_too(path: str, folder: str) -> None:
    assert model_folder(path) == folder


def test_all_of_its_folder_belongs_to_a_model_and_the_next_folder_does_not() -> None:
    assert reached("m/a/x.py", m__a__x="", m__a__y="", m__b__x="") == ["m/a/x.py", "m/a/y.py"]


@pytest.mark.parametrize(
    "text",
    [
        "from m.c.net import Net",
        "from ..c.net import Net",
        "from ..c import net",
        "def f():\n    from c.net import Net",
    ],
)
def test_a_class_or_module_that_is_imported_belongs_to_it(text: str) -> None:
    assert reached("m/a/x.py", m__a__x=text, m__c__net="", m__b__net="") == ["m/a/x.py", "m/c/net.py"]


def test_a_function_that_is_imported_does_not() -> None:
    assert reached("m/a/x.py", m__a__x="from m.c.net import build", m__c__net="") == ["m/a/x.py"]


def test_a_package_is_followed_for_the_classes_that_are_asked_for() -> None:
    package = "from .one import One\nfrom .two import Two\n"
    found = reached("m/a/x.py", m__a__x="from m.c import One", m__c__init=package, m__c__one="", m__c__two="")
    assert found == ["m/a/x.py", "m/c/__init__.py", "m/c/one.py"]


def test_a_package_is_looked_at_again_for_a_class_that_is_asked_for_later() -> None:
    package = "from .one import One\nfrom .two import Two\n"
    one = "from m.c import Two\n"
    found = reached("m/a/x.py", m__a__x="from m.c import One", m__c__init=package, m__c__one=one, m__c__two="")
    assert found == ["m/a/x.py", "m/c/__init__.py", "m/c/one.py", "m/c/two.py"]


def test_a_model_of_very_many_files_is_not_told_apart() -> None:
    files = {f"m__x{number}": "" for number in range(500)}
    assert reached("m/x0.py", **files) is None
