"""The text form of model facts, in which the examples of plan rules are written.

layers.{0..3}.mlp.gate_proj.weight  [11008, 4096]  bf16     # a parameter a line; `frozen` may follow
tied lm_head.weight = embed.weight                          # one tensor, two names: the second is the first one
buffer rope.inv_freq  [64]  fp32
module layers.{0..3}  DecoderLayer                          # a class, where it matters
config num_attention_heads = 32                             # a field of the configuration
styles colwise rowwise                                      # what the installed framework registers
"""

from __future__ import annotations

import re
from typing import TypeVar

from shardlint.errors import PlanError
from shardlint.runtime.braces import expand
from shardlint.runtime.model_facts import BYTES, Buffer, ModelFacts, Module, Parameter, Setting

SHORT_DTYPES = {
    "fp64": "float64",
    "fp32": "float32",
    "fp16": "float16",
    "bf16": "bfloat16",
    "fp8": "float8_e4m3fn",
}
"""Short names that the text form admits beside torch's own."""

_TENSOR = re.compile(
    r"(?P<kind>buffer\s+)?(?P<name>\S+)\s+\[(?P<shape>[^\]]*)\]\s+(?P<dtype>\w+)(?P<frozen>\s+frozen)?"
)
_MODULE = re.compile(r"module\s+(?P<name>\S+)\s+(?P<class>\w+)")
_CONFIG = re.compile(r"config\s+(?P<name>[\w.]+)\s*=\s*(?P<value>.+)")
_STYLES = re.compile(r"styles((?:\s+\w+)+)")
_TIED = re.compile(r"tied\s+(?P<name>\S+)\s*=\s*(?P<first>\S+)")

_Fact = TypeVar("_Fact", Parameter, Module, Buffer)


def parse_facts(text: str) -> ModelFacts:
    """The facts that a text states. Raises PlanError, with the line, for a line that states none."""
    reader = _Reader()
    for number, line in enumerate(text.split("\n"), 1):
        stated = uncommented(line).strip()
        if stated:
            reader.read(stated, number)
    return ModelFacts(
        reader.parameters.values(),
        reader.modules.values(),
        reader.buffers.values(),
        config=reader.config,
        styles=reader.styles,
    )


def uncommented(line: str) -> str:
    """A line without its comment: from a `#` at its start or after white space to its end."""
    return re.split(r"(?:^|\s)#", line, maxsplit=1)[0]


class _Reader:
    def __init__(self) -> None:
        self.parameters: dict[str, Parameter] = {}
        self.modules: dict[str, Module] = {}
        self.buffers: dict[str, Buffer] = {}
        self.config: dict[str, Setting] = {}
        self.styles: set[str] = set()

    def read(self, stated: str, number: int) -> None:
        config, styles = _CONFIG.fullmatch(stated), _STYLES.fullmatch(stated)
        if config is not None:
            self.config[config["name"]] = _setting(config["value"], number)
        elif styles is not None:
            self.styles.update(styles[1].split())
        else:
            self._model(stated, number)

    def _model(self, stated: str, number: int) -> None:
        tied, module, tensor = _TIED.fullmatch(stated), _MODULE.fullmatch(stated), _TENSOR.fullmatch(stated)
        if tied is not None:
            self._tie(tied["name"], tied["first"], number)
        elif module is not None:
            for name in expand(module["name"], number):
                _put(self.modules, Module(name, module["class"]), "module", number)
        elif tensor is not None:
            self._tensor(tensor, number)
        else:
            raise PlanError(
                f"line {number}: `{stated}` states no fact; "
                "write `NAME [SHAPE] DTYPE`, `buffer NAME [SHAPE] DTYPE`, `module NAME CLASS`, `tied NAME = NAME`, "
                "`config NAME = VALUE` or `styles NAME ...`"
            )

    def _tensor(self, found: re.Match[str], number: int) -> None:
        dtype = SHORT_DTYPES.get(found["dtype"], found["dtype"])
        if dtype not in BYTES:
            raise PlanError(f"line {number}: `{found['dtype']}` is no dtype; write one of {', '.join(BYTES)}")
        shape = _shape(found["shape"], number)
        for name in expand(found["name"], number):
            if found["kind"]:
                _put(self.buffers, Buffer(name, shape, dtype), "buffer", number)
            else:
                _put(self.parameters, Parameter(name, shape, dtype, not found["frozen"]), "parameter", number)

    def _tie(self, name: str, first: str, number: int) -> None:
        target = self.parameters.get(first)
        if target is None or target.tied_to is not None:
            raise PlanError(f"line {number}: `{name}` is tied to `{first}`, which no line above gives a shape")
        tied = Parameter(name, target.shape, target.dtype, target.trainable, first)
        _put(self.parameters, tied, "parameter", number)


def _put(known: dict[str, _Fact], fact: _Fact, kind: str, number: int) -> None:
    if fact.name in known:
        raise PlanError(f"line {number}: the {kind} `{fact.name}` is given twice")
    known[fact.name] = fact


def _setting(text: str, number: int) -> Setting:
    """A value of a configuration: written as in JSON, or a bare word."""
    words: dict[str, Setting] = {"true": True, "false": False, "null": None}
    if text in words:
        return words[text]
    if re.fullmatch(r"-?[0-9]{1,18}", text):
        return int(text)
    if re.fullmatch(r"-?[0-9]{1,18}\.[0-9]{1,18}(?:e-?[0-9]{1,3})?", text):
        return float(text)
    if text.startswith("[") and text.endswith("]"):
        return list(_shape(text[1:-1], number))
    if re.fullmatch(r"[\w.-]+", text):
        return text
    raise PlanError(f"line {number}: `{text}` is no value of a configuration; write a number, a word or `[1, 2]`")


def _shape(text: str, number: int) -> tuple[int, ...]:
    extents = [extent.strip() for extent in text.split(",")] if text.strip() else []
    if not all(re.fullmatch(r"[0-9]{1,18}", extent) for extent in extents):
        raise PlanError(f"line {number}: `[{text}]` is no shape; write whole numbers with commas, `[11008, 4096]`")
    return tuple(int(extent) for extent in extents)
