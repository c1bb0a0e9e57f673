"""Images, sound and video that a dataset of the project loads, under whatever keys its samples have them."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator

from shardlint.facts.module import Module, word_of
from shardlint.facts.names import resolve, self_values
from shardlint.facts.samples import method

_LOADERS = frozenset(
    (
        "PIL.Image.open",
        "PIL.Image.fromarray",
        "cv2.imread",
        "imageio.imread",
        "torchvision.io.read_image",
        "torchvision.io.decode_image",
        "torchvision.io.read_video",
        "torchaudio.load",
        "librosa.load",
        "soundfile.read",
        "decord.VideoReader",
    )
)
"""Functions that give an image, a clip or a waveform. Source: the documentation of each library."""

_NAMED = frozenset(("image", "images", "video", "videos", "audio", "audios"))
"""Keys that say themselves what they carry, where a call made the value."""

_TOKENS = frozenset(("input_ids", "attention_mask", "token_type_ids", "position_ids", "labels", "label"))

_MAKERS = re.compile("image|video|audio|wave|frame|process|transform|clip")
_TEXTUAL = re.compile("path|name|file|url|token|text|str|size|shape|join|num|len|id$")
_MEASURES = frozenset(("size", "shape", "width", "height", "mode", "filename"))
_CALLS = 3


def loaded_keys(module: Module, owner: ast.ClassDef, known: Collection[str]) -> frozenset[str]:
    """The keys under which the samples of a dataset carry media that it loads.

    Those that depend on a setting are left out (`if self.with_images:`); those that depend on the row are in.

    Args:
        known: keys that hold media wherever they occur, as `pixel_values`.
    """
    getter = method(owner, "__getitem__") or method(owner, "__iter__")
    if getter is None or method(owner, "__getitems__") is not None:
        return frozenset()
    return frozenset(_Reader(module, owner, known).given(getter, 0))


def added_keys(module: Module, function: ast.FunctionDef, known: Collection[str]) -> frozenset[str]:
    """The keys under which a function puts media that it loads into what it gives back."""
    return frozenset(_Reader(module, None, known).given(function, 0))


def loads_media(module: Module, function: ast.FunctionDef) -> bool:
    """Whether a function loads an image, a clip or a waveform itself."""
    return any(_is_loader(module, node) for node in ast.walk(function))


class _Reader:
    def __init__(self, module: Module, owner: ast.ClassDef | None, known: Collection[str]) -> None:
        self._module, self._owner, self._known = module, owner, known

    def given(self, function: ast.FunctionDef, step: int) -> set[str]:
        """The keys of media in what a method gives back."""
        own = [node for node in ast.walk(function) if self._module.function(node) is function]
        media, found = self._media_names(own), set[str]()
        for node in own:
            if isinstance(node, (ast.Return, ast.Yield)) and node.value is not None:
                found |= self._of_value(own, node.value, media, step)
        return found

    def _of_value(self, own: list[ast.AST], value: ast.expr, media: set[str], step: int) -> set[str]:
        if isinstance(value, ast.Name):
            found = set[str]()
            for place in own:
                if isinstance(place, (ast.Assign, ast.AnnAssign)) and place.value is not None:
                    found |= self._of_store(own, place, value.id, media, step)
            return found
        found = {key for key, given in _items(value) if self._is_media(own, key, given, media)}
        return found | self._called(value, step)

    def _of_store(
        self, own: list[ast.AST], place: ast.Assign | ast.AnnAssign, name: str, media: set[str], step: int
    ) -> set[str]:
        """What one assignment puts into the sample of that name."""
        targets = place.targets if isinstance(place, ast.Assign) else [place.target]
        for target in targets:
            if isinstance(target, ast.Name) and target.id == name and not isinstance(place.value, ast.Name):
                return self._of_value(own, place.value, media, step) if place.value is not None else set()
            if not isinstance(target, ast.Subscript) or not isinstance(target.value, ast.Name):
                continue
            if target.value.id == name and place.value is not None and not self._by_setting(place):
                keys = _texts_of(own, target.slice)
                return {key for key in keys if self._is_media(own, key, place.value, media)}
        return set()

    def _called(self, value: ast.expr, step: int) -> set[str]:
        """The keys of `self.item(index)`, by the method of the class."""
        func = value.func if isinstance(value, ast.Call) else None
        if step >= _CALLS or not isinstance(func, ast.Attribute) or not isinstance(func.value, ast.Name):
            return set()
        called = method(self._owner, func.attr) if self._owner is not None and func.value.id == "self" else None
        return self.given(called, step + 1) if called is not None and called.name != "__getitem__" else set()

    def _is_media(self, own: list[ast.AST], key: str, value: ast.expr, media: set[str]) -> bool:
        if isinstance(value, ast.Constant) or key in _TOKENS:
            return False
        return key in self._known or self._loaded(value, media) or (key in _NAMED and self._made(own, value, 0))

    def _media_names(self, own: list[ast.AST]) -> set[str]:
        """The names of a function that hold media, or what was made of it."""
        found = set[str]()
        stores = [store for node in own for store in _stores(node)]
        for _ in range(len(stores)):
            more = {name for name, value in stores if name not in found and self._loaded(value, found)}
            if not more:
                break
            found |= more
        return found

    def _loaded(self, value: ast.expr, media: set[str]) -> bool:
        """Whether media goes into a value; what measures it is none."""
        if isinstance(value, ast.Attribute) and value.attr in _MEASURES:
            return False
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in ("len", "str", "type"):
            return False
        if isinstance(value, (ast.Compare, ast.Constant)):
            return False
        if isinstance(value, ast.Name):
            return value.id in media
        if isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Constant):
            if value.slice.value in self._known:
                return True
        elif isinstance(value, ast.Attribute) and value.attr in self._known and not _is_self(value.value):
            return True
        if _is_loader(self._module, value):
            return True
        if isinstance(value, ast.Subscript):
            return self._loaded(value.value, media)
        if isinstance(value, (ast.ListComp, ast.GeneratorExp)):
            inner = {loop.target.id: loop.iter for loop in value.generators if isinstance(loop.target, ast.Name)}
            hidden = media - inner.keys()
            return self._loaded(value.elt, hidden | {name for name, over in inner.items() if self._loaded(over, media)})
        parts = (part for part in ast.iter_child_nodes(value) if not isinstance(part, ast.expr_context))
        return any(self._loaded(part, media) for part in _expressions(parts))

    def _made(self, own: list[ast.AST], value: ast.expr, step: int) -> bool:
        """Whether a call that speaks of media made a value, and not a path or a name of it."""
        if isinstance(value, ast.Call):
            word = word_of(value.func).lower()
            return _is_loader(self._module, value) or (bool(_MAKERS.search(word)) and not _TEXTUAL.search(word))
        if step >= _CALLS:
            return False
        given: list[ast.expr] = []
        if isinstance(value, ast.Name):
            given = [one for node in own for name, one in _stores(node) if name == value.id]
        elif self._owner is not None and isinstance(value, ast.Attribute) and _is_self(value.value):
            given = self_values(self._module, self._owner, value.attr)
        return bool(given) and all(self._made(own, one, step + 1) for one in given)

    def _by_setting(self, place: ast.stmt) -> bool:
        """Whether a setting decides that a statement runs: no name of the row is in the condition around it."""
        function = self._module.function(place)
        for at in self._module.ancestors(place):
            if at is function:
                return False
            if isinstance(at, ast.If) and not any(isinstance(one, _OF_ROWS) for one in ast.walk(at.test)):
                # A bare name may hold something of the row; `self.x` and `args.x` are settings.
                plain = [one for one in ast.walk(at.test) if isinstance(one, ast.Name)]
                if all(isinstance(self._module.parent(one), ast.Attribute) for one in plain):
                    return True
        return False


_OF_ROWS = (ast.Subscript, ast.Call, ast.In, ast.NotIn)


def _texts_of(own: list[ast.AST], key: ast.expr) -> set[str]:
    """The texts that a key may be: a literal, or a name that a function gives nothing but texts and None."""
    given = [key]
    if isinstance(key, ast.Name):
        given = [value for node in own for name, value in _stores(node) if name == key.id]
    values = [one.value if isinstance(one, ast.Constant) else ... for one in given]
    told = {value for value in values if isinstance(value, str)}
    return told if all(value is None or isinstance(value, str) for value in values) else set()


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


def _items(value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """The literal keys of a dict that is written in place, with their values."""
    if isinstance(value, ast.Dict):
        for key, given in zip(value.keys, value.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                yield key.value, given
    elif isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "dict":
        yield from ((word.arg, word.value) for word in value.keywords if word.arg is not None)


def _stores(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """The names that a statement gives a value, or adds one to."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Name):
                yield target.id, node.value
            elif isinstance(target, (ast.Tuple, ast.List)):
                # What a call gives beside an image is none: `image, index = self.load(row)`.
                parts = [one.id for one in target.elts if isinstance(one, ast.Name)]
                yield from ((name, node.value) for name in parts if _MAKERS.search(name))
    elif isinstance(node, (ast.AnnAssign, ast.AugAssign)) and isinstance(node.target, ast.Name):
        if node.value is not None:
            yield node.target.id, node.value
    elif isinstance(node, ast.For) and isinstance(node.target, ast.Name):
        yield node.target.id, node.iter
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and len(node.args) == 1:
        holder = node.func.value
        if isinstance(holder, ast.Name) and node.func.attr in ("append", "extend"):
            yield holder.id, node.args[0]


def _expressions(parts: Iterator[ast.AST]) -> Iterator[ast.expr]:
    for part in parts:
        if isinstance(part, ast.expr):
            yield part
        elif isinstance(part, ast.keyword):
            yield part.value


def _is_loader(module: Module, node: ast.AST) -> bool:
    """Whether a node is a call that gives media: of a library, or `image.convert("RGB")`."""
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Attribute) and node.func.attr == "convert":
        return any(isinstance(given, ast.Constant) and given.value in ("RGB", "RGBA", "L") for given in node.args)
    return any(name in _LOADERS for name in resolve(module, node.func).names)


__all__ = ["added_keys", "loaded_keys", "loads_media"]
