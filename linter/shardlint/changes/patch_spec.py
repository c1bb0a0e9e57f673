"""What a patch configuration says that a generated modeling file must hold, read without running it.

The format is that of VeOmni's `patchgen` (https://github.com/ByteDance-Seed/VeOmni, `patchgen-pkg/patchgen`): a module
makes a `PatchConfig` and hangs classes and functions on it, with decorators or by name. A configuration may take parts
of another one, so modules of the same repository are followed.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from shardlint.changes.edit import parsed

Read = Callable[[str], "bytes | None"]
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef

KINDS = {
    "replace_class": "class_replacement",
    "override_method": "method_override",
    "replace_function": "function_replacement",
    "modify_init": "init_modification",
}
"""Methods of a configuration, with the words under which the generator lists them in the header."""

_HELPERS = ("add_helper", "add_helper_after")
_WORDS_ONLY = ("description", "transformers_version")
_DEEPEST = 8


class Code:
    """A definition of a configuration: its name, where it lies, and its text with its decorators."""

    def __init__(self, path: str, node: Definition, lines: list[str]) -> None:
        self.path = path
        self.name = node.name
        self.line = node.lineno
        start = min([node.lineno, *(each.lineno for each in node.decorator_list)])
        self.text = "\n".join(lines[start - 1 : node.end_lineno])


class Patch:
    """One patch. `code` is None where the replacement is another package's or was not found; `name_map` None where it
    is not written out; `external` is the dotted name of a class that another package gives."""

    def __init__(
        self, kind: str, target: str, code: Code | None, name_map: dict[str, str] | None, external: str = ""
    ) -> None:
        self.kind = kind
        self.target = target
        self.code = code
        self.name_map = name_map
        self.external = external


class Spec:
    """All that one configuration asks for. `complete` is false once it does something that cannot be read here."""

    def __init__(self, path: str, target_file: str) -> None:
        self.path = path
        self.target_file = target_file
        self.patches: list[Patch] = []
        self.helpers: list[Code] = []
        self.blocks: list[str] = []
        self.imports: list[tuple[str, str]] = []
        self.dropped: set[str] = set()
        self.excluded: set[str] = set()
        self.complete = True

    def continued(self, path: str) -> Spec:
        """A copy that another module goes on with under its own name for the output."""
        copy = Spec(path, self.target_file)
        copy.patches, copy.helpers, copy.blocks = [*self.patches], [*self.helpers], [*self.blocks]
        copy.imports, copy.dropped, copy.excluded = [*self.imports], {*self.dropped}, {*self.excluded}
        copy.complete = self.complete
        return copy


def read_specs(path: str, read: Read) -> list[Spec]:
    """The configurations that a module makes; none if it cannot be read or makes none.

    Args:
        path: the module, relative to the project root.
        read: the content of a file of the project, None if there is none.
    """
    module = _Library(read).at(path)
    return list(module.specs.values()) if module is not None else []


class _Library:
    """The modules that were read, each once."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._modules: dict[str, _Module | None] = {}
        self._depth = 0

    def at(self, path: str) -> _Module | None:
        """The module of a file; None if there is none, or while it is being read (modules that import each other)."""
        if path not in self._modules:
            self._modules[path] = None
            content = self._read(path) if self._depth < _DEEPEST else None
            tree = parsed(content) if content is not None else None
            if content is not None and tree is not None:
                self._depth += 1
                self._modules[path] = _Module(path, content, tree, self)
                self._depth -= 1
        return self._modules[path]

    def imported(self, importer: str, statement: ast.ImportFrom) -> _Module | None:
        """The module that a statement imports from, if it lies in the package of `importer`."""
        folders = importer.split("/")[:-1]
        parts = (statement.module or "").split(".")
        if statement.level:
            return self.at("/".join([*folders[: len(folders) - statement.level + 1], *parts]) + ".py")
        if parts[0] not in folders:
            return None
        root = folders[: folders.index(parts[0])]
        return self.at("/".join([*root, *parts]) + ".py")


