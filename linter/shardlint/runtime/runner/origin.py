"""Which files are the user's: neither of the standard library nor of an installed package."""

from __future__ import annotations

import os
import sys
import sysconfig
from typing import Any

_SITES = ("site-packages", "dist-packages")
_HERE = os.path.dirname(os.path.abspath(__file__))
_LIBRARY = tuple(
    os.path.join(os.path.realpath(path), "")
    for path in {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"), _HERE}
    if path
)


def is_users(path: str) -> bool:
    """Whether a file is one of the project, or of a package that is installed in place."""
    if not path or path.startswith("<"):
        return False
    real = os.path.realpath(path)
    return not real.startswith(_LIBRARY) and not any(f"{os.sep}{site}{os.sep}" in real for site in _SITES)


def users_files() -> list[str]:
    """The files of all modules of the user that are loaded, sorted."""
    found: set[str] = set()
    for module in list(sys.modules.values()):
        path: Any = getattr(module, "__file__", None)
        if isinstance(path, str) and os.path.isabs(path) and is_users(path) and os.path.isfile(path):
            found.add(path)
    return sorted(found)


def sites() -> list[str]:
    """The folders of installed packages that this interpreter searches."""
    return sorted({path for path in sys.path if os.path.basename(path) in _SITES and os.path.isdir(path)})


class Opened:
    """The files below a folder that are opened for reading from now on: configs, mostly."""

    def __init__(self, root: str) -> None:
        self._root = os.path.join(os.path.realpath(root), "")
        self._found: set[str] = set()
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event != "open":
            return
        path, mode = arguments[0], arguments[1]
        if isinstance(path, str) and (mode is None or not set("wax+").intersection(str(mode))):
            self._found.add(path)

    def files(self) -> list[str]:
        """What was read and is still there, sorted; neither bytecode nor installed packages."""
        real = {os.path.realpath(path) for path in self._found}
        return sorted(
            path
            for path in real
            if path.startswith(self._root) and is_users(path) and not path.endswith(".pyc") and os.path.isfile(path)
        )
