"""What must hold for `--fix`: the result is a program, and nothing is left to fix."""

from __future__ import annotations

import ast
import os
import warnings
from collections import Counter

from fuzzing.case import Broken
from fuzzing.place import Place, shown

_ROUNDS = 8
"""Fixes that overlap are made one after the other; more than this many overlap nowhere."""


def check_fixes(place: Place, previews: tuple[str, ...]) -> None:
    """Fix the project until nothing is left to fix. Raises Broken if a fix does not do what it says."""
    extended = ("--extend-select", ",".join(previews)) if previews else ()
    for number in range(_ROUNDS):
        before = place.outcome(previews)
        contents = _contents(place)
        answer = place.lint("check", "--fix", "--unsafe-fixes", "--min-confidence", "0", *extended)
        after = _contents(place)
        changed = sorted(path for path in after if after[path] != contents.get(path))
        if ("fixed " in answer.err) != bool(changed):
            raise Broken("--fix says otherwise than it does", f"{answer.err}\nchanged: {changed}")
        if "would no longer be Python" in answer.err or "where the file has no text" in answer.err:
            raise Broken("a fix would break the file", f"{shown(before.findings)}\n{answer.err}")
        if not changed:
            return
        for path in changed:
            _parse(path, contents[path], after[path])
        fixed = Counter(one.rule for one in before.findings if one.fix is not None and one.path in changed)
        left = Counter(one.rule for one in place.outcome(previews).findings if one.path in changed)
        every = Counter(one.rule for one in before.findings if one.path in changed)
        for rule in fixed:
            if left[rule] >= every[rule]:
                raise Broken(f"the fix of {rule} leaves the finding", f"round {number}\n{answer.err}{answer.out}")
    raise Broken("--fix changes files again and again", f"{_ROUNDS} rounds")


def _contents(place: Place) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for at, inner, names in os.walk(place.root):
        inner[:] = [name for name in inner if name != ".git"]
        for name in names:
            path = os.path.relpath(os.path.join(at, name), place.root)
            found[path] = place.read(path)
    return found


def _parse(path: str, before: bytes, after: bytes) -> None:
    if not path.endswith(".py"):
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(after)
        except (SyntaxError, ValueError) as error:
            detail = f"{path}: {error}\n{before.decode('utf-8', 'replace')}\n->\n{after.decode('utf-8', 'replace')}"
            raise Broken("a fix breaks the file", detail) from None
