"""Who reads the project's YAML, as far as its Python files tell: a fact about the project that config rules ask for.

A document on its own does not say which loader will read it, and loaders differ: PyYAML keeps `1e-5` as text, OmegaConf
makes a number of it, and code may convert what it was given.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_IMPORTED = re.compile(
    rb"^[ \t]*(?:import|from)[ \t]+(yaml|omegaconf|hydra|ruamel|jsonargparse|hyperpyyaml|pydantic|draccus)\b",
    re.MULTILINE,
)
_FLOAT = re.compile(rb"^.*\bfloat\(.*$", re.MULTILINE)
_WORD = re.compile(rb"[^\W\d]\w*")
_TAKEN = re.compile(rb"(?:\[|\.get\(|\.pop\()[ \t]*[\"']([^\"'\\\n]{1,80})[\"']")


class YamlReaders:
    """What the Python files of a project do with YAML.

    `imported`: the packages that can read a config and that some file imports. `converted`: names on lines that call
    `float(`. `taken`: keys that some file takes out of a mapping by name, as in `config["lr"]`.
    """

    __slots__ = ("converted", "imported", "taken")

    def __init__(self, sources: Iterable[bytes]) -> None:
        self.imported: set[str] = set()
        self.converted: set[str] = set()
        self.taken: set[str] = set()
        for data in sources:
            self.imported.update(match.decode() for match in _IMPORTED.findall(data))
            if b"float(" in data:
                for line in _FLOAT.findall(data):
                    self.converted.update(word.decode("latin-1") for word in _WORD.findall(line))
            self.taken.update(match.decode("latin-1") for match in _TAKEN.findall(data))

    def keeps_text(self, key: str) -> bool:
        """Whether a value under `key` reaches code as PyYAML read it: no other reader, no conversion of that name."""
        return self.imported == {"yaml"} and key in self.taken and key not in self.converted
