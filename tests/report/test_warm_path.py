"""What a run without anything new imports: start-up time is a promise."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import shardlint

COSTLY = {
    *("argparse", "ast", "collections", "contextlib", "dataclasses", "enum", "functools", "hashlib", "json"),
    *("pathlib", "re", "subprocess", "tempfile", "tokenize", "typing", "unicodedata"),
}

SCRIPT = f"""
import sys
sys.path.insert(0, sys.argv[1])
before = set(sys.modules)
import shardlint.baseline, shardlint.report
from shardlint.finding import Evidence, Finding, Span
from shardlint.fingerprint import fingerprint
from shardlint.report.concise import render_concise
from shardlint.report.statistics import render_statistics
from shardlint.report.summary import Summary
from shardlint.report.text import render_text, wants_colour
from shardlint.suppress import read_suppressions, settings_hide
one = Finding(path="a.py", span=Span(2, 1, 2, 2), rule="r", family="f", severity="note", confidence=0.5,
              evidence=Evidence("inference"), message="m", fingerprint=fingerprint("r", "", "x"))
read_suppressions("python", "x = 1").hides(one)
settings_hide(one, ())
wants_colour(sys.stdout, {{}})
render_text([one], lambda path: "a\\nb\\n", colour=False, summary=Summary([one]))
render_concise([one])
render_statistics([one])
print(*sorted((set(sys.modules) - before) & {COSTLY!r}))
"""


def test_reporting_findings_imports_nothing_costly() -> None:
    linter = Path(shardlint.__file__).parents[1]
    run = subprocess.run(
        [sys.executable, "-I", "-S", "-c", SCRIPT, str(linter)], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == ""
