"""What chat templates, registered models, datasets and data transforms of the frameworks take."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from modality_table.source import Classes, Package, assigned, keyword, last_name, strings, text_of
from modality_table.words import ordered

Table = dict[str, str]

_MEDIA = ("image", "video", "audio")
_TAGS = {"vision": "image", "video": "video", "audio": "audio"}


def llamafactory_templates(package: Package) -> Table:
    """Name of a template -> text and the media whose placeholder its plugin has.

    The plugin refuses a medium without a token (`MMPluginMixin._validate_input`), so the list is complete.
    """
    found: Table = {}
    for call in package.calls("data/template.py", "register_template"):
        name, plugin = text_of(keyword(call, "name")), keyword(call, "mm_plugin")
        if name and plugin is None:
            found[name] = "text"
        elif name and isinstance(plugin, ast.Call):
            tokens = dict(zip(_MEDIA, plugin.args[1:], strict=False))
            tokens |= {word: value for word in _MEDIA if (value := keyword(plugin, f"{word}_token")) is not None}
            found[name] = ordered(["text", *(word for word, value in tokens.items() if text_of(value))])
    return found


def llamafactory_models(package: Package) -> tuple[Table, Table]:
    """Template -> repositories of the models that it is the default of; and those of the multimodal models."""
    templates: dict[str, set[str]] = {}
    multimodal: set[str] = set()
    chat = ("-Chat", "-Distill", "-Instruct", "-Thinking")
    for call in package.calls("extras/constants.py", "register_model_group"):
        models, template, media = (
            keyword(call, "models"),
            text_of(keyword(call, "template")),
            keyword(call, "multimodal"),
        )
        is_media = isinstance(media, ast.Constant) and media.value is True
        for key, value in zip(models.keys, models.values, strict=True) if isinstance(models, ast.Dict) else ():
            name, repositories = text_of(key), strings(value)
            if template and (is_media or any(suffix in name for suffix in chat)):
                templates.setdefault(template, set()).update(repositories)
            multimodal |= repositories if is_media else set()
    return {name: " ".join(sorted(paths)) for name, paths in templates.items()}, {
        "models": " ".join(sorted(multimodal))
    }


class Swift:
    """The registered templates and models of ms-swift."""

    def __init__(self, package: Package) -> None:
        self.package = package
        self.constants = _constants(package, "template/constant.py") | _constants(package, "model/constant.py")
        self.models = list(self._registered())

    def _registered(self) -> Iterator[tuple[str, bool, set[str], set[str], str]]:
        """model_type, whether it is multimodal, its tags, the repositories of its models, and its template."""
        for call in self.package.calls("model/models/*.py", "ModelMeta"):
            kind = self._constant(call.args[0] if call.args else keyword(call, "model_type"))
            groups = call.args[1] if len(call.args) > 1 else keyword(call, "model_groups")
            if not kind or groups is None:
                continue
            paths = {
                text_of(argument)
                for node in ast.walk(groups)
                if isinstance(node, ast.Call) and last_name(node.func) == "Model"
                for argument in node.args
            }
            tags = {
                tag
                for node in ast.walk(call)
                if isinstance(node, ast.keyword) and node.arg == "tags"
                for tag in strings(node.value)
            }
            template = self._constant(keyword(call, "template"))
            groups_templates = any(isinstance(n, ast.keyword) and n.arg == "template" for n in ast.walk(groups))
            yield (
                kind[1],
                kind[0].startswith("MLLM"),
                tags,
                paths - {""},
                template[1] if template and not groups_templates else "",
            )

    def _constant(self, node: ast.expr | None) -> tuple[str, str] | None:
        """The class and the value of `MLLMModelType.qwen2_vl`, `TemplateType.qwen`."""
        if not isinstance(node, ast.Attribute):
            return None
        owner, value = last_name(node.value), node.attr
        for one in sorted(self.constants):
            if one.endswith(owner) and value in self.constants[one]:
                return one, self.constants[one][value]
        return None

    def model_types(self) -> Table:
        """model_type -> template."""
        return {kind: template for kind, _, _, _, template in self.models if template}

    def model_paths(self) -> Table:
        """model_type -> repositories."""
        return {kind: " ".join(sorted(paths)) for kind, _, _, paths, _ in self.models if paths}

    def multimodal(self) -> Table:
        """model_type of a multimodal model -> text and the media of its tags and its template."""
        templates, found = self.templates(), Table()
        for kind, many, tags, _, template in self.models:
            words = {_TAGS[tag] for tag in tags if tag in _TAGS} | set(templates.get(template, "").split())
            if many and words - {"text"}:
                found[kind] = ordered({"text", *words})
        return found

    def templates(self) -> Table:
        """Template -> text alone for those of language models, else the media that its class handles, and those of
        the tags of its models."""
        classes = Classes(self.package, "template/templates/*.py", "template/*.py")
        media_models = {template for _, many, _, _, template in self.models if many}
        tagged: dict[str, set[str]] = {}
        for _, _, tags, _, template in self.models:
            tagged.setdefault(template, set()).update(_TAGS[tag] for tag in tags if tag in _TAGS)
        found: Table = {}
        for path in self.package.files("template/templates/*.py"):
            local = classes.in_file[path]
            for call in (one for node in ast.walk(self.package.tree(path)) for one in _registrations(node)):
                kind = self._constant(call.args[0] if call.args else keyword(call, "template_type"))
                handler = last_name(keyword(call, "template_cls") or ast.Constant(0))
                if kind is None:
                    continue
                if kind[0].startswith("LLM"):
                    if kind[1] not in media_models:
                        found[kind[1]] = "text"
                elif handler in local or handler in classes.by_name:
                    at = (path, local[handler]) if handler in local else classes.by_name[handler]
                    words = set[str]()
                    for _, one in classes.lineage(*at):
                        words |= set() if one.name == "Template" else _handled(one)
                    if words:
                        found[kind[1]] = ordered({"text", *words, *tagged.get(kind[1], ())})
        return found


def _registrations(node: ast.AST) -> Iterator[ast.Call]:
    if isinstance(node, ast.Call) and last_name(node.func) == "register_template":
        yield from (one for one in node.args if isinstance(one, ast.Call))


def _constants(package: Package, path: str) -> dict[str, dict[str, str]]:
    return {
        node.name: {
            name: text for name, value in assigned(ast.Module(node.body, [])).items() if (text := text_of(value))
        }
        for node in package.tree(path).body
        if isinstance(node, ast.ClassDef)
    }


def _handled(node: ast.ClassDef) -> set[str]:
    """The media that a class speaks of: `inputs.images`, `media_type == "video"`, `input_features`."""
    spoken = set[str]()
    for statement in (one for method in node.body for one in getattr(method, "body", [method])):
        spoken |= {one.attr for one in ast.walk(statement) if isinstance(one, ast.Attribute)} | strings(statement)
    names = {
        "image": ("images", "image", "pixel_values"),
        "video": ("videos", "video", "pixel_values_videos"),
        "audio": ("audios", "audio", "input_features"),
    }
    return {word for word, marks in names.items() if not spoken.isdisjoint(marks)}


def swift_datasets(package: Package) -> Table:
    """Repository of a dataset -> text and the media of its tags, where it has such tags."""
    found: Table = {}
    for call in package.calls("dataset/dataset/*.py", "DatasetMeta"):
        tags = strings(keyword(call, "tags") or ast.Constant(0))
        words = {_TAGS[tag] for tag in tags if tag in _TAGS}
        for name in ("ms_dataset_id", "hf_dataset_id"):
            if words and (path := text_of(keyword(call, name))):
                found[path] = ordered({"text", *words})
    return found


def veomni_registry(package: Package, registry: str) -> Iterator[tuple[str, str, ast.AST]]:
    """Name, file and definition of everything that is registered in a registry of VeOmni."""
    for path in package.files("**/*.py"):
        tree = package.tree(path)
        named = {node.name: node for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
        for node in named.values():
            for decorator in node.decorator_list:
                if isinstance(decorator, ast.Call) and _registers(decorator.func, registry):
                    yield text_of(decorator.args[0]), path, node
        for statement in tree.body:
            call = statement.value if isinstance(statement, ast.Expr) else None
            if isinstance(call, ast.Call) and _registers(call.func, registry) and len(call.args) == 2:
                yield text_of(call.args[0]), path, named[last_name(call.args[1])]


def _registers(function: ast.expr, registry: str) -> bool:
    return isinstance(function, ast.Attribute) and function.attr == "register" and last_name(function.value) == registry


def veomni_templates(package: Package) -> Table:
    """Chat template -> text alone where its class has no word of media, else the media that it has placeholders for."""
    classes = Classes(package, "data/chat_template.py")
    found: Table = {}
    for name, path, node in veomni_registry(package, "CHAT_TEMPLATE_REGISTRY"):
        if isinstance(node, ast.ClassDef):
            spoken = {text for _, one in classes.lineage(path, node) for text in _short_strings(one)}
            found[name] = ordered(["text", *(word for word in _MEDIA if word in spoken)])
    return found


def veomni_transforms(package: Package) -> Table:
    """Data transform -> text alone, or text and the media of a sample that it loads; functions it calls are read."""
    found: Table = {}
    for name, path, node in veomni_registry(package, "DATA_TRANSFORM_REGISTRY"):
        if path != "data/data_transform.py":
            continue  # what diffusion transforms take is a matter of the condition model
        functions = {one.name: one for one in package.tree(path).body if isinstance(one, ast.FunctionDef)}
        called = {last_name(one.func) for one in ast.walk(node) if isinstance(one, ast.Call)}
        spoken = set[str]().union(
            *(_short_strings(one) for one in (node, *(functions[c] for c in called & functions.keys())))
        )
        found[name] = ordered(["text", *(word for word in _MEDIA if f"{word}s" in spoken)])
    return found


def veomni_datasets(package: Package) -> Table:
    """Source of a dataset -> the kinds of content that its preprocessor puts into a conversation: `("image", None)`."""
    found: Table = {}
    for name, _, node in veomni_registry(package, "PREPROCESSOR_REGISTRY"):
        pairs = [one for one in ast.walk(node) if isinstance(one, ast.Tuple) and len(one.elts) == 2]
        kinds = [text_of(pair.elts[0]) for pair in pairs if not isinstance(pair.ctx, ast.Store)]
        if kinds and all(kinds):  # a kind that is computed may be any
            found[name] = ordered(kinds)
    return found


def _short_strings(node: ast.AST) -> set[str]:
    return {text for text in strings(node) if len(text) < 20}


def axolotl_templates(package: Package) -> Table:
    """Chat template -> text and the media that its Jinja text tests the type of a piece of content for."""
    found: Table = {}
    for path in package.files("utils/chat_templates/templates/*.jinja"):
        text = (package.folder / path).read_text(encoding="utf-8")
        tested = set(re.findall(r"""['"](image|video|audio)(?:_url)?['"]""", text))
        if tested:
            found[path.rpartition("/")[2].removesuffix(".jinja")] = ordered({"text", *tested})
    return found
