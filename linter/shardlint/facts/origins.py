"""What a value is behind the names: the class, function or import that gives it, with what it was made with."""

from __future__ import annotations

import ast

from shardlint.facts.collators import Collating, collating, is_parameter
from shardlint.facts.matching import last_part
from shardlint.facts.names import resolve
from shardlint.facts.project_modules import Definition, Untold
from shardlint.facts.samples import Keys, method, sample_keys
from shardlint.facts.site import Expression, Site
from shardlint.facts.value_sources import Source, Unresolved, item_sources, sources
from shardlint.facts.values import MISSING, literal, made_from

_LOADS = (".from_pretrained", ".from_config")

_BASES = 5
"""Classes from one that leaves a method to its base to the one that defines it."""


class Origin:
    """One source of a value. Where that is unknown, it answers with nothing, and `lost` names the expressions: the
    value, and where the way to its source ends.
    """

    __slots__ = ("lost", "source")

    def __init__(self, source: Source | None, lost: str = "") -> None:
        self.source = source
        self.lost = lost

    def __repr__(self) -> str:
        return f"Origin({self.name or self.text or '?'})"

    @property
    def known(self) -> bool:
        """Whether the source was found."""
        return self.source is not None

    @property
    def text(self) -> str:
        """The source as it is written, on one line; empty when unknown."""
        return self.source.module.source(self.source.node) if self.source is not None else ""

    @property
    def place(self) -> tuple[str, int]:
        """The path and the line of the source."""
        return (self.source.module.path, self.source.node.lineno) if self.source is not None else ("", 0)

    def apart_from(self, other: Origin) -> bool:
        """Whether the two sources stand in different arms of one `if`, so that one run never has both."""
        if self.source is None or other.source is None or self.source.module is not other.source.module:
            return False
        mine, theirs = _arms(self.source), _arms(other.source)
        return any(mine[test] != theirs[test] for test in mine.keys() & theirs.keys())

    @property
    def literal(self) -> object:
        """The value of a constant; MISSING for anything else."""
        return literal(self.source.module, self.source.node) if self.source is not None else MISSING

    @property
    def name(self) -> str:
        """The dotted name of the class or function behind the value, seen through `partial`; empty when unknown."""
        if self.source is None:
            return ""
        if self.source.definition is not None:
            return _dotted(self.source.definition)
        module, node = self.source.module, self.source.node
        names = made_from(module, node).names or resolve(module, node).names
        return names[0] if len(names) == 1 else ""

    @property
    def library_name(self) -> str:
        """`package.Class`, without the modules between, which libraries re-export, and without `.from_pretrained`."""
        return _library_name(self.name)

    def library_name_by(self, *methods: str) -> str:
        """The class of a library that a value behaves as: a class of the project that has none of these methods itself
        is its base.
        """
        found = self.source.definition if self.source is not None else None
        for _ in range(_BASES):
            if found is None or not isinstance(found.node, ast.ClassDef) or any(method(found.node, m) for m in methods):
                break
            bases = [name for base in found.node.bases for name in resolve(found.module, base).names]
            if len(bases) != 1:
                break
            inner = found.module.project().modules.definition(bases[0], found.module)
            if inner is None:
                return _library_name(bases[0])
            found = inner
        return _library_name(_dotted(found)) if found is not None else self.library_name

    def of(self, package: str) -> str:
        """The class or function of `package` that it is, by its last name; empty when it is from elsewhere."""
        owner, _, last = self.library_name.partition(".")
        return last if owner == package else ""

    def argument(self, keyword: str, position: int | None = None) -> Origin | None:
        """The one source of an argument of the call that gives the value; None where it is not given."""
        found = self.arguments(keyword, position)
        return None if found is None else found[0] if len(found) == 1 else Origin(None)

    def arguments(self, keyword: str, position: int | None = None) -> tuple[Origin, ...] | None:
        """Every source of an argument of the call that gives the value; None where it is not given."""
        if self.source is None or not isinstance(self.source.node, ast.Call):
            return None
        return _given(self.source, self.source.node, (keyword,), position)

    @property
    def sample_keys(self) -> Keys | None:
        """The keys of its samples, where it is a dataset whose class is of the project."""
        found = self.source.definition if self.source is not None else None
        if found is None or not isinstance(found.node, ast.ClassDef):
            return None
        return sample_keys(found.module, found.node)

    @property
    def read_keys(self) -> Keys | None:
        """The keys that it takes of each sample, where it is a collator of the project."""
        found = self.collating
        return found.reads if found is not None else None

    @property
    def emitted_keys(self) -> Keys | None:
        """The keys of its batches, where it is a collator of the project and they are all written out."""
        found = self.collating
        return found.emits if found is not None else None

    @property
    def opaque(self) -> bool:
        """Whether the call that gives the value may have arguments that are not seen, in `*args` or `**kwargs`."""
        call = self.source.node if self.source is not None else None
        if not isinstance(call, ast.Call):
            return False
        return any(isinstance(one, ast.Starred) for one in call.args) or any(word.arg is None for word in call.keywords)

    @property
    def collating(self) -> Collating | None:
        """The function of the project that makes a batch, where it is a collator."""
        return collating(self.source) if self.source is not None else None


