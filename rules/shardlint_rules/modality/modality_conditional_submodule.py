"""The rule modality-conditional-submodule."""

from __future__ import annotations

import ast
import re

from shardlint.rule import Bad, Call, Findings, Good, LocalRule, Related, Site, Spelled, research, table

_TOWERS = " ".join(str(words) for words in table("modalities", of=__name__)["towers"].values())
_CALLS = Call(*(f"*.{name}" for name in _TOWERS.split()))
_MEDIA = r"(?:pixel_values|images?|videos?|input_features|audios?|image_features|pixels|speech)(?:_videos|_images)?"
_PRESENT = re.compile(rf"(?:\w+\.)*({_MEDIA})(?: is not None|\.numel\(\)(?: > 0)?)?|len\(({_MEDIA})\)(?: > 0)?")
_ABSENT = re.compile(rf"({_MEDIA}) is None")
_INFERENCE = re.compile(r"(?i)generate|infer|predict|serve|eval|preprocess|prepare_inputs_for|lmdeploy|vllm|no_grad")
_BELIEVED = re.compile(r"(?i)dummy|fake|\ball_reduce\(|from \.+modeling_utils import")
_SHARDS = r"\b(fully_shard|FullyShardedDataParallel|FSDP|apply_fsdp\w*)\(|\bdeepspeed\.initialize\("
_TRAIN = """
    import torch
    from torch.distributed.fsdp import fully_shard

    def shard(model):
        for part in (model.vision_tower, model.decoder, model):
            fully_shard(part)

    def collate(samples):
        images = [s["pixel_values"] for s in samples if "pixel_values" in s]
        return {"pixel_values": torch.cat(images) if images else None}
    """


class ModalityConditionalSubmodule(LocalRule):
    """Reports a vision or audio tower that runs only on ranks whose batch has such media, in a project that shards it.

    Why is this bad?
    A sharded tower gathers its weights in `forward` and reduces its gradients in `backward`, on all ranks together.
    A rank whose batch is text alone leaves the tower out, and the collectives of the others have no partner: the job
    hangs, or mixes up the buffers of two layers.

    Use instead
    Run the tower in every step. Without media give it a dummy input, and add its result times zero, so that it gets
    gradients; or let the sampler make batches that have the same modalities on all ranks.

    Known limits
    Judged only where a collator of the project lets samples without the media pass, and the project calls FSDP or
    DeepSpeed itself. Towers are known by their names. A file that speaks of dummy or fake inputs is believed.
    """

    severity, since, preview = "warning", "0.1.0", True
    evidence = research("https://github.com/deepspeedai/DeepSpeed/issues/7170")
    suspects = _CALLS & Spelled("pixel_values", "pixel_values_videos", "input_features", "images", "audio")
    symptoms = (r"Watchdog caught collective operation timeout.*(_ALLGATHER_BASE|ALLGATHER|REDUCE_SCATTER)",)
    proof = ("test_modality_conditional_submodule", "two ranks wait in different collectives of FSDP2")
    bad = (
        Bad(
            {
                "model.py": """
                from base import Base

                class Reader(Base):
                    def forward(self, tokens, pixel_values=None, input_features=None):
                        x = self.embed(tokens)
                        if pixel_values is not None:
                            x = self.merge(x, self.vision_tower(pixel_values))  # error
                        if input_features is not None and len(tokens) > 0:
                            x = self.merge(x, self.audio_tower(input_features))
                        return self.decoder(x)
                """,
                "train.py": _TRAIN,
            }
        ),
    )
    good = (
        Good(
            {
                "model.py": """
                from base import Base

                class Reader(Base):
                    def forward(self, tokens, pixel_values=None):
                        x = self.embed(tokens)
                        if pixel_values is not None:
                            x = self.merge(x, self.vision_tower(pixel_values))
                        else:
                            x = x + 0.0 * self.vision_tower(self.blank).sum()
                        return self.decoder(x)
                """,
                "train.py": _TRAIN,
            }
        ),
    )

    def judge(self, site: Site) -> Findings:
        media = _guard(site)
        if not media or site.in_tests or _INFERENCE.search(site.function.name) or _BELIEVED.search(site.module.text):
            return
        if not all(map(_guard, site.function.calls(_CALLS))):
            return
        sharded, grouped = site.project.count("", _SHARDS), site.project.count("", "group_by_modality|ModalitySampler")
        source = _lets_pass(site, media) if sharded and not grouped else None
        if source is not None:
            yield site.finding(
                f"`{site.called}` runs only where the batch has `{media}`, but some batches have none: their rank "
                "skips the collectives of the sharded tower, and the others wait",
                help="without media run it on a dummy input and add the result times zero",
                related=[source],
            )


def _guard(site: Site) -> str:
    """The media whose presence a call of a tower depends on; empty where it also runs without."""
    for guard in site.guards:
        both = guard.holds and isinstance(guard.test, ast.BoolOp) and isinstance(guard.test.op, ast.And)
        for part in guard.test.values if both and isinstance(guard.test, ast.BoolOp) else [guard.test]:
            found = (_PRESENT if guard.holds else _ABSENT).fullmatch(site.module.source(part) if part else "")
            if found is not None:
                return next(word for word in found.groups() if word)
    return ""


def _lets_pass(site: Site, media: str) -> Related | None:
    """Where a collator or dataset of the project takes samples without the media for granted."""
    key = rf"['\"]{media}['\"]"
    optional = rf"\bif {key} in \w+|\.get\({key}|{key}[^\n]*\bif\b[^\n]*\belse None"
    for path in site.project.matching(media, optional):
        data = site.project.text(path)
        found = re.search(optional.encode(), data) if b"ollat" in data else None
        if found is not None:
            return Related(path, data.count(b"\n", 0, found.start()) + 1, 1, "samples without it pass here")
    return None
