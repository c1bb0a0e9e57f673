"""The rule collator-truncates-placeholders."""

from __future__ import annotations

import ast
import re

from shardlint.rule import Bad, Findings, Given, Good, LocalRule, Matching, Site, Sliced, Spelled, observation, table
from shardlint.rule import uncut_beside as uncut

_MEDIA = frozenset(key for words in table("modalities", of=__name__)["media"].values() for key in str(words).split())
_GIVEN = ("images", "videos", "audio", "audios")
_CHECKED = re.compile(r"(?i:image|img|video|audio|vision|media)\w*(?i:token|placeholder|pad_id)|^(IMAGE|IMG)$")
_ASKED = re.compile(r"<\|?(image|video|audio|vision)\w*\|?>")
_LIMITED = Given("truncation") & Spelled("max_length") & (Spelled("apply_chat_template") | Matching(_ASKED.pattern))


class CollatorTruncatesPlaceholders(LocalRule):
    """Reports tokens of a multimodal batch that are cut to a length while its images, video or sound stay whole.

    Why is this bad?
    An image stands in `input_ids` as a run of placeholder tokens, one for each feature of the vision tower. A cut drops
    some of them and keeps all features, so the first long sample stops the run: transformers counts both. So does a cut
    of only some token keys: the loss gets more labels than logits.

    Use instead
    Leave samples that are too long out, or raise a clear error where a placeholder would be lost; cut every token key.

    Known limits
    Tokens and media must be handled in one function. Believed are a function that looks at the ids of media tokens or
    leaves long samples out, a file that speaks of image placeholders, and a project that takes `<image>` out of texts.
    A processor counts where the file calls its `apply_chat_template` or writes `<image>`, and compares nothing with the
    limit; others (CLIP, BLIP, Donut) have no placeholders.
    """

    severity, since = "warning", "0.1.0"
    evidence = observation("https://github.com/huggingface/trl/pull/5904")
    suspects = (Sliced("input_ids") & Spelled(*_MEDIA, *_GIVEN)) | (_LIMITED & Spelled(*_GIVEN))
    symptoms = (
        r"(Image|Video|Audio) features and (image|video|audio) tokens do not match",
        r"Mismatch in `?(image|video|audio)`? token count between text and `?input_ids`?",
    )
    proof = ("test_collator_truncates_placeholders", "a tiny LLaVA counts fewer placeholders than image features")
    bad = (
        Bad(
            """
            class Collate:
                def __call__(self, samples):
                    batch = self.pad([s["input_ids"] for s in samples])
                    batch["input_ids"] = batch["input_ids"][:, : self.max_length]  # error
                    batch["attention_mask"] = batch["attention_mask"][:, : self.max_length]
                    batch["pixel_values"] = torch.cat([s["pixel_values"] for s in samples])
                    return batch

            def chat(samples):
                texts = [processor.apply_chat_template(s["messages"]) for s in samples]
                return processor(text=texts, images=load(samples), truncation=True, max_length=1024)  # error

            def every_tensor(batch, cutoff):
                for key, value in batch.items():
                    if key not in ("pixel_values", "image_grid_thw"):
                        batch[key] = value[:, :cutoff]  # error
                return batch
            """
        ),
    )
    good = (
        Good(
            """
            def checked(samples, limit):
                batch = pad(samples)
                if (batch["input_ids"][:, limit:] == IMAGE_TOKEN_ID).any():
                    raise ValueError("a sample is too long for its images")
                for key in ("input_ids", "attention_mask", "labels"):
                    batch[key] = batch[key][:, :limit]
                batch["pixel_values"] = torch.cat([s["pixel_values"] for s in samples])
                return batch
            def captions(samples):
                return clip(text=[s["caption"] for s in samples], images=[s["image"] for s in samples], truncation=True)
            """
        ),
    )

    def judge(self, site: Site) -> Findings:
        if site.called != "cut":
            yield from _processor(site)
            return
        (cut, limit), texts = site.positional, site.function.words
        if site.function.is_module or not _has_media(site, texts) or site.function.leaves_out(limit):
            return
        placeholders = not any(map(_CHECKED.search, texts)) and "image placeholder" not in site.module.text
        if uncut(site, ("labels",)):
            yield site.finding(
                f"`{cut.text}` is cut to `{limit.text}`, but not `labels`: a long batch has more labels than logits",
                help="cut every token key of the batch to the same length",
            )
        elif placeholders and not site.project.count("<image>", r"replace\(\s*(['\"])<image>\1,\s*(['\"])\2"):
            what = "every key" if site.name == "*" else f"`{cut.text}`"
            yield site.finding(
                f"{what} is cut to `{limit.text}`, and placeholders of images, video or sound with it, but the media "
                "of the batch stay whole: the first sample that is too long stops the run",
                help="leave long samples out of the dataset, or raise an error where a placeholder would be cut",
            )


def _has_media(site: Site, texts: set[str]) -> bool:
    """Whether a function puts media into a batch; for a loop over all keys, whether it names some."""
    keys = texts if site.name == "*" else site.function.written_keys
    processors = [call for call in site.function.every_call if any(given.arg == "text" for given in call.keywords)]
    return bool(_MEDIA & keys) or any(map(_media_given, processors))


def _media_given(call: ast.Call) -> bool:
    return any(k.arg in _GIVEN and not (isinstance(k.value, ast.Constant) and not k.value.value) for k in call.keywords)


def _processor(site: Site) -> Findings:
    truncation, limit = site.argument("truncation"), site.argument("max_length")
    if truncation is None or limit is None or not site.argument("text", 0) or not _media_given(site.call):
        return
    module, chat = site.module, f"{site.called}.apply_chat_template"
    templates = any(module.source(call.func) == chat for call in module.calls.get("apply_chat_template", ()))
    checked = re.search(rf"[<>]=? *{re.escape(limit.text)}(?!\w)", module.text)
    if truncation.literal in (True, "longest_first") and (templates or _ASKED.search(module.text)) and not checked:
        yield site.finding(
            f"`{site.called}` may cut the placeholders of the media that it is given: a text over `{limit.text}` "
            "tokens stops the run",
            help="leave `truncation` out, and keep samples that are too long out of the dataset",
            at=truncation,
        )
