"""Pad tokens: whose id it is, and where that owner's pad token was set to its end-of-text token.

The owner of `tokenizer.pad_token_id` is `tokenizer`. It is the same as in `tokenizer.pad_token = tokenizer.eos_token`
if both are one object, or if both have one name in one file. From another file it is known only where that file
imports the function or class that holds the id and hands it the tokenizer.
"""

from __future__ import annotations

import ast
import re

from shardlint.facts.matching import last_part
from shardlint.facts.module import FUNCTIONS, Module
from shardlint.facts.names import BY_NAME, CERTAIN, INFERRED, bindings_at
from shardlint.facts.site import Expression, Site
from shardlint.finding import Related

_PAD = ("pad_token", "pad_token_id", "pad_id")
_EOS = ("eos_token", "eos_token_id", "eos_id", "eos")
_ELSEWHERE = re.compile(rb"\b(\w+)\.pad_token(?:_id)?\s*=(?!=)\s*([^\n#]*)")
_PARENTHESIS = re.compile(rb"[()]")
_LONGEST = 2000
"""Bytes of the arguments of one call. A parenthesis in a text may seem to close none."""

Place = tuple[ast.expr, ast.expr]
"""An object that is given a pad token, and the token."""


class EosPad:
    """A pad token that is the end-of-text token: the place that made it so, and how certain that is."""

    __slots__ = ("certainty", "note", "text")

    def __init__(self, text: str, note: Related, certainty: float) -> None:
        self.text = text
        self.note = note
        self.certainty = certainty


def eos_pad(site: Site, given: Expression, *, whole: bool = False) -> EosPad | None:
    """The place that sets the pad token to the end-of-text token; None where it may be another one.

    Args:
        site: the call in whose file the answer is looked for.
        given: a pad id: `tok.pad_token_id`, a name or `self.x` with its value. Of anything else nothing is known.
        whole: `given` is not the id, but what has it: `tok`.
    """
    fallback = _fallback(given)
    if fallback is not None:
        return EosPad(fallback.text, fallback.note("the end-of-text token is the pad token"), CERTAIN)
    owners = [given] if whole else _owners(given)
    if not owners and last_part(given.ast) not in _PAD:
        return None
    places = _assignments(site.module)
    for owner in owners:
        named = _in_force(site.module, last_part(owner.ast), places)
        if named and all(_is_eos(value) for _, value in named):
            place, value = named[0]
            same = any(Expression(site.module, one, site.voice).same_as(owner) for one, _ in named)
            note = Expression(site.module, value, site.voice).note("the end-of-text token becomes the pad token here")
            return EosPad(site.module.source(place), note, CERTAIN if same else INFERRED)
        if named:
            return None
    unknown = owners or [given]
    return _handed_over(site, unknown, places) if all(_is_handed(one) for one in unknown) else None


def _is_handed(given: Expression) -> bool:
    """Whether a value is a parameter, or may have come through one: `self.x`."""
    if isinstance(given.ast, ast.Name):
        found = bindings_at(given.module, given.ast)
        return found is not None and all(binding.kind == "param" for binding in found[0])
    return (
        isinstance(given.ast, ast.Attribute) and isinstance(given.ast.value, ast.Name) and given.ast.value.id == "self"
    )


def _fallback(given: Expression) -> Expression | None:
    """`tok.pad_token_id or tok.eos_token_id` and the like: the value of a pad id that may be the eos id itself."""
    for value in _values(given):
        choices: list[ast.expr] = []
        if isinstance(value.ast, ast.BoolOp):
            choices = value.ast.values
        elif isinstance(value.ast, ast.IfExp):
            choices = [value.ast.body, value.ast.orelse]
        elif value.ast is not given.ast:
            choices = [value.ast]
        if any(isinstance(choice, ast.Attribute) and choice.attr in _EOS for choice in choices):
            return value
    return None


def _values(given: Expression) -> list[Expression]:
    """What may have given a name its value; the expression itself where it is none."""
    return given.values or [given]


def _owners(given: Expression) -> list[Expression]:
    """Whose pad ids an expression may be."""
    found: list[Expression] = []
    for value in _values(given):
        owner = value.ast.value if isinstance(value.ast, ast.Attribute) and value.ast.attr in _PAD else None
        if owner is not None and not (isinstance(owner, ast.Name) and owner.id in ("self", "cls")):
            found.append(Expression(given.module, owner, given.voice))
    return found


