"""More cases of modality-conditional-submodule."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shardlint.example import Example
from shardlint.finding import Finding

RULE = "modality-conditional-submodule"
SHARD = """
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP, fully_shard

def shard(model):
    return fully_shard(model)
"""
COLLATE = """
class Collator:
    def __call__(self, rows):
        images = [row["pixel_values"] for row in rows if "pixel_values" in row]
        return {"pixel_values": cat(images) if images else None}
"""
CALL = """
class Reader:
    def forward(self, tokens, pixel_values=None, pixel_values_videos=None):
        x = self.embed(tokens)
{body}
        return self.decoder(x)
"""
BODIES = {
    "plain": """
        if pixel_values is not None:
            x = x + self.vision_tower(pixel_values)  # error""",
    "with-its-grid": """
        if pixel_values is not None and grid is not None:
            x = self.put(x, self.get_image_features(pixel_values, grid))  # error""",
    "not-empty": """
        if pixel_values.numel() > 0:
            x = x + self.model.visual(pixel_values)  # error""",
    "by-its-length": """
        if len(pixel_values) > 0:
            x = x + self.vision_encoder(pixel_values)  # error""",
    "left-early": """
        if pixel_values is None:
            return self.decoder(x)
        x = x + self.vision_tower(pixel_values)  # error""",
    "in-one-line": """
        x = x + self.vision_tower(pixel_values) if pixel_values is not None else x  # error""",
    "good-always": """
        x = x + self.vision_tower(pixel_values)""",
    "good-the-other-branch-runs-it": """
        if pixel_values is not None:
            x = x + self.vision_tower(pixel_values)
        else:
            x = x + 0.0 * self.vision_tower(self.blank).sum()""",
    "good-run-once-more-below": """
        if pixel_values is not None:
            x = x + self.visual(pixel_values)
        if pixel_values is None and pixel_values_videos is None:
            x = x + 0.0 * self.visual(torch.zeros(16, 4)).mean()""",
    "good-a-stand-in-method": """
        if pixel_values is not None:
            x = x + self.vision_tower(pixel_values)
        elif self.sharded:
            x = x + 0.0 * self.vision_tower.dummy_forward().sum()""",
    "good-the-input-is-replaced": """
        fake = self.blank if pixel_values is None else pixel_values
        if pixel_values is not None or self.training:
            x = x + self.vision_tower(fake)""",
    "good-another-condition": """
        if self.config.use_vision:
            x = x + self.vision_tower(pixel_values)""",
    "good-a-key-that-all-samples-have": """
        if pixel_values_videos is not None:
            x = x + self.vision_tower(pixel_values_videos)""",
}


def project(body: str, **files: str) -> dict[str, str]:
    """A model with this forward, its sharding and its collator; further files replace them."""
    return {"model.py": CALL.format(body=body), "shard.py": SHARD, "data.py": COLLATE} | {
        f"{name}.py": text for name, text in files.items()
    }


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
def test_marked_lines_are_reported(problems: Callable[[str, Example], list[str]], body: str) -> None:
    assert problems(RULE, Example(project(body))) == []


@pytest.mark.parametrize(
    "files",
    [
        {"shard": "def shard(model):\n    return model\n"},
        {"data": "def collate(rows):\n    return {'pixel_values': [row['pixel_values'] for row in rows]}\n"},
        {"sampler": "def order(rows):\n    return sorted(rows, group_by_modality=True)\n"},
    ],
    ids=["nothing-is-sharded", "every-sample-has-an-image", "batches-of-one-modality"],
)
def test_a_project_without_the_danger_is_silent(
    problems: Callable[[str, Example], list[str]], files: dict[str, str]
) -> None:
    body = BODIES["plain"].replace("  # error", "")
    assert problems(RULE, Example(project(body, **files))) == []


@pytest.mark.parametrize("name", ["generate", "predict_step", "prepare_inputs_for_generation"])
def test_inference_is_no_training(problems: Callable[[str, Example], list[str]], name: str) -> None:
    files = project(BODIES["plain"].replace("  # error", ""))
    files["model.py"] = files["model.py"].replace("def forward", f"def {name}")
    assert problems(RULE, Example(files)) == []


def test_the_collator_is_named_beside_the_tower(findings: Callable[[str, Example], list[Finding]]) -> None:
    (found,) = findings(RULE, Example(project(BODIES["plain"])))
    assert [(related.path, related.line) for related in found.related] == [("data.py", 3)]
