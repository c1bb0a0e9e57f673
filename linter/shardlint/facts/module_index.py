"""The index of one file that the module tree is read from: its classes, imports, functions and tables of classes."""

from __future__ import annotations

import ast
import re
import sys
from typing import Literal, NamedTuple

from shardlint.facts.key_pattern import dotted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from shardlint.facts.module_tree import ModuleClass

    Function = ast.FunctionDef | ast.AsyncFunctionDef
    Known = Literal["yes", "maybe", "no"]
    Link = Callable[[str], ModuleClass | None]

_FOREIGN_PACKAGES = """
    flax jax haiku equinox mlx keras tensorflow tf paddle mindspore tinygrad chainer mxnet pydantic sklearn django
    sqlalchemy marshmallow pandas numpy np scipy requests datasets tokenizers
"""
_FOREIGN = frozenset(_FOREIGN_PACKAGES.split())
"""Packages whose `Module`, `Model` or `Encoder` is no torch module."""

_SURE_BASES = (
    "Module", "LightningModule", "PreTrainedModel", "FSDPModule", "MegatronModule", "ModelMixin", "ScriptModule",
    "GraphModule", "GradientCheckpointingLayer",
)  # fmt: skip

_LAYER_NAME = re.compile(
    r"(?=[A-Z])\w*?(Linear|Embeddings?|Norm(alization)?|Attention|MLP|Mlp|Layer|Block|Decoder|Encoder|Conv|Head|Proj"
    r"|Projection|Projector|Router|Experts?|MoE|Gate|FFN|FeedForward|FeedForwardNetwork|Module|Transformer|Net|Network"
    r"|Backbone|Tower|Pooler|Model|ForCausalLM|ForConditionalGeneration|Stem|Stage|Bottleneck|Resampler|UNet|Unet|VAE"
    r"|Dropout|DropPath|Adapter|Classifier|Quantizer|Extractor|Predictor|Mixer|Neck|SSM|RNN|LSTM|Compressor|Indexer)"
    r"(\d+[dD]|V?\d+|TE)?"
)
"""Names of imported classes that are layers in the model code bases that were read."""

_NO_LAYER_NAME = re.compile(r"\w*(BaseModel|DataModule|Output\w*|Config|FeatureExtractor|Tokenizer\w*|Dataset)")

_KEYLESS_BASE = re.compile(
    r"\w*(Mixin|PreTrainedModel)|Module|LightningModule|MegatronModule|FSDPModule|GradientCheckpointingLayer|ABC|Generic"
    r"|Protocol|object|ScriptModule|PyTorchModelHubMixin|Stateful"
)


class TypeRef(NamedTuple):
    """What a call of a class makes: `target` is the resolved dotted name, `local` the class of this file, or ""."""

    target: str
    local: str
    written: str
    keywords: tuple[ast.keyword, ...] = ()
    certain: bool = True


def torch_name(target: str) -> str:
    """`Linear` for every way to name ``torch.nn.Linear``, else ""."""
    if target.startswith("nn."):
        target = "torch." + target
    if not target.startswith("torch.nn."):
        return ""
    parts = target.split(".")
    inner = parts[2:-1]
    return parts[-1] if not inner or inner[0] in ("modules", "parameter") else ""


def looks_like_layer(target: str) -> bool:
    """Whether an imported name is one that layers have: conservative, by its last part and the package."""
    first, last = target.lstrip(".").split(".")[0], target.rsplit(".", 1)[-1]
    if first in _FOREIGN or first in sys.stdlib_module_names or _NO_LAYER_NAME.fullmatch(last):
        return False
    return _LAYER_NAME.fullmatch(last) is not None


def adds_no_key(base: str) -> bool:
    """Whether a base outside of the file is known to bring no tensor (mixins, `nn.Module`, `PreTrainedModel`)."""
    return _KEYLESS_BASE.fullmatch(base.rsplit(".", 1)[-1]) is not None


