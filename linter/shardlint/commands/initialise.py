"""What `shardlint init` would write: a hook, a settings table and a Makefile target, each only where it is missing.

Nothing is written here: the command line shows the difference first. Existing text is kept as it is; lines are added.
"""

from __future__ import annotations

import os
import re

from shardlint.errors import SettingsError
from shardlint.settings import OWN_FILE, SHARED_FILE, parse_toml

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yaml.nodes import MappingNode, Node

HOOKS_FILE = ".pre-commit-config.yaml"
_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
"""In the order in which make looks for them."""

_HOOK = """\
- repo: local
  hooks:
    - id: shardlint
      name: shardlint
      entry: shardlint check --staged
      language: system
      types_or: [python, yaml, json, toml, shell]
      require_serial: true
"""
_FLOW_HOOK = (
    "{repo: local, hooks: [{id: shardlint, name: shardlint, entry: shardlint check --staged, language: system, "
    "types_or: [python, yaml, json, toml, shell], require_serial: true}]}"
)
_KEYS = """\
# The mildest severity that fails a run: error, warning or note.
fail-on = "warning"
# Files to leave out, as in .gitignore; what git ignores is left out anyway.
exclude = []
"""
_TARGET = "\n.PHONY: shardlint\nshardlint:\n{recipe}shardlint check\n"


class Edit:
    """A change of one file: `path` relative to the root, `old` text (None if there is no file yet) and `new` text.

    The texts are UTF-8 and keep their line ends; write them without translating newlines.
    """

    __slots__ = ("new", "old", "path")

    def __init__(self, path: str, old: str | None, new: str) -> None:
        self.path = path
        self.old = old
        self.new = new

    def __repr__(self) -> str:
        return f"Edit({self.path}, {'new file' if self.old is None else 'changed'})"


def plan_init(root: str) -> list[Edit]:
    """The edits that set a project up; none where everything is there already.

    A Makefile is extended, never made. Settings go to pyproject.toml, or to shardlint.toml where there is none.

    Raises:
        SettingsError: a file cannot be read, is broken, or has a form that lines cannot be added to.
    """
    edits = (_plan_hook(root), _plan_settings(root), _plan_target(root))
    return [edit for edit in edits if edit is not None]


def _plan_hook(root: str) -> Edit | None:
    old = _read(root, HOOKS_FILE)
    if old is None:
        return Edit(HOOKS_FILE, None, "repos:\n" + _indented(_HOOK, 2))
    document = _compose(old)
    repos = _value(document, "repos")
    if "shardlint" in _hook_ids(repos):
        return None
    new = _with_hook(old, repos)
    try:
        kept = "shardlint" in _hook_ids(_value(_compose(new), "repos"))
    except SettingsError:
        kept = False
    if not kept:
        raise SettingsError(f"{HOOKS_FILE} has a form that lines cannot be added to: add this under `repos`:\n{_HOOK}")
    return Edit(HOOKS_FILE, old, new)


def _with_hook(old: str, repos: Node | None) -> str:
    """The text with the hook after the last repo. Marks of the reader count characters."""
    from yaml.nodes import SequenceNode

    if repos is None:
        return _joined(old, "repos:\n" + _indented(_HOOK, 2))
    if not isinstance(repos, SequenceNode):
        end = repos.end_mark.index
        empty = repos.start_mark.index == end  # `repos:` and nothing after it
        return _joined(old[:end], _indented(_HOOK, 2)) + old[end:].lstrip("\n") if empty else old
    if repos.flow_style:
        close = repos.end_mark.index - 1
        inside = old[repos.start_mark.index + 1 : close].rstrip()
        comma = ", " if inside and not inside.endswith(",") else " " if inside else ""
        at = repos.start_mark.index + 1 + len(inside)
        return old[:at] + comma + _FLOW_HOOK + old[close:]
    # A block ends where the next token begins, so blank lines and comments after it lie before its end mark.
    lines = _lines(old[: repos.end_mark.index])
    while lines and (not lines[-1].strip() or lines[-1].lstrip().startswith("#")):
        lines.pop()
    before = "".join(lines)
    return _joined(before, _indented(_HOOK, repos.start_mark.column)) + old[len(before) :]


