"""What an entry script builds: a tokenizer or a processor for its samples, and the keys of its config that it takes.

Followed are the script's own functions, the class that it makes, the methods that this class and the objects it holds
run while it is made, and functions that are named after a tokenizer or a processor. A name alone says nothing: a
function loads a tokenizer if its code, in the end, asks transformers for one.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from shardlint.configs.launches import Launch, Launches
from shardlint.facts.matching import last_part
from shardlint.facts.module import FUNCTIONS, Module
from shardlint.facts.names import resolve, self_values
from shardlint.facts.project_modules import Definition, ProjectModules
from shardlint.facts.samples import method
from shardlint.finding import Related

_LOADED = (
    ("processor", re.compile(r"transformers\.(?:.*\.)?\w*(?:Processor|FeatureExtractor)\.from_pretrained")),
    ("tokenizer", re.compile(r"transformers\.(?:.*\.)?\w*Tokenizer(?:Fast)?\.from_pretrained")),
)
"""Classes of transformers: a processor makes model inputs of images, sound or video, a tokenizer of text alone."""

_SPEAKS = re.compile("process(?:or|ing_class)|feature_extractor", re.IGNORECASE)
_LEADS = re.compile("processor|tokenizer|feature_extractor", re.IGNORECASE)
"""Names of functions that are entered."""

_PARTS = ("tokenizer", "image_processor")
"""What every processor for media has. Whoever asks whether it is there takes a tokenizer as well."""

_DEEPEST = 8
"""Calls from the script to the place where something is loaded."""

_MOST = 400
"""Functions that are entered for one script."""


class Entry:
    """What one script builds, as far as its code shows.

    `loads`: kind ("tokenizer" or "processor") -> the place where it is surely loaded. `possible`: the kinds that may be
    loaded on some way. `reads`: the last two parts of each attribute that it reads (`data.mm_configs`) -> place.
    `speaks`: whether its code names a processor at all; `asks`: whether it asks if what it has is one.
    `used`: the files that this was told by.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.loads: dict[str, tuple[str, int]] = {}
        self.possible: set[str] = set()
        self.reads: dict[str, tuple[str, int]] = {}
        self.speaks = False
        self.asks = False
        self.used: frozenset[str] = frozenset([path])

    def makes(self, media: Iterable[str], conditions: Iterable[str]) -> Made | None:
        """What its samples are made with; None if that is not known.

        Args:
            media: config keys that a script reads which takes media, whatever it makes its samples with.
            conditions: config keys that a script reads whose samples need neither a tokenizer nor a processor.
        """
        speaks = self.speaks or "processor" in self.possible
        if "tokenizer" in self.loads and not speaks and not self._read(media):
            return Made("tokenizer", "makes its samples with a tokenizer alone", self._note("tokenizer"))
        if "processor" in self.loads and "tokenizer" not in self.possible and not self.asks:
            return Made("processor", "makes its samples with a processor", self._note("processor"))
        read = self._read(conditions)
        if not read or self.possible or speaks:
            return None
        said = f"trains on what `{read}` makes, without a tokenizer or a processor of its own"
        return Made("neither", said, Related(*self.reads[read], 1, "read here"))

    def _read(self, keys: Iterable[str]) -> str:
        """The first of some keys, each of two steps, that it reads; empty if it reads none."""
        return next((key for key in keys if key in self.reads), "")

    def _note(self, kind: str) -> Related:
        return Related(*self.loads[kind], 1, f"the {kind} is loaded here")


class Made(NamedTuple):
    """What a script makes its samples with: "tokenizer", "processor" or "neither"; in words; where the code says so."""

    kind: str
    said: str
    place: Related


