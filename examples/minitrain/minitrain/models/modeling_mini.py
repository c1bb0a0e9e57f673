"""Mini, a decoder that reads text and images, for one device.

`mini_patch_gen_config.py` says what changes for many devices; `generated/patched_modeling_mini.py` is what is trained.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

IGNORE_INDEX = -100


@dataclass(frozen=True)
class MiniConfig:
    """Sizes of a model. Without experts the layers are dense; without `patch_dim` there is no vision tower."""

    vocab_size: int = 64
    width: int = 32
    depth: int = 2
    heads: int = 4
    mlp_width: int = 64
    experts: int = 0
    experts_per_token: int = 2
    patch_dim: int = 0
    image_token_id: int = 3


def rotate(heads: Tensor, position_ids: Tensor) -> Tensor:
    """Rotary embedding of `heads` [batch, length, heads, head_dim] at `position_ids` [batch, length]."""
    half = heads.shape[-1] // 2
    frequency = 10_000.0 ** (-torch.arange(half, device=heads.device) / half)
    angle = (position_ids[..., None] * frequency)[:, :, None]
    first, second = heads.float().chunk(2, dim=-1)
    turned = torch.cat((first * angle.cos() - second * angle.sin(), second * angle.cos() + first * angle.sin()), dim=-1)
    return turned.to(heads.dtype)


def attend(query: Tensor, key: Tensor, value: Tensor, position_ids: Tensor) -> Tensor:
    """Causal attention over [batch, length, heads, head_dim] that stays within a sample.

    A sample of a packed row begins where its position is 0.
    """
    sample = (position_ids == 0).cumsum(dim=-1)
    visible = (sample[:, :, None] == sample[:, None, :]).tril()[:, None]
    query, key = rotate(query, position_ids), rotate(key, position_ids)
    mixed = F.scaled_dot_product_attention(
        query.transpose(1, 2), key.transpose(1, 2), value.transpose(1, 2), attn_mask=visible
    )
    return mixed.transpose(1, 2)


class Attention(nn.Module):
    def __init__(self, config: MiniConfig) -> None:
        super().__init__()
        self.heads = config.heads
        self.qkv = nn.Linear(config.width, 3 * config.width, bias=False)
        self.out = nn.Linear(config.width, config.width, bias=False)

    def forward(self, hidden: Tensor, position_ids: Tensor) -> Tensor:
        query, key, value = self.qkv(hidden).unflatten(-1, (3, self.heads, -1)).unbind(2)
        return self.out(attend(query, key, value, position_ids).flatten(2))


class DenseMLP(nn.Module):
    def __init__(self, config: MiniConfig) -> None:
        super().__init__()
        self.gate = nn.Linear(config.width, config.mlp_width, bias=False)
        self.up = nn.Linear(config.width, config.mlp_width, bias=False)
        self.down = nn.Linear(config.mlp_width, config.width, bias=False)

    def forward(self, hidden: Tensor) -> Tensor:
        return self.down(F.silu(self.gate(hidden)) * self.up(hidden))


def run_experts(rows: Tensor, counts: Tensor, gate: Tensor, up: Tensor, down: Tensor) -> Tensor:
    """Each expert on its rows.

    Args:
        rows: [rows, width], ordered by expert.
        counts: [experts], how many of the rows belong to each.
        gate, up, down: the weights, with the experts in dim 0.
    """
    parts = zip(rows.split(counts.tolist()), gate, up, down, strict=True)
    return torch.cat([(F.silu(part @ g) * (part @ u)) @ d for part, g, u, d in parts])


class Experts(nn.Module):
    def __init__(self, config: MiniConfig) -> None:
        super().__init__()
        self.gate = nn.Parameter(torch.empty(config.experts, config.width, config.mlp_width))
        self.up = nn.Parameter(torch.empty(config.experts, config.width, config.mlp_width))
        self.down = nn.Parameter(torch.empty(config.experts, config.mlp_width, config.width))

    def forward(self, rows: Tensor, counts: Tensor) -> Tensor:
        return run_experts(rows, counts, self.gate, self.up, self.down)


class MoE(nn.Module):
    def __init__(self, config: MiniConfig) -> None:
        super().__init__()
        self.chosen = config.experts_per_token
        self.router = nn.Linear(config.width, config.experts, bias=False)
        self.experts = Experts(config)

    def forward(self, hidden: Tensor) -> Tensor:
        tokens = hidden.flatten(0, 1)
        weights, experts = self.router(tokens).softmax(dim=-1).topk(self.chosen)
        weights = (weights / weights.sum(dim=-1, keepdim=True)).flatten()
        by_expert = experts.flatten().argsort(stable=True)
        token = by_expert // self.chosen
        counts = experts.flatten().bincount(minlength=self.router.out_features)
        out = self.experts(tokens[token], counts) * weights[by_expert, None]
        return torch.zeros_like(tokens).index_add(0, token, out.to(tokens.dtype)).view_as(hidden)


class Layer(nn.Module):
    def __init__(self, config: MiniConfig) -> None:
        super().__init__()
        self.attention_norm = nn.RMSNorm(config.width)
        self.attention = Attention(config)
        self.mlp_norm = nn.RMSNorm(config.width)
        self.mlp = MoE(config) if config.experts else DenseMLP(config)

    def forward(self, hidden: Tensor, position_ids: Tensor) -> Tensor:
        hidden = hidden + self.attention(self.attention_norm(hidden), position_ids)
        return hidden + self.mlp(self.mlp_norm(hidden))


class Mini(nn.Module):
    def __init__(self, config: MiniConfig) -> None:
        super().__init__()
        self.config = config
        self.embed = nn.Embedding(config.vocab_size, config.width)
        self.vision = nn.Linear(config.patch_dim, config.width) if config.patch_dim else None
        self.layers = nn.ModuleList(Layer(config) for _ in range(config.depth))
        self.norm = nn.RMSNorm(config.width)
        self.head = nn.Linear(config.width, config.vocab_size, bias=False)

    def embed_inputs(self, input_ids: Tensor, pixel_values: Tensor | None) -> Tensor:
        """Token embeddings [batch, length, width], with image features in place of the placeholders.

        Raises:
            ValueError: when a batch has not one feature for each placeholder.
        """
        hidden = self.embed(input_ids)
        if self.vision is None or pixel_values is None:
            return hidden
        features = self.vision(pixel_values.to(self.vision.weight.dtype))
        is_image = input_ids == self.config.image_token_id
        if len(features) != is_image.sum():
            raise ValueError(f"{len(features)} image features for {is_image.sum()} placeholders")
        return hidden.masked_scatter(is_image[..., None], features)

    def forward(
        self, input_ids: Tensor, position_ids: Tensor, labels: Tensor, pixel_values: Tensor | None = None
    ) -> Tensor:
        """The loss, summed over all labels that are not `IGNORE_INDEX`. A label is the token that comes next."""
        hidden = self.embed_inputs(input_ids, pixel_values)
        for layer in self.layers:
            hidden = layer(hidden, position_ids)
        logits = self.head(self.norm(hidden)).float()
        return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=IGNORE_INDEX, reduction="sum")


def init_weights(model: nn.Module, seed: int) -> None:
    """Draw the weights of a whole model from a seed."""
    random = torch.Generator().manual_seed(seed)
    for parameter in model.parameters():
        if parameter.dim() > 1:
            nn.init.trunc_normal_(parameter, std=0.1, a=-0.3, b=0.3, generator=random)
        else:
            nn.init.ones_(parameter)