def _compose(text: str) -> MappingNode | None:
    import yaml
    from yaml.nodes import MappingNode

    try:
        loader: Any = yaml.SafeLoader(text)
        document: object = loader.get_single_node()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark is not None else ""
        raise SettingsError(f"{HOOKS_FILE}{line}: the file is not valid YAML: repair it first") from None
    except RecursionError:
        raise SettingsError(f"{HOOKS_FILE} is nested too deeply") from None
    if document is None:
        return None
    if not isinstance(document, MappingNode):
        raise SettingsError(f"{HOOKS_FILE}:1: the file must hold a mapping with the key `repos`: repair it first")
    return document


def _value(node: Node | None, key: str) -> Node | None:
    from yaml.nodes import MappingNode

    if isinstance(node, MappingNode):
        pairs: list[tuple[Node, Node]] = node.value
        return next((value for name, value in pairs if name.value == key), None)
    return None


def _items(node: Node | None) -> list[Node]:
    from yaml.nodes import SequenceNode

    return list(node.value) if isinstance(node, SequenceNode) else []


def _hook_ids(repos: Node | None) -> set[str]:
    hooks = (hook for repo in _items(repos) for hook in _items(_value(repo, "hooks")))
    ids = (_value(hook, "id") for hook in hooks)
    return {str(node.value) for node in ids if node is not None}


def _plan_settings(root: str) -> Edit | None:
    old = _read(root, SHARED_FILE)
    if _read(root, OWN_FILE) is not None:
        return None
    if old is None:
        return Edit(OWN_FILE, None, _KEYS)
    tool = parse_toml(SHARED_FILE, old).get("tool")
    if isinstance(tool, dict) and "shardlint" in tool:
        return None
    new = _joined(old, ("\n" if old.strip() else "") + "[tool.shardlint]\n" + _KEYS)
    try:
        parse_toml(SHARED_FILE, new)
    except SettingsError:
        raise SettingsError(
            f"{SHARED_FILE} defines `tool` in a form that lines cannot extend: use {OWN_FILE}"
        ) from None
    return Edit(SHARED_FILE, old, new)


def _plan_target(root: str) -> Edit | None:
    for name in _MAKEFILES:
        old = _read(root, name)
        if old is None:
            continue
        if re.search(r"^shardlint\s*:(?!=)", old, re.MULTILINE):
            return None
        prefix = re.findall(r"^\.RECIPEPREFIX\s*[:?+]?=[ \t]*(\S?)", old, re.MULTILINE)
        recipe = (prefix[-1] if prefix else "") or "\t"
        return Edit(name, old, _joined(old, _TARGET.format(recipe=recipe)))
    return None


def _read(root: str, name: str) -> str | None:
    path = os.path.join(root, name)
    if not os.path.lexists(path):
        return None
    inside = os.path.join(os.path.realpath(root), "")
    if not os.path.realpath(path).startswith(inside):
        raise SettingsError(f"{name} is a link out of the project, so it is not written: add shardlint to it by hand")
    try:
        with open(path, encoding="utf-8", newline="") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        reason = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else (error.strerror or "").lower()
        raise SettingsError(f"{name} cannot be read: {reason}") from None


def _joined(before: str, added: str) -> str:
    """The text with lines added, which end as the lines of the text do."""
    end = "\r\n" if "\r\n" in before else "\n"
    if before and not before.endswith("\n"):
        before += end
    return before + added.replace("\n", end)


def _indented(text: str, columns: int) -> str:
    return "".join(" " * columns + line for line in _lines(text))


def _lines(text: str) -> list[str]:
    return [line + "\n" for line in text.split("\n")[:-1]] + ([text.rsplit("\n", 1)[-1]] if text[-1:] != "\n" else [])