class Launched(NamedTuple):
    """A launch of a config file, and what the script behind it builds; nothing for a command that is no script."""

    launch: Launch
    entry: Entry | None

    def makes(self, media: Iterable[str], conditions: Iterable[str]) -> Made | None:
        """What the script makes its samples with, as `Entry.makes` says."""
        return self.entry.makes(media, conditions) if self.entry is not None else None

    def note(self, message: str) -> Related:
        """The command as a related place of a finding."""
        return Related(self.launch.path, self.launch.line, self.launch.column, message)


class EntryScripts:
    """The entry scripts of a project, each looked at when a config is asked for that it reads."""

    def __init__(self, modules: ProjectModules, launches: Launches) -> None:
        self._modules = modules
        self._launches = launches
        self._entries: dict[str, Entry] = {}

    def of(self, config: str) -> list[Launched]:
        """The launches of a config file."""
        return [Launched(one, self._entry(one.script)) for one in self._launches.of(config)]

    def _entry(self, script: str) -> Entry | None:
        if not script.endswith(".py"):
            return None
        if script not in self._entries:
            outer, self._modules.asked = self._modules.asked, {script}
            entry = self._entries[script] = Entry(script)
            module = self._modules.module(script)
            if module is not None:
                _Walk(self._modules, entry).script(module)
            entry.used = frozenset(self._modules.asked)
            self._modules.asked = outer | entry.used
        return self._entries[script]


class _Object(NamedTuple):
    """An object that is being made: its class, and the classes of what it holds."""

    of: Definition
    holds: dict[str, _Object | None]


