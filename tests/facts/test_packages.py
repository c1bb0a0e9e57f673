"""What installed packages define, read off their source."""

from __future__ import annotations

from pathlib import Path

import pytest

from shardlint.environment import Environment
from shardlint.facts.packages import Packages

ZOO = {
    "zoo/__init__.py": "from .animals import Dog as Hound\nfrom . import food\nfrom ._more import *\n",
    "zoo/animals.py": """
import abc, typing
from .base import Animal
from compiled import Root
class Dog(Animal, typing.Generic[T]):
    legs: int = 4
    class Tail: ...
    def __init__(self): self.name = ""
class Lizard(Root): ...
class Plain(abc.ABC): ...
class Meta(metaclass=abc.ABCMeta): ...
if legs:
    THICK = 1
try:
    import fast as speed
except ImportError:
    speed = None
for number, text in ():
    pass
def late():
    global made_late
    made_late = 1
""",
    "zoo/base.py": "class Animal:\n    def eat(self): ...\n",
    "zoo/_more.py": "from .animals import Plain\ndef extra(): ...\n",
    "zoo/food/__init__.py": "def meat(): ...\n",
    "zoo/food/apple.py": "",
    "zoo/ring.py": "from .ring import nothing\nfrom .ring import *\n",
    "zoo/outer.py": "from elsewhere import *\n",
    "zoo/broken.py": "def (:\n",
}


def has(dotted: str, name: str) -> bool | None:
    owner = Packages(files=ZOO).owner(dotted)
    assert owner is not None
    return owner.has(name)


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        ("zoo", "Hound"),
        ("zoo", "food"),
        ("zoo", "animals"),
        ("zoo", "extra"),
        ("zoo", "Plain"),
        ("zoo.food", "apple"),
        ("zoo.animals", "THICK"),
        ("zoo.animals", "speed"),
        ("zoo.animals", "text"),
        ("zoo.animals", "made_late"),
        ("zoo.animals", "__file__"),
        ("zoo.Hound", "legs"),
        ("zoo.Hound", "name"),
        ("zoo.Hound", "eat"),
        ("zoo.Hound", "__call__"),
        ("zoo.animals.Lizard", "__init__"),
    ],
)
def test_a_name_that_is_bound_somewhere_is_there(owner: str, name: str) -> None:
    assert has(owner, name) is True


@pytest.mark.parametrize(
    ("owner", "name"),
    [("zoo", "Dog"), ("zoo.animals", "Cat"), ("zoo.food", "meet"), ("zoo.Hound", "bark"), ("zoo.Plain", "legs")],
)
def test_a_name_that_nothing_can_bind_is_missing(owner: str, name: str) -> None:
    assert has(owner, name) is False


@pytest.mark.parametrize("owner", ["zoo.animals.Lizard", "zoo.animals.Meta", "zoo.outer", "zoo.ring"])
def test_what_cannot_be_followed_is_not_known(owner: str) -> None:
    assert has(owner, "anything") is None


@pytest.mark.parametrize(
    "text",
    [
        "def __getattr__(name): ...",
        "import sys\nsys.modules[__name__] = make()",
        "globals()['x'] = 1",
        "globals().update({})",
        "sys.modules['zoo.lazy'].x = 1",
        "exec('x = 1')",
        "_LazyModule(__name__, {})",
        "names = vars()\nnames['x'] = 1",
    ],
)
def test_a_module_that_can_make_names_is_not_known(text: str) -> None:
    owner = Packages(files={"lazy.py": text}).owner("lazy")
    assert owner is not None
    assert owner.has("x") is None


@pytest.mark.parametrize("text", ["x = globals()['y']", "class _LazyModule(Base): ...", "setattr(thing, 'y', 1)"])
def test_a_module_that_only_reads_its_names_is_known(text: str) -> None:
    owner = Packages(files={"plain.py": f"class Base: ...\n{text}\n"}).owner("plain")
    assert owner is not None
    assert owner.has("z") is False


def test_owners_are_found_where_they_are_defined() -> None:
    packages = Packages(files=ZOO)
    dog, tail = packages.owner("zoo.Hound"), packages.owner("zoo.Hound.Tail")
    assert dog is not None
    assert (dog.kind, dog.dotted, dog.path) == ("class", "zoo.animals.Dog", "zoo/animals.py")
    assert tail is not None


@pytest.mark.parametrize("dotted", ["zoo.animals.late", "zoo.animals.speed", "zoo.broken", "zoo.nothing", "other.x"])
def test_what_is_no_module_or_class_has_no_owner(dotted: str) -> None:
    assert Packages(files=ZOO).owner(dotted) is None


def test_packages_on_disk_are_read_by_path(tmp_path: Path) -> None:
    packages = tmp_path / ".venv/lib/python3.11/site-packages"
    (packages / "zoo/inner").mkdir(parents=True)
    (packages / "zoo/__init__.py").write_text("raise SystemExit('imported')\nWORD = 1\n")
    (packages / "zoo/_native.cpython-311.so").write_bytes(b"\x7fELF")
    found = Environment.of(str(tmp_path), {}).packages
    owner = found.owner("zoo")
    assert owner is not None
    assert [owner.has(name) for name in ("WORD", "inner", "_native", "missing")] == [True, True, True, False]
    assert (found.installed("zoo"), found.installed("zo"), found.owner("zoo._native")) == (True, False, None)
    assert found.spells("zoo", "WORD")
    assert not found.spells("zoo", "WOR")


def test_an_environment_comes_back_from_plain_values(tmp_path: Path) -> None:
    packages = tmp_path / ".venv/lib/python3.11/site-packages"
    (packages / "torch-2.6.0.dist-info").mkdir(parents=True)
    before = Environment.of(str(tmp_path), {})
    after = Environment.from_plain(before.as_plain())
    assert after.as_plain() == before.as_plain()
    assert after.packages.folders == (str(packages),)
    assert after.installed == ("torch-2.6.0.dist-info",)


@pytest.mark.parametrize(
    ("owner", "name", "answer"),
    [
        ("zoo.animals", "THICK", False),  # not at the start of a line, which only a parser can judge
        ("zoo", "extra", True),
        ("zoo", "meat", False),
        ("zoo.Hound", "legs", True),
        ("zoo.Hound", "wings", False),
        ("zoo.ring", "anything", False),
    ],
)
def test_the_text_of_re_exported_modules_tells_what_a_package_surely_has(owner: str, name: str, answer: bool) -> None:
    assert Packages(files=ZOO).surely_has(owner, name) is answer


def test_a_package_with_very_many_star_imports_is_not_followed_by_text() -> None:
    many = {f"big/m{number}.py": "def found(): ...\n" for number in range(30)}
    some = {"big/__init__.py": "".join(f"from .m{number} import *\n" for number in range(5))}
    every = {"big/__init__.py": "".join(f"from .m{number} import *\n" for number in range(30))}
    assert Packages(files={**many, **some}).surely_has("big", "found")
    assert not Packages(files={**many, **every}).surely_has("big", "found")
