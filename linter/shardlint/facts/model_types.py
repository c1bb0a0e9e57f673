"""Whether a registration has the key that a loader will ask for: the `model_type` of the config beside it."""

from __future__ import annotations

import ast
import re
from difflib import SequenceMatcher
from functools import cached_property

from shardlint.environment import Environment
from shardlint.facts.module import FUNCTIONS
from shardlint.facts.order import statements
from shardlint.facts.packages import Class, Module, Packages
from shardlint.facts.project_words import ProjectWords
from shardlint.facts.site import Expression, Site
from shardlint.finding import Related

_DEPTH = 20
"""Bases and imports followed from one class."""

_ROOTS = ("PreTrainedConfig", "PretrainedConfig")
"""The base of all configs, by its name since transformers 5 and before."""

_NEAR = 0.8
"""How alike a key and a `model_type` of the same folder must be, as `difflib` measures it, to mean the same model."""

_DECLARED = re.compile(r"^[ \t]+model_type\b[ \t]*(?::[^=\n]*)?=[ \t]*(['\"])([^'\"\n]+)\1", re.MULTILINE)
_CLASS = re.compile(r"^class[ \t]+(\w+)", re.MULTILINE)
_SAID = re.compile(r"model_type\b.{0,200}")
_TEXT = re.compile(r"['\"]([\w.+-]+)['\"]")
_GIVEN = re.compile(r"\.model_type\s*=[^=]")
_CLASS_NAME = re.compile(r"\b(?:[A-Z]\w*|\w*(?:class|cls)\w*)\Z")
_LONGEST_NAME = 100
_ROW = re.compile(r'\(\s*"([^"\n]+)",\s*[("]')
_REGISTERED = re.compile(r"\bMODEL(?:ING|_CONFIG)_REGISTRY\.register\(\s*['\"]([^'\"\n]+)['\"]")
_IN_CONFIG = re.compile(r"\"model_type\"\s*:\s*\"([^\"]+)\"")


class ConfigClass:
    """A class with a `model_type`: its name, and the file (empty for that of an installed package) and line of it."""

    __slots__ = ("line", "model_type", "name", "path")

    def __init__(self, name: str, model_type: str, path: str, line: int) -> None:
        self.name = name
        self.model_type = model_type
        self.path = path
        self.line = line

    @property
    def notes(self) -> list[Related]:
        """Where the project says its `model_type`."""
        return [Related(self.path, self.line, 1, "its `model_type` is set here")] if self.path else []


class Mismatch:
    """A registration whose key no config has as its `model_type`.

    `config` is the one that it is meant for; `refused` whether transformers raises an error at once.
    """

    __slots__ = ("config", "key", "refused")

    def __init__(self, key: str, config: ConfigClass, refused: bool) -> None:
        self.key = key
        self.config = config
        self.refused = refused


def mismatch(site: Site) -> Mismatch | None:
    """What is wrong with the key of a call of `register`, if that is certain.

    `AutoConfig.register` compares the key with the `model_type` of the class and raises ValueError where they differ
    (source: transformers, `models/auto/configuration_auto.py`). Another registry counts if the project looks it up by
    a `model_type`, or if most of its keys are one; there the key must be unknown to the whole project and its
    environment, and the `model_type` of the config be missing in the registry.
    """
    given = site.positional[0] if site.positional else site.argument("model_type") or site.argument("key")
    key = given.literal if given is not None else None
    registry = site.receiver
    if not isinstance(key, str) or registry is None or _set_later(site.module.text):
        return None
    types = ModelTypes.of(site)
    if _is_auto_config(registry):
        config = types.config(site.argument("config", 1))
        caught = any(isinstance(at, ast.Try) and at.handlers for at in site.module.ancestors(site.ast))
        return Mismatch(key, config, True) if config is not None and config.model_type != key and not caught else None
    near = types.declared_beside(site.module.path)
    if any(config.model_type == key for config in near) or types.maps(key):
        return None
    if not near and not types.installed("transformers"):  # the config is that of a package that cannot be read
        return None
    name = registry.last_name
    if not types.keyed(name, key):
        return None
    meant = types.registered(site) or [config for config in near if _alike(config.model_type, key)]
    if not meant or any(config.model_type == key for config in meant):
        return None
    if types.knows(key) or any(types.has(name, config.model_type) for config in meant):
        return None
    return Mismatch(key, meant[0], False)


def _set_later(text: str) -> bool:
    """Whether a class is given another `model_type` outside of its body."""
    places = (found.start() for found in _GIVEN.finditer(text))
    return any(_CLASS_NAME.search(text, max(at - _LONGEST_NAME, 0), at) for at in places)


