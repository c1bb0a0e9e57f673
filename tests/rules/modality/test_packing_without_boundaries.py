"""More cases of packing-without-boundaries."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shardlint.example import Example

BAD = {
    "the-parameter-itself": """
        import torch

        def pack(samples):
            row = torch.cat(samples)
            pos = torch.arange(row.numel())  # error
            return row, pos
        """,
    "in-the-returned-dict": """
        import torch

        def collate(batch):
            ids = torch.cat([torch.tensor(item["input_ids"]) for item in batch]).unsqueeze(0)
            return {
                "input_ids": ids,
                "position_ids": torch.arange(ids.shape[1]).unsqueeze(0),  # error
            }
        """,
    "along-the-last-dim": """
        import torch as t

        class Collate:
            def __call__(self, features):
                tokens = t.cat([feature["tokens"] for feature in features], dim=-1)
                position_ids = t.arange(tokens.size(-1), device=tokens.device)[None]  # error
                return dict(tokens=tokens, position_ids=position_ids)
        """,
    "a-list-that-a-loop-fills": """
        import torch

        def join(examples):
            pieces = []
            for example in examples:
                pieces.append(example["input_ids"])
            row = torch.cat(pieces, dim=0)
            positions = torch.arange(len(row))  # error
            return row, positions
        """,
    "plain-lists": """
        import torch

        def join(examples):
            input_ids = []
            for example in examples:
                input_ids.extend(example["input_ids"])
            position_ids = list(range(len(input_ids)))  # error
            return {"input_ids": torch.tensor([input_ids]), "position_ids": torch.tensor([position_ids])}
        """,
    "plain-lists-added-up": """
        import numpy as np

        def join(rows):
            input_ids = []
            for number, row in enumerate(rows):
                input_ids += row["input_ids"]
            return {"input_ids": input_ids, "position_ids": np.arange(len(input_ids))}  # error
        """,
    "with-numpy": """
        import numpy as np

        def collate(features):
            ids = np.concatenate([np.asarray(feature["input_ids"]) for feature in features])
            out = {"input_ids": ids}
            out["position_ids"] = np.arange(ids.shape[0])  # error
            return out
        """,
    "all-ones-is-no-boundary": """
        import torch

        def collate(samples):
            row = torch.cat([sample["input_ids"] for sample in samples])
            attention_mask = torch.ones_like(row)
            position_ids = torch.arange(row.size(0))  # error
            return {"input_ids": row, "attention_mask": attention_mask, "position_ids": position_ids}
        """,
    "a-packing-without-position-ids": """
        import torch

        def pack_samples(samples):
            return {
                "input_ids": torch.cat([s["input_ids"] for s in samples])[None],  # error
                "labels": torch.cat([s["labels"] for s in samples])[None],
            }
        """,
    "a-packing-along-dim-one": """
        import torch

        def pack_batch(batch):
            input_ids = torch.cat([item.input_ids for item in batch], dim=1)  # error
            return {"input_ids": input_ids, "labels": input_ids.clone()}
        """,
}
GOOD = {
    "positions-of-each-sample": """
        import torch

        def collate(samples):
            row = torch.cat([sample["input_ids"] for sample in samples])
            position_ids = torch.cat([torch.arange(len(sample["input_ids"])) for sample in samples])
            return {"input_ids": row[None], "position_ids": position_ids[None]}
        """,
    "positions-in-a-loop": """
        def pack(samples):
            input_ids, position_ids = [], []
            for sample in samples:
                input_ids.extend(sample["input_ids"])
                position_ids.extend(range(len(sample["input_ids"])))
            return {"input_ids": input_ids, "position_ids": position_ids}
        """,
    "cumulative-sizes": """
        import torch

        def pack(samples):
            input_ids = torch.cat([sample["input_ids"] for sample in samples])[None]
            ends = torch.tensor([0, *(len(sample["input_ids"]) for sample in samples)]).cumsum(0)
            return {"input_ids": input_ids, "position_ids": torch.arange(input_ids.numel()), "cu_seqlens": ends}
        """,
    "sequence-index": """
        import torch

        def pack(samples):
            input_ids = torch.cat([sample["input_ids"] for sample in samples])[None]
            seq_idx = torch.cat([torch.full_like(s["input_ids"], i) for i, s in enumerate(samples)])[None]
            return {"input_ids": input_ids, "position_ids": torch.arange(input_ids.numel()), "seq_idx": seq_idx}
        """,
    "document-ids": """
        import torch

        def pack(samples):
            input_ids = torch.cat([sample["input_ids"] for sample in samples])[None]
            document_ids = torch.cat([torch.full_like(s["input_ids"], i) for i, s in enumerate(samples)])
            return {"input_ids": input_ids, "document_ids": document_ids}
        """,
    "block-mask": """
        import torch
        from torch.nn.attention.flex_attention import create_block_mask

        def pack(samples, same_document):
            row = torch.cat([sample["input_ids"] for sample in samples])
            pos = torch.arange(row.numel())
            return row, pos, create_block_mask(same_document, 1, 1, row.numel(), row.numel())
        """,
    "numbered-attention-mask": """
        import torch

        def packing_collate(samples):
            input_ids = torch.cat([sample["input_ids"] for sample in samples]).unsqueeze(0)
            attention_mask = torch.cat([torch.full_like(s["input_ids"], i + 1) for i, s in enumerate(samples)])
            return {"input_ids": input_ids, "attention_mask": attention_mask.unsqueeze(0)}
        """,
    "two-parts-of-one-sample": """
        import torch

        def encode(prompt, answer):
            row = torch.cat([prompt, answer])
            return {"input_ids": row, "position_ids": torch.arange(row.numel())}
        """,
    "along-the-batch": """
        import torch

        def collate(samples):
            ids = torch.cat([sample["input_ids"] for sample in samples], dim=0)
            position_ids = torch.arange(ids.shape[1]).expand(ids.shape[0], -1)
            last = torch.arange(ids.size(-1))
            return {"input_ids": ids, "position_ids": position_ids, "positions": last}
        """,
    "images": """
        import torch

        def pack(batch):
            pixel_values = torch.cat([item["pixel_values"] for item in batch]).unsqueeze(0)
            positions = torch.arange(pixel_values.shape[1])
            return {"pixel_values": pixel_values, "positions": positions}
        """,
    "one-text-cut-into-pieces": """
        def group_texts(examples, block_size):
            joined = {key: sum(examples[key], []) for key in examples}
            total = len(joined["input_ids"]) // block_size * block_size
            rows = {k: [v[i : i + block_size] for i in range(0, total, block_size)] for k, v in joined.items()}
            rows["labels"] = rows["input_ids"].copy()
            return rows
        """,
    "joined-without-being-a-packing": """
        import torch

        def flat(samples):
            return {"input_ids": torch.cat([sample["input_ids"] for sample in samples])[None]}
        """,
    "a-count-of-something-else": """
        import torch

        def collate(samples):
            row = torch.cat([sample["input_ids"] for sample in samples])
            order = torch.arange(row.numel())
            position_ids = torch.arange(samples[0]["input_ids"].numel())
            return row[order], position_ids
        """,
    "unpacking": """
        import torch

        def unpack(samples):
            input_ids = torch.cat([sample["input_ids"] for sample in samples]).unsqueeze(0)
            return {"input_ids": input_ids}
        """,
}


@pytest.mark.parametrize("source", [*BAD.values(), *GOOD.values()], ids=[*BAD, *GOOD])
def test_marked_lines_are_reported(problems: Callable[[str, Example], list[str]], source: str) -> None:
    assert problems("packing-without-boundaries", Example(source)) == []
