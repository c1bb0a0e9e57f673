"""The README shows what shardlint really prints, and names every rule."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from shardlint.registry import load_rows

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
SHOWN = re.compile(r"```console\n\$ shardlint (check [^\n]*)\n(.*?)```", re.DOTALL)


def test_the_output_in_the_readme_is_what_the_command_prints() -> None:
    shown = SHOWN.findall(README)
    assert shown
    for arguments, output in shown:
        command = [sys.executable, "-m", "shardlint", *arguments.split(), "--no-cache"]
        done = subprocess.run(command, cwd=ROOT / "examples" / "planted", capture_output=True, text=True, check=False)
        assert done.stdout == output
        assert done.returncode == 1


def test_the_readme_names_every_rule_of_the_built_in_pack() -> None:
    rows, _ = load_rows()
    missing = [row["name"] for row in rows if row["pack"] == "builtin" and f"| `{row['name']}`" not in README]
    assert missing == []
