"""The rule config-modality-mismatch."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from shardlint.rule import (
    DIFFUSION,
    MEDIA,
    TEXT,
    Bad,
    ConfigRule,
    Good,
    Judgements,
    Meant,
    Scalar,
    Scalars,
    Told,
    entries,
    research,
    table,
)

_TABLE = table("config_modalities", of=__name__)
_WORDS = {name: {key: str(words).split() for key, words in section.items()} for name, section in _TABLE.items()}
_NAMES = {words["model"][0]: name for name, words in _WORDS.items() if "model" in words}
_ENTRIES = partial(entries, of=__name__)


class ConfigModalityMismatch(ConfigRule):
    """Reports a training config whose model, template, dataset, media keys and script are not for the same modality.

    Why is this bad?
    Each of these values is sound alone. Together, the first sample fails once the job has started, or images are left
    out without a word and the model is trained on their placeholders.

    Use instead
    The template that belongs to the model; media keys and datasets with media only for a multimodal model; the script
    that makes such samples.

    Known limits
    Configs of LLaMA-Factory, axolotl, ms-swift and VeOmni are judged; what a command overrides is not. A model is known
    by its name on a hub. Templates and datasets of the project itself are judged if the settings name them. Scripts are
    compared with configs of VeOmni, where a shell script, a Makefile or a fenced block of Markdown names both. What a
    script takes is known if its code, or the class that it makes, surely loads a tokenizer or a processor, or reads the
    key of a condition model; a model for media may be trained on text by a script for text. Others are not judged.
    """

    severity, since = "warning", "0.1.0"
    evidence = research("https://llamafactory.readthedocs.io/en/latest/", "https://docs.axolotl.ai")
    suspects = Scalars(r"[^{}$]+", kinds=("yaml", "json"), at={key: _WORDS[of]["marks"] for key, of in _NAMES.items()})
    symptoms = (r"This model does not support (image|video|audio) input", r"(Image p|P)rocessor was not found")
    proof = ("test_config_modality_mismatch", "with a text template the first batch fails; a text model loses images")
    bad = (
        Bad("model_name_or_path: Qwen2-VL-7B\nstage: sft\ndataset: mllm_demo\ntemplate: qwen  # error", path="a.yml"),
        Bad("base_model: 'x/Llama-3.2-3B'\nprocessor_type: AutoProcessor  # error\ndatasets: []", path="a.yml"),
        Bad(
            {
                "README.md": "```bash\nbash train.sh text.py vl.yaml --train.lr 1e-5\n```",
                "text.py": "from trainer import Trainer\n\nTrainer(args).train()",
                "trainer.py": "import transformers as hf\n\nclass Trainer:\n    def __init__(self, args):\n"
                "        self.tokenizer = hf.AutoTokenizer.from_pretrained(args.path)",
                "vl.yaml": "model: {model_path: VL}\ndata:\n  train_path: data\n  mm_configs: {fps: 2}  # error",
            }
        ),
    )
    good = (
        Good("model_name_or_path: Qwen/Qwen2-VL-2B\nstage: sft\ndataset: identity\ntemplate: qwen2_vl", path="vl.yaml"),
        Good("base_model: x/gemma-3-4b-it\nsample_packing: true\ndatasets: []\nchat_template: gemma3", path="a.yml"),
        Good(
            {
                "run.sh": "torchrun vlm.py vl.yaml",
                "vlm.py": "import transformers\n\ntransformers.AutoProcessor.from_pretrained('VL')",
                "vl.yaml": "model: {model_path: VL}\ndata:\n  train_path: data\n  mm_configs: {fps: 2}",
            }
        ),
    )

    def judge(self, scalar: Scalar) -> Judgements:
        name = _NAMES[scalar.pointer]
        words, meant = _WORDS[name], Meant(name, scalar, _WORDS, _ENTRIES)
        if scalar.keys.isdisjoint(words["marks"]):
            return
        whole = not meant.stated("unless")
        for one, other, result in _conflicts(meant) if whole else ():
            advice = f"let `{one.at.pointer}` and `{other.at.pointer}` be for the same modality"
            message = f"{one}, but {other}: {_TABLE[name][result]}"
            yield one.at.finding(message, help=advice, related=[other.at.note(str(other))])
            return
        launched = scalar.launched if "conditions" in words else []
        makes = [(by, by.makes(words["media_read"], words["conditions"])) for by in launched]
        for by, made in makes:
            told = made and Meant(name, scalar, _WORDS, _ENTRIES, by.launch.options).unlike(made.kind)
            if made and told:
                then = " ".join(words.get(f"says_{made.kind}_{min(told.kinds)}") or words["says_unread"])
                message = f"{told}, but `{by.launch.program}`, which reads this file, {made.said}: {then}"
                advice = f"launch it with a script for such samples, or change `{told.at.pointer}`"
                related = [by.note("the file is handed to the script here"), made.place]
                yield told.at.finding(message, help=advice, related=related, certainty=0.6 if by.launch.open else 1.0)
                return
        if whole and not meant.takes:
            yield scalar.not_judged(f"what the model `{scalar.value}` takes is not known")
        elif makes and not any(made for _, made in makes):
            yield scalar.not_judged(f"what `{makes[0][0].launch.program}` makes of the file is not known")


def _conflicts(meant: Meant) -> Iterator[tuple[Told, Told, str]]:
    """What does not fit: a value, another, and what happens then. The surest first."""
    keys, switch, plain, drawn, raw = (
        meant.first(key) for key in ("keys", "switches", "text_values", "diffusion_values", "raw_values")
    )
    model, template, made, (data, holds) = meant.model, meant.template, meant.made, meant.data
    beside = not meant.has("beside") or meant.stated("beside")
    text, media, unlike = meant.takes == "text", meant.takes == "media", made == TEXT and holds != TEXT
    for applies, at, its, other, others, result in (
        (text and holds & MEDIA, data, holds, model, TEXT, "data"),
        (text and made & MEDIA, template, made, model, TEXT, "template"),
        (made and holds & MEDIA - made, template, made, data, holds, "data"),
        (text, keys, MEDIA, model, TEXT, "key"),
        (unlike, template, TEXT, switch, MEDIA, "switch"),
        (unlike and media and meant.has("judged_alone"), template, TEXT, model, MEDIA, "switch"),
        (beside, plain, TEXT, switch, MEDIA, "value"),
        (beside and made & MEDIA, plain, TEXT, template, made, "value"),
        (media and switch is None, raw, TEXT, model, MEDIA, "raw"),
        (meant.takes, drawn, DIFFUSION, model, TEXT if text else MEDIA, "value"),
    ):
        if applies and at is not None and other is not None:
            yield Told(at, its), Told(other, others), f"says_{result}"
