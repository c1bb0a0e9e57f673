"""The builders of torchtune: of datasets, models, tokenizers and transforms."""

from __future__ import annotations

import ast

from modality_table.source import Package, last_name, parameters, text_of
from modality_table.words import modality, ordered


def torchtune_datasets(package: Package) -> dict[str, str]:
    """`torchtune.datasets.name` -> text, or text and image for the builders that take a transform for both.

    A builder with a `tokenizer` gives tokens alone. One with a `model_transform` gives what that makes of the sample;
    all of those are in `datasets/multimodal`.
    """
    found: dict[str, str] = {}
    for path in package.files("datasets/**/*.py"):
        inside = "torchtune.datasets." + ("multimodal." if path.startswith("datasets/multimodal/") else "")
        for node in package.tree(path).body:
            if not isinstance(node, ast.FunctionDef) or not node.name.endswith("_dataset") or node.name.startswith("_"):
                continue
            names = parameters(node)
            if "tokenizer" in names and not any("image" in name for name in names):
                found[inside + node.name] = "text"
            elif "model_transform" in names and "multimodal" in inside:
                found[inside + node.name] = ordered(("text", "image"))
    return found


def torchtune_builders(package: Package) -> dict[str, str]:
    """`torchtune.models.family.name` -> what the model, tokenizer or transform takes, by the type that is returned.

    A `TransformerDecoder` and a tokenizer take text; a fusion model and a transform also the media of their arguments.
    """
    found: dict[str, str] = {}
    for path in package.files("models/*/_model_builders.py"):
        for node in package.tree(path).body:
            if not isinstance(node, ast.FunctionDef) or node.returns is None:
                continue
            made = text_of(node.returns) or last_name(node.returns)
            media = {modality(name) for name in parameters(node)} & {"image", "video", "audio"}
            plain = made.endswith(("TransformerDecoder", "Tokenizer"))
            if plain or (media and made.endswith(("FusionModel", "Transform"))):
                words = ["text"] if plain else ["text", *media]
                found[f"torchtune.models.{path.split('/')[1]}.{node.name}"] = ordered(words)
    return found
