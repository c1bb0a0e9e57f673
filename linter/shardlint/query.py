"""What a rule looks for, as data: calls by resolved name, methods by the class of their receiver, divergences, scalars.

A query says two things: `needs`, the words without which no file can match (the prefilter is made of them), and,
through `facts.matching`, where it matches. Queries are combined with `&` (a condition more) and `|` (a place more).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from shardlint.facts.effects import Effects

if TYPE_CHECKING:
    from typing import TypeGuard

Needs = tuple[object, ...]
"""A condition on a file: ("word", identifier), ("text", t), ("rank",), ("local", kinds of data), ("pinned", package,
bound), ("reach", package, members) for a member taken from the package under some name, ("own", package, members) for
one of the project's own package, which a file near to it need not spell in full, ("imports", module) for an import of
it or of something in it, ("patch", packages) for an attribute of one of them that is given a value, ("regex", pattern),
or ("all" | "any", needs, ...)."""

RANK = "rank"
"""The guard of a `Divergence`: a condition that asks which rank this is."""


class Query:
    """The base of all queries."""

    def needs(self) -> Needs:
        """The words that a file must hold for the query to match in it."""
        raise NotImplementedError

    def __and__(self, other: Query) -> Query:
        return Both(self, other)

    def __or__(self, other: Query) -> Query:
        return Either(self, other)


class Both(Query):
    """Places where `first` matches and `second`, a condition, holds."""

    def __init__(self, first: Query, second: Query) -> None:
        self.first = first
        self.second = second

    def needs(self) -> Needs:
        """Both needs, the one first that costs less to look for."""
        return ("all", *sorted((self.first.needs(), self.second.needs()), key=_cost))


class Either(Query):
    """Places where one of two queries matches."""

    def __init__(self, first: Query, second: Query) -> None:
        self.first = first
        self.second = second

    def needs(self) -> Needs:
        return ("any", self.first.needs(), self.second.needs())


class Call(Query):
    """Calls of functions or classes by their dotted names: `Call("torch.load")`. Aliases and imports are resolved."""

    def __init__(self, *names: str) -> None:
        self.names = frozenset(names)
        self.words = frozenset(name.rpartition(".")[2] for name in names)

    def needs(self) -> Needs:
        return dotted_needs(self.names)


class Method(Query):
    """Calls of a method on a receiver made from, or annotated as, one of `owners`.

    `named`: last parts of receivers (`scaler` of `self.scaler`) that are believed by name alone, with certainty 0.6,
    when nothing is known about their class.
    """

    def __init__(self, owners: str | Iterable[str], *methods: str, named: Iterable[str] = ()) -> None:
        self.owners = frozenset([owners] if isinstance(owners, str) else owners)
        self.methods = frozenset(methods)
        self.words = self.methods
        self.named = frozenset(named)

    def needs(self) -> Needs:
        method = ("any", *(("word", word) for word in sorted(self.methods)))
        if self.named:
            owner: Needs = ("any", dotted_needs(self.owners), *(("word", word) for word in sorted(self.named)))
        else:
            owner = dotted_needs(self.owners)
        return ("all", method, owner)


class Assigned(Query):
    """Assignments to an attribute of what is imported from one of the packages, if it is installed.

    The site is that of `setattr(owner, name, value)`, however it is written. Only `owner.name = value` at the start of
    a line and `setattr` itself are seen, where the first part of the owner is an imported name.
    """

    def __init__(self, *packages: str) -> None:
        self.packages = packages

    def needs(self) -> Needs:
        return ("patch", self.packages)


class Given(Query):
    """Calls of whatever function that are given an argument by one of these keywords.

    `spread_into`: a call is one, too, if the last part of what it calls ends with that and it is given a `**dict`.
    """

    def __init__(self, *keywords: str, spread_into: str = "") -> None:
        self.keywords = frozenset(keywords)
        self.spread_into = spread_into

    def needs(self) -> Needs:
        # An import, a comment or a parameter of that name gives nothing to anybody.
        spelled = [
            ("all", ("word", word), ("any", ("text", f"{word}="), ("text", f"{word} =")))
            for word in sorted(self.keywords)
        ]
        named: Needs = ("any", *spelled) if len(spelled) > 1 else spelled[0]
        if not self.spread_into:
            return named
        return ("any", named, ("all", ("text", self.spread_into + "("), ("text", "**")))


LIMIT = r"max_?\w{0,20}?(?:len|tok|seq|ctx|context|pos)|limit|cutoff|truncat|block_size|context_len"
"""What the name of a length limit holds, in capitals or not."""

CUT = rf"\[[\s:.,]*[:-][^#\],(]{{0,80}}?(?:\([^#\]]{{0,80}}?)?(?i:{LIMIT})"
"""What may be a slice up to a length limit, as `facts.cuts` looks for it: no comma before the limit but in a call."""


class Sliced(Query):
    """Places where something of one of these names is cut to a length limit: `batch["ids"] = batch["ids"][:, :limit]`.

    The site is a call `cut(what is sliced, limit)` at the slice; its name is the names that are cut, with blanks
    between them, or `*` where a loop cuts the items of a dict.
    """

    def __init__(self, *names: str) -> None:
        self.names = frozenset(names)

    def needs(self) -> Needs:
        """No name needs to be spelled where a loop over `.items()` or `.keys()` cuts every item."""
        words = (*sorted(self.names), "items", "keys")
        return ("all", ("any", *(("word", word) for word in words)), ("regex", CUT))


class Compared(Query):
    """Comparisons for equality with something of a given name: `Compared("pad_token_id")`.

    Found are `==`, `!=`, `.eq()` and `.ne()` of which one side is a name or an attribute of that name, or a name or
    `self.x` whose value may be one. The site is that of the call `eq(left, right)` or `ne(left, right)`; its parent is
    the comparison as it is written.
    """

    def __init__(self, *words: str) -> None:
        self.words = frozenset(words)

    def needs(self) -> Needs:
        return ("any", *(("word", word) for word in sorted(self.words)))


class UnboundOnRanks(Query):
    """Reads of a local name that is bound under a test of the rank alone, where ranks come by that did not bind it.

    The site is that of the call `read(name, test)` at the read.
    """

    def needs(self) -> Needs:
        return (RANK,)


class InFunctionWith(Query):
    """A condition: the function that holds the place also holds a match of `query`."""

    def __init__(self, query: Query) -> None:
        self.query = query

    def needs(self) -> Needs:
        return self.query.needs()


class InFileWith(Query):
    """A condition: the file that holds the place also holds a match of `query`."""

    def __init__(self, query: Query) -> None:
        self.query = query

    def needs(self) -> Needs:
        return self.query.needs()


class Spelled(Query):
    """A condition: the file has one of these identifiers, if only in a string. It adds to what the prefilter knows.

    What is no identifier is looked for as it stands: `Spelled("(samples)")`.
    """

    def __init__(self, *words: str) -> None:
        # A pack may give a set: the order in which it comes would change the digest of the rules from run to run.
        self.words = tuple(sorted(set(words)))

    def needs(self) -> Needs:
        return ("any", *(("word" if word.isidentifier() else "text", word) for word in self.words))


class Written(Query):
    """A condition: the file holds one of these texts, spaces included: `Written("Registry.register(")`."""

    def __init__(self, *texts: str) -> None:
        self.texts = texts

    def needs(self) -> Needs:
        return ("any", *(("text", text) for text in self.texts))


class Matching(Query):
    """A condition: the text of the file matches a regular expression somewhere. It must be one for bytes as well."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern

    def needs(self) -> Needs:
        return ("regex", self.pattern)


