"""The bundled demo: what shardlint says about the planted mistakes, neither less nor more."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

PLANTED = Path(__file__).resolve().parent.parent / "examples" / "planted"


def test_demo_reports_exactly_the_planted_mistakes() -> None:
    expected = json.loads((PLANTED / "expected.json").read_text(encoding="utf-8"))

    command = [sys.executable, "-m", "shardlint", "check", "--no-cache", "--output-format", "json"]
    done = subprocess.run(command, cwd=PLANTED, capture_output=True, text=True, check=False)

    assert done.returncode == 1, done.stderr
    found = {(finding["rule"], finding["path"], finding["line"]) for finding in json.loads(done.stdout)}
    assert found == {(planted["rule"], planted["path"], planted["line"]) for planted in expected}
