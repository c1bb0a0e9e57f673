"""The Python files of the project as parsed modules, each read when a name leads into it."""

from __future__ import annotations

import ast
import re
from collections import Counter
from typing import NamedTuple

from shardlint.facts.matching import last_part
from shardlint.facts.module import FUNCTIONS, Binding, Module
from shardlint.facts.names import local_definition, resolve, self_values
from shardlint.facts.program import package_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from shardlint.facts.module import FunctionNode
    from shardlint.facts.project_words import ProjectWords

_STEPS = 6
"""Files from the one that imports a name to the one that defines it: packages hand names on."""

_MOST_NODES = 400_000
"""Nodes of the trees that are kept from one file that asks to the next: some hundred megabytes."""

_MOST_CALLERS = 24
"""Files that are searched for the calls of one function; one that more files name is called by too many to tell."""


class Untold(Exception):
    """Some use of a function cannot be told, so its calls are not all known."""


class Definition(NamedTuple):
    """What a dotted name means: a function or class of a file, or the expression that a file gives the name."""

    module: Module
    node: FunctionNode | ast.ClassDef | ast.expr


class ProjectModules:
    """All Python files of the project, by path and by import name.

    `asked`: the paths that were asked for. Whoever wants to know what an answer rests on puts a new set here.
    """

    def __init__(self, words: ProjectWords) -> None:
        self._words = words
        self._modules: dict[str, Module | None] = {}
        self._by_name: Mapping[str, list[str]] | None = None
        self.asked: set[str] = set()

    def adopt(self, module: Module) -> None:
        """Take over a file that is parsed already, so that its nodes are the same wherever they are met."""
        self._modules[module.path] = module

    def shed(self) -> None:
        """Drop all trees when there are many of them. Nobody may be in the middle of a question."""
        if sum(len(module.parents) for module in self._modules.values() if module is not None) > _MOST_NODES:
            self._modules.clear()

    def module(self, path: str) -> Module | None:
        """A parsed file; None if it does not parse."""
        self.asked.add(path)
        self._words.questions.read.add(path)
        if path not in self._modules:
            self._modules[path] = self._parsed(path)
        return self._modules[path]

    def _parsed(self, path: str) -> Module | None:
        from shardlint.errors import UndecodableSource
        from shardlint.parsing import parse
        from shardlint.source import decode

        if path not in self._words.paths:
            return None
        try:
            source = decode(self._words.text(path))
        except UndecodableSource:
            return None
        tree = parse(source.text)
        if isinstance(tree, SyntaxError):
            return None
        dotted = package_name(path, self._words.paths)
        words = self._words
        return Module(path, source.text, tree, dotted=dotted, project=lambda: words)

    def definition(self, name: str, seen_from: Module) -> Definition | None:
        """What a dotted name means in a file, through the packages that hand it on; None if it is not of the project.

        A name that a file gives two meanings has none that is certain.
        """
        return self._definition(name, seen_from, _STEPS, set())

    def _definition(self, name: str, seen_from: Module, steps: int, seen: set[tuple[str, str]]) -> Definition | None:
        """`seen`: the files, with what was looked for in them: star imports may lead to a file in many ways."""
        found = local_definition(seen_from, name)
        if found is not None:
            return _only(seen_from, found)
        parts = name.split(".")
        for cut in range(len(parts) - 1, 0, -1):
            path = self._path(".".join(parts[:cut]), seen_from.path)
            if path is not None and not self._may_bind(path, parts[cut]):
                return None  # a package may have a thousand such files
            module = self.module(path) if path is not None else None
            if module is not None:
                asked = (module.path, ".".join(parts[cut:]))
                if asked in seen:
                    return None
                seen.add(asked)
                return self._inside(module, parts[cut:], steps, seen)
        return None

    def _may_bind(self, path: str, name: str) -> bool:
        self.asked.add(path)
        return self._words.binds(path, name)

    def _inside(self, module: Module, rest: list[str], steps: int, seen: set[tuple[str, str]]) -> Definition | None:
        found = local_definition(module, ".".join([module.dotted, *rest]))
        if found is not None:
            return _only(module, found)
        root = module.scopes[module.tree]
        bindings = root.bindings.get(rest[0], [])
        if not bindings and steps:
            stars = [".".join([star, *rest]) for star in root.stars if star]
            handed_on = (self._definition(star, module, steps - 1, seen) for star in stars)
            return next((found for found in handed_on if found is not None), None)
        if len(bindings) != 1 or not steps:
            return None
        return self._bound(module, bindings[0], rest[1:], steps, seen)

    def _bound(
        self, module: Module, binding: Binding, rest: list[str], steps: int, seen: set[tuple[str, str]]
    ) -> Definition | None:
        if binding.kind == "import" and binding.target is not None:
            return self._definition(".".join([binding.target, *rest]), module, steps - 1, seen)
        if binding.kind != "assign" or not binding.exact or binding.value is None:
            return None
        names = resolve(module, binding.value).names
        if len(names) == 1 and isinstance(binding.value, (ast.Name, ast.Attribute)):
            return self._definition(".".join([*names, *rest]), module, steps - 1, seen)
        return None if rest else Definition(module, binding.value)

    def _path(self, name: str, importer: str) -> str | None:
        """The file of a module by its import name: beside the importing file, or the only one of that name."""
        inner = name.replace(".", "/")
        folder = importer.rpartition("/")[0]
        near = f"{folder}/{inner}" if folder else inner
        paths = self._words.paths
        if folder + "/__init__.py" not in paths:
            # A script's own folder comes first on the path of Python.
            for path in (f"{near}.py", f"{near}/__init__.py"):
                if path in paths:
                    return path
        found = self._names.get(name, ())
        if len(found) == 1:
            return found[0]
        return self._above(inner, folder) if "." in name else None

    def _above(self, inner: str, folder: str) -> str | None:
        """The file in a folder above the importing one: packages without `__init__.py`, run from where they lie."""
        while folder:
            folder = folder.rpartition("/")[0]
            for path in (f"{folder}/{inner}.py", f"{folder}/{inner}/__init__.py"):
                if path in self._words.paths:
                    return path
        return None

    @property
    def _names(self) -> Mapping[str, list[str]]:
        if self._by_name is None:
            names: dict[str, list[str]] = {}
            for path in sorted(self._words.paths):
                whole = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
                for name in dict.fromkeys((whole, package_name(path, self._words.paths))):
                    if name:
                        names.setdefault(name, []).append(path)
            self._by_name = names
        return self._by_name

    def registered(self, registry: str, key: str) -> Definition | None:
        """The class or function that the project registers under a text: `@REGISTRY.register("key")`.

        Args:
            registry: the last part of the registry's name.
        """
        if not registry:
            return None
        found: list[Definition] = []
        text = key.encode()
        registering = self._words.matching(registry, rf"{re.escape(registry)}[\s)\\]*\.[\s\\]*register")
        for path in (path for path in registering if text in self._words.text(path)):
            module = self.module(path)
            if module is None:
                continue
            nodes = [node for node in module.scopes if isinstance(node, (*FUNCTIONS, ast.ClassDef))]
            marked = [node for node in nodes if any(_registers(mark, registry, key) for mark in node.decorator_list)]
            found += [Definition(module, node) for node in marked]
        return found[0] if len(found) == 1 else None

    def calls(self, of: Definition) -> Iterator[tuple[Module, ast.Call]]:
        """Every call of a function or class of the project outside of tests, file by file.

        Raises Untold where some use of its name cannot be told: one that is handed on as a value
        (`Trainer(data_collator=collate)`) may be called anywhere with anything, and so may a class that others extend.
        """
        node = of.node
        if not isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            raise Untold
        naming = self._words.naming(node.name, _MOST_CALLERS)
        if naming is None:
            raise Untold
        # The shortest files are read first: whoever asks stops at the first call that says nothing.
        for path in sorted(naming, key=lambda path: len(self._words.text(path))):
            module = self.module(path)
            if module is None:
                raise Untold
            for use in _uses(module, node.name):
                meant = resolve(module, use).names
                if not meant:
                    raise Untold
                if not any(self._means(one, module, of) for one in meant):
                    continue
                call = module.parent(use)
                if isinstance(call, ast.Call) and call.func is use and len(meant) == 1:
                    yield module, call
                elif not _is_type(module, use):
                    raise Untold

    def gives(self, of: ast.ClassDef, attribute: str) -> bool:
        """Whether a class that extends another, by its name, gives an attribute a value of its own."""
        named, names = {of.name}, [of.name]
        for name in names:
            for path in self._words.extending(name):
                module = self.module(path)
                for node in module.scopes if module is not None else ():
                    if not isinstance(node, ast.ClassDef) or name not in map(last_part, node.bases):
                        continue
                    if module is not None and node is not of and self_values(module, node, attribute):
                        return True
                    names += {node.name} - named
                    named.add(node.name)
        return False

    def _means(self, name: str, module: Module, wanted: Definition) -> bool:
        found = self.definition(name, module)
        return found is not None and found.node is wanted.node


