"""The whole program, on demand: which file defines a name, and what its functions do.

A file is parsed only when a trace of one of its functions is asked for and not stored. What is stored is plain:
imports, definitions, base classes and the traces built so far, keyed by the content of the file.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable
from typing import Any

from shardlint.facts.module import Binding, FunctionNode, Module
from shardlint.facts.names import resolve
from shardlint.facts.trace import Trace, trace

_STAR = re.compile(rb"\bimport\s*\*")

_MOST_NODES = 400_000
"""Nodes of the trees that are kept at once: some hundred megabytes."""

Stored = dict[str, Any]
"""imports: name -> dotted target, aliases too; stars: modules; classes: qualified name -> bases; functions; traces."""


class _Owners(dict[str, FunctionNode]):
    """The functions of a file by their qualified names."""


class FileFacts:
    """The facts of one file that other files ask for."""

    def __init__(
        self,
        path: str,
        stored: Stored | None,
        load: Callable[[str | None], Module | None],
        asked: frozenset[str],
        function: str = "",
    ) -> None:
        self.path = path
        self._load = load
        self._asked = asked
        self._module: Module | None = None
        self._tried = False
        self.stored = stored or {"imports": {}, "stars": [], "classes": {}, "functions": [], "traces": {}}
        if stored is None:
            self._tried = True
            self._learn(load(function))

    def module(self, function: str) -> Module | None:
        """The parsed file, if only in parts, the function of that name among them; None when it does not parse."""
        if not self._tried:
            self._tried = True
            self._learn(self._load(function))
        module = self._module
        if module is not None and module.left_out and function:
            owner = self._owner(module, function)
            if owner is None or owner.lineno in module.left_out:
                self._learn(self._load(None))
        return self._module

    def forget(self) -> None:
        """Drop the tree. It is parsed again when one more function is asked for."""
        self._module, self._tried = None, False

    def _learn(self, module: Module | None) -> None:
        """Take over what a file defines. What stands inside of functions comes to light only when they are parsed."""
        self._module = module
        if module is None:
            return
        stored, root = self.stored, module.scopes[module.tree]
        for name, bindings in root.bindings.items():
            targets = {target for binding in bindings if (target := _target(module, binding)) is not None}
            if len(targets) == 1:
                stored["imports"][name] = targets.pop()
        stored["stars"] = list(root.stars)
        for node in module.scopes:
            if isinstance(node, ast.ClassDef):
                bases = [name for base in node.bases for name in resolve(module, base).names]
                stored["classes"][module.qualified(node)] = bases
        known = set(stored["functions"])
        stored["functions"] += [name for name in map(module.qualified, module.functions) if name not in known]

    def trace(self, qualified: str) -> Trace | None:
        """The trace of a function by its name in the file; the empty name is the module's own body."""
        traces = self.stored["traces"]
        if qualified in traces:
            found: Trace = traces[qualified]
            return found
        if qualified and qualified not in self.stored["functions"]:
            return None
        module = self.module(qualified)
        if module is None:
            return None
        owner = self._owner(module, qualified) if qualified else module.tree
        local = any(qualified in names for names in self.stored.get("local", {}).values())
        built = trace(module, owner, self._asked, local=local) if owner is not None else ()
        traces[qualified] = built
        return built

    def _owner(self, module: Module, qualified: str) -> FunctionNode | None:
        """The last definition of that name: the one that holds, unless an `if` or `try` chose another."""
        owners = module.memo.get("owners")
        if not isinstance(owners, _Owners):
            owners = _Owners((module.qualified(function), function) for function in module.functions)
            module.memo["owners"] = owners
        return owners.get(qualified)


def _target(module: Module, binding: Binding) -> str | None:
    """What a name of a file stands for elsewhere: an import, or an alias such as `reduce = dist.all_reduce`."""
    if binding.kind == "import":
        return binding.target
    if binding.kind == "assign" and binding.exact and isinstance(binding.value, (ast.Name, ast.Attribute)):
        names = resolve(module, binding.value).names
        return names[0] if len(names) == 1 else None
    return None


