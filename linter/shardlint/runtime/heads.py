"""Attention heads under a plan: a projection can be cut into whole heads only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from shardlint.runtime.model_facts import Parameter, Setting, parent_of

_QUERY = frozenset(("q_proj", "wq", "q_lin", "query", "to_q", "q_b_proj", "kv_b_proj"))
_KEY_VALUE = frozenset(("k_proj", "v_proj", "wk", "wv", "key", "value", "to_k", "to_v", "k_lin", "v_lin"))
_FUSED = frozenset(("qkv_proj", "query_key_value", "wqkv", "Wqkv", "c_attn", "qkv"))
_LATENT = frozenset(("q_b_proj", "kv_b_proj"))
_HEADS = ("num_attention_heads", "n_heads", "num_heads", "n_head")
_GROUPS = ("num_key_value_heads", "n_kv_heads", "num_kv_heads", "num_query_groups")


@dataclass(frozen=True)
class Heads:
    """How many heads lie along the output of a projection, by the field of the configuration that says so."""

    field: str
    count: int


def heads_of(parameter: Parameter, config: Mapping[str, Setting]) -> tuple[Heads, ...]:
    """The heads of which the output of a projection consists: of a fused one, all kinds.

    Empty where the parameter is no such projection, or where no part of the configuration explains its size.
    """
    role = parent_of(parameter.name).rpartition(".")[2]
    if role not in _QUERY | _KEY_VALUE | _FUSED or len(parameter.shape) != 2:
        return ()
    explained = [
        made for scope in _scopes(config) if (made := _explained(role, parameter.shape[0], scope, config)) is not None
    ]
    return explained[0] if len({tuple(heads.count for heads in made) for made in explained}) == 1 else ()


def _scopes(config: Mapping[str, Setting]) -> Iterator[str]:
    """The parts of a configuration, as prefixes of its fields."""
    yield from dict.fromkeys(name[: name.rfind(".") + 1] for name in config)


def _explained(role: str, extent: int, scope: str, config: Mapping[str, Setting]) -> tuple[Heads, ...] | None:
    query = _field(scope, _HEADS, config)
    if query is None:
        return None
    groups = _field(scope, _GROUPS, config) or query
    if role in _LATENT:
        return (query,) if extent % query.count == 0 else None
    size = _size(scope, query.count, config)
    if not size:
        return None
    if role in _QUERY:
        # A gate may lie beside each query.
        return (query,) if extent in (query.count * size, 2 * query.count * size) else None
    if role in _KEY_VALUE:
        return (groups,) if extent == groups.count * size else None
    return (query, groups) if extent == (query.count + 2 * groups.count) * size else None


def _field(scope: str, names: tuple[str, ...], config: Mapping[str, Setting]) -> Heads | None:
    for name in names:
        value = config.get(scope + name)
        if isinstance(value, int) and value > 0:
            return Heads(scope + name, value)
    return None


def _size(scope: str, heads: int, config: Mapping[str, Setting]) -> int | None:
    """The elements of one head."""
    given = config.get(scope + "head_dim")
    if isinstance(given, int) and given > 0:
        return given
    for name in ("hidden_size", "dim", "n_embd", "d_model", "embed_dim"):
        width = config.get(scope + name)
        if isinstance(width, int) and width > 0:
            return width // heads
    return None
