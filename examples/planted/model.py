"""The decoder and its two encoders."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

PAD, IMAGE, AUDIO = 0, 3, 4
IGNORE = -100


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.mlp = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        batch, length, width = hidden.shape
        qkv = self.qkv(self.norm(hidden)).view(batch, length, 3, self.heads, width // self.heads)
        query, key, value = qkv.permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        hidden = hidden + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return hidden + self.mlp(hidden)


class FigureTalker(nn.Module):
    def __init__(self, vocab: int, width: int, depth: int, heads: int, patch: int, mel: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(vocab, width, padding_idx=PAD)
        self.vision = nn.Linear(patch, width)
        self.audio = nn.Linear(mel, width)
        self.layers = nn.ModuleList(Block(width, heads) for _ in range(depth))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocab, bias=False)

    def forward(
        self,
        input_ids: torch.Tensor,
        labels: torch.Tensor,
        pixel_values: torch.Tensor,
        input_features: torch.Tensor | None = None,
    ) -> torch.Tensor:
        hidden = self.embed(input_ids)
        hidden = hidden.masked_scatter((input_ids == IMAGE).unsqueeze(-1), self.vision(pixel_values))
        if input_features is not None:
            hidden = hidden.masked_scatter((input_ids == AUDIO).unsqueeze(-1), self.audio(input_features))
        for layer in self.layers:
            hidden = layer(hidden)
        logits = self.head(self.norm(hidden))
        return F.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten(), ignore_index=IGNORE)
