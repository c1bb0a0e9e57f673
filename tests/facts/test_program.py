"""Names across files: imports, re-exports, aliases, stars, base classes, and what is left open."""

from __future__ import annotations

from shardlint.facts.module import Module
from shardlint.facts.program import Program, import_names, package_name
from shardlint.parsing import parse


def program(**files: str) -> Program:
    """A program of files by their path without `.py`, with `__` for the slash."""
    texts = {f"{name.replace('__', '/')}.py": text for name, text in files.items()}
    names = frozenset(texts)

    def read(path: str, _: str | None) -> Module | None:
        tree = parse(texts[path])
        return (
            None if isinstance(tree, SyntaxError) else Module(path, texts[path], tree, dotted=package_name(path, names))
        )

    return Program(texts, read, lambda path: texts[path].encode(), frozenset())


def test_function_is_found_by_its_import_name() -> None:
    assert program(lib="def f():\n    g()\n").find("lib.f") == ("lib.py", "f")


def test_nested_function_and_method_have_qualified_names() -> None:
    found = program(lib="class A:\n    def f(self):\n        def g():\n            pass\n")
    assert found.find("lib.A.f") == ("lib.py", "A.f")
    assert found.find("lib.A.f.g") == ("lib.py", "A.f.g")


def test_re_exports_are_followed() -> None:
    found = program(a="from b import f as g\n", b="from c import *\n", c="def f():\n    g()\n")
    assert found.find("a.g") == ("c.py", "f")


def test_alias_of_a_function_is_followed() -> None:
    assert program(a="import b\nsync = b.f\n", b="def f():\n    g()\n").find("a.sync") == ("b.py", "f")


def test_name_with_two_origins_is_left_open() -> None:
    text = "try:\n    from b import f\nexcept ImportError:\n    from c import f\n"
    assert program(a=text, b="def f():\n    g()\n", c="def f():\n    h()\n").find("a.f") is None


def test_method_is_found_in_the_base_of_another_file() -> None:
    found = program(a="from b import B\nclass A(B):\n    pass\n", b="class B:\n    def f(self):\n        g()\n")
    assert found.find("a.A.f") == ("b.py", "B.f")


def test_class_is_its_initialiser() -> None:
    found = program(a="class A:\n    def __init__(self):\n        g()\nclass B:\n    x = 1\n")
    assert found.find("a.A") == ("a.py", "A.__init__")
    assert found.find("a.B") is None
    assert found.is_class("a.B")
    assert not found.is_class("a.missing")


def test_import_circle_ends() -> None:
    assert program(a="from b import f\n", b="from a import f\n").find("a.f") is None


def test_name_behind_a_re_export_of_another_package() -> None:
    found = program(
        comm="from torch.distributed import all_reduce\nimport torch.distributed as dist\nwait = dist.barrier\n"
    )
    assert found.external("comm.all_reduce") == "torch.distributed.all_reduce"
    assert found.external("comm.wait") == "torch.distributed.barrier"
    assert found.external("other.f") == "other.f"


def test_name_behind_a_method_that_a_class_leaves_to_its_base() -> None:
    found = program(
        a="from b import B\nclass A(B):\n    def own(self):\n        g()\nclass C(B, B):\n    pass\n",
        b="from torch import nn\nclass B(nn.Module):\n    pass\n",
    )
    assert found.external("a.A.state_dict") == "torch.nn.Module.state_dict"
    assert found.external("a.A.own") == "a.A.own"
    assert found.external("a.C.state_dict") == "a.C.state_dict"


def test_file_that_does_not_parse_has_no_functions() -> None:
    found = program(a="def f(:\n")
    assert found.find("a.f") is None
    assert found.file("a.py").trace("f") is None


def test_only_files_that_are_asked_for_are_used() -> None:
    found = program(a="def f():\n    g()\n", b="def f():\n    g()\n")
    found.find("a.f")
    assert found.used == ["a.py"]


def test_package_starts_at_the_outermost_init() -> None:
    paths = ["src/pkg/__init__.py", "src/pkg/sub/__init__.py", "src/pkg/sub/a.py", "scripts/b.py"]
    names = import_names(paths)
    assert names["pkg.sub.a"] == "src/pkg/sub/a.py"
    assert names["pkg.sub"] == "src/pkg/sub/__init__.py"
    assert names["b"] == "scripts/b.py"


def test_name_behind_stars_is_looked_for_in_the_file_that_binds_it_alone() -> None:
    made = program(
        big="from models import *\n",
        models="from a import *\nfrom b import *\nfrom c import *\n",
        a="def other():\n    pass\n",
        b="class Auto:\n    def load(self):\n        return Auto\n",
        c="Auto = 1  # a later file that spells the name\n",
    )
    assert made.find("big.Auto.load") == ("b.py", "Auto.load")
    assert made.find("big.Auto.load.save") is None
    assert set(made.facts) == {"big.py", "models.py", "b.py"}
    # What was only looked into counts too: with another text it may give the name.
    assert "a.py" in made.used
