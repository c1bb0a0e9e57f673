"""`shardlint init`: show what would be added to the project, ask, and write it."""

from __future__ import annotations

import os

from shardlint.atomic import replace_file
from shardlint.commands.initialise import plan_init
from shardlint.errors import SettingsError
from shardlint.fixes import unified_diff

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO


def init(yes: bool, stdin: TextIO, stdout: TextIO) -> int:
    """Set the project in the working directory up, and give the exit code: 1 when the user declines.

    Raises SettingsError for a file that cannot be extended or written.
    """
    root = os.getcwd()
    edits = plan_init(root)
    if not edits:
        stdout.write("everything that init adds is there already; next: pre-commit install, shardlint check\n")
        return 0
    for edit in edits:
        stdout.write(unified_diff(edit.path, edit.old or "", edit.new))
    if not yes:
        stdout.write("write this? [y/N] ")
        stdout.flush()
        if stdin.readline().strip().lower() not in ("y", "yes"):
            stdout.write("nothing was written\n")
            return 1
    for edit in edits:
        try:
            replace_file(os.path.realpath(os.path.join(root, edit.path)), edit.new.encode("utf-8"))
        except OSError as error:
            raise SettingsError(f"{edit.path} cannot be written: {error.strerror}") from None
    stdout.write(f"wrote {', '.join(edit.path for edit in edits)}; next: pre-commit install, shardlint check\n")
    return 0
