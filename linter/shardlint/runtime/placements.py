"""What a placement does to a parameter: which dim it divides, and whether uneven parts are allowed there.

Sources: the styles that Transformers 4.50 to 5.24 register (`ALL_PARALLEL_STYLES`, `ALL_FSDP_STYLES`), torch 2.13's
`torch.distributed.tensor.parallel.style`, and `ParallelPlan.apply` of VeOmni 0.1.12.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from difflib import get_close_matches

from shardlint.runtime.model_facts import ModelFacts, Parameter

SHARD = re.compile(r"_?(?:Strided)?Shard\((?:dim=)?(-?\d{1,3})\)")
_TORCH_STYLE = re.compile(r"(?:\w+\.)*\w*?(Colwise|Rowwise)Parallel(?:\((.*)\))?")


@dataclass(frozen=True)
class Division:
    """How a placement cuts a tensor.

    Args:
        dim: the dim that it divides, negative when counted from the end.
        parts: how many matrices lie packed along that dim; each is divided for itself.
        even: whether parts of different sizes are an error.
    """

    dim: int
    parts: int = 1
    even: bool = False

    def within(self, parameter: Parameter) -> bool:
        """Whether the tensor has that dim."""
        return -len(parameter.shape) <= self.dim < len(parameter.shape)


@dataclass(frozen=True)
class Style:
    """A style of Transformers. `matrix` and `vector` are the dims that it divides of a tensor with at least two dims
    and of one with a single dim; None for those that it leaves whole."""

    matrix: int | None = None
    vector: int | None = None
    parts: int = 1
    even: bool = False


_COLUMNS, _ROWS, _NONE = Style(-2, -1), Style(-1), Style()
STYLES: dict[str, Style] = {
    **dict.fromkeys(("colwise", "colwise_rep", "colwise_gather_output", "local_colwise"), _COLUMNS),
    **dict.fromkeys(("rowwise", "rowwise_rep", "rowwise_split_input", "local_rowwise"), _ROWS),
    "packed_colwise": Style(-2, -1, parts=2, even=True),
    "packed_rowwise": Style(-1, parts=2, even=True),
    "local_packed_rowwise": Style(-1, parts=2, even=True),
    "embedding_rowwise": Style(0),
    "embedding_colwise": Style(1, 1),
    "grouped_gemm": Style(0, 0, even=True),
    **dict.fromkeys(
        (
            "all_reduce",
            "ep_dispatch_experts",
            "ep_router",
            "free_full_weight",
            "gather",
            "isolated",
            "keep_full_weight",
            "local",
            "local_params",
            "mla_kv_a_proj",
            "moe_identity_expert",
            "moe_tp_experts",
            "replicate",
            "replicated_with_grad_allreduce",
            "sequence_parallel",
        ),
        _NONE,
    ),
}
"""Every style that a release of Transformers registers."""

_FSDP_STYLES = frozenset(("free_full_weight", "keep_full_weight"))
"""Those of another registry, for the axis of FSDP."""


def division(
    framework: str, placement: str, parameter: Parameter, embedding: bool, styles: Collection[str]
) -> Division | None:
    """How a placement cuts a parameter; None when it leaves it whole, or is not known.

    Args:
        framework: the name of the plan's matcher.
        embedding: whether the parameter is the table of an embedding, which torch's styles cut the other way.
        styles: those that the installed framework registers; empty when they are not known. Since Transformers
            registers `ep_dispatch_experts`, packed matrices may be cut into uneven parts.
    """
    shard = SHARD.fullmatch(placement)
    if shard is not None:
        return Division(int(shard[1]), even=framework == "veomni")
    if framework == "torch":
        return _torch_division(placement, parameter, embedding)
    style = STYLES.get(placement) if framework == "hf" else None
    if style is None:
        return None
    if len(parameter.shape) < 2:
        return None if style.vector is None else Division(style.vector, even=style.even and style.parts == 1)
    if style.matrix is None or (parameter.name.endswith(".bias") and style is _ROWS):
        return None
    even = style.even and not (style.parts > 1 and "ep_dispatch_experts" in styles)
    return Division(style.matrix, style.parts, even)


def _torch_division(placement: str, parameter: Parameter, embedding: bool) -> Division | None:
    found = _TORCH_STYLE.fullmatch(placement)
    if found is None:
        return None
    columns = found[1] == "Colwise"
    if embedding:
        return Division(1 if columns else 0)
    if not columns and parameter.name.rpartition(".")[2] == "bias":
        return None
    inside_a_block = any(part.isdecimal() for part in parameter.name.split("."))
    return Division(0 if columns else 1, even=inside_a_block and "layouts" not in (found[2] or ""))


def gathers(placement: str) -> bool:
    """Whether a column-wise style puts its output together again, so that what follows sees all of it."""
    return placement in {"colwise_gather_output", "colwise_rep"} or "output_layouts=Replicate" in placement


def known_styles(model: ModelFacts) -> frozenset[str]:
    """The styles that the installed Transformers registers; those of every release where that is not known."""
    return model.styles | _FSDP_STYLES if model.styles else frozenset(STYLES)


def close_style(written: str, known: Collection[str]) -> str | None:
    """The style nearest to an unknown one: written alike but for case and signs, as torch's class, or similar."""
    letters = re.sub(r"[^a-z]", "", re.sub(r"Parallel(?:\(.*\))?$", "", written).lower())
    same = [style for style in sorted(known) if style.replace("_", "") == letters]
    if same:
        return same[0]
    return next(iter(get_close_matches(written, sorted(known), n=1, cutoff=0.8)), None)
