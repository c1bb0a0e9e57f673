"""What the models, processors and auto classes of transformers take, from `forward`, `__init__` and the mappings."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from modality_table.source import Classes, Package, assigned, last_name, parameters, strings, text_of
from modality_table.words import modality, ordered, unclear

_AUTO = "models/auto/modeling_auto.py"
_HEADS = (
    "MODEL_FOR_CAUSAL_LM",
    "MODEL_FOR_IMAGE_TEXT_TO_TEXT",
    "MODEL_FOR_MULTIMODAL_LM",
    "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM",
    "MODEL_FOR_SPEECH_SEQ_2_SEQ",
)
_LANGUAGE = ("MODEL_FOR_CAUSAL_LM", "MODEL_FOR_MASKED_LM", "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM", "MODEL_FOR_TEXT_ENCODING")
_SPEAKING = ("MODEL_FOR_TEXT_TO_WAVEFORM", "MODEL_FOR_TEXT_TO_SPECTROGRAM")
_NEARLY_ALL = 0.9
_CODES = ("codebook", "audio code", "audio token")
_COMMON = {
    "cache", "past_key_values", "use_cache", "output_attentions", "output_hidden_states", "return_dict",
    "cache_position", "encoder_outputs", "head_mask", "decoder_head_mask", "cross_attn_head_mask", "logits_to_keep",
}  # fmt: skip


class Models:
    """The public models of a copy of transformers.

    `takes`: class -> modalities, for the classes whose signature says it. `forwards`: class -> names that `forward`
    takes, with a trailing `**` where it takes any.
    """

    def __init__(self, package: Package) -> None:
        self.package = package
        self.classes = Classes(package, "models/*/modeling_*.py", "modeling_*.py", "generation/*.py")
        self.mappings = _mappings(package)
        self.takes: dict[str, str] = {}
        self.forwards: dict[str, str] = {}
        video_only = self._video_only()
        self._language = set[str]().union(*(names for head in _LANGUAGE for names in self._mapped(head).values()))
        self._spoken = set[str]().union(*(self._mapped(head) for head in _SPEAKING))
        self._drawn = set(self._mapped("MODEL_FOR_CAUSAL_IMAGE_MODELING"))
        for path in package.files("models/*/modeling_*.py"):
            if not path.startswith(("models/auto/", "models/deprecated/")):
                self._read(path, path.split("/")[1] in video_only)

    def _mapped(self, name: str) -> dict[str, tuple[str, ...]]:
        return self.mappings.get(name, {})

    def _is_text(self, path: str, name: str, audio: bool) -> bool:
        """Whether the token ids of a model are text. Models of sound and models that draw have ids for these, too."""
        folder = path.split("/")[1]
        if folder in self._drawn:
            return False
        sound = audio or folder in self._spoken or self.package.files(f"models/{folder}/feature_extraction_*.py")
        return not sound or name in self._language or re.search(r"(?<!To)Text(?!ToUnit)", name) is not None

    def _read(self, path: str, video: bool) -> None:
        frames = _frames_in_images((self.package.folder / path).read_text(encoding="utf-8"))
        public = strings(assigned(self.package.tree(path)).get("__all__", ast.Constant(0)))
        found: dict[str, tuple[list[str], str, bool]] = {}
        for name, node in self.classes.in_file[path].items():
            forward = self.classes.method(path, node, "forward") if name in public else None
            if forward is None or not _is_top(name) or forward.args.vararg is not None:
                continue
            codes = any(word in (ast.get_docstring(forward) or "").lower() for word in _CODES)
            names = parameters(forward)
            if not names or unclear(names):
                continue
            words = {modality(one) for one in names} - {""}
            words = {"video" if video and word == "image" else word for word in words}
            unsure = (codes and "text" in words) or (frames and "image" in words and "video" not in words)
            if words and not unsure:
                found[name] = (names, ordered(words), _open(forward))
        some_media = any(taken != "text" for _, taken, _ in found.values())
        audio = any("audio" in taken for _, taken, _ in found.values())
        for name, (names, taken, is_open) in found.items():
            # Media may come through `**kwargs`, or encoded by another model.
            hidden = (is_open and some_media) or "mm_encoder_outputs" in names
            if taken == "text" and (hidden or not self._is_text(path, name, audio)):
                continue
            self.takes[name] = taken
            shown = [one for one in names if one not in _COMMON]
            if taken != "text" or any("label" in one for one in names):
                self.forwards[name] = " ".join([*shown, *(["**"] if is_open else [])])

    def _video_only(self) -> set[str]:
        """Folders of models whose `pixel_values` are frames: their models classify videos and never images."""
        videos = set(self._mapped("MODEL_FOR_VIDEO_CLASSIFICATION"))
        for name, mapping in self.mappings.items():
            if name.startswith("MODEL_FOR_IMAGE_"):
                videos -= set(mapping)
        return videos

    def model_types(self) -> dict[str, str]:
        """model_type -> what its generating models take together, or its base model if there are none."""
        found: dict[str, str] = {}
        every = {kind for mapping in self.mappings.values() for kind in mapping}
        for kind in every:
            names = {name for head in _HEADS for name in self._mapped(head).get(kind, ())}
            names = names or set(self._mapped("MODEL").get(kind, ()))
            words = [self.takes.get(name, "") for name in names]
            if words and all(words):
                found[kind] = ordered(word for text in words for word in text.split())
        return found

    def auto(self) -> dict[str, str]:
        """Auto class -> what each of the models takes that it can make, where all agree whose signature says it."""
        found: dict[str, str] = {}
        for name, node in self.classes.in_file.get(_AUTO, {}).items():
            values = assigned(ast.Module(node.body, []))
            mapping = last_name(values.get("_model_mapping", ast.Constant(0))).removesuffix("_MAPPING")
            names = {one for names in self._mapped(mapping).values() for one in names}
            known = {self.takes[one] for one in names if one in self.takes}
            if len(known) == 1 and sum(one in self.takes for one in names) >= _NEARLY_ALL * len(names):
                found[name.lstrip("_")] = known.pop()
        return found | _auto_parts(self.package)

    def processors(self) -> dict[str, str]:
        """Processor class -> the modalities of the parts that it is made of."""
        found: dict[str, str] = {}
        classes = Classes(self.package, "models/*/processing_*.py")
        for path, inside in classes.in_file.items():
            sounds = bool(self.package.files(f"{path.rpartition('/')[0]}/feature_extraction_*.py"))
            for name, node in inside.items():
                made = classes.method(path, node, "__init__") if name.endswith("Processor") else None
                names = parameters(made) if made is not None else []
                words = {_PARTS.get(one, "") for one in names} - {""}
                call = classes.method(path, node, "__call__")
                taken = {modality(one) for one in parameters(call)} if call is not None else set[str]()
                words |= {"?"} if taken - words & {"video"} else set()
                if "feature_extractor" in names:
                    words.add("audio" if sounds else "?")
                if words and "?" not in words:
                    found[name] = ordered(words)
        return found


_PARTS = {
    "tokenizer": "text",
    "image_processor": "image",
    "video_processor": "video",
    "audio_processor": "audio",
    "audio_tokenizer": "audio",
}


def _auto_parts(package: Package) -> dict[str, str]:
    files = {
        "AutoTokenizer": ("models/auto/tokenization_auto.py", "text"),
        "AutoImageProcessor": ("models/auto/image_processing_auto.py", "image"),
        "AutoVideoProcessor": ("models/auto/video_processing_auto.py", "video"),
    }
    return {
        name: words
        for name, (path, words) in files.items()
        if any(isinstance(node, ast.ClassDef) and node.name == name for node in package.tree(path).body)
    }


def _is_top(name: str) -> bool:
    return "PreTrained" not in name and ("For" in name or name.endswith(("Model", "LMHeadModel", "WithProjection")))


def _frames_in_images(text: str) -> bool:
    """Whether a modeling file takes the frames of a video out of `pixel_values`."""
    return any("frame" in line and re.search(r"\bpixel_values\b", line) for line in text.split("\n"))


def _open(forward: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether any keyword is taken: `**kwargs` without a type that lists them."""
    kwargs = forward.args.kwarg
    return kwargs is not None and not isinstance(kwargs.annotation, ast.Subscript)


def _mappings(package: Package) -> dict[str, dict[str, tuple[str, ...]]]:
    """Name of an auto mapping without `_MAPPING_NAMES` -> model_type -> names of classes."""
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for name, value in assigned(package.tree(_AUTO)).items():
        if name.endswith("_MAPPING_NAMES"):
            found[name.removesuffix("_MAPPING_NAMES")] = dict(_pairs(value, found))
    return found


def _pairs(value: ast.expr, known: dict[str, dict[str, tuple[str, ...]]]) -> Iterable[tuple[str, tuple[str, ...]]]:
    for node in ast.walk(value):
        if isinstance(node, ast.Tuple) and len(node.elts) == 2 and text_of(node.elts[0]):
            yield text_of(node.elts[0]), tuple(sorted(strings(node.elts[1])))
        elif isinstance(node, ast.Name) and node.id.removesuffix("_MAPPING_NAMES") in known:
            yield from known[node.id.removesuffix("_MAPPING_NAMES")].items()