class _Module:
    """A module, read from top to bottom as Python would run it."""

    def __init__(self, path: str, content: bytes, tree: ast.Module, library: _Library) -> None:
        self.path = path
        self.specs: dict[str, Spec] = {}
        self.code: dict[str, Code] = {}
        self.constants: dict[str, ast.expr] = {}
        self._borrowed: dict[str, Spec] = {}
        self._lines = content.decode("utf-8-sig", "replace").splitlines()
        self._library = library
        for statement in tree.body:
            self._run(statement)

    def _run(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.ImportFrom):
            self._take(statement)
        elif isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            self._define(statement)
        elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            self._assign(statement.targets[0].id, statement.value)
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name) and statement.value:
            self._assign(statement.target.id, statement.value)
        elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Attribute):
            self._set(statement.targets[0], statement.value)
        elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            self._call(statement.value)
        else:
            self._doubt(statement)

    def _take(self, statement: ast.ImportFrom) -> None:
        module = self._library.imported(self.path, statement)
        for name in statement.names if module is not None else ():
            assert module is not None
            local = name.asname or name.name
            if name.name in module.code:
                self.code[local] = module.code[name.name]
            if name.name in module.specs:
                self._borrowed[local] = module.specs[name.name]
            if name.name in module.constants:
                self.constants[local] = module.constants[name.name]

    def _define(self, node: Definition) -> None:
        code = self.code[node.name] = Code(self.path, node, self._lines)
        for decorator in reversed(node.decorator_list):
            call = decorator if isinstance(decorator, ast.Call) else ast.Call(decorator, [], [])
            spec, attributes = self._of_spec(call.func)
            if spec is not None:
                self._apply(spec, attributes, call, code)

    def _assign(self, name: str, value: ast.expr) -> None:
        self.constants[name] = value
        self.code.pop(name, None)
        called = value.func if isinstance(value, ast.Call) else None
        if isinstance(value, ast.Call) and last_name(called) == "PatchConfig":
            target = _text(_argument(value, 1, "target_file"))
            self.specs[name] = Spec(self.path, target or "patched_modeling.py")
        else:
            self._doubt(value)

    def _set(self, target: ast.Attribute, value: ast.expr) -> None:
        """`config.target_file = "..."`, on a configuration of this module or one that it imports and goes on with."""
        name = target.value.id if isinstance(target.value, ast.Name) else ""
        if name in self._borrowed and name not in self.specs:
            self.specs[name] = self._borrowed[name].continued(self.path)
        spec = self.specs.get(name)
        if spec is not None and target.attr == "target_file":
            spec.target_file = _text(value) or spec.target_file
        elif spec is not None and target.attr not in _WORDS_ONLY:
            spec.complete = False

    def _call(self, call: ast.Call) -> None:
        made, given = call.func, None
        if isinstance(made, ast.Call):
            # A decorator that is called by hand: `config.replace_function("f")(g)`.
            given, call = self._named(_argument(call, 0)), made
        spec, attributes = self._of_spec(call.func)
        if spec is None:
            self._doubt(call)
        elif len(attributes) == 2:
            self._extend(spec, attributes[0], attributes[1], call)
        else:
            self._apply(spec, attributes, call, given)

    def _of_spec(self, node: ast.expr) -> tuple[Spec | None, list[str]]:
        """The configuration whose member a dotted name is, and the parts after it."""
        attributes: list[str] = []
        while isinstance(node, ast.Attribute):
            attributes.insert(0, node.attr)
            node = node.value
        return (self.specs.get(node.id) if isinstance(node, ast.Name) else None), attributes

    def _apply(self, spec: Spec, attributes: list[str], call: ast.Call, decorated: Code | None) -> None:
        method = attributes[0] if len(attributes) == 1 else ""
        if method in KINDS:
            target = _text(_argument(call, 0))
            given = _argument(call, 1, "replacement")
            if target is None or (decorated is None and given is None):
                spec.complete = False
                return
            spec.patches.append(Patch(KINDS[method], target, decorated or self._named(given), self._name_map(call)))
        elif method in _HELPERS:
            helper = decorated or self._named(_argument(call, 0 if method == "add_helper" else 1, "helper"))
            spec.helpers += [helper] if helper is not None else []
        elif method == "add_post_import_block":
            block = _text(self._value(_argument(call, 0, "block")))
            spec.blocks += [block] if block is not None else []
            spec.complete &= block is not None
        elif method == "add_import":
            module, names = _text(_argument(call, 0, "module")), self._value(_argument(call, 1, "names"))
            listed = names.elts if isinstance(names, (ast.List, ast.Tuple)) else []
            spec.imports += [(module or "", _text(name) or "") for name in listed]
        elif method == "drop_import_names":
            spec.dropped.update(_text(name) or "" for name in call.args)
        elif method == "exclude_from_output":
            spec.excluded.update(_text(name) or "" for name in call.args)
        else:
            spec.complete = False

    def _extend(self, spec: Spec, part: str, method: str, call: ast.Call) -> None:
        """`config.helpers.extend(other.helpers)` and its like."""
        value = call.args[0] if len(call.args) == 1 else None
        other, kept = self._part(value)
        if part == "patches" and method == "append" and isinstance(value, ast.Call):
            spec.patches.append(_external(value))
        elif other is None or method not in ("extend", "update"):
            spec.complete = False
        elif part == "helpers":
            spec.helpers += [helper for helper in other.helpers if kept(helper.name)]
        elif part == "additional_imports":
            spec.imports += other.imports
        elif part == "post_import_blocks":
            spec.blocks += other.blocks
        elif part == "drop_imported_names":
            spec.dropped |= other.dropped
        elif part == "exclude":
            spec.excluded |= other.excluded
        else:
            spec.complete = False
        spec.complete &= other is None or other.complete or part == "helpers"

    def _part(self, value: ast.expr | None) -> tuple[Spec | None, Callable[[str], bool]]:
        """Another configuration whose part is taken over, and which helpers of it are, by name."""
        names: set[str] = set()
        if isinstance(value, (ast.GeneratorExp, ast.ListComp)):
            for test in value.generators[0].ifs:
                names.update(_text(node) or "" for node in ast.walk(test) if isinstance(node, ast.Constant))
                if not (isinstance(test, ast.Compare) and isinstance(test.ops[0], (ast.NotEq, ast.NotIn))):
                    return None, names.__contains__
            value = value.generators[0].iter
        if not isinstance(value, ast.Attribute) or not isinstance(value.value, ast.Name):
            return None, names.__contains__
        name = value.value.id
        return self._borrowed.get(name) or self.specs.get(name), lambda helper: helper not in names

    def _named(self, node: ast.expr | None) -> Code | None:
        return self.code.get(node.id) if isinstance(node, ast.Name) else None

    def _value(self, node: ast.expr | None) -> ast.expr | None:
        """An expression, or what the name that it is stands for."""
        return self.constants.get(node.id) if isinstance(node, ast.Name) else node

    def _name_map(self, call: ast.Call) -> dict[str, str] | None:
        given = next((word.value for word in call.keywords if word.arg == "name_map"), None)
        if given is None:
            return {}
        value = self._value(given)
        if not isinstance(value, ast.Dict):
            return None
        pairs = [(_text(key), _text(word)) for key, word in zip(value.keys, value.values, strict=True)]
        return {old: new for old, new in pairs if old is not None and new is not None}

    def _doubt(self, node: ast.AST) -> None:
        """A statement that is not understood can do anything to the configurations that it names."""
        for each in ast.walk(node):
            if isinstance(each, ast.Name) and each.id in self.specs:
                self.specs[each.id].complete = False


def _external(call: ast.Call) -> Patch:
    """`create_patch_from_external(target=..., replacement_module=..., replacement_name=...)`."""
    words = [_argument(call, at, name) for at, name in enumerate(("target", "replacement_module", "replacement_name"))]
    target, module, name = [_text(word) or "" for word in words]
    kind = last_name(_argument(call, 3, "patch_type")) or "CLASS_REPLACEMENT"
    return Patch(kind.lower(), target, None, {}, f"{module}.{name}")


def _argument(call: ast.Call, at: int, name: str = "") -> ast.expr | None:
    keyword = next((word.value for word in call.keywords if word.arg == name), None)
    return keyword if keyword is not None else call.args[at] if at < len(call.args) else None


def _text(node: ast.expr | None) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def last_name(node: ast.expr | None) -> str:
    """The last part of a dotted name; "" for any other expression."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
