"""What the packages of the linted project's environment define, read off their source by path. Nothing is imported.

An answer is yes, no, or None for what the source does not settle: a compiled module, a lazy one, a base class that
cannot be found. A rule may rely on a no.
"""

from __future__ import annotations

import ast
import os
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from glob import glob

_DEPTH = 20
"""Imports followed from one name. Re-exports nest a few levels; a ring of imports must end."""

_REEXPORTS = 3
"""Modules followed from a package that takes a name from another, by text alone."""

_MOST_STARS = 20
"""`from x import *` in one file. A package with more of them is an index of hundreds of modules."""

_FROM = re.compile(r"^[ \t]*from[ \t]+(\.*)([\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)", re.MULTILINE)

_OPEN = re.compile(
    r"\b(?:globals|vars|locals)\(\)\s*(?:\[[^\n=]*\]\s*=(?!=)|\.update|\.setdefault)|=\s*(?:globals|vars|locals)\(\)\s*$|"
    r"\bsys\.modules\[(?:__name__|[^\]]*\](?:\.\w+)?\s*=(?!=))|(?<!class )\b_?Lazy\w*\(|\bexec\(|"
    r"\binstall_config_module\(|\b__class__\s*=|^\s*def __getattr__\(\w+(?::\s*\w+)?\)",
    re.MULTILINE,
)
"""What can give a module names that its text does not bind."""

_GLOBAL = re.compile(r"^[ \t]+global[ \t]+(\w[\w, ]*)", re.MULTILINE)
"""Names of the module that one of its functions writes."""

_ROOTS = frozenset(("object", "ABC", "abc.ABC", "Generic", "typing.Generic", "Protocol", "typing.Protocol"))
"""Bases that add no name which a patch could mean."""

Namespace = dict[str, list[ast.AST | str]]
"""What gives each name its value: the dotted path of an import, the class, or another node."""


_Imported = Callable[[ast.Import | ast.ImportFrom], Iterator[tuple[str, str]]]


class Module:
    """A module of a package: `names` that it binds, `stars` the modules that it takes all names of."""

    kind = "module"

    def __init__(self, packages: Packages, dotted: str, path: str, text: str) -> None:
        self.packages = packages
        self.dotted = dotted
        self.path = path
        self.names: Namespace = {}
        self.stars: list[str] = []
        self.is_open = _OPEN.search(text) is not None
        self._package = dotted if path.endswith("__init__.py") else dotted.rpartition(".")[0]
        self._classes: dict[ast.ClassDef, Class] = {}
        tree = _parsed(text)
        _read(tree.body, self.names, self._imported)
        for found in _GLOBAL.finditer(text):
            for name in found[1].split(","):
                self.names.setdefault(name.strip(), []).append(tree)

    def has(self, name: str, depth: int = 0) -> bool | None:
        """Whether the module has a name; None when the source leaves it open."""
        if name in self.names or _is_dunder(name) or self.packages.is_module(f"{self.dotted}.{name}"):
            return True
        unknown = self.is_open or depth > _DEPTH
        for star in self.stars if depth <= _DEPTH else ():
            source = self.packages.owner(star)
            answer = source.has(name, depth + 1) if isinstance(source, Module) else None
            if answer:
                return True
            unknown = unknown or answer is None
        return None if unknown else False

    def member(self, name: str, depth: int = 0) -> Module | Class | None:
        """The module or class that a name of it stands for."""
        found = [value for value in self.names.get(name, ()) if isinstance(value, (str, ast.ClassDef))]
        if len(found) == 1:
            value = found[0]
            if isinstance(value, str):
                return self.packages.owner(value, depth + 1)
            if value not in self._classes:
                self._classes[value] = Class(self, value)
            return self._classes[value]
        if name in self.names:
            return None
        known = [self.packages.owner(f"{star}.{name}", depth + 1) for star in self.stars]
        return next((owner for owner in known if owner is not None), None)

    def _imported(self, node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str]]:
        """The names that an import binds, with the dotted path of each; star imports are noted."""
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.partition(".")[0]
                yield alias.asname or top, alias.name if alias.asname else top
            return
        parts = self._package.split(".") if node.level else []
        base = ".".join([*parts[: len(parts) - node.level + 1], *([node.module] if node.module else [])])
        for alias in node.names:
            if alias.name == "*":
                self.stars.append(base)
            else:
                yield alias.asname or alias.name, f"{base}.{alias.name}"


