"""Numbers of YAML configs without the dot that YAML 1.1 wants."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from .package import Package
from .site import Injection, Place, Site

_FLOAT = re.compile(
    r"(?m)^(?P<head>\s*(?:- )?(?P<key>[A-Za-z_]\w*):\s+)(?P<number>-?\d+\.\d*[eE][-+]\d+)(?=\s*(?:#.*)?$)"
)
_SMALL = re.compile(r"(?m)^(?P<head>\s*(?:- )?(?P<key>[A-Za-z_]\w*):\s+)(?P<number>0\.0*[1-9]\d?)(?=\s*(?:#.*)?$)")
_KEYS = re.compile(
    r"(?:.*_)?(?:lr|learning_rate|weight_decay|decay|eps|epsilon|beta\d?|momentum|max_grad_norm|dropout)"
)
_OTHER_READERS = r"(?m)^\s*(?:import|from)\s+(?:omegaconf|hydra|ruamel|jsonargparse|hyperpyyaml|pydantic|draccus)\b"
_PYYAML = r"(?m)^\s*(?:import yaml|from yaml)\b"


class FloatWithoutDot:
    """Writes `1e-5` for `1.0e-5` (or for `0.00001`) under a key that holds a number in training.

    A site is such a line of a project whose Python files import PyYAML and no other reader of YAML, take the key out of
    a mapping by name (or are VeOmni's, which hands the mapping to dataclasses that convert nothing), and do not call
    `float` on a line with that key: there the value reaches the code as text.
    """

    rule = "yaml-float-is-string"
    versioned = False
    beside: tuple[str, ...] = ()

    def sites(self, package: Package) -> Iterator[Site]:
        documents = package.ending(".yaml", ".yml")
        if not documents or not package.holds(_PYYAML, ".py") or package.holds(_OTHER_READERS, ".py"):
            return
        for path in documents:
            text = package.text(path) or ""
            for found in [*_FLOAT.finditer(text), *_SMALL.finditer(text)]:
                number = short(found["number"])
                if not _KEYS.fullmatch(found["key"]) or not number:
                    continue
                taken = package.holds(rf"(?:\[|get\(|pop\()[\"']{found['key']}[\"']", ".py")
                if not taken and "veomni" not in package.name.lower():
                    continue
                if package.holds(rf"float\(.*\b{found['key']}\b|\b{found['key']}\b.*float\(", ".py"):
                    continue
                line = text.count("\n", 0, found.start("number")) + 1
                what = f"`{found['key']}: {found['number']}` is `{number}`"
                after = text[: found.start("number")] + number + text[found.end("number") :]
                inject = partial(Injection, {path: after}, (Place(path, line, line),))
                yield Site(
                    package.name, path, line, what, f"{path.rpartition('/')[2]} {text}"[:2000] + str(line), inject
                )


def short(number: str) -> str:
    """A number as people write it in scientific notation, without a dot; empty if it has too many digits."""
    mantissa, exponent = f"{float(number):e}".split("e")
    digits = mantissa.rstrip("0").rstrip(".")
    return f"{digits}e{int(exponent)}" if "." not in digits else ""
