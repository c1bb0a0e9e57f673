"""Modules that are imported by name: torch, the frameworks, and what the user names."""

from __future__ import annotations

import difflib
import importlib
import sys
from typing import Any

from .refusal import Refused


def module(name: str) -> Any:
    """A module. Whatever its import raises goes through."""
    return importlib.import_module(name)


def loaded(name: str) -> Any:
    """A module if something imported it already, else None."""
    return sys.modules.get(name)


def target(spelled: str) -> Any:
    """The object that `package.module:name` names. Raises Refused when the module has no such name."""
    path, colon, name = spelled.partition(":")
    if not colon or not path or not name:
        raise Refused(f"`{spelled}` does not name an object; write `package.module:name`")
    found = module(path)
    at = path
    for part in name.split("."):
        if not hasattr(found, part):
            near = difflib.get_close_matches(part, [known for known in dir(found) if not known.startswith("__")], 1)
            hint = f"; it has `{near[0]}`" if near else ""
            raise Refused(f"`{at}` has no `{part}`{hint}")
        found = getattr(found, part)
        at = f"{at}.{part}"
    return found