class Program:
    """All Python files of the project.

    `read(path, function)` gives the module of a path, or None when it cannot be parsed. It may leave out the bodies of
    all functions but those called `function`, the last part of a name; with None it may leave out nothing.
    `text(path)` gives the bytes.
    """

    def __init__(
        self,
        paths: Iterable[str],
        read: Callable[[str, str | None], Module | None],
        text: Callable[[str], bytes],
        asked: frozenset[str],
        stored: Callable[[str], Stored | None] | None = None,
    ) -> None:
        self._read = read
        self._text = text
        self._asked = asked
        self._stored = stored
        self._files: dict[str, FileFacts] = {}
        self._read_of: set[str] = set()
        self._loaded: dict[str, int] = {}
        self._nodes = 0
        self._homes: dict[tuple[str, str], str | None] = {}
        self._paths = sorted(paths)
        self._by_name: dict[str, str] | None = None
        self.memo: dict[object, Any] = {}

    @property
    def used(self) -> list[str]:
        """The paths that an answer depends on."""
        return sorted(self._read_of.union(self._files))

    @property
    def facts(self) -> dict[str, Stored]:
        """The facts of the files that were asked for, by path."""
        return {path: self._files[path].stored for path in sorted(self._files)}

    def file(self, path: str, function: str = "") -> FileFacts:
        """The facts of one file, of which `function` is likely to be asked about."""
        known = self._files.get(path)
        if known is None:
            stored = self._stored(path) if self._stored else None
            known = FileFacts(path, stored, lambda name: self._load(path, name), self._asked, function)
            self._files[path] = known
        return known

    def _load(self, path: str, function: str | None) -> Module | None:
        """A parsed file. The trees that were read the longest time ago are dropped: their facts stay."""
        module, loaded = self._read(path, function), self._loaded
        self._nodes -= loaded.pop(path, 0)
        loaded[path] = len(module.parents) if module is not None else 0
        self._nodes += loaded[path]
        while self._nodes > _MOST_NODES and len(loaded) > 1:
            oldest = next(iter(loaded))
            self._nodes -= loaded.pop(oldest)
            if oldest in self._files:
                self._files[oldest].forget()
        return module

    def text(self, path: str) -> bytes:
        """The bytes of a file; an answer made of them depends on it."""
        self._read_of.add(path)
        return self._text(path)

    def path_of(self, dotted: str) -> str | None:
        """The file of a module by its import name. A folder above the package is not part of it."""
        if self._by_name is None:
            self._by_name = import_names(self._paths)
        return self._by_name.get(dotted)

    def find(self, name: str, depth: int = 0) -> tuple[str, str] | None:
        """The file and the name inside it of a function by its dotted name, through re-exports and base classes."""
        parts = name.split(".")
        for cut in range(len(parts) - 1, 0, -1):
            path = self.path_of(".".join(parts[:cut]))
            if path is not None:
                return self._inside(path, ".".join(parts[cut:]), depth)
        return None

    def _inside(self, path: str, rest: str, depth: int) -> tuple[str, str] | None:
        stored = self.file(path, rest).stored
        if rest in stored["functions"]:
            return path, rest
        if depth > 6:
            return None
        head, _, tail = rest.partition(".")
        if head in stored["imports"] and head not in stored["classes"]:
            target = stored["imports"][head]
            return self.find(f"{target}.{tail}" if tail else target, depth + 1)
        owner, _, method = rest.rpartition(".")
        if owner in stored["classes"]:
            for base in stored["classes"][owner]:
                found = self.find(f"{base}.{method}", depth + 1)
                if found is not None:
                    return found
        if rest in stored["classes"]:
            return self._inside(path, f"{rest}.__init__", depth + 1)
        if head in stored["classes"]:
            return None
        home = self._behind_stars(path, head)
        return self._inside(home, rest, depth + 1) if home is not None else None

    def _behind_stars(self, path: str, name: str) -> str | None:
        """The file in which a name is bound that a file has from `from ... import *`; None if there is none."""
        key = (path, name)
        if key not in self._homes:
            self._homes[key] = None  # what files that import each other get
            stars = (self.path_of(star) for star in self.file(path).stored["stars"])
            homes = (self._home(star, name) for star in stars if star is not None)
            self._homes[key] = next((home for home in homes if home is not None), None)
        return self._homes[key]

    def _home(self, path: str, name: str) -> str | None:
        """The file that binds a name: this one, or one whose names it takes over."""
        text = self.text(path)
        if name.encode() not in text and _STAR.search(text) is None:
            return None  # a package may have a thousand such files
        stored = self.file(path).stored
        if name in stored["imports"] or name in stored["classes"] or name in stored["functions"]:
            return path
        return self._behind_stars(path, name)

    def is_class(self, name: str) -> bool:
        """Whether a dotted name is a class of this project."""
        parts = name.split(".")
        for cut in range(len(parts) - 1, 0, -1):
            path = self.path_of(".".join(parts[:cut]))
            if path is not None:
                return ".".join(parts[cut:]) in self.file(path).stored["classes"]
        return False

    def external(self, name: str, depth: int = 0) -> str:
        """The name behind a re-export of this project, or behind a method that a class of it leaves to its base:
        `mylib.comm.all_reduce` may be torch's own, and so may `Model.state_dict`."""
        parts = name.split(".")
        for cut in range(len(parts) - 1, 0, -1):
            path = self.path_of(".".join(parts[:cut]))
            if path is None:
                continue
            stored = self.file(path).stored
            head, tail = parts[cut], parts[cut + 1 :]
            if head in stored["imports"] and head not in stored["functions"] and depth < 6:
                return self.external(".".join([stored["imports"][head], *tail]), depth + 1)
            bases = stored["classes"].get(".".join(parts[cut:-1]), ())
            if len(bases) == 1 and ".".join(parts[cut:]) not in stored["functions"] and depth < 6:
                return self.external(f"{bases[0]}.{parts[-1]}", depth + 1)
            return name
        return name


def import_names(paths: Iterable[str]) -> dict[str, str]:
    """Import name -> path. The package root is the outermost folder of an unbroken chain of `__init__.py`.

    A script beside others is also known by its bare name, as Python finds it when it runs from that folder.
    """
    known = set(paths)
    names: dict[str, str] = {}
    for path in sorted(known):
        parts = path.removesuffix(".py").split("/")
        if parts[-1] == "__init__":
            parts.pop()
        names.setdefault(".".join(parts), path)
    for path in sorted(known):
        dotted = package_name(path, known)
        if dotted:
            names.setdefault(dotted, path)
    return names


def package_name(path: str, known: set[str] | frozenset[str]) -> str:
    """The import name of a path: its packages and its stem, folders without `__init__.py` left out."""
    parts = path.removesuffix(".py").split("/")
    folders, stem = parts[:-1], parts[-1]
    start = len(folders)
    while start > 0 and "/".join([*folders[:start], "__init__.py"]) in known:
        start -= 1
    kept = folders[start:]
    if stem != "__init__":
        kept = [*kept, stem]
    return ".".join(kept)