class Class:
    """A class of a package."""

    kind = "class"

    def __init__(self, module: Module, node: ast.ClassDef) -> None:
        self.module = module
        self.node = node
        self.path = module.path
        self.dotted = f"{module.dotted}.{node.name}"

    @cached_property
    def names(self) -> Namespace:
        """The names of its body, and the attributes that its methods give to `self` or `cls`."""
        found: Namespace = {}
        _read(self.node.body, found, lambda _node: iter(()))
        for node in ast.walk(self.node):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                found.setdefault(node.attr, []).append(node)
        return found

    def has(self, name: str, depth: int = 0) -> bool | None:
        """Whether the class or one of its bases has a name; None when a base cannot be found."""
        if name in self.names or _is_dunder(name):
            return True
        unknown = bool(self.node.keywords) or depth > _DEPTH
        for owner in self.bases(depth) if depth <= _DEPTH else ():
            answer = owner.has(name, depth + 1) if isinstance(owner, Class) else None
            if answer:
                return True
            unknown = unknown or answer is None
        return None if unknown else False

    def bases(self, depth: int = 0) -> Iterator[Module | Class | None]:
        """What it derives from, apart from roots that add no name; None for a base that cannot be found."""
        for base in self.node.bases:
            text = ast.unparse(base.value if isinstance(base, ast.Subscript) else base)
            if text not in _ROOTS:
                yield self._base(text, depth)

    def member(self, name: str, depth: int = 0) -> Module | Class | None:
        """The class nested in it under a name."""
        found = [value for value in self.names.get(name, ()) if isinstance(value, ast.ClassDef)]
        return Class(self.module, found[0]) if len(found) == 1 and depth <= _DEPTH else None

    def _base(self, text: str, depth: int) -> Module | Class | None:
        at: Module | Class | None = self.module
        for part in text.split("."):
            at = at.member(part, depth + 1) if at is not None else None
        return at


class Packages:
    """The packages of an environment. `files` (path below `site-packages` -> text) stand before those on disk."""

    def __init__(self, folders: Sequence[str] = (), files: Mapping[str, str] | None = None) -> None:
        self.folders = tuple(folders)
        self.files = dict(files or {})
        self._modules: dict[str, Module | None] = {}
        self._spelled: dict[tuple[str, str], bool] = {}
        self._installed: dict[str, bool] = {}

    def installed(self, package: str) -> bool:
        """Whether the source of a top-level package is there; a namespace package counts."""
        if package not in self._installed:
            given = any(path.startswith((f"{package}/", f"{package}.py")) for path in self.files)
            found = any(os.path.isdir(os.path.join(folder, package)) for folder in self.folders)
            self._installed[package] = given or found
        return self._installed[package]

    def is_module(self, dotted: str) -> bool:
        """Whether a dotted path is a module or a folder of modules, compiled ones included."""
        path = dotted.replace(".", "/")
        if any(file.startswith((f"{path}/", f"{path}.")) for file in self.files):
            return True
        return any(_holds_module(os.path.join(folder, path)) for folder in self.folders)

    def owner(self, dotted: str, depth: int = 0) -> Module | Class | None:
        """The module or class that a dotted path stands for, imports followed; None when that is not known."""
        if depth > _DEPTH:
            return None
        parts = dotted.split(".")
        for size in range(len(parts), 0, -1):
            at: Module | Class | None = self._module(".".join(parts[:size]))
            if at is None:
                continue
            for part in parts[size:]:
                at = at.member(part, depth) if at is not None else None
            return at
        return None

    def surely_has(self, dotted: str, name: str, depth: int = 0) -> bool:
        """Whether the file of a module plainly defines a name, or that of a class spells it: told without a parser.

        Where a package only takes them from others of its modules, those are looked at.
        """
        parts = dotted.split(".")
        for size in range(len(parts), 0, -1):
            path, rest = "/".join(parts[:size]), parts[size:]
            start = self._text(f"{path}/__init__.py")
            text = self._text(f"{path}.py") if start is None else start
            if text is None:
                continue
            pattern = rf"\b{name}\b" if rest else rf"^(?:(?:async )?def |class )?{name}\b\s*[(:=]"
            if name in text and re.search(pattern, text, re.MULTILINE):
                return True
            home = parts[:size] if start is not None else parts[: size - 1]
            sources = _taken_from(home, text, rest[0] if rest else name) if depth < _REEXPORTS else []
            return any(self.surely_has(".".join([source, *rest]), name, depth + 1) for source in sources)
        return False

    def texts(self, folder: str, start: str) -> Iterator[tuple[str, str]]:
        """The path and text of the Python files in the folders below a folder whose names begin with `start`."""
        for path, text in self.files.items():
            if path.startswith(f"{folder}/") and path.rpartition("/")[2].startswith(start) and path.endswith(".py"):
                yield path, text
        for at in self.folders:
            for path in sorted(glob(f"*/{start}*.py", root_dir=os.path.join(at, folder))):
                data = _content(os.path.join(at, folder, path))
                if data is not None:
                    yield f"{folder}/{path}", data.decode("utf-8", "replace")

    def spells(self, package: str, pattern: str) -> bool:
        """Whether any Python file of a top-level package has a match of a pattern as a word of its own."""
        key = (package, pattern)
        if key not in self._spelled:
            regex = re.compile(rb"(?<!\w)(?:" + pattern.encode() + rb")(?!\w)")
            self._spelled[key] = any(regex.search(data) for data in self._contents(package))
        return self._spelled[key]

    def _module(self, dotted: str) -> Module | None:
        if dotted not in self._modules:
            self._modules[dotted] = self._read(dotted)
        return self._modules[dotted]

    def _read(self, dotted: str) -> Module | None:
        path = dotted.replace(".", "/")
        for file in (f"{path}/__init__.py", f"{path}.py"):
            text = self._text(file)
            if text is not None:
                try:
                    return Module(self, dotted, file, text)
                except (SyntaxError, ValueError, RecursionError, MemoryError):
                    return None
        return None

    def _text(self, file: str) -> str | None:
        if file in self.files:
            return self.files[file]
        for folder in self.folders:
            data = _content(os.path.join(folder, file))
            if data is not None:
                return data.decode("utf-8", "replace")
        return None

    def _contents(self, package: str) -> Iterator[bytes]:
        for path, text in self.files.items():
            if path.startswith(f"{package}/") or path == f"{package}.py":
                yield text.encode()
        for folder in self.folders:
            for at, _, names in os.walk(os.path.join(folder, package)):
                for name in names:
                    if name.endswith(".py"):
                        yield _content(os.path.join(at, name)) or b""


