"""The tables as TOML: collected from the packages, sorted, with the versions that they were read from."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

from modality_table import templates
from modality_table.collators import keys_of
from modality_table.models import Models
from modality_table.source import Package
from modality_table.torchtune import torchtune_builders, torchtune_datasets

Entry = Mapping[str, str | bool]
Sections = Mapping[str, Mapping[str, str | Entry]]

_IMPORTED_AS = {"ms_swift": "swift"}


def tables(
    packages: Mapping[str, Package], supplement: Mapping[str, Mapping[str, Mapping[str, Entry]]]
) -> dict[str, str]:
    """Name of a table -> its TOML text.

    `packages` is by distribution (`ms_swift`); one that is absent leaves its sections out. `supplement` says what the
    sources do not show: distribution -> file -> collator -> fields.

    Raises LookupError when a collator of the supplement is not in its file.
    """
    made: dict[str, Sections] = {
        "model_modalities": _model_sections(packages),
        "template_modalities": _template_sections(packages),
        "collator_modalities": {"collators": _collators(packages, supplement), **_datasets(packages)},
    }
    forwards = made["model_modalities"].get("forwards", {})
    made["model_forwards"] = {"forwards": forwards}
    made["model_modalities"] = {name: rows for name, rows in made["model_modalities"].items() if name != "forwards"}
    versions = ", ".join(f"{name} {package.version}" for name, package in sorted(packages.items()))
    return {name: _toml(_ABOUT[name], versions, sections) for name, sections in made.items()}


_ABOUT = {
    "model_modalities": """What models, model_types, processors and auto classes of transformers take, by the arguments
of `forward` and the parts of a processor, and what the builders of torchtune make. A class whose arguments say nothing
is not listed: nothing can be said against it.""",
    "model_forwards": "What `forward` takes, of models that take media or labels; `**` means any other name, too.",
    "template_modalities": """What chat templates, registered models, datasets and data transforms take. Lists are words
in one string. A template that the source says nothing about is not listed.""",
    "collator_modalities": """What collators and dataset builders take and give. `reads`: the keys taken of a sample by
name; `pads`: keys padded; `packs`: samples are joined into rows, `packs_when`: if that option is on; `emits`: the keys
put into the batch by name; `rest`: what becomes of keys that are not read. A field that the source does not settle is
left out.""",
}


def _model_sections(packages: Mapping[str, Package]) -> dict[str, Mapping[str, str]]:
    builders = {"builders": torchtune_builders(packages["torchtune"])} if "torchtune" in packages else {}
    if "transformers" not in packages:
        return dict(builders)
    models = Models(packages["transformers"])
    return {
        **builders,
        "models": models.takes,
        "forwards": models.forwards,
        "model_types": models.model_types(),
        "processors": models.processors(),
        "auto": models.auto(),
    }


def _template_sections(packages: Mapping[str, Package]) -> dict[str, Mapping[str, str]]:
    found: dict[str, Mapping[str, str]] = {}
    if package := packages.get("llamafactory"):
        found["templates.llamafactory"] = templates.llamafactory_templates(package)
        found["llamafactory.models"], found["llamafactory.multimodal"] = templates.llamafactory_models(package)
    if package := packages.get("ms_swift"):
        swift = templates.Swift(package)
        found["templates.ms_swift"] = swift.templates()
        found["ms_swift.model_types"] = swift.model_types()
        found["ms_swift.multimodal"] = swift.multimodal()
        found["ms_swift.models"] = swift.model_paths()
        found["datasets.ms_swift"] = templates.swift_datasets(package)
    if package := packages.get("veomni"):
        found["templates.veomni"] = templates.veomni_templates(package)
        found["datasets.veomni"] = templates.veomni_datasets(package)
        found["transforms.veomni"] = templates.veomni_transforms(package)
    if package := packages.get("axolotl"):
        found["templates.axolotl"] = templates.axolotl_templates(package)
    return {name: rows for name, rows in found.items() if rows}


def _datasets(packages: Mapping[str, Package]) -> dict[str, Mapping[str, str]]:
    return {"datasets": torchtune_datasets(packages["torchtune"])} if "torchtune" in packages else {}


def _collators(
    packages: Mapping[str, Package], supplement: Mapping[str, Mapping[str, Mapping[str, Entry]]]
) -> dict[str, Entry]:
    found: dict[str, Entry] = {}
    rows = [
        (name, path, one, entry)
        for name, files in supplement.items()
        if name in packages
        for path, entries in files.items()
        for one, entry in entries.items()
    ]
    names = [(name, one) for name, _, one, _ in rows]
    for name, path, one, entry in rows:
        keys = keys_of(packages[name], path, one)
        if keys is None:
            raise LookupError(f"{name} {packages[name].version} has no {one} in {path}: correct supplement.toml")
        root = _IMPORTED_AS.get(name, name)
        # Two classes of one name are told apart by their modules.
        public = (
            f"{root}.{one}"
            if names.count((name, one)) == 1
            else f"{root}.{path.removesuffix('.py').replace('/', '.')}.{one}"
        )
        fields = {"reads": " ".join(sorted(keys.reads)), "emits": " ".join(sorted(keys.emits)), **entry}
        found[public] = {field: fields[field] for field in _FIELDS if fields.get(field, "") != ""}
    return found


_FIELDS = ("modalities", "reads", "pads", "packs", "packs_when", "emits", "rest")


def _toml(about: str, versions: str, sections: Sections) -> str:
    lines = [
        *(f"# {line}" for line in about.split("\n")),
        "# Generated by `make modality-table` from the sources of",
        f"# {versions}.",
        "# Do not edit: change rules/modality_table, or add names of your own in the settings under `modality`.",
    ]
    for name, rows in sections.items():
        lines += ["", f"[{name}]", *(f"{_key(key)} = {_value(value)}" for key, value in sorted(rows.items()))]
    return "\n".join(lines) + "\n"


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key, ensure_ascii=False)


def _value(value: str | bool | Entry) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return "{" + ", ".join(f"{key} = {_value(one)}" for key, one in value.items()) + "}"


def write(folder: Path, texts: Mapping[str, str]) -> list[Path]:
    """Write the tables; returns their files."""
    files: list[Path] = []
    for name, text in texts.items():
        files.append(folder / f"{name}.toml")
        files[-1].write_text(text, encoding="utf-8")
    return files
