"""What shardlint says about examples/minitrain, and about it with each of its bugs.

    python examples/show_bugs.py [NAME ...]

Works on a copy in a temporary folder, which gets a git history of one commit: rules about changes compare with it.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent / "minitrain"
WIDTH = 100


def shardlint(*arguments: str, folder: Path, cache: Path) -> int:
    """Print what a command line says in a folder; its exit code."""
    command = [sys.executable, "-m", "shardlint", *arguments]
    environ = {**os.environ, "SHARDLINT_CACHE_DIR": str(cache)}
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False)
    print(f"$ shardlint {' '.join(arguments)}\n{done.stdout}{done.stderr}")
    return done.returncode


def git(folder: Path, *arguments: str) -> None:
    """Run git in a folder, without the settings of the user."""
    names = ("-c", "user.name=demo", "-c", "user.email=demo@example.com", "-c", "commit.gpgSign=false")
    hooks = ("-c", "core.hooksPath=/dev/null", "-c", "core.autocrlf=false")
    subprocess.run(["git", *names, *hooks, *arguments], cwd=folder, check=True, capture_output=True)


def copy_with_history(folder: Path) -> None:
    """Copy minitrain without its bugs to a new folder, and commit it there."""
    shutil.copytree(HERE, folder, ignore=shutil.ignore_patterns("bugs", "__pycache__", ".git"))
    git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "minitrain")


def show_bug(patch: Path, folder: Path, cache: Path) -> int:
    """Apply a bug, show what shardlint says, and take it back; the exit code."""
    story = patch.read_text(encoding="utf-8").partition("\n--- ")[0]
    print(f"{'-' * WIDTH}\nbugs/{patch.name}\n\n{story.strip()}\n")
    git(folder, "apply", "--index", str(patch))
    code = shardlint("plan" if is_for_plan(patch) else "check", folder=folder, cache=cache)
    git(folder, "reset", "--quiet", "--hard")
    return code


def is_for_plan(patch: Path) -> bool:
    """Whether a bug is one that `shardlint plan` finds: it builds the model, with torch."""
    return patch.stem.startswith("plan-")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="bugs to show, by the name of their rule; all of them without")
    names = parser.parse_args().names
    patches = [patch for patch in sorted(HERE.glob("bugs/*.patch")) if not names or patch.stem in names]
    if unknown := set(names) - {patch.stem for patch in patches}:
        parser.error(f"there is no bug {', '.join(sorted(unknown))}")
    left_out = [] if importlib.util.find_spec("torch") else [patch for patch in patches if is_for_plan(patch)]

    with tempfile.TemporaryDirectory() as temporary:
        folder, cache = Path(temporary) / "minitrain", Path(temporary) / "cache"
        print("examples/minitrain as it is:\n")
        wrong = ["minitrain"] if shardlint("check", folder=HERE, cache=cache) != 0 else []
        if shutil.which("git") is None:
            print("git is not installed: the bugs are patches that git applies, so only the run without them is shown.")
            return len(wrong)
        copy_with_history(folder)
        shown = [patch for patch in patches if patch not in left_out]
        wrong += [patch.stem for patch in shown if show_bug(patch, folder, cache) != 1]
    if left_out:
        names = ", ".join(patch.stem for patch in left_out)
        print(f"{'-' * WIDTH}\nNot shown, because `shardlint plan` builds the model, with torch: {names}.\n")
    if wrong:
        print(f"Not as expected: {', '.join(wrong)}.")
        return 1
    print(f"minitrain is clean, and {len(shown)} bugs were found.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