def _taken_from(home: Sequence[str], text: str, name: str) -> list[str]:
    """The modules that a text takes a name from, or all names; none when there are too many of the latter."""
    found: list[str] = []
    for dots, module, clause in _FROM.findall(text):
        if clause.startswith("*") or re.search(rf"\b{name}\b", clause):
            above = list(home[: len(home) - len(dots) + 1]) if dots else list[str]()
            found.append(".".join(above + module.split(".") if module else above))
    return found if len(found) <= _MOST_STARS else []


def _content(path: str) -> bytes | None:
    try:
        if not os.path.isfile(path):  # a fifo would block
            return None
        with open(path, "rb") as opened:
            return opened.read()
    except OSError:
        return None


def _parsed(text: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


def _is_dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _holds_module(path: str) -> bool:
    if os.path.isdir(path) or os.path.isfile(f"{path}.py"):
        return True
    folder, name = os.path.split(path)
    try:
        return any(entry.startswith(f"{name}.") and entry.endswith((".so", ".pyd")) for entry in os.listdir(folder))
    except OSError:
        return False


def _read(body: Iterable[ast.stmt], names: Namespace, imported: _Imported) -> None:
    """Note what statements bind, those in the blocks of `if`, `try`, loops and `with` too."""
    for statement in body:
        if isinstance(statement, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            names.setdefault(statement.name, []).append(statement)
        elif isinstance(statement, (ast.Import, ast.ImportFrom)):
            for name, target in imported(statement):
                if target not in names.setdefault(name, []):
                    names[name].append(target)
        else:
            _stored(statement, names)
            for block in ("body", "orelse", "finalbody"):
                _read(getattr(statement, block, ()), names, imported)
            for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
                _read(part.body, names, imported)


def _stored(statement: ast.stmt, names: Namespace) -> None:
    inner = (child for child in ast.iter_child_nodes(statement) if not isinstance(child, ast.stmt))
    for child in inner:
        for node in ast.walk(child):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names.setdefault(node.id, []).append(node)