class ModuleIndex:
    """Classes by qualified name, imported names, functions and tables of one `ast.Module`.

    `link` gives the module class that a dotted name of another file stands for, relative names with their dots.
    """

    def __init__(self, tree: ast.Module, link: Link | None = None) -> None:
        self._link = link
        self.classes: dict[str, list[ast.ClassDef]] = {}
        self.functions: dict[str, Function] = {}
        self.tables: dict[str, ast.Dict] = {}
        self.aliases: dict[str, str] = {}
        self._star = False
        self._known: dict[str, Known] = {}
        self._methods: dict[str, dict[str, Function]] = {}
        self._scan(tree.body, "", False)

    def _scan(self, body: Sequence[ast.stmt], scope: str, in_class: bool) -> None:
        for statement in body:
            if isinstance(statement, ast.ClassDef):
                name = scope + statement.name
                self.classes.setdefault(name, []).append(statement)
                self._scan(statement.body, name + ".", True)
            elif isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
                if not scope:
                    self.functions[statement.name] = statement
                self._scan(statement.body, scope + statement.name + ".", False)
            elif isinstance(statement, (ast.Import, ast.ImportFrom)):
                self._import(statement)
            elif isinstance(statement, ast.Assign):
                if not scope:
                    self._assign(statement)
            elif not isinstance(statement, (ast.Expr, ast.Return, ast.AugAssign, ast.AnnAssign, ast.Assert, ast.Raise)):
                for inner in inner_bodies(statement):
                    self._scan(inner, scope, in_class)

    def _import(self, statement: ast.Import | ast.ImportFrom) -> None:
        if isinstance(statement, ast.Import):
            for name in statement.names:
                if name.asname:
                    self._bind(name.asname, name.name)
                else:
                    first = name.name.split(".")[0]
                    self._bind(first, first)
            return
        package = "." * statement.level + (statement.module or "")
        for name in statement.names:
            if name.name == "*":
                self._star = self._star or package == "torch.nn"
            else:
                joint = package if package.endswith(".") else package + "."
                self._bind(name.asname or name.name, joint + name.name)

    def _bind(self, name: str, target: str) -> None:
        """Two different targets for one name (``try: import apex``) leave it known by its last part only."""
        known = self.aliases.setdefault(name, target)
        if known != target:
            self.aliases[name] = name

    def _assign(self, statement: ast.Assign) -> None:
        if len(statement.targets) != 1 or not isinstance(statement.targets[0], ast.Name):
            return
        name = statement.targets[0].id
        if isinstance(statement.value, ast.Dict):
            self.tables[name] = statement.value
        else:
            target = dotted(statement.value)
            if target and target.rsplit(".", 1)[-1][:1].isupper():
                self._bind(name, self.resolve(target))

    def resolve(self, name: str) -> str:
        """The dotted name with its first part replaced by what the file imported it from."""
        first, _, rest = name.partition(".")
        target = self.aliases.get(first)
        if target is None:
            if self._star and not rest and first[:1].isupper():
                return "torch.nn." + first
            return name
        return f"{target}.{rest}" if rest else target

    def local_class(self, name: str, scope: str) -> str:
        """The qualified name of the class of this file that `name` means inside `scope`, or ""."""
        while True:
            found = f"{scope}.{name}" if scope else name
            if found in self.classes:
                return found
            if not scope:
                break
            scope = scope.rpartition(".")[0]
        resolved = self.aliases.get(name, "")
        return resolved if resolved in self.classes else ""

    def bases(self, qualified: str) -> list[TypeRef]:
        """The bases of a class as written, without their type arguments."""
        found: list[TypeRef] = []
        for definition in self.classes[qualified]:
            for node in definition.bases:
                base = node.value if isinstance(node, ast.Subscript) else node
                written = dotted(base)
                if not written:
                    found.append(TypeRef(ast.unparse(base), "", ast.unparse(base), (), False))
                    continue
                local = self.local_class(written, qualified.rpartition(".")[0])
                if local == qualified:
                    local = ""
                found.append(TypeRef(local or self.resolve(written), local, written))
        return found

    def linked(self, base: TypeRef) -> ModuleClass | None:
        """The module class of another file that a base is; None where it is of this file, of torch or not known."""
        if self._link is None or base.local or not base.certain or torch_name(base.target) or adds_no_key(base.target):
            return None
        return self._link(base.target)

    def lineage(self, qualified: str) -> list[str]:
        """The order in which Python looks methods up: classes of this file, and ``torch.nn.X`` for built-in layers.

        An approximation of C3: depth first, of a class met twice the last place counts.
        """
        path: list[str] = []
        self._descend(qualified, path, 0)
        return list(dict.fromkeys(reversed(path)))[::-1]

    def _descend(self, qualified: str, path: list[str], depth: int) -> None:
        path.append(qualified)
        if depth > 30 or len(path) > 200:
            return
        for base in self.bases(qualified):
            if base.local:
                self._descend(base.local, path, depth + 1)
            elif torch_name(base.target) not in ("", "Module"):
                path.append("torch.nn." + torch_name(base.target))

    def methods(self, qualified: str) -> dict[str, Function]:
        """The functions that a class defines itself, property setters left out."""
        found = self._methods.get(qualified)
        if found is None:
            found = {}
            for definition in self.classes.get(qualified, ()):
                for function in _functions(definition.body):
                    if not any(_sets_property(mark) for mark in function.decorator_list):
                        found[function.name] = function
            self._methods[qualified] = found
        return found

    def known(self, qualified: str) -> Known:
        """Whether a class of this file is a torch module: for sure, by its looks, or not."""
        answer = self._known.get(qualified)
        if answer is None:
            self._known[qualified] = "no"  # what a class that is its own base gets
            answers = {self._base_known(qualified, base) for base in self.bases(qualified)}
            answer = "yes" if "yes" in answers else "maybe" if "maybe" in answers else "no"
            self._known[qualified] = answer
        return answer

    def _base_known(self, qualified: str, base: TypeRef) -> Known:
        if base.local:
            return self.known(base.local)
        if not base.certain:
            return "maybe" if re.search(r"\bModule\b|\bnn\.", base.written) else "no"
        found = self.linked(base)
        if found is not None:
            return "yes" if found.known else "maybe"
        target, name = base.target, torch_name(base.target)
        first, last = target.lstrip(".").split(".")[0], target.rsplit(".", 1)[-1]
        if name:
            return "no" if name in ("Parameter", "Buffer") else "yes"
        if first in _FOREIGN or first in sys.stdlib_module_names:
            return "no"
        if last in _SURE_BASES or last.endswith("PreTrainedModel"):
            return "yes"
        if not looks_like_layer(target):
            return "no"
        if last.endswith(("Model", "Adapter", "Net", "Extractor", "Encoder", "Decoder")):
            # Such names are worn by data classes and clients, too: the body has to look like a module.
            return "maybe" if self._has_forward(qualified) or "modeling" in target else "no"
        return "maybe"

    def _has_forward(self, qualified: str) -> bool:
        return "forward" in self.methods(qualified)


def inner_bodies(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The blocks inside an ``if``, loop, ``try``, ``with`` or ``match``, in order."""
    if isinstance(statement, (ast.If, ast.For, ast.AsyncFor, ast.While)):
        yield statement.body
        yield statement.orelse
    elif isinstance(statement, (ast.With, ast.AsyncWith)):
        yield statement.body
    elif isinstance(statement, ast.Try):
        yield statement.body
        for handler in statement.handlers:
            yield handler.body
        yield statement.orelse
        yield statement.finalbody
    elif isinstance(statement, ast.Match):
        for case in statement.cases:
            yield case.body


def _sets_property(mark: ast.expr) -> bool:
    return isinstance(mark, ast.Attribute) and mark.attr in ("setter", "deleter")


def _functions(body: list[ast.stmt]) -> Iterator[Function]:
    for statement in body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield statement
        elif isinstance(statement, (ast.If, ast.Try, ast.With)):
            for inner in inner_bodies(statement):
                yield from _functions(inner)