class ModelTypes(Packages):
    """The config classes of a project and its environment, with their `model_type`. One for each root of imports."""

    def __init__(self, project: ProjectWords, environment: Environment, root: str) -> None:
        super().__init__(environment.packages.folders, environment.packages.files)
        self.project = project
        self.roots = tuple(dict.fromkeys((root, "", "src/")))
        self._configs: dict[str, str] | None = None
        self._known: set[str] = set()
        self._beside: dict[str, list[ConfigClass]] = {}
        self._keys: dict[str, dict[str, bool]] = {}

    @classmethod
    def of(cls, site: Site) -> ModelTypes:
        """The config classes as the file of a site imports them."""
        module, project = site.module, site.project
        stem = module.path.removesuffix(".py").removesuffix("/__init__")
        end = module.dotted.replace(".", "/")
        root = stem[: -len(end)] if stem.endswith(end) else ""
        known = project.memo.get((cls, root))
        if not isinstance(known, ModelTypes):
            known = project.memo[cls, root] = cls(project, site.environment, root)
        return known

    def owner(self, dotted: str, depth: int = 0) -> Module | Class | None:
        """As in `Packages`; a config that transformers exports is found without reading its 400 packages."""
        package, _, name = dotted.partition(".")
        if package == "transformers" and name.rpartition(".")[2] in _ROOTS:
            base = "transformers.configuration_utils"
            return super().owner(f"{base}.{_ROOTS[0]}", depth) or super().owner(f"{base}.{_ROOTS[1]}", depth)
        if package == "transformers" and name.isidentifier():
            dotted = f"{self.installed_configs().get(name, package)}.{name}"
        return super().owner(dotted, depth)

    def installed_configs(self) -> dict[str, str]:
        """The module of each config class of the installed transformers; their model types are noted."""
        if self._configs is None:
            self._configs = {}
            for file, text in self.texts("transformers/models", "configuration_"):
                module = file.removesuffix(".py").replace("/", ".")
                self._configs.update((found[1], module) for found in _CLASS.finditer(text))
                self._known.update(found[2] for found in _DECLARED.finditer(text))
        return self._configs

    def config(self, value: Expression | None) -> ConfigClass | None:
        """The config class that an expression certainly is."""
        return self._config(self._class(value), "model_type")

    def registered(self, site: Site) -> list[ConfigClass]:
        """The configs of what a call registers: its second argument, or what it decorates, as far as they are known."""
        values = site.positional[1:2]
        parent = site.module.parent(site.ast)
        owners = [self._class(value) for value in values]
        if isinstance(parent, ast.ClassDef) and site.ast in parent.decorator_list:
            owners = [self._found(f"{site.module.dotted}.{site.module.qualified(parent)}")]
        elif isinstance(parent, FUNCTIONS) and site.ast in parent.decorator_list:
            returned = [
                at.value for at in statements(parent.body) if isinstance(at, ast.Return) and at.value is not None
            ]
            owners = [self._class(Expression(site.module, value, site.voice)) for value in returned]
        kinds = ("model_type", "config_class", "config")
        found = [next(filter(None, (self._config(owner, kind) for kind in kinds)), None) for owner in owners]
        return [config for config in found if config is not None]

    def declared_beside(self, path: str) -> list[ConfigClass]:
        """The classes with a `model_type` in the files of a folder."""
        folder = path.rpartition("/")[0]
        if folder not in self._beside:
            files = [file for file in self.project.paths if file.rpartition("/")[0] == folder]
            self._beside[folder] = [config for file in sorted(files) for config in self._declared(file)]
        return self._beside[folder]

    def maps(self, key: str) -> bool:
        """Whether the installed transformers has a config of this type, by its table alone."""
        return key in self._mapped

    @cached_property
    def _mapped(self) -> set[str]:
        files = ("auto_mappings.py", "configuration_auto.py")
        return {key for file in files for key in _ROW.findall(self._text(f"transformers/models/auto/{file}") or "")}

    def knows(self, key: str) -> bool:
        """Whether anything in the project or its environment may have this `model_type`, or be a class of that name."""
        self.installed_configs()
        if key in self._said or key in self._known:
            return True
        return key.isidentifier() and self.project.count(key, rf"^class {key}\b") > 0

    @cached_property
    def _said(self) -> set[str]:
        """Texts on lines that speak of a `model_type`, after it, and the `model_type` of each `config.json`."""
        texts = [data.decode("utf-8", "replace") for _, data in self.project.texts_with("model_type")]
        configs = [data.decode("utf-8", "replace") for data in self.project.config_texts]
        said = {text for all_of_it in texts for line in _SAID.findall(all_of_it) for text in _TEXT.findall(line)}
        return said.union(*(_IN_CONFIG.findall(text) for text in configs))

    def keyed(self, registry: str, key: str) -> bool:
        """Whether the keys of a registry are model types: by how it is looked up, or by its other keys."""
        if self.project.count(registry, rf"\b{registry}(?:\[|\.get\()\s*[\w.]*model_type\b"):
            return True
        if registry not in self._keys:
            keys = {found for _, data in self.project.texts_with(registry) for found in _keys(registry, data)}
            self._keys[registry] = {other: self.maps(other) or other in self._said for other in keys}
        known = [answer for other, answer in self._keys[registry].items() if other != key]
        return sum(known) > 1 and sum(known) * 2 > len(known)

    def has(self, registry: str, key: str) -> bool:
        """Whether something is registered under a key."""
        key = re.escape(key)
        return self.project.count(registry, rf"\b{registry}(?:\.register\(|\[)\s*['\"]{key}['\"]") > 0

    def _declared(self, file: str) -> list[ConfigClass]:
        data = self.project.text(file)
        text = data.decode("utf-8", "replace") if b"model_type" in data else ""
        found: list[ConfigClass] = []
        for at in _DECLARED.finditer(text):
            classes = _CLASS.findall(text, 0, at.start())
            if classes:
                found.append(ConfigClass(classes[-1], at[2], file, text.count("\n", 0, at.start(2)) + 1))
        return found

    def _class(self, value: Expression | None) -> Class | None:
        names = value.names if value is not None else ()
        return self._found(names[0]) if len(names) == 1 else None

    def _found(self, dotted: str) -> Class | None:
        owner = self.owner(dotted)
        return owner if isinstance(owner, Class) else None

    def _config(self, owner: Class | None, attribute: str) -> ConfigClass | None:
        """The config behind a class: itself by its `model_type`, or the `config_class` or `config: ...` of a model."""
        found = _value(owner, attribute) if owner is not None else None
        if found is None or owner is None:
            return None
        holder, value = found
        if attribute != "model_type":
            member = holder.module.member(value.id) if isinstance(value, ast.Name) else None
            return self._config(member, "model_type") if isinstance(member, Class) else None
        if not isinstance(value, ast.Constant) or not isinstance(value.value, str):
            return None
        return ConfigClass(owner.node.name, value.value, self._path(holder.path), value.lineno)

    def _path(self, file: str) -> str:
        return next((f"{root}{file}" for root in self.roots if self.project.text(f"{root}{file}")), "")

    def _text(self, file: str) -> str | None:
        path = self._path(file)
        return self.project.text(path).decode("utf-8", "replace") if path else super()._text(file)