def _only(module: Module, node: FunctionNode | ast.ClassDef) -> Definition | None:
    """A definition, unless the file has another one of the same name."""
    counts = module.memo.get("definitions")
    if not isinstance(counts, Counter):
        defined = [one for one in module.scopes if isinstance(one, (*FUNCTIONS, ast.ClassDef))]
        counts = module.memo["definitions"] = Counter(map(module.qualified, defined))
    return Definition(module, node) if counts[module.qualified(node)] == 1 else None


def _uses(module: Module, name: str) -> Iterator[ast.Name | ast.Attribute]:
    """The places of a file that read a name, or an attribute of that name."""
    aliases = _aliases(module, name)
    named: list[ast.Name | ast.Attribute] = [*module.nodes(ast.Name), *module.nodes(ast.Attribute)]
    wanted = {name, *aliases}
    found = [node for node in named if last_part(node) in wanted and isinstance(node.ctx, ast.Load)]
    yield from sorted(found, key=lambda node: (node.lineno, node.col_offset))


def _aliases(module: Module, name: str) -> set[str]:
    """The names under which some scope of a file imports something of that name."""
    bindings = [one for scope in module.scopes.values() for inner in scope.bindings.values() for one in inner]
    return {one.name for one in bindings if one.kind == "import" and (one.target or "").rpartition(".")[2] == name}


def _registers(mark: ast.expr, registry: str, key: str) -> bool:
    """Whether a decorator is `@REGISTRY.register("key")`."""
    if (
        not isinstance(mark, ast.Call)
        or not isinstance(mark.func, ast.Attribute)
        or not mark.func.attr.startswith("register")
    ):
        return False
    named = [
        one.value for one in (*mark.args, *(word.value for word in mark.keywords)) if isinstance(one, ast.Constant)
    ]
    return key in named and last_part(mark.func.value) == registry


def _is_type(module: Module, use: ast.expr) -> bool:
    """Whether a use only names a type, or asks `isinstance`."""
    parent = module.parent(use)
    if isinstance(parent, (ast.arg, ast.AnnAssign)):
        return parent.annotation is use
    return isinstance(parent, ast.Call) and isinstance(parent.func, ast.Name) and parent.func.id == "isinstance"


__all__ = ["Definition", "ProjectModules", "Untold"]