class _Walk:
    """One look at a script. Code is entered once; `sure` says whether it certainly runs."""

    def __init__(self, modules: ProjectModules, entry: Entry) -> None:
        self._modules = modules
        self._entry = entry
        self._seen: set[tuple[ast.AST, ast.AST | None, bool]] = set()
        self._kinds: dict[ast.AST, frozenset[str]] = {}

    def script(self, module: Module) -> None:
        """Follow what a script runs when it is started."""
        self._code(module, module.tree, None, sure=True, depth=0)

    def _code(
        self, module: Module, node: ast.Module | ast.FunctionDef, made: _Object | None, *, sure: bool, depth: int
    ) -> None:
        code = _Code.of(module, node)
        self._entry.speaks = self._entry.speaks or code.speaks
        for key, line in code.reads.items():
            self._entry.reads.setdefault(key, (module.path, line))
        for call, certain in code.calls:
            self._call(module, call, made, sure=sure and certain, depth=depth)

    def _call(self, module: Module, call: ast.Call, made: _Object | None, *, sure: bool, depth: int) -> None:
        if depth > _DEEPEST or len(self._seen) > _MOST:
            return
        name = last_part(call.func)
        self._entry.asks = self._entry.asks or _asks(name, call.args)
        found = self._method(module, call.func, made)
        if found is not None:
            self._enter(*found, sure=sure, depth=depth)
            return
        leads = _LEADS.search(name) is not None
        names = resolve(module, call.func).names if leads or made is None or name == "from_pretrained" else ()
        if len(names) != 1:
            return
        kinds = _kinds(names[0])
        if not kinds and (leads or self._is_start(module, call, name)):
            definition = self._modules.definition(names[0], module)
            if definition is not None and isinstance(definition.node, ast.ClassDef) and made is None:
                self._make(_Object(definition, {}), sure=sure, depth=depth)
            elif definition is not None and not leads:
                self._enter(definition, None, sure=sure, depth=depth)
            elif definition is not None:
                kinds = set(self._loaded(definition, 0))
        self._entry.possible |= kinds
        if sure and len(kinds) == 1:
            self._entry.loads.setdefault(kinds.pop(), (module.path, call.lineno))

    def _is_start(self, module: Module, call: ast.Call, name: str) -> bool:
        """Whether a call of the script itself makes an object, or runs all of its work: `main()`."""
        if module.path != self._entry.path:
            return False
        return name[:1].isupper() or isinstance(module.parent(call), ast.Expr)

    def _loaded(self, of: Definition, depth: int) -> frozenset[str]:
        """The kinds that a function loads, itself or through functions that it calls."""
        node = of.node
        if node in self._kinds or depth > _DEEPEST:
            return self._kinds.get(node, frozenset())
        self._kinds[node] = frozenset()
        found: set[str] = set()
        for call in ast.walk(node):
            names = resolve(of.module, call.func).names if isinstance(call, ast.Call) else ()
            for name in names:
                kinds = _kinds(name)
                if not kinds and _LEADS.search(name.rpartition(".")[2]):
                    inner = self._modules.definition(name, of.module)
                    if inner is not None and isinstance(inner.node, ast.FunctionDef):
                        kinds = set(self._loaded(inner, depth + 1))
                found |= kinds
        self._kinds[node] = frozenset(found)
        return self._kinds[node]

    def _make(self, made: _Object, *, sure: bool, depth: int) -> None:
        """Follow the making of an object of the project."""
        start = self._find(made.of, "__init__")
        if start is not None:
            self._enter(start, made, sure=sure, depth=depth + 1)

    def _enter(self, of: Definition, made: _Object | None, *, sure: bool, depth: int) -> None:
        key = (of.node, made.of.node if made is not None else None, sure)
        if key in self._seen or not isinstance(of.node, ast.FunctionDef):
            return
        self._seen.add(key)
        self._code(of.module, of.node, made, sure=sure, depth=depth + 1)

    def _method(self, module: Module, func: ast.expr, made: _Object | None) -> tuple[Definition, _Object] | None:
        """The method that `self.run()`, `super().run()` or `self.held.run()` means, with its object."""
        if made is None or not isinstance(func, ast.Attribute):
            return None
        owner = func.value
        if isinstance(owner, ast.Call) and last_part(owner.func) == "super":
            home = module.enclosing_class(func)
            found = self._find(Definition(module, home), func.attr, above=True) if home is not None else None
            return (found, made) if found is not None else None
        at: _Object | None = made
        if isinstance(owner, ast.Attribute):
            at, owner = self._held(made, owner.attr), owner.value
        if at is None or not isinstance(owner, ast.Name) or owner.id != "self":
            return None
        found = self._find(at.of, func.attr)
        return (found, at) if found is not None else None

    def _held(self, made: _Object, attribute: str) -> _Object | None:
        """The object under an attribute, if it is of one class of the project: `Base(args)`, `Base.__new__(Base)`."""
        if attribute not in made.holds:
            made.holds[attribute] = None
            for owner in self._lineage(made.of):
                values = self._values(owner, attribute)
                if values:
                    made.holds[attribute] = self._object(owner.module, values)
                    break
        return made.holds[attribute]

    def _object(self, module: Module, values: list[ast.expr]) -> _Object | None:
        """An object of the one class of the project that all of these make."""
        made = [_class_names(module, value) for value in values]
        names = {name for one in made for name in one}
        if len(names) != 1 or not all(made):
            return None
        found = self._modules.definition(names.pop(), module)
        return _Object(found, {}) if found is not None and isinstance(found.node, ast.ClassDef) else None

    def _values(self, owner: Definition, attribute: str) -> list[ast.expr]:
        """What the methods of a class give an attribute of the object."""
        return self_values(owner.module, owner.node, attribute) if isinstance(owner.node, ast.ClassDef) else []

    def _find(self, of: Definition, name: str, *, above: bool = False) -> Definition | None:
        """A method of a class or of its bases; `above` leaves out the class itself."""
        for owner in self._lineage(of):
            if above and owner.node is of.node:
                continue
            found = method(owner.node, name) if isinstance(owner.node, ast.ClassDef) else None
            if found is not None:
                return Definition(owner.module, found)
        return None

    def _lineage(self, of: Definition) -> Iterator[Definition]:
        """A class and its bases in the project, the class first."""
        waiting, seen = [of], set[ast.AST]()
        while waiting:
            one = waiting.pop(0)
            if one.node in seen or not isinstance(one.node, ast.ClassDef):
                continue
            seen.add(one.node)
            yield one
            for base in one.node.bases:
                found = [self._modules.definition(name, one.module) for name in resolve(one.module, base).names]
                waiting += [inner for inner in found if inner is not None]


