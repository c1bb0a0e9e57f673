"""The child must start in the user's interpreter, which may be older than ours and holds none of our packages."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

import shardlint.runtime.runner

FILES = sorted(Path(shardlint.runtime.runner.__path__[0]).glob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_module_of_the_child_has_the_syntax_of_python_3_9(path: Path) -> None:
    tree = ast.parse(path.read_bytes(), feature_version=(3, 9))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "zip":
            assert [keyword.arg for keyword in node.keywords] == []  # `strict` came with 3.10
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("isinstance", "issubclass"):
            assert not any(isinstance(inner, ast.BinOp) for inner in ast.walk(node))  # unions came with 3.10
    if path.name != "__init__.py":
        assert any(isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in tree.body)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_module_of_the_child_imports_the_standard_library_and_itself(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            assert {alias.name.partition(".")[0] for alias in node.names} <= sys.stdlib_module_names
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 1 or (node.module or "").partition(".")[0] in sys.stdlib_module_names


def test_there_are_modules() -> None:
    assert {"child.py", "plans.py"} <= {path.name for path in FILES}
