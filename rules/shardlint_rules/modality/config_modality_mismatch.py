"""The rule config-modality-mismatch."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from shardlint.rule import Bad, ConfigRule, Good, Judgements, Scalar, Scalars, entries, research, table

_TABLE = table("config_modalities", of=__name__)
_WORDS = {name: {key: str(words).split() for key, words in section.items()} for name, section in _TABLE.items()}
_NAMES = {words["model"][0]: name for name, words in _WORDS.items() if "model" in words}
_MEDIA = {"image": "images", "audio": "sound", "video": "video"}
_TEXT, _ANY, _DIFFUSION = frozenset({"text"}), frozenset(_MEDIA), frozenset({"diffusion"})


class ConfigModalityMismatch(ConfigRule):
    """Reports a training config whose model, template, dataset and media keys are not for the same modality.

    Why is this bad?
    Each of these values is sound alone. Together, the first sample fails once the job has started, or images are left
    out without a word and the model is trained on their placeholders.

    Use instead
    The template that belongs to the model; media keys and datasets with media only for a multimodal model.

    Known limits
    Configs of LLaMA-Factory, axolotl, ms-swift and VeOmni are judged, flags in launch scripts are not. A model is known
    by its name on a hub. Templates and datasets of the project itself are judged if the settings name them.
    """

    severity, since = "warning", "0.1.0"
    evidence = research("https://llamafactory.readthedocs.io/en/latest/", "https://docs.axolotl.ai")
    suspects = Scalars(r"[^{}$]+", kinds=("yaml", "json"), at={key: _WORDS[of]["marks"] for key, of in _NAMES.items()})
    symptoms = (r"This model does not support (image|video|audio) input", r"(Image p|P)rocessor was not found")
    proof = ("test_config_modality_mismatch", "with a text template the first batch fails; a text model loses images")
    bad = (
        Bad("model_name_or_path: x/Qwen2-VL-7B\nstage: sft\ndataset: mllm_demo\ntemplate: qwen  # error", path="v.yml"),
        Bad("base_model: 'x/Llama-3.2-3B'\nprocessor_type: AutoProcessor  # error\ndatasets: []", path="a.yml"),
    )
    good = (
        Good("model_name_or_path: Qwen/Qwen2-VL-2B\nstage: sft\ndataset: identity\ntemplate: qwen2_vl", path="vl.yaml"),
        Good("base_model: x/gemma-3-4b-it\nsample_packing: true\ndatasets: []\nchat_template: gemma3", path="a.yml"),
    )

    def judge(self, scalar: Scalar) -> Judgements:
        name = _NAMES[scalar.pointer]
        if scalar.keys.isdisjoint(_WORDS[name]["marks"]) or _stated(scalar, _WORDS[name].get("unless")):
            return
        for at, its, other, others, result in _conflicts(name, scalar):
            message = f"{_said(at, its)}, but {_said(other, others)}: {_TABLE[name][result]}"
            advice = f"let `{at.pointer}` and `{other.pointer}` be for the same modality"
            yield at.finding(message, help=advice, related=[other.note(_said(other, others))])
            return
        if not _takes(scalar):
            yield scalar.not_judged(f"what the model `{scalar.value}` takes is not known")


def _conflicts(name: str, model: Scalar) -> Iterator[tuple[Scalar, frozenset[str], Scalar, frozenset[str], str]]:
    """What does not fit: a value and what it is for, another and what that is for, what happens. The surest first."""
    words, takes = _WORDS[name], _takes(model)
    keys, switch, plain, drawn, raw, template = (
        next(iter(_stated(model, words.get(key))), None)
        for key in ("keys", "switches", "text_values", "diffusion_values", "raw_values", "template")
    )
    untaught = any(part in str(model.value).lower() for part in words.get("untaught", ()))
    made = _made(name, None if untaught else template)
    data, holds = _data(name, model)
    beside = "beside" not in words or _stated(model, words["beside"])
    text, unlike = takes == "text", made == _TEXT and holds != _TEXT
    for applies, at, its, other, others, result in (
        (text and holds & _ANY, data, holds, model, _TEXT, "data"),
        (text and made & _ANY, template, made, model, _TEXT, "template"),
        (made and holds & _ANY - made, template, made, data, holds, "data"),
        (text, keys, _ANY, model, _TEXT, "key"),
        (unlike, template, _TEXT, switch, _ANY, "switch"),
        (unlike and takes == "media" and "judged_alone" in words, template, _TEXT, model, _ANY, "switch"),
        (beside, plain, _TEXT, switch, _ANY, "value"),
        (beside and made & _ANY, plain, _TEXT, template, made, "value"),
        (takes == "media" and switch is None, raw, _TEXT, model, _ANY, "raw"),
        (takes, drawn, _DIFFUSION, model, _TEXT if text else _ANY, "value"),
    ):
        if applies and at is not None and other is not None:
            yield at, its, other, others, f"says_{result}"


def _takes(model: Scalar) -> str:
    """ "text" or "media", by the name of a model; empty for one that is not known."""
    hub_name = str(model.value).rstrip("/").rpartition("/")[2].lower()
    return next((kind for kind, names in _WORDS["models"].items() if hub_name in names), "")


def _made(name: str, template: Scalar | None) -> frozenset[str]:
    """What a template of a framework is made for; nothing if that is not known, or there is none that matters."""
    if template is None:
        return frozenset()
    own, given = _WORDS[name], str(template.value)
    if "template_text" in own:
        return _TEXT if given in own["template_text"] else _ANY if given in own["template_media"] else frozenset()
    shipped = entries("template_modalities", "templates", name, of=__name__).get(given, ())
    known = frozenset(template.modality("templates").get(given, "").split() or shipped)
    return known if known == _TEXT or "exact" in own else known and _ANY


def _data(name: str, model: Scalar) -> tuple[Scalar | None, frozenset[str]]:
    """A value that names datasets, and what they hold: media if one is known to, text alone if all are."""
    named = _stated(model, _WORDS[name].get("data"))
    if not named or any(folder.value != "data" for folder in _stated(model, ["dataset_dir"])):
        return None, frozenset()
    added = {one: tuple(words.split()) for one, words in model.modality("datasets").items()}
    known = {**entries(_WORDS[name]["datasets"][0], "datasets", name, of=__name__), **added}
    held = [(data, known.get(word, ())) for data in named for word in re.findall(r"[\w./-]+", str(data.value))]
    media = [(data, frozenset(kinds) & _ANY) for data, kinds in held if len(kinds) > 1]
    union = frozenset[str]().union(*(kinds for _, kinds in media))
    return (media[0][0], union) if media else (None, _TEXT if all(kinds for _, kinds in held) else frozenset())


def _stated(model: Scalar, wanted: Iterable[str] | None) -> list[Scalar]:
    """The values that the document gives, of those that are wanted: each a pointer, or a pointer and its value."""
    pairs = ((model.other(pointer), value) for pointer, _, value in (word.partition("=") for word in wanted or ()))
    given = ((at, value) for at, value in pairs if at is not None and at.value not in (None, "", {}, []))
    return [at for at, value in given if value in ("", str(at.value).lower())]


def _said(scalar: Scalar, kinds: frozenset[str]) -> str:
    media = " and ".join(_MEDIA[kind] for kind in sorted(kinds & _ANY)) if kinds != _ANY else "images, sound or video"
    value = "" if isinstance(scalar.value, dict) else f": {scalar.value}"
    return f"`{scalar.pointer}{value}` is for {'text alone' if kinds == _TEXT else media or 'diffusion models'}"
