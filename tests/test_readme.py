"""The README shows what shardlint really prints, and names every rule."""

from __future__ import annotations

import re
from pathlib import Path

from shardlint.registry import load_rows

from .minitrain.copies import ROOT, Copy

README = (ROOT / "README.md").read_text(encoding="utf-8")
SHOWN = re.compile(
    r"```console\n\$ cd examples/minitrain\n\$ git apply bugs/\{([\w,-]+)\}\.patch\n"
    r"\$ shardlint (check[^\n]*)\n(.*?)```",
    re.DOTALL,
)


def test_the_output_in_the_readme_is_what_the_command_prints(tmp_path: Path) -> None:
    (shown,) = SHOWN.findall(README)
    bugs, arguments, output = shown
    copy = Copy(tmp_path)
    copy.apply(*bugs.split(","))
    done = copy.shardlint(*arguments.split())
    assert done.stdout == output
    assert done.returncode == 1


def test_the_readme_names_every_rule_of_the_built_in_pack() -> None:
    rows, _ = load_rows()
    missing = [row["name"] for row in rows if row["pack"] == "builtin" and f"| `{row['name']}`" not in README]
    assert missing == []
