"""Where a generated modeling file is not what its patch configuration generates.

Compared as syntax, without layout, comments, docstrings and the order of imports. What a patch leaves alone comes from
another package and is not compared.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cached_property

from shardlint.changes.edit import parsed
from shardlint.changes.patch_spec import Code, Definition, Patch, Read, Spec, last_name, read_specs

_LISTED = re.compile(r"#    - ([a-z_]+): (\S+)$")
_OWN = frozenset(
    ("replace_class", "replace_function", "override_method", "modify_init", "add_helper", "add_helper_after")
)
"""Decorators of a configuration, which the generator takes off."""
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_SUFFIX = "_patch_gen_config.py"


class Drift:
    """One difference: `name` is what is patched, `line` the place in the generated file where it shows, `words` what
    is different there; `source` and `source_line` are where the configuration asks for something else."""

    def __init__(self, name: str, line: int, words: str, source: str, source_line: int) -> None:
        self.name = name
        self.line = line
        self.words = words
        self.source = source
        self.source_line = source_line


def is_patch_config(path: str) -> bool:
    """Whether a file is called as patch configurations are."""
    return path.endswith(_SUFFIX)


def generated_from(config: str, read: Read) -> Iterator[tuple[str, Spec]]:
    """The paths of the files that a patch configuration generates, each with what it asks for."""
    folder = config.rpartition("/")[0]
    for spec in read_specs(config, read):
        yield f"{folder}/generated/{spec.target_file}".lstrip("/"), spec


def drifts_of(path: str, content: bytes, configs: Iterable[str], read: Read) -> list[Drift]:
    """The differences between a generated file and that one of its possible configurations that names it."""
    name = path.rpartition("/")[2]
    for config in configs:
        for output, spec in generated_from(config, read):
            if output.rpartition("/")[2] == name:
                return patch_drifts(content, spec)
    return []


def patch_drifts(content: bytes, spec: Spec) -> list[Drift]:
    """All differences between a generated file and its configuration, by line.

    Nothing is said of a file that does not parse, nor of patches that are not understood.
    """
    tree = parsed(content)
    if tree is None:
        return []
    output = _Output(content, tree)
    found = [*_listing(output, spec), *_names(output, spec)]
    replaced = {patch.target for patch in spec.patches if patch.kind == "class_replacement"}
    for patch in {(patch.kind, patch.target): patch for patch in spec.patches}.values():
        if patch.kind != "method_override" or patch.target.partition(".")[0] not in replaced:
            found += _patched(output, patch, spec)
    for helper in {helper.name: helper for helper in spec.helpers}.values():
        found += _same(helper, helper.text, helper.name, output.defined.get(helper.name))
    return sorted(found, key=lambda drift: drift.line)


class _Output:
    """A generated file: its definitions by name, methods as `Class.method`, and what it imports."""

    def __init__(self, content: bytes, tree: ast.Module) -> None:
        self.head = content.decode("utf-8-sig", "replace").splitlines()
        self.tree = tree
        self.defined: dict[str, Definition] = {}
        self.imports: dict[str, list[tuple[str, int]]] = {}
        for node in tree.body:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                self.defined[node.name] = node
                for inner in node.body if isinstance(node, ast.ClassDef) else ():
                    if isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef)):
                        self.defined.setdefault(f"{node.name}.{inner.name}", inner)
            elif isinstance(node, ast.ImportFrom):
                for name in node.names:
                    origin = f"{node.module}.{name.name}"
                    self.imports.setdefault(name.asname or name.name, []).append((origin, node.lineno))

    @cached_property
    def assignments(self) -> frozenset[str]:
        """The code of each assignment of the module."""
        return frozenset(_code(node) for node in self.tree.body if isinstance(node, ast.Assign))


def _listing(output: _Output, spec: Spec) -> Iterator[Drift]:
    """The patches that the header lists against those of the configuration."""
    listed: list[tuple[str, str]] = []
    last = 1
    for number, line in enumerate(output.head, 1):
        if line and not line.startswith("#"):
            break
        match = _LISTED.match(line)
        if match is not None:
            listed.append((match[1], match[2]))
            last = number
    asked = [(patch.kind, patch.target) for patch in spec.patches]
    if not listed or not spec.complete:
        return
    for kind, target in dict.fromkeys(listed):
        if (kind, target) not in asked:
            yield Drift(target, last, "is listed in the header, but no patch asks for it", spec.path, 1)
    for patch in spec.patches:
        if (patch.kind, patch.target) not in listed:
            asks = patch.code.line if patch.code is not None and patch.code.path == spec.path else 1
            yield Drift(patch.target, last, "has a patch that the header does not list", spec.path, asks)


def _names(output: _Output, spec: Spec) -> Iterator[Drift]:
    """Names that the configuration takes in or keeps out."""
    added: dict[str, set[str]] = {}
    for module, name in spec.imports:
        added.setdefault(name, set()).add(f"{module}.{name}")
    for name, origins in added.items():
        found = output.imports.get(name, [])
        if found and origins.isdisjoint(origin for origin, _ in found):
            yield Drift(name, found[0][1], f"is imported from elsewhere than `{min(origins)}`", spec.path, 1)
    for block in spec.blocks:
        yield from _block(output, block, spec)
    if not spec.complete:
        return
    inserted = "\n".join(spec.blocks)
    for name in sorted(spec.dropped - added.keys()):
        for _, at in output.imports.get(name, [])[:1]:
            if not re.search(rf"\b{re.escape(name)}\b", inserted):
                yield Drift(name, at, "is imported, but the configuration drops that import", spec.path, 1)
    for name in sorted(spec.excluded & output.defined.keys()):
        yield Drift(name, output.defined[name].lineno, "is kept out by the configuration", spec.path, 1)


def _block(output: _Output, block: str, spec: Spec) -> Iterator[Drift]:
    """Assignments and definitions of a block of code that is inserted as it stands."""
    from textwrap import dedent

    tree = parsed(dedent(block).strip())
    for node in tree.body if tree is not None else ():
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and _code(node) not in output.assignments
        ):
            name = node.targets[0].id
            line = next((each.lineno for each in output.tree.body if _binds(each, name)), 1)
            yield Drift(name, line, "is set otherwise by the configuration", spec.path, 1)


def _binds(node: ast.stmt, name: str) -> bool:
    return isinstance(node, ast.Assign) and any(isinstance(each, ast.Name) and each.id == name for each in node.targets)


def _patched(output: _Output, patch: Patch, spec: Spec) -> Iterator[Drift]:
    owner, _, method = patch.target.rpartition(".")
    node = output.defined.get(patch.target)
    if patch.external:
        found = [origin for origin, _ in output.imports.get(patch.target, [])]
        if node is not None or (found and patch.external not in found):
            line = node.lineno if node is not None else output.imports[patch.target][0][1]
            yield Drift(patch.target, line, f"is to be `{patch.external}`", spec.path, 1)
        return
    if patch.code is None or patch.name_map is None or patch.kind == "init_modification":
        return
    if node is None:
        around = output.defined.get(owner)
        if around is not None and patch.kind == "method_override":
            words = f"is missing: `{patch.code.name}` is to be put there"
            yield Drift(patch.target, around.lineno, words, patch.code.path, patch.code.line)
        return
    yield from _same(patch.code, _renamed(patch, method), patch.target, node)


def _renamed(patch: Patch, name: str) -> str:
    """The text of a replacement under the name of what it replaces, changed as the generator does: as text."""
    assert patch.code is not None
    text = patch.code.text
    for old, new in sorted((patch.name_map or {}).items(), key=lambda pair: -len(pair[0])):
        text = text.replace(old, new)
    if patch.kind == "method_override":
        text = text.replace(f"def {patch.code.name}(", f"def {name}(", 1)
        return "class _:\n" + "\n".join("    " + line if line.strip() else "" for line in text.split("\n"))
    word = "class" if patch.kind == "class_replacement" else "def"
    return text.replace(f"{word} {patch.code.name}", f"{word} {name}", 1)


def _same(code: Code, text: str, name: str, node: Definition | None) -> Iterator[Drift]:
    """Nothing, or the first difference between a definition and the text that it is generated from."""
    tree = parsed(text)
    wanted = tree.body[0] if tree is not None and tree.body else None
    if isinstance(wanted, ast.ClassDef) and text.startswith("class _:"):
        wanted = wanted.body[0]
    if not isinstance(wanted, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) or node is None:
        return
    wanted.decorator_list = [each for each in wanted.decorator_list if _called(each) not in _OWN]
    # The decorators that the original has stay in front of those of the replacement.
    kept, count = node.decorator_list, len(wanted.decorator_list)
    node.decorator_list = kept[len(kept) - count :] if count else []
    if _code(node) != _code(wanted):
        words = f"is not what `{code.name}` generates"
        yield Drift(name, _first_difference(node, wanted) or node.lineno, words, code.path, code.line)
    node.decorator_list = kept


def _called(node: ast.expr) -> str:
    return last_name(node.func if isinstance(node, ast.Call) else node)


def _code(node: ast.AST) -> str:
    _bare(node)
    return ast.dump(node)


_BLOCKS = (ast.Module, *_DEFINITIONS, ast.If, ast.For, ast.While, ast.With, ast.Try)


def _bare(node: ast.AST) -> None:
    """Take off docstrings, and put the imports of each block in order."""
    for each in ast.walk(node):
        if not isinstance(each, _BLOCKS):
            continue
        first = each.body[0] if each.body else None
        if isinstance(each, _DEFINITIONS) and isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
            del each.body[0]
        imports = [one for one in each.body if isinstance(one, (ast.Import, ast.ImportFrom))]
        if len(imports) > 1:
            rest = [one for one in each.body if one not in imports]
            each.body[:] = [*sorted(imports, key=ast.dump), *rest]


def _first_difference(node: ast.AST, wanted: ast.AST) -> int:
    """The line of the innermost part of `node` that is the first to differ; 0 if none has a line."""
    line: int = getattr(node, "lineno", 0)
    mine, theirs = list(ast.iter_child_nodes(node)), list(ast.iter_child_nodes(wanted))
    for one, other in zip(mine, theirs, strict=False):
        if ast.dump(one) != ast.dump(other):
            return _first_difference(one, other) or line if type(one) is type(other) else getattr(one, "lineno", line)
    if len(mine) > len(theirs):
        return getattr(mine[len(theirs)], "lineno", line)
    return line