def installed_types(packages: Packages) -> frozenset[str]:
    """Every `model_type` that the installed transformers maps to a config or declares in one, and every one that VeOmni
    registers. Empty when neither is installed. Sources: `transformers/models/auto`, `veomni/models/transformers`."""
    known: set[str] = set()
    for _, text in packages.texts("transformers/models", "auto_mappings"):
        known.update(_ROW.findall(text))
    for file, text in packages.texts("transformers/models", "configuration_"):
        known.update(found[2] for found in _DECLARED.finditer(text))
        known.update(_ROW.findall(text) if file.endswith("/configuration_auto.py") else ())
    for _, text in packages.texts("veomni/models/transformers", "__init__"):
        known.update(_REGISTERED.findall(text))
    return frozenset(name for name in known if name[0].isalnum())


def _is_auto_config(registry: Expression) -> bool:
    return any(name.startswith("transformers.") and name.endswith(".AutoConfig") for name in registry.names)


def _value(owner: Class, attribute: str, depth: int = 0) -> tuple[Class, ast.expr] | None:
    """What a class, or its first base with one, gives an attribute in its body; None if that is not certain.

    For `config` that is the annotation, from which transformers 5 takes the config class of a model.
    """
    stored = owner.names.get(attribute, [])
    body = owner.node.body if len(stored) == 1 or attribute == "config" else []
    for statement in body:
        if isinstance(statement, ast.AnnAssign) and _names(statement.target, attribute):
            value = statement.annotation if attribute == "config" else statement.value
            return (owner, value) if value is not None else None
        if isinstance(statement, ast.Assign) and _names(statement.targets[0], attribute):
            return owner, statement.value
    for base in owner.bases(depth) if (not stored or attribute == "config") and depth < _DEPTH else ():
        found = _value(base, attribute, depth + 1) if isinstance(base, Class) else None
        if found is not None or base is None:
            return found
    return None


def _names(target: ast.expr, attribute: str) -> bool:
    return isinstance(target, ast.Name) and target.id == attribute


def _alike(one: str, other: str) -> bool:
    plain = [re.sub(r"[\W_]", "", text).lower() for text in (one, other)]
    return plain[0] == plain[1] or SequenceMatcher(None, one, other).ratio() >= _NEAR


def _keys(registry: str, data: bytes) -> list[str]:
    found = re.findall(rb"\b" + registry.encode() + rb"(?:\.register\(|\[)\s*['\"]([^'\"\n]+)['\"]", data)
    return [key.decode("utf-8", "replace") for key in found]