def _arms(source: Source) -> dict[ast.If, bool]:
    """Every `if` around a source, with whether it stands in the first of its two arms."""
    found: dict[ast.If, bool] = {}
    node: ast.AST | None = source.node
    while node is not None:
        above = source.module.parent(node)
        if isinstance(above, ast.If) and isinstance(node, ast.stmt):
            found[above] = node in above.body
        node = above
    return found


def origins(value: Expression | None) -> tuple[Origin, ...]:
    """Every source of a value, through names, attributes, factories, registries and calls of the whole project.

    One unknown origin where any of them cannot be told; none where there is no value.
    """
    return _origins(Source(value.module, value.ast)) if value is not None else ()


def origin(value: Expression | None) -> Origin:
    """The one source of a value; an unknown one where it may be several."""
    found = origins(value)
    return found[0] if len(found) == 1 else Origin(None)


def handed(site: Site, *keywords: str, position: int | None = None) -> tuple[Origin, ...]:
    """Every source of an argument of a call, by one of its keywords, in `**kwargs` too, or by position.

    None at all where it is not given; one unknown origin where that cannot be told.
    """
    return _given(Source(site.module, site.call), site.call, keywords, position) or ()


def hands_on(site: Site, *keywords: str) -> bool:
    """Whether a call only hands on a parameter that a caller gives by one of the same keywords: it is judged there."""
    for keyword in keywords:
        given = site.argument(keyword)
        if given is None or not is_parameter(given.module, given.ast):
            continue
        home = given.module.function(given.ast)
        if isinstance(home, ast.Module):
            return False
        owner = given.module.parent(home)
        called = owner if isinstance(owner, ast.ClassDef) and home.name == "__init__" else home
        modules = given.module.project().modules
        modules.adopt(given.module)
        try:
            calls = modules.calls(Definition(given.module, called))
            return any(word.arg in keywords for _, call in calls for word in call.keywords)
        except Untold:
            return False
    return False


def _given(at: Source, call: ast.Call, keywords: tuple[str, ...], position: int | None) -> tuple[Origin, ...] | None:
    for given in call.keywords:
        if given.arg in keywords:
            return _origins(Source(at.module, given.value, at.frame))
    if position is not None and position < len(call.args):
        before = call.args[: position + 1]
        if any(isinstance(given, ast.Starred) for given in before):
            return (Origin(None, f"`{at.module.source(before[-1])}`"),)
        return _origins(Source(at.module, before[-1], at.frame))
    for spread in (given.value for given in call.keywords if given.arg is None):
        for keyword in keywords:
            try:
                found = item_sources(Source(at.module, spread, at.frame), keyword)
            except Unresolved as lost:
                return (Origin(None, f"`{lost.text or at.module.source(spread)}`"),)
            if found is not None:
                return tuple(Origin(one) for one in found)
    return None


def _origins(value: Source) -> tuple[Origin, ...]:
    try:
        return tuple(Origin(one) for one in sources(value))
    except Unresolved as lost:
        whole = f"`{value.module.source(value.node)}`"
        end = f"`{lost.text}`" if lost.text else "an expression of another file"
        return (Origin(None, whole if whole == end else f"{whole} (by way of {end})"),)


def _dotted(found: Definition) -> str:
    node = found.node
    if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
        return f"{found.module.dotted}.{found.module.qualified(node)}"
    return last_part(node)


def _library_name(name: str) -> str:
    for load in _LOADS:
        name = name.removesuffix(load)
    package, _, rest = name.partition(".")
    return f"{package}.{rest.rpartition('.')[2]}" if rest else package


__all__ = ["Origin", "handed", "hands_on", "origin", "origins"]
