"""Training configs whose template is not for the modality of their model."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from .package import Package
from .site import Injection, Place, Site

_MEDIA = re.compile(r"(?i)[-_]?VL\b|VL-|vision|llava|omni|audio|paligemma|pixtral|minicpm-[vo]|internvl")
_TEXT = re.compile(
    r"(Meta-)?Llama-(2|3|3\.1)-\d+b?\b.*|Qwen(1\.5|2|2\.5|3)-\d+(\.\d+)?B\b.*|Mistral-7B.*|gemma-2-\d+b.*|SmolLM2-.*|NousResearch.*",
    re.IGNORECASE,
)


class _Framework(NamedTuple):
    """How a framework spells a config: what marks it, its keys, a template for text and one for images."""

    marks: tuple[str, ...]
    model: str
    template: str
    text: str
    media: str


_FRAMEWORKS = (
    _Framework((r"^stage:", r"^template:"), r"^model_name_or_path", r"^template", "llama3", "qwen2_vl"),
    _Framework((r"^\s+model_path:", r"^\s+train_path:"), r"^\s+model_path", r"^\s+chat_template", "chatml", "qwen2vl"),
    _Framework((r"^base_model:", r"^datasets:"), r"^base_model", r"^chat_template", "chatml", "qwen2_vl"),
)


class WrongTemplate:
    """Gives a model for images a template for text, and a model for text one for images.

    A site is a config of LLaMA-Factory, VeOmni or axolotl with a model whose name says which of the two it is, and a
    template of its own. Names that leave it open are no site, nor are models for images that are often trained on text
    alone, such as Gemma 3.
    """

    rule = "config-modality-mismatch"
    versioned = False
    beside: tuple[str, ...] = ()

    def sites(self, package: Package) -> Iterator[Site]:
        for path in package.ending(".yaml", ".yml"):
            text = package.text(path) or ""
            for framework in _FRAMEWORKS:
                if all(re.search(mark, text, re.MULTILINE) for mark in framework.marks):
                    model, template = _value(text, framework.model), _value(text, framework.template)
                    if model is None or template is None:
                        continue
                    name = model["value"].rstrip("/").rpartition("/")[2]
                    new = framework.text if _MEDIA.search(name) else framework.media if _TEXT.fullmatch(name) else ""
                    if new:
                        yield _site(package.name, path, text, name, template, new)
                    break


def _value(text: str, key: str) -> re.Match[str] | None:
    return re.search(rf"(?m){key}:[ \t]+(?P<quote>[\"']?)(?P<value>[\w./-]+)(?P=quote)[ \t]*(?:#.*)?$", text)


def _site(package: str, path: str, text: str, name: str, template: re.Match[str], new: str) -> Site:
    after = text[: template.start("value")] + new + text[template.end("value") :]
    line = text.count("\n", 0, template.start("value")) + 1
    what = f"the template `{template['value']}` of {name} is `{new}`"
    inject = partial(Injection, {path: after}, (Place(path, 1, text.count("\n") + 1),))
    return Site(package, path, line, what, f"{path.rpartition('/')[2]} {name} {template['value']}", inject)
