"""Writes a modeling file for many devices: a model's own file with the patches of a configuration.

    python -m minitrain.patchgen minitrain.models.mini_patch_gen_config

The output lies in `generated/` beside the configuration. It is committed, so that a review shows what is trained.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import inspect
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HEADER = """\
#  AUTO-GENERATED FILE - DO NOT EDIT DIRECTLY
#
#  Source: {source}
#  Change {config} and run: python -m minitrain.patchgen {config}
#
#  Patches applied:
"""


@dataclass
class PatchConfig:
    """What to change in the file of a model.

    Args:
        source_module: the module of the model.
        target_file: the name of the file to write.
    """

    source_module: str
    target_file: str
    imports: list[str] = field(default_factory=list)
    methods: dict[str, tuple[Callable[..., Any], str]] = field(default_factory=dict)

    def add_import(self, module: str, names: list[str]) -> None:
        """Import names that the patches use."""
        self.imports.append(f"from {module} import {', '.join(names)}")

    def override_method(self, target: str, description: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Put the decorated function in place of the method `Class.method`, or add it to the class."""

        def register(method: Callable[..., Any]) -> Callable[..., Any]:
            self.methods[target] = method, description
            return method

        return register


def generate(config: PatchConfig, config_module: str) -> str:
    """The text of the patched file."""
    text = inspect.getsource(importlib.import_module(config.source_module))
    lines = text.splitlines()
    header = HEADER.format(source=config.source_module, config=config_module)
    edits: list[tuple[int, int, str]] = []
    for target, (method, description) in config.methods.items():
        header += f"#    - method_override: {target}\n#      {description}\n"
        start, end = _place(ast.parse(text), *target.split("."))
        gap = [""] if start == end else []
        edits.append((start, end, "\n".join([*gap, _method(method, target.rpartition(".")[2])])))
    for start, end, new in sorted(edits, reverse=True):
        lines[start:end] = [new]
    imports = max(node.end_lineno or 0 for node in ast.parse(text).body if isinstance(node, ast.ImportFrom))
    lines[imports:imports] = config.imports
    return f"{header}\n" + "\n".join(lines) + "\n"


def _place(tree: ast.Module, owner: str, name: str) -> tuple[int, int]:
    """The lines of a method, as a slice; an empty one at the end of the class if it has no such method."""
    node = next(each for each in tree.body if isinstance(each, ast.ClassDef) and each.name == owner)
    for each in node.body:
        if isinstance(each, ast.FunctionDef) and each.name == name:
            return each.lineno - 1, each.end_lineno or each.lineno
    return node.end_lineno or 0, node.end_lineno or 0


def _method(function: Callable[..., Any], name: str) -> str:
    """The text of a patch without its decorator, as a method of that name."""
    text = inspect.getsource(function)
    definition = text[text.index("def ") :].replace(f"def {function.__name__}(", f"def {name}(", 1)
    return textwrap.indent(definition.rstrip(), "    ")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("config", help="the module of a patch configuration")
    module = importlib.import_module(parser.parse_args().config)
    output = Path(inspect.getfile(module)).parent / "generated" / module.config.target_file
    output.write_text(generate(module.config, module.__name__), encoding="utf-8")
    print(f"wrote {output}")


if __name__ == "__main__":
    main()