class Pinned(Query):
    """A condition on the project: its version of a package may be below a bound: `Pinned("torch", below=(2, 6))`.

    Where nothing is known of the version, the condition does not hold.
    """

    def __init__(self, package: str, *, below: tuple[int, ...]) -> None:
        self.package = package
        self.below = below

    def needs(self) -> Needs:
        return ("pinned", self.package, self.below)


class Divergence(Query):
    """Places where a guard parts the ranks and only some of them issue an effect: for program rules.

    `guard`: RANK, or the kinds of data that only a rank itself has: FILES, NUMBERS (its clock, or a loss or metric
    that the function has computed and no collective has shared). `extended_by`: the settings table with which a
    project adds calls of its own to the effect.
    """

    def __init__(self, guard: str | tuple[str, ...], effect: Effects, *, extended_by: str = "") -> None:
        self.local = () if guard == RANK else (guard,) if isinstance(guard, str) else guard
        self.effect = effect
        self.extended_by = extended_by

    def needs(self) -> Needs:
        """Only the guard must stand in the file: the collective may be in another one."""
        return ("local", self.local) if self.local else (RANK,)


class Scalars(Query):
    """Scalars of documents whose text matches a regular expression in full: for config rules.

    Only plain scalars are judged, unless `at` says where: it maps the pointers of the scalars that are wanted, quoted
    or not, to words of which the file must spell one beside the last key of the pointer.
    """

    def __init__(
        self,
        pattern: str,
        *,
        kinds: Iterable[str] = ("yaml",),
        words: Iterable[str] = (),
        at: Mapping[str, Iterable[str]] | None = None,
    ) -> None:
        self.pattern = pattern
        self.kinds = frozenset(kinds)
        self.extra = tuple(words)
        self.at = {pointer: tuple(beside) for pointer, beside in at.items()} if at is not None else None

    def needs(self) -> Needs:
        texts: Needs = ("any", *(("text", text) for text in self.extra)) if self.extra else ("all",)
        if self.at is None:
            return texts
        places = [
            ("all", ("word", pointer.rpartition(".")[2]), ("any", *(("word", word) for word in beside)))
            for pointer, beside in self.at.items()
        ]
        return ("all", texts, ("any", *places))