_BRANCHES = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.Try, ast.Match)
_HELD = (ast.expr, ast.keyword, ast.withitem, ast.comprehension)


class _Code:
    """What stands in the body of a function or file, nested definitions left out.

    `calls`: each call, and whether it certainly runs when the body does. `reads`, `speaks`: as in `Entry`.
    """

    def __init__(self, node: ast.Module | ast.FunctionDef) -> None:
        self.calls: list[tuple[ast.Call, bool]] = []
        self.reads: dict[str, int] = {}
        self.speaks = False
        self._statements(node.body, sure=True)

    @classmethod
    def of(cls, module: Module, node: ast.Module | ast.FunctionDef) -> _Code:
        """The code of a body, read once."""
        key = (cls, node)
        known = module.memo.get(key)
        if not isinstance(known, cls):
            known = module.memo[key] = cls(node)
        return known

    def _statements(self, body: Iterable[ast.stmt], *, sure: bool) -> bool:
        """Read statements; whether some way through them leaves the function."""
        left = False
        for statement in body:
            if isinstance(statement, (*FUNCTIONS, ast.ClassDef)):
                continue
            here = sure and not left
            inner = here and (not isinstance(statement, _BRANCHES) or _is_main(statement))
            left = left or isinstance(statement, ast.Return)
            for part in ast.iter_child_nodes(statement):
                if isinstance(part, ast.stmt):
                    left = self._statements([part], sure=inner) or left
                elif isinstance(part, (ast.ExceptHandler, ast.match_case)):
                    left = self._statements(part.body, sure=False) or left
                else:
                    self._expression(part, sure=here)
        return left

    def _expression(self, node: ast.AST, *, sure: bool) -> None:
        word = ""
        if isinstance(node, ast.Attribute):
            word = node.attr
            if isinstance(node.value, ast.Attribute):
                self.reads.setdefault(f"{node.value.attr}.{word}", node.lineno)
        elif isinstance(node, ast.Name):
            word = node.id
        elif isinstance(node, ast.keyword):
            word = node.arg or ""
        elif isinstance(node, ast.Call):
            self.calls.append((node, sure))
        self.speaks = self.speaks or (bool(word) and _SPEAKS.search(word) is not None)
        sure = sure and not isinstance(node, (ast.IfExp, ast.BoolOp, ast.Lambda, ast.comprehension))
        for part in ast.iter_child_nodes(node):
            if isinstance(part, _HELD):
                self._expression(part, sure=sure)


def _asks(name: str, given: list[ast.expr]) -> bool:
    """Whether a call asks if what it is given is a processor at all."""
    if name not in ("hasattr", "getattr", "isinstance") or len(given) < 2 or not _SPEAKS.search(last_part(given[0])):
        return False
    return name == "isinstance" or not isinstance(given[1], ast.Constant) or given[1].value in _PARTS


def _kinds(name: str) -> set[str]:
    """What a call of this name loads."""
    return {kind for kind, loads in _LOADED if loads.fullmatch(name)}


def _is_main(statement: ast.stmt) -> bool:
    """Whether a branch is `if __name__ == "__main__"`."""
    test = statement.test if isinstance(statement, ast.If) else None
    return isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id == "__name__"


def _class_names(module: Module, value: ast.expr) -> tuple[str, ...]:
    """The names of the class that a call makes an object of."""
    if not isinstance(value, ast.Call):
        return ()
    func = value.func
    if isinstance(func, ast.Attribute) and func.attr == "__new__":
        func = func.value
    return resolve(module, func).names if last_part(func)[:1].isupper() else ()


__all__ = ["Entry", "EntryScripts", "Launched", "Made"]