def _assignments(module: Module) -> list[Place]:
    """Every place of the file that gives an object a pad token: the object, and the token."""
    found: list[Place] = []
    for statement in module.kept:
        for target in statement.targets if isinstance(statement, ast.Assign) else [statement.target]:
            owned = isinstance(target, ast.Attribute) and target.attr in _PAD and last_part(target.value) != "self"
            if isinstance(target, ast.Attribute) and owned and statement.value is not None:
                found.append((target.value, statement.value))
    for call in module.calls.get("add_special_tokens", ()):
        tokens = call.args[0] if call.args else None
        if not isinstance(call.func, ast.Attribute) or tokens is None:
            continue
        if not isinstance(tokens, ast.Dict):
            # A dict that is made elsewhere: it may hold any pad token, if the file spells one as a key.
            found += [(call.func.value, tokens)] if re.search(r"['\"]pad_token['\"]", module.text) else []
        else:
            for key, value in zip(tokens.keys, tokens.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == "pad_token":
                    found.append((call.func.value, value))
    return sorted(found, key=lambda place: place[1].lineno)


def _in_force(module: Module, name: str, places: list[Place]) -> list[Place]:
    """The places that may have given an object of that name the token it has, without those that are overwritten."""
    named = [place for place in places if name and last_part(place[0]) == name]
    for number in range(len(named) - 1, 0, -1):
        statement = module.statement(named[number][1])
        home = module.function(statement)
        if module.parent(statement) is home and all(module.function(value) is home for _, value in named):
            return named[number:]
    return named


def _is_eos(value: ast.expr) -> bool:
    if isinstance(value, ast.BoolOp):
        value = value.values[0]
    return last_part(value) in _EOS and isinstance(value, ast.Attribute)


def _handed_over(site: Site, given: list[Expression], places: list[Place]) -> EosPad | None:
    """Where a caller of the function or class around the id hands it a tokenizer whose pad is its end-of-text token."""
    function = site.module.function(site.ast)
    definition: ast.AST | None = function
    if isinstance(site.module.parent(function), ast.ClassDef):
        definition = site.module.parent(function)
    if not isinstance(definition, (*FUNCTIONS, ast.ClassDef)) or not isinstance(
        site.module.parent(definition), (ast.Module, ast.If)
    ):
        return None
    wanted = {last_part(owner.ast) for owner in given}
    for call in site.module.calls.get(definition.name, ()):
        for argument in (*call.args, *(keyword.value for keyword in call.keywords)):
            owner = argument.value if isinstance(argument, ast.Attribute) and argument.attr in _PAD else argument
            named = _in_force(site.module, last_part(owner), places)
            if named and all(_is_eos(value) for _, value in named):
                note = Expression(site.module, named[0][1], site.voice).note("the end-of-text token becomes the pad")
                return EosPad(site.module.source(named[0][0]), note, INFERRED)
    return _from_another_file(site, definition.name, wanted)


def _from_another_file(site: Site, name: str, wanted: set[str]) -> EosPad | None:
    # The stem of a file need not be a name: `train(1).py`.
    stem, called = re.escape(site.module.dotted.rpartition(".")[2]), name.encode()
    imported = rf"from\s+[\w.]*\b{stem}\s+import\s*(?:\([^)]*\b{name}\b|[^\n(]*\b{name}\b)"
    for path in site.project.matching(name, imported):
        data = site.project.text(path)
        if path == site.module.path or b"eos" not in data:
            continue
        given, handed = list(_ELSEWHERE.finditer(data)), _arguments(data, called)
        for match in given:
            owner = match.group(1)
            others = [other for other in given if other.group(1) == owner]
            if not all(re.match(rb"[\w.]+\.eos_(?:token|id)", other.group(2)) for other in others):
                continue
            if any(re.search(rb"\b" + owner + rb"\b", text) for text in handed):
                line = data.count(b"\n", 0, match.start()) + 1
                column = match.start() - data.rfind(b"\n", 0, match.start())
                note = Related(
                    path, line, column, f"the end-of-text token becomes the pad token that `{name}` is handed"
                )
                return EosPad(owner.decode("utf-8", "replace"), note, INFERRED if owner.decode() in wanted else BY_NAME)
    return None


def _arguments(data: bytes, called: bytes) -> list[bytes]:
    """The text of the arguments of each call of a name, up to the parenthesis that closes it."""
    found: list[bytes] = []
    for match in re.finditer(rb"(?<![\w.])(?:\w+\.)?" + called + rb"\s*\(", data):
        if data[max(0, match.start() - 80) : match.start()].rstrip().endswith((b"def", b"class")):
            continue
        depth, end = 1, min(match.end() + _LONGEST, len(data))
        for sign in _PARENTHESIS.finditer(data, match.end(), end):
            depth += 1 if sign.group() == b"(" else -1
            if depth == 0:
                end = sign.start()
                break
        found.append(data[match.end() : end])
    return found


__all__ = ["EosPad", "eos_pad"]