class ChangedFiles(Query):
    """Files that a change touches, by the ends of their names: for change rules.

    `generated`: only generated ones. `keys`: the rule also compares with the manifest of the state dict keys.
    """

    def __init__(self, *suffixes: str, generated: bool = False, keys: bool = False) -> None:
        self.suffixes = suffixes
        self.generated = generated
        self.keys = keys

    def needs(self) -> Needs:
        return ("all",)


class PlanEntries(Query):
    """Every pattern of a parallel plan: for plan rules."""

    def needs(self) -> Needs:
        return ("all",)


class CheckpointKeys(Query):
    """The keys of a checkpoint beside those of the model that is to be loaded from it: for checkpoint rules."""

    def needs(self) -> Needs:
        return ("all",)


class PlanUnits(Query):
    """What FSDP2 wraps, in which order: for plan rules about units."""

    def needs(self) -> Needs:
        return ("all",)


class PlanMesh(Query):
    """The mesh that a plan is for, and what of the model a rank of it holds: for plan rules about the whole."""

    def needs(self) -> Needs:
        return ("all",)


def _cost(needs: Needs) -> int:
    """About how long it takes to see that a file does not meet something, in searches of its text."""
    if needs[0] in ("any", "all"):
        costs = [_cost(part) for part in needs[1:] if _is_needs(part)]
        # Most files lack the first of several things already.
        return sum(costs) if needs[0] == "any" else costs[0]
    return {"word": 1, "text": 1, "regex": 20}.get(str(needs[0]), 8)


def _is_needs(part: object) -> TypeGuard[Needs]:
    return isinstance(part, tuple)


Tree = dict[str, "Tree"]


def dotted_needs(names: Iterable[str]) -> Needs:
    """A dotted name can only be resolved in a file that spells each of its parts and takes the last from its package.

    Packages share their first parts, so the needs are a tree: a file without `torch` is let go by one look.
    """
    tree: Tree = {}
    members: dict[str, set[str]] = {}
    for name in names:
        package, _, last = name.rpartition(".")
        members.setdefault(package, set()).add(last)
        branch = tree
        for part in package.split("."):
            branch = branch.setdefault(part, {})
    return _branch("", tree, members)


def _branch(package: str, tree: Tree, members: Mapping[str, set[str]]) -> Needs:
    choices: list[Needs] = []
    taken = members.get(package)
    if taken:
        ends: Needs = ("any", *(("word", member) for member in sorted(taken)))
        known = package not in ("", "*", "builtins")
        choices.append(("all", ends, ("reach", package, tuple(sorted(taken)))) if known else ends)
    for part, inner in sorted(tree.items()):
        below = _branch(f"{package}.{part}" if package else part, inner, members)
        choices.append(below if part in ("", "*", "builtins") else ("all", ("word", part), below))
    return choices[0] if len(choices) == 1 else ("any", *choices)
