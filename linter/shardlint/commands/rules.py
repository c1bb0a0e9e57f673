"""`shardlint rules`: the list of rules, their catalogue, and `rules test`, which runs the examples of packs."""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module
from importlib.metadata import entry_points

from shardlint.arguments import Parsed
from shardlint.commands.catalogue import catalogue
from shardlint.commands.engine_rules import FAMILY
from shardlint.commands.page import Page, engine_pages, page_of
from shardlint.errors import PackError, UsageError
from shardlint.example import Example
from shardlint.loading import Row, make
from shardlint.registry import GROUP, describe, load_pack, load_rows, pack_rules
from shardlint.trial import problems_of

BUILTIN = "builtin"
"""The entry point of the pack that comes with shardlint."""


def rules(parsed: Parsed) -> tuple[str, int]:
    """What `shardlint rules` prints, and its exit code.

    Raises PackError for a broken pack and UsageError for a pack that is not installed.
    """
    operands = parsed.operands
    if operands and operands[0] != "test":
        raise UsageError(f"`rules` takes nothing or `test [PACK]`, not `{operands[0]}`; try: shardlint rules test")
    if operands:
        return tested(operands[1] if len(operands) > 1 else None)
    rows, _ = load_rows()
    if parsed.flag("catalogue"):
        own = [page_of(row) for row in rows if row["pack"] == BUILTIN]
        return catalogue([*own, *engine_pages()]), 0
    pages = [*(page_of(row) for row in rows), *engine_pages()]
    text = _as_json(pages) if parsed.one("output-format") == "json" else _as_text(pages)
    return text, 0


def _as_text(pages: list[Page]) -> str:
    pages = sorted(pages, key=lambda page: (page.family == FAMILY, page.family, page.name))
    width = max(len(page.name) for page in pages)
    lines: list[str] = []
    family = ""
    for page in pages:
        if page.family != family:
            family = page.family
            lines += [*([""] if lines else []), family]
        marks = ", ".join([*(["preview"] if page.preview else []), *([f"{page.fixable} fix"] if page.fixable else [])])
        tail = f"{page.summary} [{marks}]" if marks else page.summary
        lines.append(f"  {page.name:<{width}}  {page.severity:<7}  {page.kind:<7}  {tail}")
    lines += ["", f"{len(pages)} rules. One of them: shardlint explain {pages[0].name}"]
    return "\n".join(lines) + "\n"


def _as_json(pages: list[Page]) -> str:
    listed = [
        {
            "name": page.name,
            "family": page.family,
            "severity": page.severity,
            "kind": page.kind,
            "fixable": page.fixable or None,
            "preview": page.preview,
            "since": page.since,
            "pack": page.pack or None,
            "confidence": page.confidence,
            "evidence": {"kind": page.evidence.kind, "references": list(page.evidence.references)},
            "proof": None if page.proof is None else page.proof._asdict(),
            "symptoms": list(page.symptoms),
            "summary": page.summary,
        }
        for page in sorted(pages, key=lambda page: page.name)
    ]
    return json.dumps(listed, indent=2) + "\n"


def tested(pack: str | None) -> tuple[str, int]:
    """Run the examples of all installed packs, or of one: by entry point, by package, or by folder.

    The rules of the pack are imported and run, as in any check; the code in its examples is only read.
    """
    before = list(sys.path)
    try:
        return _report(load_rows()[0] if pack is None else _rows_of(pack))
    finally:
        sys.path[:] = before


def _rows_of(pack: str) -> list[Row]:
    entries = sorted(entry_points(group=GROUP), key=lambda entry: entry.name)
    for entry in entries:
        if pack in (entry.name, entry.value):
            return load_pack(entry)[0]
    if os.path.isdir(pack):
        return _rows_in(os.path.abspath(pack))
    names = ", ".join(f"`{entry.name}`" for entry in entries) or "none"
    raise UsageError(f"`{pack}` is no installed rule pack and no folder; installed: {names}")


def _rows_in(folder: str) -> list[Row]:
    """The rules of a package folder that need not be installed."""
    if not os.path.isfile(os.path.join(folder, "__init__.py")):
        raise UsageError(f"{folder} is no package: name the folder of the pack that holds `__init__.py`")
    parent, name = os.path.split(folder)
    sys.path.insert(0, parent)
    try:
        package = import_module(name)
    except Exception as error:
        raise PackError(f"rule pack {folder} cannot be imported ({type(error).__name__}: {error})") from error
    found = os.path.dirname(os.path.realpath(package.__file__ or ""))
    if found != os.path.realpath(folder):
        raise UsageError(f"another package called `{name}` is installed in {found}: rename the folder {folder}")
    return [describe(rule, name) for rule in pack_rules(package, name)]


def _report(rows: list[Row]) -> tuple[str, int]:
    lines: list[str] = []
    examples = failed = 0
    for row in rows:
        rule = make(row)
        for side in ("bad", "good"):
            given: tuple[Example, ...] = getattr(rule, side)
            for number, example in enumerate(given, 1):
                examples += 1
                problems = problems_of(row, example)
                failed += bool(problems)
                lines += [f"{row['name']}, {side} example {number}: {problem}" for problem in problems]
    end = "all hold" if not failed else f"{failed} fail{'s' if failed == 1 else ''}"
    lines.append(f"{_number(len(rows), 'rule')}, {_number(examples, 'example')}: {end}")
    return "\n".join(lines) + "\n", int(bool(failed))


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
