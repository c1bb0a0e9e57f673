"""What the figures depend on: the processor, the interpreter, and the versions of the tools."""

from __future__ import annotations

import os
import platform
import re
from importlib.metadata import version
from pathlib import Path


def processor() -> str:
    """The model of the processor, as the kernel names it, else what Python knows."""
    try:
        said = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        said = ""
    named = re.search(r"^model name\s*:\s*(.+)$", said, re.MULTILINE)
    return named[1].strip() if named else platform.processor() or platform.machine()


def described() -> str:
    """One line: machine, interpreter, and the tools that are compared in rounds. No date and no host name."""
    tools = ", ".join(f"{name} {version(name)}" for name in ("shardlint", "libcst", "ruff"))
    interpreter = f"{platform.python_implementation()} {platform.python_version()}"
    return f"{processor()}, {os.cpu_count()} cores, {platform.system()}; {interpreter}, {tools}"
