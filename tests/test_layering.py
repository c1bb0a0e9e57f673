"""Who may import whom, and who may do what, read off the syntax trees of all modules."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

TOP = Path(__file__).parents[1]
ENGINE = TOP / "linter" / "shardlint"
PACK = TOP / "rules" / "shardlint_rules"
FILES = sorted([*ENGINE.rglob("*.py"), *PACK.rglob("*.py")])
DRAWERS = frozenset(("utils", "util", "common", "helpers", "helper", "misc", "tools", "base", "core"))
LARGEST = 32_000


def name_of(path: Path) -> str:
    return path.relative_to(TOP).as_posix()


def imports(path: Path) -> Iterator[str]:
    """The absolute names of the modules that a file imports, wherever in it."""
    package = path.relative_to(ENGINE.parent if ENGINE in path.parents else PACK.parent).parts[:-1]
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            module = ".".join(filter(None, (base, node.module)))
            yield module
            yield from (f"{module}.{alias.name}" for alias in node.names)


def among(name: str, *roots: str) -> bool:
    return any(name == root or name.startswith(root + ".") for root in roots)


def calls(path: Path) -> Iterator[tuple[str, int]]:
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node.lineno


def test_there_are_files() -> None:
    assert len(FILES) > 50


def test_the_engine_knows_no_rule() -> None:
    wrong = [name_of(path) for path in FILES if ENGINE in path.parents if "shardlint_rules" in path.read_text()]
    assert wrong == []


def test_rules_import_only_the_rule_api() -> None:
    wrong = [
        (name_of(path), name)
        for path in FILES
        if PACK in path.parents
        for name in imports(path)
        if among(name, "shardlint", "shardlint_rules", "libcst", "yaml", "torch") and not among(name, "shardlint.rule")
    ]
    assert wrong == []


def test_only_the_syntax_folder_imports_libcst() -> None:
    wrong = [name_of(path) for path in FILES if path.parent.name != "syntax" and _imports_libcst(path)]
    assert wrong == []


def _imports_libcst(path: Path) -> bool:
    """Whether an import of LibCST stands elsewhere than under `if TYPE_CHECKING:`."""
    tree = ast.parse(path.read_bytes())
    typed = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in node.body
    }
    return any(
        isinstance(node, (ast.Import, ast.ImportFrom)) and id(node) not in typed and "libcst" in ast.unparse(node)
        for node in ast.walk(tree)
    )


def test_nothing_imports_the_matchers_of_libcst() -> None:
    assert [name_of(path) for path in FILES if any(among(name, "libcst.matchers") for name in imports(path))] == []


def test_only_one_module_starts_processes() -> None:
    starters = ("os.system", "os.popen", "os.posix_spawn", "os.exec", "os.spawn", "os.startfile", "pty.", "runpy.")
    wrong: list[tuple[str, str]] = []
    for path in FILES:
        allowed = name_of(path) == "linter/shardlint/changes/process.py" or "runtime" in path.parts
        if allowed:
            continue
        wrong += [
            (name_of(path), name)
            for name in imports(path)
            if among(name, "subprocess", "multiprocessing", "concurrent.futures", "pty", "asyncio.subprocess")
        ]
        wrong += [(name_of(path), name) for name, _ in calls(path) if name.startswith(starters)]
    assert wrong == []


def test_only_the_workers_fork() -> None:
    forks = {name_of(path) for path in FILES for name, _ in calls(path) if name in ("os.fork", "os.forkpty")}
    assert forks <= {"linter/shardlint/workers.py"}


def test_nothing_runs_or_unpickles_data() -> None:
    wrong: list[tuple[str, str]] = []
    for path in FILES:
        if "runtime" in path.parts:
            continue
        wrong += [
            (name_of(path), name)
            for name in imports(path)
            if among(name, "pickle", "shelve", "dill", "cloudpickle", "code", "codeop", "torch", "socket", "urllib")
        ]
        wrong += [
            (name_of(path), f"{name}:{line}")
            for name, line in calls(path)
            if name in ("eval", "exec", "__import__", "yaml.load", "yaml.unsafe_load", "yaml.full_load")
        ]
    assert wrong == []


def test_compile_makes_trees_only() -> None:
    wrong: list[str] = []
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "compile":
                wrong += [f"{name_of(path)}:{node.lineno}"] * ("ast.PyCF_ONLY_AST" not in ast.unparse(node))
    assert wrong == []


def test_modules_are_imported_by_name_only_where_rules_are_loaded() -> None:
    """Names that come from data must be those of installed packs; the child alone imports what the user names."""
    importers = {
        name_of(path)
        for path in FILES
        if path.parent.name != "runner"
        for name, _ in calls(path)
        if name.rpartition(".")[2] == "import_module"
    }
    assert importers <= {
        f"linter/shardlint/{module}.py" for module in ("commands/rules", "loading", "registry", "rule", "settings")
    }


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_module_is_small_named_and_described(path: Path) -> None:
    assert path.stem not in DRAWERS
    assert path.stat().st_size <= LARGEST
    if not path.stem.startswith("_") or path.stem in ("__init__", "__main__"):
        tree = ast.parse(path.read_bytes())
        assert ast.get_docstring(tree) or not tree.body


def test_the_page_of_facts_names_every_module_of_facts() -> None:
    folder = ENGINE / "facts"
    page = (folder / "README.md").read_text(encoding="utf-8")
    known = {
        path.name for path in folder.glob("*.py") if path.name != "__init__.py" and not path.name.startswith("module_")
    }
    assert sorted(name for name in known if f"`{name}`" not in page) == []
