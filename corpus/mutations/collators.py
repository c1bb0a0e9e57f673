"""Collators that lose columns or media, or cut the tokens that stand for media."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import partial

from .package import Package
from .python_file import PythonFile, argument, opaque
from .rewrite import with_argument, without, without_argument
from .site import Injection, Place, Site, in_place

_RAW = frozenset(
    ("image", "images", "video", "videos", "audio", "caption", "text", "texts", "messages", "conversations", "question")
)
_MEDIA = frozenset(
    ("pixel_values", "pixel_values_videos", "input_features", "images", "image_grid_thw", "audio_values")
)
_ASKS = re.compile(r"image|video|audio|pixel|input_features|vision")
_INFERENCE = re.compile(r"(?i)eval|infer|generat|demo|serve|predict|benchmark|pipeline")
_WHOLE = 1_000_000


class ColumnsRemoved:
    """Drops `remove_unused_columns=False` from the arguments of a Trainer.

    A site is such an argument in a file that also builds a Trainer with a collator of its own, one that takes raw
    columns (`image`, `messages`, `text`) of each sample: no `forward` has a parameter of that name.
    """

    rule = "collator-columns-removed"
    versioned = False
    beside: tuple[str, ...] = ()

    def sites(self, package: Package) -> Iterator[Site]:
        for file in package.python(r"remove_unused_columns\s*=\s*False"):
            trainers = [call for call in file.calls() if argument(call, "data_collator") is not None]
            custom = [call for call in trainers if _reads_raw(file, argument(call, "data_collator"))]
            for call in file.calls():
                if (
                    argument(call, "remove_unused_columns") is not None
                    and custom
                    and "Arguments" in file.source(call.func)
                ):
                    what = f"`remove_unused_columns=False` is dropped from `{file.source(call.func)}`"
                    inject = partial(_without_flag, file, call, custom)
                    yield Site(package.name, file.path, call.lineno, what, file.copy(call), inject)


class PlaceholdersCut:
    """Cuts the tokens of a multimodal batch to a length.

    A site is a call of a processor that is given text and images (or video, or audio) by keyword, with no truncation,
    where the same file makes the text with a chat template or writes placeholders of images itself, and is neither
    inference nor evaluation: it gets `truncation=True, max_length=2048`.
    """

    rule = "collator-truncates-placeholders"
    versioned = False
    beside: tuple[str, ...] = ()

    def sites(self, package: Package) -> Iterator[Site]:
        for file in package.python(r"apply_chat_template|<\|?image"):
            if _INFERENCE.search(file.path):
                continue
            for call in file.calls():
                media = [argument(call, name) for name in ("images", "videos", "audio", "audios")]
                given = [one for one in media if one is not None and not isinstance(one, ast.Constant)]
                function = file.function(call)
                processor = file.source(call.func).endswith("processor")
                if not processor or argument(call, "text") is None or not given or opaque(call) or function is None:
                    continue
                cut = argument(call, "truncation")
                whole = cut is None or ast.unparse(cut) == "False"
                if whole and argument(call, "max_length") is None and not _INFERENCE.search(function.name):
                    what = f"`{file.source(call.func)}` gets `truncation=True, max_length=2048`"
                    inject = partial(_cut, file, call)
                    yield Site(package.name, file.path, call.lineno, what, file.copy(function), inject)


class MediaDropped:
    """Drops what puts media into the batch of a collator.

    A site is a statement `batch["pixel_values"] = ...` (or another key of media) in a function that its name, or that
    of its class, calls a collator; where it stands under a test that asks for media, that whole branch is dropped. The
    finding must lie in a file that names this collator, where it meets its dataset or model.
    """

    rule = "collator-modality-mismatch"
    versioned = False
    beside: tuple[str, ...] = ()

    def sites(self, package: Package) -> Iterator[Site]:
        for file in package.python(r"(?i)collat"):
            for node in ast.walk(file.tree):
                target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
                function = file.function(node)
                if not isinstance(node, ast.Assign) or not isinstance(target, ast.Subscript) or function is None:
                    continue
                owner = file.owner(function)
                name = owner.name if owner is not None else function.name
                key = target.slice.value if isinstance(target.slice, ast.Constant) else None
                if key not in _MEDIA or "collat" not in name.lower() or not file.alone(node):
                    continue
                dropped = _branch(file, node, function)
                what = f"`{file.source(dropped)[:80]}` is dropped from `{name}`"
                inject = partial(_without_media, package, file, dropped, name)
                yield Site(package.name, file.path, dropped.lineno, what, file.copy(dropped), inject)


def _branch(file: PythonFile, statement: ast.stmt, function: ast.AST) -> ast.stmt:
    """The outermost branch around a statement that asks for media; the statement itself where there is none."""
    found = statement
    for outer in file.around(statement):
        if outer is function:
            break
        elif_line = file.text.split("\n")[getattr(outer, "lineno", 1) - 1].lstrip().startswith("elif")
        if isinstance(outer, ast.If) and not elif_line and _ASKS.search(file.source(outer.test)):
            found = outer
    return found


def _reads_raw(file: PythonFile, collator: ast.expr | None) -> bool:
    """Whether a collator of this file takes raw columns of its samples."""
    name = collator.func if isinstance(collator, ast.Call) else collator
    if not isinstance(name, ast.Name):
        return False
    made = [
        node
        for node in ast.walk(file.tree)
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name == name.id
    ]
    keys = {
        node.slice.value
        for definition in made
        for node in ast.walk(definition)
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and isinstance(node.ctx, ast.Load)
    }
    return bool(keys & _RAW)


def _without_flag(file: PythonFile, call: ast.Call, trainers: list[ast.Call]) -> Injection:
    text = without_argument(file.text, call, "remove_unused_columns")
    lost = file.text.count("\n") - text.count("\n")
    places = [Place(file.path, one.lineno - lost, one.end_lineno or one.lineno) for one in trainers]
    return Injection({file.path: text}, tuple(places))


def _cut(file: PythonFile, call: ast.Call) -> Injection:
    text = with_argument(file.text, call, "truncation", "True")
    again = PythonFile.parsed(file.path, text)
    assert again is not None
    same = next(one for one in again.calls() if (one.lineno, one.col_offset) == (call.lineno, call.col_offset))
    return in_place(file, with_argument(text, same, "max_length", "2048"), call)


def _without_media(package: Package, file: PythonFile, statement: ast.stmt, name: str) -> Injection:
    holders = [path for path in package.ending(".py") if name in (package.text(path) or "")]
    places = tuple(Place(path, 1, _WHOLE) for path in holders)
    return Injection({file.path: without(file.text, statement)}, places)
