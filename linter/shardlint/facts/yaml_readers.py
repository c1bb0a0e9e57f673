"""Who reads the project's YAML, as far as its Python files tell: a fact about the project that config rules ask for.

A document on its own does not say which loader will read it, and loaders differ: PyYAML keeps `1e-5` as text, OmegaConf
makes a number of it, and code may convert what it was given.
"""

from __future__ import annotations

import re
from functools import cached_property

from shardlint.facts.project_words import ProjectWords

_OTHERS = ("omegaconf", "hydra", "ruamel", "jsonargparse", "hyperpyyaml", "pydantic", "draccus")
"""Packages beside PyYAML that can read a config."""

_KEY = re.compile(r"[\x00-\x7f]{1,80}")
_NO_KEY = re.compile(r"[\"'\\\n]")


class YamlReaders:
    """What the Python files of a project do with YAML."""

    def __init__(self, project: ProjectWords) -> None:
        self._project = project

    @cached_property
    def pyyaml_alone(self) -> bool:
        """Whether some file imports PyYAML, and none another package that can read a config."""
        return not any(map(self._imported, _OTHERS)) and self._imported("yaml")

    def _imported(self, package: str) -> bool:
        return self._project.anywhere(package, rf"^[ \t]*(?:import|from)[ \t]+{package}\b")

    def _taken(self, key: str) -> bool:
        """Whether some file takes a key out of a mapping by name, as in `config["lr"]`."""
        return self._project.anywhere(key, rf"(?:\[|\.get\(|\.pop\()[ \t]*[\"']{re.escape(key)}[\"']")

    def _converted(self, key: str) -> bool:
        """Whether a name stands on some line that calls `float(`."""
        if not key.isidentifier():
            return False
        return self._project.anywhere(key, rf"^(?=.*\bfloat\().*(?<!\w)\d*{key}(?!\w)")

    def keeps_text(self, key: str) -> bool:
        """Whether a value under `key` reaches code as PyYAML read it: no other reader, no conversion of that name."""
        if _KEY.fullmatch(key) is None or _NO_KEY.search(key) is not None:
            return False
        return self.pyyaml_alone and self._taken(key) and not self._converted(key)
