"""The words for modalities, and what the names of arguments say about them."""

from __future__ import annotations

from collections.abc import Iterable

WORDS = ("text", "image", "video", "audio", "latents")
"""The modalities, in the order in which they are written."""

_MEDIA = {
    "image": "image",
    "images": "image",
    "pixel": "image",
    "video": "video",
    "videos": "video",
    "audio": "audio",
    "audios": "audio",
    "speech": "audio",
}
_WHOLE = {"input_ids": "text", "input_features": "audio", "input_values": "audio", "flattened_patches": "image"}
_NO_INPUT = ("output_", "return_", "use_", "num_", "generate_", "interpolate_", "load_")
_UNCLEAR = {"visual_feats", "visual_embeds", "visual_pos", "inputs", "args", "audio_codes", "speech_input"}


def ordered(words: Iterable[str]) -> str:
    """The modalities as one text, in their order."""
    given = set(words)
    return " ".join(word for word in WORDS if word in given)


def modality(name: str) -> str:
    """The modality of an argument by its name, such as `image` for `pixel_values`; empty where the name says none."""
    if name in _WHOLE:
        return _WHOLE[name]
    if name.startswith(_NO_INPUT) or name.endswith(("labels", "label", "loss", "_token_id")):
        return ""
    found = {_MEDIA[part] for part in name.split("_") if part in _MEDIA}
    # `pixel_values_videos` is video; an argument that names two media says nothing.
    found -= {"image"} if "video" in found and "pixel" in name else set()
    return found.pop() if len(found) == 1 else ""


def unclear(names: Iterable[str]) -> bool:
    """Whether an argument takes something that may be a medium, without a name that says which."""
    return not _UNCLEAR.isdisjoint(names)
