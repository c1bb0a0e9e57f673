"""Where a query matches in one file. The answer is a hit: the call, what it is, and how certain that is."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from shardlint.access import PATCH
from shardlint.facts.cuts import EVERY, cuts
from shardlint.facts.module import UNNAMED, Module
from shardlint.facts.names import (
    BY_NAME,
    CERTAIN,
    INFERRED,
    bindings_at,
    local_definition,
    resolve,
    self_class,
    self_values,
)
from shardlint.facts.values import made_from
from shardlint.query import (
    Assigned,
    Both,
    Call,
    Compared,
    Either,
    Given,
    InFileWith,
    InFunctionWith,
    Matching,
    Method,
    Pinned,
    Query,
    Sliced,
    Spelled,
    UnboundOnRanks,
    Written,
)


class Hit:
    """One match: the call node, the dotted name it was matched by, the certainty of the match."""

    __slots__ = ("call", "certainty", "name")

    def __init__(self, call: ast.Call, name: str, certainty: float) -> None:
        self.call = call
        self.name = name
        self.certainty = certainty


def matches(module: Module, query: Query) -> Iterator[Hit]:
    """All hits of a query in one file, in the order of the text."""
    known = module.memo.get(("hits", query))
    if not isinstance(known, list):
        known = sorted(_find(module, query), key=lambda hit: (hit.call.lineno, hit.call.col_offset))
        module.memo["hits", query] = known
    yield from known


def _find(module: Module, query: Query) -> Iterator[Hit]:
    if isinstance(query, Call):
        yield from _calls(module, query)
    elif isinstance(query, Method):
        yield from _methods(module, query)
    elif isinstance(query, Assigned):
        yield from _assigned(module, query)
    elif isinstance(query, Given):
        yield from _given(module, query)
    elif isinstance(query, Sliced):
        yield from _sliced(module, query)
    elif isinstance(query, UnboundOnRanks):
        yield from _unbound(module)
    elif isinstance(query, Compared):
        yield from _compared(module, query)
    elif isinstance(query, Either):
        seen: set[ast.Call] = set()
        for part in (query.first, query.second):
            for hit in matches(module, part):
                if hit.call not in seen:
                    seen.add(hit.call)
                    yield hit
    elif isinstance(query, Both):
        for hit in matches(module, query.first):
            if _holds(module, hit, query.second):
                yield hit


def _calls(module: Module, query: Call) -> Iterator[Hit]:
    aliases = alias_words(module, query.words)
    for word in (*query.words, *aliases, UNNAMED):
        for call in module.calls.get(word, ()):
            found = resolve(module, call.func)
            for name in found.names:
                if name in query.names:
                    yield Hit(call, name, found.certainty)
                    break
            else:
                # `*.to_empty`: a method of whatever object.
                if f"*.{word}" in query.names and isinstance(call.func, ast.Attribute):
                    yield Hit(call, f"*.{word}", INFERRED)


def alias_words(module: Module, words: frozenset[str]) -> set[str]:
    """Other names that one of `words` is bound to in this file: `import x as y`, `f = x.y`, `partial(x.y)`."""
    known = _aliases(module)
    found: set[str] = set()
    frontier = set(words)
    while frontier:
        fresh = {alias for word in frontier for alias in known.get(word, ())} - found - words
        found |= fresh
        frontier = fresh
    return found


def _aliases(module: Module) -> dict[str, set[str]]:
    """For each word the names that something spelled with it is bound to."""
    if module.aliases is not None:
        return module.aliases
    known: dict[str, set[str]] = {}
    for scope in module.scopes.values():
        for name, bindings in scope.bindings.items():
            for binding in bindings:
                for source in _sources(binding.target, binding.value):
                    if source != name:
                        known.setdefault(source, set()).add(name)
    for node in module.kept:
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            if isinstance(target, ast.Attribute):
                for source in _sources(None, node.value):
                    known.setdefault(source, set()).add(target.attr)
    module.aliases = known
    return known


def _sources(target: str | None, value: ast.AST | None) -> list[str]:
    if target is not None:
        return [target.rpartition(".")[2]]
    if isinstance(value, ast.Attribute):
        return [value.attr]
    if isinstance(value, ast.Name):
        return [value.id]
    if isinstance(value, ast.IfExp):
        return [*_sources(None, value.body), *_sources(None, value.orelse)]
    if isinstance(value, ast.BoolOp):
        return [source for part in value.values for source in _sources(None, part)]
    if isinstance(value, ast.Call) and value.args:
        first = [*_sources(None, value.args[0])]
        if len(value.args) > 1 and isinstance(value.args[1], ast.Constant) and isinstance(value.args[1].value, str):
            first.append(value.args[1].value)
        return first
    return []


def _methods(module: Module, query: Method) -> Iterator[Hit]:
    for word in query.words:
        for call in module.calls.get(word, ()):
            if not isinstance(call.func, ast.Attribute):
                continue
            receiver = call.func.value
            made = made_from(module, receiver)
            owner = next((name for name in with_bases(module, made.names) if name in query.owners), None)
            if owner is not None:
                yield Hit(call, f"{owner}.{word}", made.certainty)
            elif not made.names and query.named and last_part(receiver) in query.named:
                yield Hit(call, f"*.{word}", BY_NAME)


def _assigned(module: Module, query: Assigned) -> Iterator[Hit]:
    for call in (*module.calls.get("setattr", ()), *_written_out(module)):
        if len(call.args) != 3 or not isinstance(call.func, ast.Name):
            continue
        owner, word = call.args[0], call.args[1]
        base = owner
        while isinstance(base, ast.Attribute):
            base = base.value
        found = bindings_at(module, base) if isinstance(base, ast.Name) else None
        if found is None or any(binding.kind != "import" for binding in found[0]):
            continue
        names = resolve(module, owner)
        if len(names.names) != 1 or names.names[0].partition(".")[0] not in query.packages:
            continue
        if isinstance(word, ast.Constant) and isinstance(word.value, str) and word.value.isidentifier():
            yield Hit(call, f"{names.names[0]}.{word.value}", names.certainty)


def _given(module: Module, query: Given) -> Iterator[Hit]:
    for word, calls in module.calls.items():
        takes_all = bool(query.spread_into) and word.endswith(query.spread_into)
        for call in calls:
            words = {keyword.arg for keyword in call.keywords}
            if words & query.keywords or (takes_all and None in words):
                found = resolve(module, call.func)
                yield Hit(call, found.names[0] if found else "", found.certainty)


def _sliced(module: Module, query: Sliced) -> Iterator[Hit]:
    for cut in cuts(module):
        if EVERY in cut.keys or query.names.intersection(cut.keys):
            function = ast.copy_location(ast.Name("cut", ast.Load()), cut.slice)
            call = ast.copy_location(ast.Call(function, [cut.slice.value, cut.limit], []), cut.slice)
            module.parents[call] = module.parents[cut.slice]
            module.parents[function] = call
            yield Hit(call, " ".join(cut.keys), CERTAIN)


def _unbound(module: Module) -> Iterator[Hit]:
    from shardlint.facts.rank_bindings import unbound_reads

    for read, branch, test in unbound_reads(module):
        function = ast.copy_location(ast.Name("read", ast.Load()), read)
        call = ast.copy_location(ast.Call(function, [read, branch.test], []), read)
        module.parents[call] = module.parents[read]
        module.parents[function] = call
        yield Hit(call, read.id, test.certainty)


def _written_out(module: Module) -> Iterator[ast.Call]:
    """Each `owner.name = value` as the call that it is short for, at the place of its target."""
    for statement in module.kept:
        target = statement.targets[0] if isinstance(statement, ast.Assign) else None
        if not isinstance(target, ast.Attribute) or statement.value is None:
            continue
        line = module.lines[target.lineno - 1].encode("utf-8", "replace")
        if PATCH.match(line) and not line[: target.col_offset].strip():
            function = ast.copy_location(ast.Name("setattr", ast.Load()), target)
            name = ast.copy_location(ast.Constant(target.attr), target)
            call = ast.copy_location(ast.Call(function, [target.value, name, statement.value], []), target)
            module.parents[call] = statement
            module.parents[function] = module.parents[name] = call
            yield call


def _compared(module: Module, query: Compared) -> Iterator[Hit]:
    for node in (*module.nodes(ast.Compare), *module.nodes(ast.Call)):
        called, sides = "", list[ast.expr]()
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], (ast.Eq, ast.NotEq)):
            called, sides = "eq" if isinstance(node.ops[0], ast.Eq) else "ne", [node.left, *node.comparators]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("eq", "ne"):
            called, sides = node.func.attr, [node.func.value, *node.args] if len(node.args) == 1 else node.args
        if len(sides) == 2 and any(_is_called(module, side, query.words) for side in sides):
            call = ast.copy_location(ast.Call(ast.copy_location(ast.Name(called, ast.Load()), node), sides, []), node)
            module.parents[call] = node
            module.parents[call.func] = call
            yield Hit(call, f"operator.{called}", CERTAIN)


def _is_called(module: Module, side: ast.expr, words: frozenset[str]) -> bool:
    """Whether an expression is a name or attribute of one of the words, or may have been given the value of one."""
    if last_part(side) in words:
        return True
    values: list[ast.expr | None] = []
    if isinstance(side, ast.Name):
        found = bindings_at(module, side)
        values = [binding.value for binding in found[0] if binding.exact] if found is not None else []
    elif isinstance(side, ast.Attribute) and isinstance(side.value, ast.Name):
        owner = self_class(module, side.value)
        values = list(self_values(module, owner, side.attr)) if owner is not None else []
    return any(last_part(part) in words for value in values if value is not None for part in ast.walk(value))


def with_bases(module: Module, names: Iterable[str]) -> list[str]:
    """The names, and the bases of those that are classes of this file."""
    found = list(names)
    for name in found:
        local = local_definition(module, name)
        if isinstance(local, ast.ClassDef):
            found += [base for node in local.bases for base in resolve(module, node).names if base not in found]
    return found


def last_part(node: ast.AST) -> str:
    """The last identifier of a name: `scaler` of `self.scaler`."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _holds(module: Module, hit: Hit, condition: Query) -> bool:
    if isinstance(condition, InFileWith):
        return next(iter(matches(module, condition.query)), None) is not None
    if isinstance(condition, InFunctionWith):
        home = module.function(hit.call)
        return any(module.function(other.call) is home for other in matches(module, condition.query))
    if isinstance(condition, Pinned):
        return module.environment.may_be_below(condition.package, *condition.below) is not None
    if isinstance(condition, (Spelled, Matching, Written)):
        return _says(module, condition)
    if isinstance(condition, Both):
        return _holds(module, hit, condition.first) and _holds(module, hit, condition.second)
    if isinstance(condition, Either):
        return _holds(module, hit, condition.first) or _holds(module, hit, condition.second)
    return any(other.call is hit.call for other in matches(module, condition))


def _says(module: Module, condition: Spelled | Matching | Written) -> bool:
    """Whether the text meets a condition, looked for once a file."""
    known = module.memo.get(("said", condition))
    if not isinstance(known, bool):
        if isinstance(condition, Matching):
            known = re.search(condition.pattern, module.text) is not None
        elif isinstance(condition, Written):
            known = any(text in module.text for text in condition.texts)
        else:
            known = _spells(module.text, condition.words)
        module.memo["said", condition] = known
    return known


def _spells(text: str, words: Iterable[str]) -> bool:
    """Whether a text has one of the words, of which a table may list hundreds."""
    if any(word in text for word in words if not word.isidentifier()):
        return True
    identifiers = "|".join(re.escape(word) for word in words if word.isidentifier())
    return identifiers != "" and re.search(rf"(?<!\w)(?:{identifiers})(?!\w)", text) is not None
