"""What may not be imported, called or read, except behind a guard or in some files."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

from shardlint.discover import compile_patterns, matcher
from shardlint.facts.matching import alias_words
from shardlint.facts.module import UNNAMED, Module
from shardlint.facts.names import CERTAIN, resolve
from shardlint.finding import TextEdit
from shardlint.knowledge.problem import CheckProblem
from shardlint.query import Needs
from shardlint.syntax.patterns.bindings import Fuel, State
from shardlint.syntax.patterns.candidates import place, reads
from shardlint.syntax.patterns.conditions import MOST, Condition, guard
from shardlint.syntax.patterns.guarding import holding
from shardlint.syntax.patterns.match import Match
from shardlint.syntax.patterns.meaning import certainty, meaning
from shardlint.syntax.patterns.needs import disjunction, member_needs, name_needs, package_needs
from shardlint.syntax.patterns.parts import imported
from shardlint.syntax.patterns.plain import Where, items

_KEYS = ("imports", "calls", "attributes", "guards", "allowed_in")
_MOST = 200
_LONGEST = 200
_MOST_STARS = 3
_TYPE_CHECKING = ("typing.TYPE_CHECKING", "typing_extensions.TYPE_CHECKING")


class _Name:
    """A dotted name of which the last part, or some of it, may be a `*`: any characters, dots included."""

    def __init__(self, text: str) -> None:
        self.text = text
        before, star, _ = text.partition("*")
        self.is_glob = bool(star)
        self.package = before.rpartition(".")[0] if star else ""
        self.regex = re.compile(".*".join(re.escape(part) for part in text.split("*")))

    def needs(self) -> Needs:
        return member_needs(self.package) if self.is_glob else name_needs(self.text)

    def sure(self, module: Module, node: ast.AST, *, called: bool = False) -> tuple[str, float]:
        """The dotted name by which a node is it, and how sure that is; 0.0 where it is not."""
        if not self.is_glob:
            return self.text, certainty(module, node, self.text, called=called)
        known = meaning(module, node, called=called)
        for name in known.names:
            if self.regex.fullmatch(name):
                return name, known.certainty
        if not known.names and isinstance(node, ast.Attribute):
            # Nothing is known of its first part: then what is spelled like the package is taken for it.
            rest = ""
            at: ast.AST = node
            while isinstance(at, ast.Attribute):
                rest, at = f".{at.attr}{rest}", at.value
                sure = certainty(module, at, self.package)
                if sure and self.regex.fullmatch(self.package + rest):
                    return self.package + rest, sure
        return "", 0.0


class Forbidden:
    """Imports, calls and attributes that are not allowed.

    Args:
        plain: the mapping as it stands in a constraint: `imports` (packages), `calls` and `attributes` (dotted names,
            `*` for any rest), `guards` (conditions, or `try`) and `allowed_in` (patterns of paths).

    Raises:
        CheckProblem: the mapping cannot be taken; `where` is the place in it.
    """

    fix: tuple[bool, str] | None = None
    """There is never one: what to write instead is for the constraint to say."""

    def __init__(self, plain: Mapping[str, object]) -> None:
        for key in plain:
            if key not in _KEYS:
                raise CheckProblem((key,), f"`{key}` is no part of it: it has {', '.join(_KEYS)}")
        self.imports = _texts(plain, "imports")
        self.calls = [_Name(text) for text in _texts(plain, "calls")]
        self.attributes = [_Name(text) for text in _texts(plain, "attributes")]
        if not (self.imports or self.calls or self.attributes):
            raise CheckProblem((), "it forbids nothing: name `imports`, `calls` or `attributes`")
        self.guards: list[Condition] = []
        if "guards" in plain:
            self.guards = [
                guard(text, where, loose=True) for where, text in items(plain["guards"], ("guards",), "guards", MOST)
            ]
        self._allows = matcher(_paths(plain))

    def needs(self) -> Needs:
        """What a file must hold to do something forbidden, for the prefilter."""
        names = [name.needs() for name in (*self.calls, *self.attributes)]
        return disjunction([*map(package_needs, self.imports), *map(_by_text, self.imports), *names])

    def matches(self, module: Module) -> Iterator[Match]:
        """The forbidden places of a file, in the order of the text. `$NAME` is the dotted name of each."""
        if self._allows(module.path):
            return
        found: dict[ast.AST, Match] = {}
        for node, name, sure in (*self._imported(module), *self._called(module), *self._read(module)):
            if node not in found and not self._is_guarded(module, node):
                found[node] = Match(node, module.span(node), {"NAME": name}, sure, {}, node)
        for node in sorted(found, key=place):
            yield found[node]

    def edits(self, module: Module, match: Match) -> tuple[TextEdit, ...]:  # noqa: ARG002 - the shape of a check
        """Nothing: there is no fix."""
        return ()

    def _imported(self, module: Module) -> Iterator[tuple[ast.AST, str, float]]:
        if not self.imports:
            return
        statements: list[ast.Import | ast.ImportFrom] = [*module.nodes(ast.Import), *module.nodes(ast.ImportFrom)]
        for node in statements:
            for one in imported(module, node):
                paths = [one.path, one.base or ""]
                path = next((path for path in paths if self._is_forbidden(path)), None)
                if path is not None and not _only_for_types(module, node):
                    yield node, path, CERTAIN
                    break
        for word in ("import_module", "__import__"):
            for call in module.calls.get(word, ()):
                text = call.args[0].value if call.args and isinstance(call.args[0], ast.Constant) else None
                known = resolve(module, call.func).names
                if isinstance(text, str) and self._is_forbidden(text) and known in _IMPORTERS:
                    yield call, text, CERTAIN

    def _is_forbidden(self, path: str) -> bool:
        return any(path == package or path.startswith(package + ".") for package in self.imports)

    def _called(self, module: Module) -> Iterator[tuple[ast.AST, str, float]]:
        for name in self.calls:
            for call in _calls(module, name):
                text, sure = name.sure(module, call.func, called=True)
                if sure:
                    yield call, text, sure

    def _read(self, module: Module) -> Iterator[tuple[ast.AST, str, float]]:
        """The longest names: of `torch.cuda.amp.autocast` no part again."""
        called = {call.func for name in self.calls for call in _calls(module, name) if name.sure(module, call.func)[1]}
        for name in self.attributes:
            hits: dict[ast.AST, tuple[str, float]] = {}
            for node in _reads(module, name):
                if isinstance(getattr(node, "ctx", None), ast.Load) and node not in called:
                    text, sure = name.sure(module, node)
                    if sure:
                        hits[node] = (text, sure)
            for node, (text, sure) in hits.items():
                if module.parent(node) not in hits and module.parent(node) not in called:
                    yield node, text, sure

    def _is_guarded(self, module: Module, node: ast.AST) -> bool:
        return any(any(True for _ in one.holds(module, node, State({}, Fuel()))) for one in self.guards)


def _by_text(package: str) -> Needs:
    """What a file holds that imports a package by its name in a text."""
    called = [("text", word) for word in ("import_module", "__import__")]
    return ("all", ("word", package.rpartition(".")[2]), ("any", *called))


_IMPORTERS = (("importlib.import_module",), ("builtins.__import__",))


def _calls(module: Module, name: _Name) -> list[ast.Call]:
    if name.is_glob:
        return [call for calls in module.calls.values() for call in calls]
    last = name.text.rpartition(".")[2]
    words = (last, *alias_words(module, frozenset((last,))), UNNAMED)
    return [call for word in words for call in module.calls.get(word, ())]


def _reads(module: Module, name: _Name) -> list[ast.AST]:
    table = reads(module)
    if name.is_glob:
        return [node for nodes in table.values() for node in nodes]
    last = name.text.rpartition(".")[2]
    return [node for word in (last, *alias_words(module, frozenset((last,)))) for node in table.get(word, ())]


def _only_for_types(module: Module, node: ast.AST) -> bool:
    """Whether an import stands under `if TYPE_CHECKING:`: it is never run."""
    for clause in holding(module, node):
        for test, truth in clause:
            if (
                truth
                and len(clause) == 1
                and any(certainty(module, test, name) for name in (*_TYPE_CHECKING, "TYPE_CHECKING"))
            ):
                return True
    return False


def _texts(plain: Mapping[str, object], key: str) -> list[str]:
    """The dotted names under a key. Raises CheckProblem for what is none, or would forbid everything."""
    if key not in plain:
        return []
    found: list[str] = []
    for where, item in items(plain[key], (key,), "dotted names", _MOST):
        if not isinstance(item, str) or not 0 < len(item) <= _LONGEST:
            raise CheckProblem(where, "a dotted name is wanted here, such as `torch.cuda.synchronize`")
        found.append(_checked(item, key, where))
    return found


def _checked(item: str, key: str, where: Where) -> str:
    text = item.removesuffix("()")
    first, *rest = text.split(".")
    parts = [part.replace("*", "x") for part in rest]
    if not first.isidentifier() or not all(part.isidentifier() for part in parts):
        example = "torch_npu" if key == "imports" else "torch.cuda.*"
        raise CheckProblem(
            where, f"`{item}` is no dotted name: write one such as `{example}`, with no `*` in its first part"
        )
    if "*" in text and key == "imports":
        raise CheckProblem(where, f"`{item}`: a package stands for all that is in it, so it needs no `*`")
    if text.count("*") > _MOST_STARS:
        raise CheckProblem(where, f"a name has at most {_MOST_STARS} `*`")
    return text


def _paths(plain: Mapping[str, object]) -> list[tuple[bool, str]]:
    paths: list[str] = []
    if "allowed_in" in plain:
        for where, item in items(plain["allowed_in"], ("allowed_in",), "patterns", _MOST):
            if not isinstance(item, str) or not item:
                raise CheckProblem(where, "a pattern of paths is wanted here, as in .gitignore")
            paths.append(item)
    try:
        return compile_patterns(paths)
    except ValueError as error:
        raise CheckProblem(("allowed_in",), str(error)) from None
