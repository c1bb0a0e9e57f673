"""Files whose ranks cannot differ in their data: there is one process, or one machine with one disk."""

from __future__ import annotations

import re

from shardlint.facts.local_words import FILES
from shardlint.facts.path_roles import in_tests

_ONE_PROCESS = re.compile(rb"init_process_group\([^)]*\bworld_size\s*=\s*1\b")


def parts_nobody(kind: str, path: str, text: bytes) -> bool:
    """Whether local data of a kind is the same for all ranks that run a file.

    A script that makes a process group of one process has no other ranks. Tests run on one machine, whose processes
    see the same files.

    Args:
        kind: one of `local_words.KINDS`.
        path: relative to the project root, with `/`.
        text: the bytes of the file.
    """
    return (kind == FILES and in_tests(path)) or _ONE_PROCESS.search(text) is not None
