"""What a model learns through one call alone, and through which other uses of its features it learns besides."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from shardlint.facts.matching import matches
from shardlint.facts.module import Module
from shardlint.facts.project_words import ProjectWords
from shardlint.facts.site import Site
from shardlint.facts.trained_values import lesson_through
from shardlint.finding import Evidence
from shardlint.query import Call
from shardlint.voice import Voice

VOICE = Voice("some-rule", "some", "error", Evidence("research", ("https://example.org",)), 0.85)


def forward(source: str) -> str | None:
    """The forward pass that learns through `m.copy(filled, given)` alone."""
    text = "import m, torch\nimport torch.nn.functional as F\n" + dedent(source)
    words = ProjectWords({"x.py": text}, {"x.py": text.encode()}.__getitem__)
    module = Module("x.py", text, ast.parse(text), dotted="x", project=lambda: words)
    (hit,) = matches(module, Call("m.copy"))
    site = Site(module, hit, VOICE)
    given = site.argument("given", 1)
    assert given is not None
    lesson = lesson_through(site, given, site.argument("filled", 0))
    return lesson.forward if lesson is not None else None


STEP = "def step(model, batch, out, extra=None):\n    "
THROUGH = {
    "straight": (STEP + "m.copy(out, model(batch))\n    nce(out).backward()", "model"),
    "by name": (STEP + "x = model(batch)\n    m.copy(out, x)\n    nce(out).backward()", "model"),
    "an attribute of what is given": (STEP + "m.copy(out, model(batch).pooled)\n    nce(out).backward()", "model"),
    "normalised and cast": (
        STEP + "x = F.normalize(model(batch).float())\n    m.copy(out, x.contiguous())\n    nce(out).backward()",
        "model",
    ),
    "only its form besides": (
        STEP + "x = model(batch)\n    y = torch.zeros_like(x)\n    m.copy(out, x)\n    nce(out).backward()",
        "model",
    ),
    "an encoder of the object": (
        "class A:\n    def training_step(self, b):\n        m.copy(self.o, self.net.encode_image(b))\n"
        "        return nce(self.o)",
        "self.net.encode_image",
    ),
    "handed to a library": (STEP + "m.copy(out, model(batch))\n    accelerator.backward(nce(out))", "model"),
    "used besides": (STEP + "x = model(batch)\n    m.copy(out, x)\n    nce(out, x).backward()", None),
    "put back": (STEP + "x = model(batch)\n    m.copy(out, x)\n    out[0] = x\n    nce(out).backward()", None),
    "what it was made of, put back": (
        STEP + "h = model(batch)\n    x = h.contiguous()\n    m.copy(out, x)\n    out[0] = h\n    nce(out).backward()",
        None,
    ),
    "detached": (STEP + "m.copy(out, model(batch).detach())\n    nce(out).backward()", None),
    "nothing goes backward": (STEP + "m.copy(out, model(batch))\n    return nce(out)", None),
    "something else goes backward": (STEP + "m.copy(out, model(batch))\n    extra.backward()", None),
    "without gradients": (
        STEP + "with torch.no_grad():\n        x = model(batch)\n    m.copy(out, x)\n    nce(out).backward()",
        None,
    ),
    "a teacher": ("def step(teacher_model, b, out):\n    m.copy(out, teacher_model(b))\n    nce(out).backward()", None),
    "in evaluation": (STEP + "model.eval()\n    m.copy(out, model(batch))\n    nce(out).backward()", None),
    "labels": (STEP + "m.copy(out, batch['labels'])\n    nce(model(batch), out).backward()", None),
    "any call": (STEP + "m.copy(out, tokenize(batch))\n    nce(model(batch), out).backward()", None),
    "one of two values": (
        STEP + "x = model(batch)\n    if extra:\n        x = extra\n    m.copy(out, x)\n    nce(out).backward()",
        None,
    ),
    "through a helper": (
        "def every(x):\n    out = [x.new_empty(1)]\n    m.copy(out, x)\n    return torch.cat(out)\n"
        "def step(model, batch):\n    nce(every(model(batch))).backward()",
        "model",
    ),
    "through a helper, used besides": (
        "def every(x):\n    out = [x.new_empty(1)]\n    m.copy(out, x)\n    return torch.cat(out)\n"
        "def step(model, batch):\n    x = model(batch)\n    nce(x, every(x)).backward()",
        None,
    ),
    "through a helper that puts it back": (
        "def every(x):\n    out = [x.new_empty(1)]\n    m.copy(out, x)\n    out[0] = x\n    return torch.cat(out)\n"
        "def step(model, batch):\n    nce(every(model(batch))).backward()",
        None,
    ),
    "the forward of a module": (
        "class A(torch.nn.Module):\n    def forward(self, b, o):\n        m.copy(o, self.proj(b))\n        return o",
        "self.proj",
    ),
    "a forward of something else": (
        "class A(torch.autograd.Function):\n    def forward(self, b, out):\n        m.copy(out, self.proj(b))\n"
        "        return out",
        None,
    ),
}


@pytest.mark.parametrize(("source", "model"), THROUGH.values(), ids=THROUGH)
def test_a_model_learns_through_one_call_alone(source: str, model: str | None) -> None:
    assert forward(source) == model
