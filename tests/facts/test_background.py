"""Where work in the background is seen: in the function that starts it, and in those that call it."""

from __future__ import annotations

import ast

import pytest

from shardlint.facts.background import under_way
from shardlint.facts.matching import matches
from shardlint.facts.module import Module
from shardlint.facts.project_words import ProjectWords
from shardlint.facts.site import Site
from shardlint.finding import Evidence
from shardlint.query import Call
from shardlint.voice import Voice

VOICE = Voice("some-rule", "some", "error", Evidence("research", ("https://example.org",)), 0.85)
CALLER = "from pkg.save import save\ndef finish(x):\n    h = save(x)\n    return 1\n"
SEEN = {
    "dropped": ("def save(x):\n    m.start(x)", ["save", "finish"]),
    "returned": ("def save(x):\n    return m.start(x)", ["save", "finish"]),
    "returned by name": ("def save(x):\n    h = m.start(x)\n    return h", ["save", "finish"]),
    "waited for": ("def save(x):\n    h = m.start(x)\n    h.wait()", ["save"]),
    "kept": ("class C:\n    def save(self, x):\n        self.h = m.start(x)", ["C.save"]),
    "of no function": ("m.start(1)", [""]),
}


@pytest.mark.parametrize(("source", "functions"), SEEN.values(), ids=SEEN)
def test_work_is_seen_by_the_callers_when_nothing_can_wait_before(source: str, functions: list[str]) -> None:
    files = {"pkg/__init__.py": "", "pkg/save.py": f"import m\n{source}\n", "pkg/train.py": CALLER}
    words = ProjectWords(files, lambda path: files[path].encode())
    text = files["pkg/save.py"]
    module = Module("pkg/save.py", text, ast.parse(text), dotted="pkg.save", project=lambda: words)
    (hit,) = matches(module, Call("m.start"))
    assert [work.start.function.name for work in under_way(Site(module, hit, VOICE))] == functions
