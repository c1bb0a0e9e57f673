"""The Python files of the project as parsed modules, each read when a name leads into it."""

from __future__ import annotations

import ast
from typing import NamedTuple

from shardlint.facts.matching import last_part
from shardlint.facts.module import FUNCTIONS, Binding, Module
from shardlint.facts.names import local_definition, resolve
from shardlint.facts.path_roles import in_tests
from shardlint.facts.program import package_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from shardlint.facts.module import FunctionNode
    from shardlint.facts.project_words import ProjectWords

_STEPS = 6
"""Files from the one that imports a name to the one that defines it: packages hand names on."""

_MOST_CALLERS = 24
"""Files that are searched for the calls of one function; one that more files name is called by too many to tell."""


class Untold(Exception):
    """Some use of a function cannot be told, so its calls are not all known."""


class Definition(NamedTuple):
    """What a dotted name means: a function or class of a file, or the expression that a file gives the name."""

    module: Module
    node: FunctionNode | ast.ClassDef | ast.expr


class ProjectModules:
    """All Python files of the project, by path and by import name."""

    def __init__(self, words: ProjectWords) -> None:
        self._words = words
        self._modules: dict[str, Module | None] = {}
        self._by_name: Mapping[str, list[str]] | None = None

    def adopt(self, module: Module) -> None:
        """Take over a file that is parsed already, so that its nodes are the same wherever they are met."""
        self._modules.setdefault(module.path, module)

    def module(self, path: str) -> Module | None:
        """A parsed file; None if it does not parse."""
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

    def definition(self, name: str, seen_from: Module, steps: int = _STEPS) -> Definition | None:
        """What a dotted name means in a file, through the packages that hand it on; None if it is not of the project.

        A name that a file gives two meanings has none that is certain.
        """
        found = local_definition(seen_from, name)
        if found is not None:
            return _only(seen_from, found)
        parts = name.split(".")
        for cut in range(len(parts) - 1, 0, -1):
            path = self._path(".".join(parts[:cut]), seen_from.path)
            module = self.module(path) if path is not None else None
            if module is not None:
                return self._inside(module, parts[cut:], steps)
        return None

    def _inside(self, module: Module, rest: list[str], steps: int) -> Definition | None:
        found = local_definition(module, ".".join([module.dotted, *rest]))
        if found is not None:
            return _only(module, found)
        root = module.scopes[module.tree]
        bindings = root.bindings.get(rest[0], [])
        if not bindings and steps:
            handed_on = (self.definition(".".join([star, *rest]), module, steps - 1) for star in root.stars if star)
            return next((found for found in handed_on if found is not None), None)
        if len(bindings) != 1 or not steps:
            return None
        return self._bound(module, bindings[0], rest[1:], steps)

    def _bound(self, module: Module, binding: Binding, rest: list[str], steps: int) -> Definition | None:
        if binding.kind == "import" and binding.target is not None:
            return self.definition(".".join([binding.target, *rest]), module, steps - 1)
        if binding.kind != "assign" or not binding.exact or binding.value is None:
            return None
        names = resolve(module, binding.value).names
        if len(names) == 1 and isinstance(binding.value, (ast.Name, ast.Attribute)):
            return self.definition(".".join([*names, *rest]), module, steps - 1)
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
        for path in (path for path in self._words.holding(registry) if text in self._words.text(path)):
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
        (`Trainer(data_collator=collate)`) may be called anywhere with anything.
        """
        node = of.node
        if not isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            raise Untold
        holding = [path for path in self._words.holding(node.name) if not in_tests(path)]
        if len(holding) > _MOST_CALLERS:
            raise Untold
        # The shortest files are read first: whoever asks stops at the first call that says nothing.
        for path in sorted(holding, key=lambda path: len(self._words.text(path))):
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
                elif not _is_base(module, use):
                    raise Untold

    def _means(self, name: str, module: Module, wanted: Definition) -> bool:
        found = self.definition(name, module)
        return found is not None and found.node is wanted.node


def _only(module: Module, node: FunctionNode | ast.ClassDef) -> Definition | None:
    """A definition, unless the file has another one of the same name."""
    name = module.qualified(node)
    same = [one for one in module.scopes if isinstance(one, (*FUNCTIONS, ast.ClassDef)) and one.name == node.name]
    return Definition(module, node) if [module.qualified(one) for one in same].count(name) == 1 else None


def _uses(module: Module, name: str) -> Iterator[ast.Name | ast.Attribute]:
    """The places of a file that read a name, or an attribute of that name."""
    for node in ast.walk(module.tree):
        if not isinstance(node, (ast.Name, ast.Attribute)) or not isinstance(node.ctx, ast.Load):
            continue
        word = last_part(node)
        if word == name or (isinstance(node, ast.Name) and _alias(module, word) == name):
            yield node


def _alias(module: Module, name: str) -> str:
    """The last part of what a name of the file's top level is imported as."""
    bindings = module.scopes[module.tree].bindings.get(name, ())
    target = bindings[0].target if len(bindings) == 1 and bindings[0].kind == "import" else None
    return target.rpartition(".")[2] if target else ""


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


def _is_base(module: Module, use: ast.expr) -> bool:
    """Whether a use only derives a class, names a type, or asks `isinstance`."""
    parent = module.parent(use)
    if isinstance(parent, ast.ClassDef):
        return True
    if isinstance(parent, (ast.arg, ast.AnnAssign)):
        return True
    return isinstance(parent, ast.Call) and isinstance(parent.func, ast.Name) and parent.func.id == "isinstance"


__all__ = ["Definition", "ProjectModules", "Untold"]
