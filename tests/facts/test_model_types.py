"""Keys of registrations against the `model_type` of configs."""

from __future__ import annotations

import pytest

from shardlint.example import Good
from shardlint.facts.model_types import installed_types
from shardlint.facts.packages import Packages
from shardlint.finding import Finding
from shardlint.registry import load_rows
from shardlint.trial import findings_of

from ..conftest import Project

LOADER = {"zoo/loader.py": "MODEL_REGISTRY = Registry()\nmodel = MODEL_REGISTRY[config.model_type]\n"}
CONFIG = {"zoo/cat/config.py": "class CatConfig(PretrainedConfig):\n    model_type: str = 'cat_vl'\n"}
HF = {
    "transformers/__init__.py": "",
    "transformers/configuration_utils.py": "class PreTrainedConfig:\n    model_type: ClassVar[str] = ''\n",
    "transformers/models/auto/auto_mappings.py": 'NAMES = OrderedDict([("dog", "DogConfig"), ("fox", "FoxConfig")])\n',
    "transformers/models/dog/configuration_dog.py": """
from ...configuration_utils import PreTrainedConfig
class DogTextConfig(PreTrainedConfig):
    model_type = "dog_text"
class DogConfig(PreTrainedConfig):
    model_type = "dog"
""",
    "transformers/models/dog/modeling_dog.py": """
from .configuration_dog import DogConfig
class DogPreTrainedModel:
    config: DogConfig
class DogModel(DogPreTrainedModel): ...
""",
}


def found(*files: dict[str, str], installed: dict[str, str] | None = None) -> list[Finding]:
    row = next(row for row in load_rows()[0] if row["name"] == "registry-key-or-import")
    together = {path: text for group in files for path, text in group.items()}
    return findings_of(row, Good(together, installed=installed or {}))


def auto(*lines: str, installed: dict[str, str] | None = None) -> list[int]:
    source = "\n".join(("from transformers import AutoConfig, DogConfig, PretrainedConfig", *lines))
    return [finding.span.line for finding in found({"own.py": source}, installed=installed)]


def registered(key: str, *others: dict[str, str], name: str = "MODEL_REGISTRY") -> list[Finding]:
    text = f"from ..loader import {name}\n@{name}.register('{key}')\ndef cat():\n    return Cat\n"
    return found(LOADER, CONFIG, {"zoo/cat/__init__.py": text}, *others)


OWN = "class Own(PretrainedConfig):\n    model_type = 'own'"


@pytest.mark.parametrize(
    "call",
    [
        "AutoConfig.register('mine', Own)",
        "AutoConfig.register(model_type='mine', config=Own, exist_ok=True)",
        "KEY = 'mine'; AutoConfig.register(KEY, Own)",
    ],
)
def test_auto_config_refuses_a_key_that_is_not_the_model_type(call: str) -> None:
    assert auto(OWN, call) == [4]


@pytest.mark.parametrize(
    "call",
    [
        "AutoConfig.register('own', Own)",
        "AutoConfig.register(Own.model_type, Own)",
        "AutoConfig.register('mine', Unknown)",
        "try:\n    AutoConfig.register('mine', Own)\nexcept ValueError: ...",
        "Own.model_type = 'mine'\nAutoConfig.register('mine', Own)",
        "class Other(Own, Unknown):\n    model_type = make()\nAutoConfig.register('mine', Other)",
    ],
)
def test_auto_config_is_silent_where_it_accepts_or_may_accept(call: str) -> None:
    assert auto(OWN, call) == []


def test_a_model_type_may_be_inherited_within_the_project_and_from_the_environment() -> None:
    assert auto(OWN, "class More(Own): ...", "AutoConfig.register('more', More)") == [5]
    call = "class Own(DogConfig): ...\nAutoConfig.register('own', Own)"
    assert auto(call, installed=HF) == [3]
    assert auto(call) == []
    assert auto("class Bare(PretrainedConfig): ...", "AutoConfig.register('bare', Bare)", installed=HF) == [3]


def test_the_finding_says_both_names_and_points_at_the_model_type() -> None:
    imports = "from transformers import AutoConfig\nfrom zoo.cat.config import CatConfig\n"
    source = f"{imports}AutoConfig.register('cat', CatConfig)\n"
    (finding,) = found({"own.py": source, "zoo/cat/__init__.py": ""}, CONFIG)
    assert "`cat`" in finding.message
    assert "`cat_vl`" in finding.message
    assert "ValueError" in finding.message
    assert [(place.path, place.line) for place in finding.related] == [("zoo/cat/config.py", 2)]


