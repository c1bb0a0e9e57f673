"""A constraint as the YAML of its block, in the style in which people write them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from collections.abc import Mapping

WIDTH = 110
"""Columns after which a long sentence goes on in the next line."""


class _Dumper(yaml.SafeDumper):
    """Code is written as it reads, sequences are moved in, and nothing is an alias."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - the shape of PyYAML's method
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002 - as above
        super().increase_indent(flow, False)


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    node: yaml.ScalarNode = dumper.represent_scalar(  # pyright: ignore[reportUnknownMemberType] - its stubs are untyped
        "tag:yaml.org,2002:str", text, style=style
    )
    return node


_Dumper.add_representer(str, _text)


def block_text(stated: Mapping[str, Any]) -> str:
    """The YAML of a constraint, keys in their order, with a line end at its end."""
    text: str = yaml.dump(  # pyright: ignore[reportUnknownMemberType] - as above
        dict(stated), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=WIDTH, default_flow_style=False
    )
    return text
