"""`make demo`: the script shows the clean run and the bugs, and fails when either is not as expected."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SHOWN = ("rank-guarded-checkpoint", "state-key-rename")


def demo(folder: Path, *names: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run the script of a folder with `examples`."""
    command = [sys.executable, str(folder / "examples" / "show_bugs.py"), *names]
    return subprocess.run(command, env={**os.environ, **environ}, capture_output=True, text=True, check=False)


def test_the_demo_shows_the_clean_run_and_then_the_bugs() -> None:
    done = demo(ROOT, *SHOWN)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "$ shardlint check\nno findings." in done.stdout
    for rule in SHOWN:
        assert f"\nbugs/{rule}.patch\n" in done.stdout
        assert f"  {rule}\n" in done.stdout
    assert done.stdout.endswith("minitrain is clean, and 2 bugs were found.\n")


def test_the_demo_without_git_says_so_and_shows_the_clean_run(tmp_path: Path) -> None:
    done = demo(ROOT, PATH=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "no findings." in done.stdout
    assert "git is not installed" in done.stdout


def test_the_demo_works_outside_of_a_repository_and_fails_when_a_bug_is_not_found(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    bugs = tmp_path / "examples" / "minitrain" / "bugs"
    harmless = "Nothing.\n\n--- a/train.sh\n+++ b/train.sh\n@@ -1,2 +1,3 @@\n #!/usr/bin/env bash\n+#\n"
    second = (ROOT / "examples" / "minitrain" / "train.sh").read_text(encoding="utf-8").split("\n")[1]
    (bugs / "missing-set-epoch.patch").write_text(f"{harmless} {second}\n", encoding="utf-8")
    done = demo(tmp_path, *SHOWN, "missing-set-epoch")
    assert done.returncode == 1, done.stderr
    assert done.stdout.endswith("Not as expected: missing-set-epoch.\n")