@pytest.mark.parametrize("key", ["catvl", "cat-vl", "CatVL", "cat2_vl"])
def test_a_key_near_the_model_type_of_its_folder_is_reported(key: str) -> None:
    assert [finding.path for finding in registered(key)] == ["zoo/cat/__init__.py"]


def test_the_right_key_is_silent_and_so_is_one_that_is_nothing_like_it() -> None:
    assert registered("cat_vl") == registered("panther") == []


@pytest.mark.parametrize(
    "other",
    [
        {"zoo/other.py": "class C:\n    model_type = 'catvl'\n"},
        {"tests/toy/config.json": '{"hidden": 1, "model_type": "catvl"}'},
        {"zoo/other.py": "if config.model_type in ('catvl', 'x'): ...\n"},
        {"zoo/other.py": "class catvl: ...\n"},
        {"zoo/other.py": "from .loader import MODEL_REGISTRY\nMODEL_REGISTRY.register('cat_vl', object)\n"},
        {"zoo/loader.py": "MODEL_REGISTRY = Registry()\nmodel = MODEL_REGISTRY[config.name]\n"},
    ],
)
def test_a_key_that_something_may_ask_for_is_silent(other: dict[str, str]) -> None:
    assert registered("catvl", other) == []


def test_a_registry_counts_when_most_of_its_other_keys_are_model_types() -> None:
    def with_keys(*keys: str) -> dict[str, str]:
        calls = [f"ZOO_REGISTRY.register('{key}', object)\n" for key in keys]
        types = "class A:\n    model_type = 'ant'\nclass B:\n    model_type = 'bee'\n"
        return {"zoo/keys.py": f"from .loader import ZOO_REGISTRY\n{types}{''.join(calls)}"}

    assert len(registered("catvl", with_keys("ant", "bee", "adam"), name="ZOO_REGISTRY")) == 1
    assert registered("catvl", with_keys("ant", "bee", "adam", "sgd"), name="ZOO_REGISTRY") == []
    assert registered("catvl", with_keys("ant"), name="ZOO_REGISTRY") == []


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("from transformers import DogConfig", "DogConfig"),
        ("from transformers.models.dog.configuration_dog import DogConfig", "DogConfig"),
        ("from .modeling import Dog", "Dog"),
        ("from .modeling import OldDog", "OldDog"),
    ],
)
def test_the_config_behind_what_is_registered_is_found(line: str, value: str) -> None:
    modeling = """
from transformers.models.dog.modeling_dog import DogModel
from transformers import DogConfig
class Dog(DogModel): ...
class OldDog:
    config_class = DogConfig
"""

    def dog(key: str) -> int:
        head = f"from ..loader import MODEL_REGISTRY\n@MODEL_REGISTRY.register('{key}')\n"
        text = f"{head}def dog():\n    {line}\n    return {value}\n"
        files = {"zoo/dog/__init__.py": text, "zoo/dog/modeling.py": modeling, "zoo/__init__.py": ""}
        return len(found(LOADER, files, installed=HF))

    assert dog("doggy") == 1
    assert dog("dog") == dog("fox") == dog("dog_text") == 0


def test_a_verdict_is_asked_for_again_when_a_config_json_changes(project: Project) -> None:
    head = "from ..loader import MODEL_REGISTRY\n"
    for path, text in (LOADER | CONFIG).items():
        project.write(path, text)
    project.write("zoo/cat/__init__.py", f"{head}MODEL_REGISTRY.register('catvl', object)\n")
    project.write("toy/config.json", '{"model_type": "other"}')
    select = ("registry-key-or-import",)
    assert [len(project.outcome(select=select).findings) for _ in range(2)] == [1, 1]
    project.write("toy/config.json", '{"model_type": "catvl"}', settled=False)
    assert project.outcome(select=select).findings == []


def test_installed_types_are_those_of_configs_maps_and_registries() -> None:
    veomni = {
        "veomni/models/transformers/owl/__init__.py": '@MODELING_REGISTRY.register("owl")\ndef load(): ...\n'
        '@MODEL_PROCESSOR_REGISTRY.register("OwlProcessor")\ndef process(): ...\n',
        "veomni/models/transformers/elk/__init__.py": "@MODEL_CONFIG_REGISTRY.register('elk')\ndef config(): ...\n",
    }
    auto = {"transformers/models/auto/configuration_auto.py": 'NAMES = [("yak", "YakConfig"), ("-", "-")]\n'}
    assert installed_types(Packages(files=HF | auto)) == {"dog", "dog_text", "fox", "yak"}
    assert installed_types(Packages(files=veomni)) == {"owl", "elk"}
    assert installed_types(Packages()) == frozenset()
