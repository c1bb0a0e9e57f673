"""Evidence in one file that old keys of a state dict are mapped to new ones when a checkpoint is loaded."""

from __future__ import annotations

import ast
import re

from shardlint.facts.key_pattern import HOLE, dotted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_MAPS_KEYS = re.compile(
    r"load_state_dict|state_dict|remap|rename|re_?key|key_?map|mapping|convert|conversion|migrat|upgrade|legacy|compat"
    r"|from_hf|to_hf|adapter|load_weights|load_checkpoint|replacements?|old_to_new|old2new|translat",
    re.IGNORECASE,
)
"""Names of functions and tables that map keys, in the code bases that were read."""

_RENAMERS = ("WeightRenaming", "WeightConverter", "PrefixChange")
_REGEX_CALLS = ("sub", "subn", "compile", "match", "fullmatch", "search")


def maps_keys(name: str) -> bool:
    """Whether a function or table of that name maps keys."""
    return bool(name) and _MAPS_KEYS.search(name) is not None


def remaps(tree: ast.Module) -> set[str]:
    """All strings that the file's remap code mentions, in whichever direction it maps."""
    return {string for group in _evidence(tree) for string in group}


def handles_rename(tree: ast.Module, old: str, new: str) -> bool:
    """Whether one piece of remap code mentions both names, each as a whole part of a key.

    Args:
        tree: the file.
        old: the key before, relative to its class; ``{}`` stands for an index.
        new: the key after; "" for a removal, where the old name alone has to be mentioned.

    A mapping that makes the old name from a still older one does not mention the new one, and is no evidence.
    """
    old_part, new_part = _mention(old), _mention(new)
    for group in _evidence(tree):
        strings = [_plain(string) for string in group]
        mentions_new = not new or any(new_part.search(string) for string in strings)
        if mentions_new and any(old_part.search(string) for string in strings):
            return True
    return False


def _mention(key: str) -> re.Pattern[str]:
    """`key` between characters that no name has; of a dotted key its whole or, if it is a name, its last part."""
    forms = [key]
    last = key.rpartition(".")[2]
    if last and not last.isdigit() and last != HOLE:
        forms.append(last)
    hole = r"(?:[^.]*?)"
    choices = "|".join(hole.join(re.escape(part) for part in form.split(HOLE)) for form in forms)
    return re.compile(rf"(?<![A-Za-z0-9_])(?:{choices})(?![A-Za-z0-9_])")


def _plain(string: str) -> str:
    r"""A regular expression without what only marks borders: ``\.w1\.`` mentions ``.w1.``."""
    return re.sub(r"\\[bdswBDSW]", " ", string).replace("\\.", ".").replace("\\", " ")


def _evidence(tree: ast.Module) -> list[set[str]]:
    groups: list[set[str]] = []
    for node in ast.walk(tree):
        group = _group(node)
        if group:
            groups.append(group)
    return groups


def _group(node: ast.AST) -> set[str]:
    """The strings of one function, table or call that maps keys; empty for anything else."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        if _MAPS_KEYS.search(node.name) or _registers_hook(node):
            return set(_strings(node.body))
    elif isinstance(node, ast.Assign):
        if isinstance(node.value, (ast.Dict, ast.List, ast.Tuple, ast.Call)) and any(
            _is_table(one) for one in node.targets
        ):
            return set(_strings([node.value]))
    elif isinstance(node, ast.AnnAssign):
        if node.value is not None and _is_table(node.target):
            return set(_strings([node.value]))
    elif isinstance(node, ast.Dict):
        return _renaming_dict(node)
    elif isinstance(node, ast.Call):
        return _renaming_call(node)
    return set()


def _is_table(target: ast.expr) -> bool:
    return maps_keys(dotted(target).rpartition(".")[2])


def _registers_hook(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """A hook has (module, state_dict, prefix, ...): it is known by its arguments, whatever its name."""
    names = {argument.arg for argument in function.args.args}
    return "state_dict" in names and "prefix" in names


def _renaming_dict(node: ast.Dict) -> set[str]:
    """A dict of names to names, or of names to tables of them; one that spells keys with dots."""
    found: set[str] = set()
    for key, value in zip(node.keys, node.values, strict=True):
        if not (_is_string(key) and _is_string(value)):
            return set()
        found.update(_strings([key, value]))
    return found if any("." in string for string in found) else set()


def _renaming_call(node: ast.Call) -> set[str]:
    name = dotted(node.func) if not isinstance(node.func, ast.Attribute) else node.func.attr
    if name in _RENAMERS or name.rpartition(".")[2] in _RENAMERS:
        return set(_strings([*node.args, *(word.value for word in node.keywords)]))
    if name in ("replace", "removeprefix", "removesuffix") and node.args and _is_string(node.args[0]):
        return set(_strings(list(node.args)))
    if name in _REGEX_CALLS and isinstance(node.func, ast.Attribute) and dotted(node.func.value) == "re":
        return set(_strings(list(node.args)))
    return {
        string
        for word in node.keywords
        if word.arg and _MAPS_KEYS.search(word.arg)
        for string in _strings([word.value])
    }


def _is_string(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _strings(nodes: Sequence[ast.AST | None]) -> Iterator[str]:
    """The string constants in code, without docstrings and without what is only logged, raised or warned."""
    waiting: list[ast.AST] = [node for node in nodes if node is not None]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Constant):
            if isinstance(node.value, str):
                yield node.value
        elif isinstance(node, ast.Expr) and (isinstance(node.value, ast.Constant) or _only_tells(node.value)):
            continue
        elif not isinstance(node, (ast.Raise, ast.Assert)):
            waiting.extend(ast.iter_child_nodes(node))


def _only_tells(node: ast.expr) -> bool:
    if not isinstance(node, ast.Call):
        return False
    name = dotted(node.func)
    return name == "print" or name.split(".")[0] in ("logger", "logging", "log", "warnings")
