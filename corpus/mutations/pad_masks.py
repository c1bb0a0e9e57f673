"""A pad token that is the end-of-text token, where labels are masked by it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import partial

from .package import Package
from .python_file import Function, PythonFile
from .rewrite import put_before
from .site import Injection, Place, Site

_MASKED = re.compile(r"(?i)label|target")
_INFERENCE = re.compile(r"(?i)eval|infer|generat|perplex|score|predict")


class PadIsEos:
    """Sets `tokenizer.pad_token = tokenizer.eos_token` where labels are then masked by the pad id.

    A site is a statement that sets labels or targets to -100 (`IGNORE_INDEX`) where they equal `X.pad_token_id`, with
    nothing else in the condition, in a function of training whose `X` is a parameter or an attribute of one. The
    assignment comes first in that function, unless the file sets the pad token itself.
    """

    rule = "pad-is-eos-mask"
    versioned = False
    beside: tuple[str, ...] = ()

    def sites(self, package: Package) -> Iterator[Site]:
        for file in package.python(r"== [\w.]+\.pad_token_id"):
            if re.search(r"\.pad_token\s*=|pad_token_id\s*=[^=]", file.text):
                continue
            for node in ast.walk(file.tree):
                owner = _masked_by(file, node)
                function = file.function(node)
                if not owner or function is None or not isinstance(node, ast.stmt) or _INFERENCE.search(function.name):
                    continue
                named = {one.arg for one in (*function.args.args, *function.args.kwonlyargs)}
                if owner.partition(".")[0] in named or owner.partition(".")[0] not in _set_in(function):
                    what = f"`{owner}.pad_token` is set to `{owner}.eos_token` before `{file.source(node)[:80]}`"
                    inject = partial(_injected, file, function, node, owner)
                    yield Site(package.name, file.path, node.lineno, what, file.copy(function), inject)


def _masked_by(file: PythonFile, node: ast.AST) -> str:
    """Whose pad id decides which labels a statement sets to be ignored; empty if it does no such thing."""
    if not isinstance(node, ast.Assign) or len(node.targets) != 1:
        return ""
    text, target = file.source(node), node.targets[0]
    found: re.Match[str] | None = None
    if isinstance(target, ast.Subscript) and _MASKED.search(file.source(target.value)):
        whole = re.fullmatch(r"[\w.\[\]'\"]+ == ([\w.]+)\.pad_token_id", file.source(target.slice))
        found = whole if re.search(r"= (-100|\w*IGNORE\w*|self\.\w*ignore\w*)$", text) else None
    elif _MASKED.search(file.source(target)):
        found = re.search(r"\.masked_fill\([\w.\[\]'\"]+ == ([\w.]+)\.pad_token_id, (?:-100|\w*IGNORE\w*)\)$", text)
    return found[1] if found else ""


def _set_in(function: Function) -> set[str]:
    names = (node for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    return {node.id for node in names}


def _injected(file: PythonFile, function: Function, mask: ast.stmt, owner: str) -> Injection:
    first = next((one for one in function.body if not _is_docstring(one)), function.body[0])
    text = put_before(file.text, first, f"{owner}.pad_token = {owner}.eos_token\n")
    return Injection({file.path: text}, (Place(file.path, mask.lineno + 1, (mask.end_lineno or mask.lineno) + 1),))


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
