"""The files that a model is made of: those that lie with it and those that they import."""

from __future__ import annotations

import ast

from shardlint.changes.edit import parsed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_INNER = ("model", "modeling", "generated", "module")
"""Folders of this name hold the model of the folder above them, beside its plan and its configuration."""

_MOST = 400
"""Files that are followed: a model that imports more of a project than that may have any name of it."""


def model_folder(path: str) -> str:
    """The folder that belongs to the model of a file, with a slash; "" for a file at the top."""
    folder = path.rpartition("/")[0]
    above, _, name = folder.rpartition("/")
    if above and name in _INNER:
        folder = above
    return folder and folder + "/"


def model_files(path: str, python: Sequence[str], read: Callable[[str], bytes | None]) -> list[str] | None:
    """The Python files of a model's folder, and those that they take classes from, one through the other.

    None if they are too many to tell.

    Args:
        path: the file of the model.
        python: the Python files of the project.
        read: gives the content of one.
    """
    folder = model_folder(path)
    by_name: dict[str, list[str]] = {}
    for one in python:
        parts = one.removesuffix(".py").removesuffix("/__init__").split("/")
        by_name.setdefault(parts[-1], []).append(one)
    reached = {one for one in python if one.startswith(folder)} if folder else {path}
    wanted: set[str] = set()
    waiting = sorted(reached)
    while waiting:
        if len(reached) > _MOST:
            return None
        at = waiting.pop()
        content = read(at)
        tree = parsed(content) if content is not None else None
        for module, name in _classes(at, tree) if tree is not None else ():
            if at.endswith("/__init__.py") and not at.startswith(folder or "/") and name not in wanted:
                continue
            if name not in wanted:
                wanted.add(name)
                waiting += [one for one in reached if one.endswith("/__init__.py")]
            for other in by_name.get(module.rpartition("/")[2], ()):
                if other not in reached and f"/{other}".endswith((f"/{module}.py", f"/{module}/__init__.py")):
                    reached.add(other)
                    waiting.append(other)
    return sorted(reached)


def _classes(path: str, tree: ast.Module) -> Iterator[tuple[str, str]]:
    """The modules that a file imports a class from, as paths without an ending, and the class.

    A module that is imported whole is one of its classes. A package's folder stands for its `__init__.py`, which is
    followed only for classes that somebody asks it for.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            base = "/".join(path.split("/")[: -node.level]) if node.level else ""
            module = "/".join(filter(None, (base, (node.module or "").replace(".", "/"))))
            for name in node.names:
                if name.name[:1].isupper():
                    yield module, name.name
                else:
                    yield f"{module}/{name.name}".lstrip("/"), name.name
