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
    return _Search(path, python, read).run()


class _Search:
    """One search in progress. Each file is parsed once, however often one of its classes is asked for."""

    def __init__(self, path: str, python: Sequence[str], read: Callable[[str], bytes | None]) -> None:
        self.folder = model_folder(path)
        self.read = read
        self.by_name: dict[str, list[str]] = {}
        for one in python:
            parts = one.removesuffix(".py").removesuffix("/__init__").split("/")
            self.by_name.setdefault(parts[-1], []).append(one)
        self.reached = {one for one in python if one.startswith(self.folder)} if self.folder else {path}
        self.waiting = sorted(self.reached)
        self.wanted: set[str] = set()
        self.faces: list[dict[str, list[str]]] = []

    def run(self) -> list[str] | None:
        while self.waiting:
            if len(self.reached) > _MOST:
                return None
            at = self.waiting.pop()
            content = self.read(at)
            tree = parsed(content) if content is not None else None
            taken = list(_classes(at, tree)) if tree is not None else []
            if at.endswith("/__init__.py") and not at.startswith(self.folder or "/"):
                self._face(taken)
            else:
                for module, name in taken:
                    self._want(name)
                    self._follow(module)
        return sorted(self.reached)

    def _face(self, taken: list[tuple[str, str]]) -> None:
        """A package outside of the model's folder is followed only for the classes that somebody asks it for."""
        face: dict[str, list[str]] = {}
        for module, name in taken:
            face.setdefault(name, []).append(module)
        self.faces.append(face)
        for name in self.wanted & face.keys():
            for module in face[name]:
                self._follow(module)

    def _want(self, name: str) -> None:
        if name in self.wanted:
            return
        self.wanted.add(name)
        for face in self.faces:
            for module in face.get(name, ()):
                self._follow(module)

    def _follow(self, module: str) -> None:
        for other in self.by_name.get(module.rpartition("/")[2], ()):
            if other not in self.reached and f"/{other}".endswith((f"/{module}.py", f"/{module}/__init__.py")):
                self.reached.add(other)
                self.waiting.append(other)


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
