"""More cases of pad-is-eos-mask."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shardlint.example import Example
from shardlint.finding import Finding

BAD = {
    "torch-where-under-a-test-for-none": """
        import torch

        def main(tokenizer, texts):
            if tokenizer.pad_token is None:
                tokenizer.pad_token = tokenizer.eos_token

            def collate(rows):
                batch = tokenizer.pad(rows, return_tensors="pt")
                ids = batch["input_ids"]
                batch["labels"] = torch.where(ids == tokenizer.pad_token_id, -100, ids)  # error
                return batch

            return collate
        """,
    "comprehension": """
        def tokenize(tokenizer, rows):
            tokenizer.pad_token_id = tokenizer.eos_token_id
            ids = tokenizer(rows, padding="max_length")["input_ids"]
            return [[-100 if token == tokenizer.pad_token_id else token for token in row] for row in ids]  # error
        """,
    "comprehension-the-other-way-round": """
        def tokenize(tokenizer, rows):
            tokenizer.pad_token = tokenizer.unk_token
            tokenizer.pad_token = tokenizer.eos_token
            ids = tokenizer(rows, padding="max_length")["input_ids"]
            return [[(token if token != tokenizer.pad_token_id else -100) for token in row] for row in ids]  # error
        """,
    "special-tokens-and-a-named-index": """
        from transformers import AutoTokenizer

        IGNORE_INDEX = -100
        tok = AutoTokenizer.from_pretrained("gpt2")
        tok.add_special_tokens({"pad_token": tok.eos_token})

        def labels_of(ids):
            labels = ids.clone()
            labels[labels == tok.pad_token_id] = IGNORE_INDEX  # error
            return labels
        """,
    "an-index-that-is-only-called-ignore": """
        from constants import IGNORE
        from transformers import AutoTokenizer

        tok = AutoTokenizer.from_pretrained("gpt2")
        tok.pad_token = tok.eos_token

        def labels_of(ids):
            return ids.masked_fill(ids == tok.pad_token_id, IGNORE)  # error
        """,
    "a-loss-mask": """
        def loss_of(self, logps, labels, tokenizer):
            tokenizer.pad_token = tokenizer.eos_token
            loss_mask = (labels != tokenizer.pad_token_id).float()  # error
            return (logps * loss_mask).sum() / loss_mask.sum()
        """,
    "labels-through-an-attention-mask": """
        def collate(rows, tokenizer):
            tokenizer.pad_token = tokenizer.eos_token
            ids = tokenizer(rows).input_ids
            attention_mask = ids.ne(tokenizer.pad_token_id).long()  # error
            labels = ids.clone()
            labels[attention_mask == 0] = -100
            return {"input_ids": ids, "attention_mask": attention_mask, "labels": labels}
        """,
    "an-id-with-a-fallback": """
        def collate(rows, tok):
            pad_id = tok.pad_token_id if tok.pad_token_id is not None else tok.eos_token_id
            labels = rows.clone()
            return labels.masked_fill(labels == pad_id, -100)  # error
        """,
    "an-id-kept-in-another-method": """
        class Data:
            def __init__(self, tokenizer):
                tokenizer.pad_token = tokenizer.eos_token
                self.pad_token_id = tokenizer.pad_token_id

            def __getitem__(self, index):
                labels = self.rows[index].clone()
                labels[labels.eq(self.pad_token_id)] = -100  # error
                return labels
        """,
    "a-loop": """
        def mask(ids, tokenizer):
            tokenizer.pad_token = tokenizer.eos_token
            labels = []
            for token in ids:
                if token == tokenizer.pad_token_id:  # error
                    labels.append(-100)
                else:
                    labels.append(token)
            return labels
        """,
    "the-index-of-the-loss": """
        from torch import nn

        def train(model, tokenizer, loader):
            tokenizer.pad_token = tokenizer.eos_token
            criterion = nn.CrossEntropyLoss(ignore_index=tokenizer.pad_token_id)  # error
            return [criterion(model(x), y) for x, y in loader]
        """,
    "the-collator-of-transformers": """
        from transformers import AutoTokenizer, DataCollatorForLanguageModeling as Collator

        tokenizer = AutoTokenizer.from_pretrained("gpt2")
        tokenizer.pad_token = tokenizer.eos_token
        texts = [text + tokenizer.eos_token for text in ("a", "b")]
        collator = Collator(tokenizer=tokenizer, mlm=False)  # error
        """,
    "an-id-handed-to-a-function": """
        def mask(labels, pad_token_id):
            labels[labels == pad_token_id] = -100  # error
            return labels

        def main(tokenizer, ids):
            tokenizer.pad_token = tokenizer.eos_token
            return mask(ids.clone(), tokenizer.pad_token_id)
        """,
}
GOOD = {
    "by-the-attention-mask-of-the-tokenizer": """
        def prepare(tokenizer, texts):
            tokenizer.pad_token = tokenizer.eos_token
            batch = tokenizer(texts, padding=True)
            labels = batch["input_ids"].clone()
            labels[batch["attention_mask"] == 0] = -100
            return labels
        """,
    "a-second-condition": """
        def prepare(tokenizer, batch):
            tokenizer.pad_token = tokenizer.eos_token
            labels = batch["input_ids"].clone()
            labels[(labels == tokenizer.pad_token_id) & (batch["attention_mask"] == 0)] = -100
            keep = (labels != tokenizer.pad_token_id) | batch["is_end"]
            return labels.masked_fill(~keep, -100)
        """,
    "the-end-is-put-back": """
        def prepare(tokenizer, labels, last):
            tokenizer.pad_token = tokenizer.eos_token
            labels[labels == tokenizer.pad_token_id] = -100
            labels[range(len(labels)), last] = tokenizer.eos_token_id
            return labels
        """,
    "all-but-the-first-one": """
        def prepare(tokenizer, labels):
            tokenizer.pad_token = tokenizer.eos_token
            labels[(labels == tokenizer.pad_token_id).cumsum(-1) > 1] = -100
            return labels
        """,
    "a-pad-token-of-its-own": """
        def prepare(tokenizer, labels):
            tokenizer.add_special_tokens({"pad_token": "[PAD]"})
            labels[labels == tokenizer.pad_token_id] = -100
            return labels
        """,
    "one-of-several-pad-tokens": """
        def prepare(tokenizer, labels, kind):
            if kind == "eos":
                tokenizer.pad_token = tokenizer.eos_token
            else:
                tokenizer.pad_token = tokenizer.unk_token
            labels[labels == tokenizer.pad_token_id] = -100
            return labels
        """,
    "another-tokenizer": """
        def prepare(reader, writer, labels):
            reader.pad_token = reader.eos_token
            labels[labels == writer.pad_token_id] = -100
            return labels
        """,
    "attention-alone": """
        def collate(tokenizer, ids, labels):
            tokenizer.pad_token = tokenizer.eos_token
            return {"input_ids": ids, "labels": labels, "attention_mask": ids.ne(tokenizer.pad_token_id)}
        """,
    "generation": """
        def generate(model, tokenizer, prompts):
            tokenizer.pad_token = tokenizer.eos_token
            out = model.generate(prompts, pad_token_id=tokenizer.eos_token_id)
            mask = out != tokenizer.pad_token_id
            return [row[row != tokenizer.pad_token_id] for row in out], mask.sum(-1)
        """,
    "an-evaluation": """
        def evaluate_perplexity(model, tokenizer, ids):
            tokenizer.pad_token = tokenizer.eos_token
            labels = ids.clone()
            labels[labels == tokenizer.pad_token_id] = -100
            return model(ids, labels=labels).loss
        """,
    "part-of-the-labels": """
        def prepare(tokenizer, labels, end):
            tokenizer.pad_token = tokenizer.eos_token
            labels[:, end:][labels[:, end:] == tokenizer.pad_token_id] = -100
            return labels
        """,
    "counted": """
        def lengths(tokenizer, ids):
            tokenizer.pad_token = tokenizer.eos_token
            assert tokenizer.pad_token_id == tokenizer.eos_token_id
            return ids.ne(tokenizer.pad_token_id).sum(-1), (ids == tokenizer.pad_token_id).int().argmax(-1)
        """,
    "shown-again": """
        import numpy as np

        def shown(tokenizer, labels):
            tokenizer.pad_token = tokenizer.eos_token
            return tokenizer.batch_decode(np.where(labels != -100, labels, tokenizer.pad_token_id))
        """,
    "a-collator-for-masked-words-or-for-texts-without-an-end": """
        from transformers import AutoTokenizer, DataCollatorForLanguageModeling

        tokenizer = AutoTokenizer.from_pretrained("gpt2")
        tokenizer.pad_token = tokenizer.eos_token
        plain = DataCollatorForLanguageModeling(tokenizer, mlm=False)
        """,
    "a-collator-that-masks-words": """
        from transformers import AutoTokenizer, DataCollatorForLanguageModeling

        tokenizer = AutoTokenizer.from_pretrained("bert")
        tokenizer.pad_token = tokenizer.eos_token
        texts = [text + tokenizer.eos_token for text in ("a", "b")]
        masked = DataCollatorForLanguageModeling(tokenizer, mlm_probability=0.2)
        """,
    "padding-is-set-to-zero-in-the-ids": """
        def prepare(tokenizer, ids):
            tokenizer.pad_token = tokenizer.eos_token
            ids[ids == tokenizer.pad_token_id] = 0
            return ids
        """,
}
COLLATOR = """
    class Collator:
        def __init__(self, tokenizer):
            self.tokenizer = tokenizer

        def __call__(self, rows):
            batch = self.tokenizer.pad(rows)
            labels = batch["input_ids"].clone()
            labels[labels == self.tokenizer.pad_token_id] = -100{mark}
            return {{**batch, "labels": labels}}
    """
TRAIN = """
    from transformers import AutoTokenizer
    from data.collate import Collator

    tok = AutoTokenizer.from_pretrained("gpt2")
    tok.pad_token = tok.eos_token
    collator = Collator(
        tok,
    )
    """


@pytest.mark.parametrize("source", [*BAD.values(), *GOOD.values()], ids=[*BAD, *GOOD])
def test_marked_lines_are_reported(problems: Callable[[str, Example], list[str]], source: str) -> None:
    assert problems("pad-is-eos-mask", Example(source)) == []


@pytest.mark.parametrize(
    ("train", "mark"),
    [
        (TRAIN, "  # error"),
        (
            TRAIN.replace("from data.collate import Collator", "from data.collate import (\n        Collator,\n    )"),
            "  # error",
        ),
        (TRAIN.replace("data.collate", "other.thing"), ""),
        (TRAIN.replace("tok.eos_token", "tok.unk_token"), ""),
        (TRAIN.replace("        tok,", "        other,"), ""),
        (TRAIN + '    tok.pad_token = "<pad>"\n', ""),
        (TRAIN.replace("collator = Collator(", "collator = print("), ""),
    ],
)
def test_a_tokenizer_from_another_file(problems: Callable[[str, Example], list[str]], train: str, mark: str) -> None:
    files = {"data/__init__.py": "", "data/collate.py": COLLATOR.format(mark=mark), "train.py": train}
    assert problems("pad-is-eos-mask", Example(files)) == []


@pytest.mark.parametrize("stem", ["collate(1", "c++", "collate|train"])
def test_the_name_of_a_file_is_no_pattern(problems: Callable[[str, Example], list[str]], stem: str) -> None:
    files = {f"data/{stem}.py": COLLATOR.format(mark=""), "train.py": TRAIN}
    assert problems("pad-is-eos-mask", Example(files)) == []


def test_a_parenthesis_in_a_text_makes_no_call_endless(problems: Callable[[str, Example], list[str]]) -> None:
    train = "from data.collate import Collator\ncollator = Collator('(', other)\n" + "#" * 2000 + "\n"
    train += "tok.pad_token = tok.eos_token\nhand(tok)\n"
    files = {"data/__init__.py": "", "data/collate.py": COLLATOR.format(mark=""), "train.py": train}
    assert problems("pad-is-eos-mask", Example(files)) == []


def test_the_place_that_made_the_tokens_equal_is_named(findings: Callable[[str, Example], list[Finding]]) -> None:
    files = {"data/__init__.py": "", "data/collate.py": COLLATOR.format(mark=""), "train.py": TRAIN}
    (finding,) = findings("pad-is-eos-mask", Example(files))
    assert [(place.path, place.line) for place in finding.related] == [("train.py", 5)]
