"""More cases of collator-truncates-placeholders."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shardlint.example import Example
from shardlint.finding import Finding

RULE = "collator-truncates-placeholders"
CASES = {
    "names-and-a-processor": """
        class Pairs:
            def torch_call(self, rows):
                prompts = self.processor(images=[r["images"] for r in rows], text=[r["prompt"] for r in rows])
                answers = self.processor(text=[r["completion"] for r in rows])
                input_ids = torch.cat((prompts["input_ids"], answers["input_ids"]), dim=1)
                mask = torch.cat((prompts["attention_mask"], answers["attention_mask"]), dim=1)
                if self.max_length is not None:
                    input_ids = input_ids[:, : self.max_length]  # error
                    mask = mask[:, : self.max_length]
                labels = input_ids.clone()
                prompts["input_ids"], prompts["labels"] = input_ids, labels
                return prompts
        """,
    "the-end-is-kept": """
        def collate(rows, cfg):
            ids = [row["input_ids"][-cfg.max_seq_len :] for row in rows]
            input_ids = [row["input_ids"] for row in rows]
            input_ids = [each[-cfg.max_seq_len :] for each in input_ids]  # error
            return dict(input_ids=input_ids, input_features=[row["input_features"] for row in rows], ids=ids)
        """,
    "a-dict-in-one-go": """
        def collate(rows, tokenizer):
            ids, labels = stack(rows, "input_ids"), stack(rows, "labels")
            return {
                "input_ids": ids[:, : tokenizer.model_max_length],  # error
                "labels": labels[:, : tokenizer.model_max_length],
                "image_grid_thw": torch.cat([row["image_grid_thw"] for row in rows]),
            }
        """,
    "a-tuple-of-names": """
        def collate(rows, cutoff_len):
            input_ids, labels = padded(rows)
            input_ids, labels = input_ids[..., :cutoff_len], labels[..., :cutoff_len]  # error
            batch = {"input_ids": input_ids, "labels": labels}
            batch.update(pixel_values_videos=clips(rows))
            return batch
        """,
    "a-loop-over-token-keys": """
        TOKEN_KEYS = ("input_ids", "attention_mask", "labels")

        def collate(rows, max_length):
            batch = padded(rows)
            for key in TOKEN_KEYS:
                batch[key] = batch[key][:, :max_length]  # error
            batch["pixel_values"] = torch.stack([row["pixel_values"] for row in rows])
            return batch
        """,
    "a-denylist-of-one": """
        def collate(rows, processor, max_length):
            batch = processor(text=[row["text"] for row in rows], images=[row["image"] for row in rows])
            for key in list(batch.keys()):
                value = batch[key]
                if value.dim() > 1 and key != "pixel_values":
                    batch[key] = value[:, :max_length]  # error
            return batch
        """,
    "labels-keep-their-length": """
        def collate(rows, max_length):
            batch = padded(rows)
            batch["labels"] = batch["input_ids"].masked_fill(batch["input_ids"] == IMAGE_TOKEN, -100)
            batch["input_ids"] = batch["input_ids"][:, :max_length]  # error
            batch["pixel_values"] = torch.stack([row["pixel_values"] for row in rows])
            return batch
        """,
    "a-processor-with-a-written-placeholder": """
        from transformers import AutoProcessor

        reader = AutoProcessor.from_pretrained("some/model")

        def collate(rows):
            texts = [f"USER: <image>\\n{row['question']} ASSISTANT: {row['answer']}" for row in rows]
            return reader(
                texts,
                images=[row["image"] for row in rows],
                padding=True,
                truncation=True,  # error
                max_length=384,
            )
        """,
    "a-processor-of-the-object": """
        class Chat:
            def __call__(self, rows):
                texts = [self.processor.apply_chat_template(row["messages"], tokenize=False) for row in rows]
                sounds = [row["audio"] for row in rows]
                return self.processor(
                    text=texts,
                    audio=sounds,
                    truncation="longest_first",  # error
                    max_length=self.most,
                )
        """,
    "good-text-alone": """
        def collate(rows, max_length):
            batch = padded(rows)
            batch["input_ids"] = batch["input_ids"][:, :max_length]
            return batch

        def images(rows):
            return {"pixel_values": torch.stack([row["pixel_values"] for row in rows])}
        """,
    "good-long-samples-are-skipped": """
        def collate(rows, max_length):
            kept = []
            for row in rows:
                if len(row["input_ids"]) > max_length:
                    continue
                kept.append(row)
            batch = padded(kept)
            batch["input_ids"] = batch["input_ids"][:, :max_length]
            return {**batch, "pixel_values": torch.cat([row["pixel_values"] for row in kept])}
        """,
    "good-placeholders-are-taken-out-of-the-texts": """
        def prompt(text):
            return text.replace("<image>", "").strip()

        def collate(rows, max_length):
            batch = padded(rows)
            batch["input_ids"] = batch["input_ids"][:, :max_length]
            return {**batch, "pixel_values": torch.stack([row["pixel_values"] for row in rows])}
        """,
    "good-the-text-was-shortened-before": """
        def encode(self, texts, images, limit):
            texts = [f"{text}<|image_pad|>" for text in texts]
            if self.reader(text=texts, images=images)["input_ids"].shape[-1] > limit:
                texts = shortened(texts, limit)
            return self.reader(text=texts, images=images, truncation=True, max_length=limit)
        """,
    "good-the-file-knows-of-placeholders": """
        # Where an image placeholder that is cut, the model raises and the trainer says what to do.
        def collate(rows, max_length):
            batch = padded(rows)
            batch["input_ids"] = batch["input_ids"][:, :max_length]
            return {**batch, "pixel_values": torch.cat([row["pixel_values"] for row in rows])}
        """,
    "good-media-are-cut-too": """
        def collate(rows, tokenizer):
            input_ids, labels = padded(rows)
            input_ids = input_ids[:, : tokenizer.model_max_length]
            labels = labels[:, : tokenizer.model_max_length]
            images = [image for row in rows for image in row["pixel_values"]]
            images = images[: (input_ids == tokenizer.media_token_ids["image"]).sum()]
            return {"input_ids": input_ids, "labels": labels, "pixel_values": images}
        """,
    "good-the-length-of-the-batch": """
        def collate(rows):
            batch = padded(rows)
            max_length = max(len(row["input_ids"]) for row in rows)
            batch["input_ids"] = batch["input_ids"][:, :max_length]
            batch["pixel_values"] = torch.cat([row["pixel_values"] for row in rows])
            return batch
        """,
    "good-a-part-of-the-batch": """
        def halves(batch, start, end, num_examples):
            for key, value in batch.items():
                batch[key] = value[start:end]
            input_ids = batch["input_ids"][:num_examples]
            return {"input_ids": input_ids[:, :-1], "pixel_values": batch["pixel_values"][:num_examples]}
        """,
    "good-placeholders-are-put-in": """
        def encode(self, row, max_length):
            input_ids, at = row["input_ids"], row["at"]
            input_ids = input_ids[:at] + [self.unk] * 4 + input_ids[at:]
            return {"input_ids": input_ids, "pixel_values": row["pixel_values"]}
        """,
    "good-a-processor-without-placeholders": """
        def captions(rows):
            return clip_processor(
                text=[row["caption"] for row in rows],
                images=[row["image"] for row in rows],
                truncation=True,
                max_length=77,
            )
        """,
    "good-only-the-answer-is-cut": """
        def collate(rows):
            texts = ["<image>" + row["prefix"] for row in rows]
            return processor(
                text=texts, images=[row["image"] for row in rows], truncation="only_second", max_length=512
            )
        """,
    "good-no-truncation": """
        def collate(rows):
            texts = [processor.apply_chat_template(row["messages"]) for row in rows]
            return processor(text=texts, images=[row["image"] for row in rows], truncation=False, max_length=512)
        """,
    "good-texts-of-a-chat-alone": """
        def collate(rows):
            texts = [processor.apply_chat_template(row["messages"]) for row in rows]
            return processor(text=texts, images=None, truncation=True, max_length=512)
        """,
    "good-no-limit-is-given": """
        def collate(rows):
            texts = [processor.apply_chat_template(row["messages"]) for row in rows]
            return processor(text=texts, images=[row["image"] for row in rows], truncation=True)
        """,
    "good-every-tensor-of-a-text-batch": """
        def cut(batch, max_length):
            return {key: value[:, :max_length] for key, value in batch.items()}

        def media(batch):
            return batch["pixel_values"]
        """,
}


@pytest.mark.parametrize("source", CASES.values(), ids=CASES.keys())
def test_marked_lines_are_reported(problems: Callable[[str, Example], list[str]], source: str) -> None:
    assert problems(RULE, Example(source)) == []


def test_the_message_says_which_fault_it_is(findings: Callable[[str, Example], list[Finding]]) -> None:
    (short,) = findings(RULE, Example(CASES["labels-keep-their-length"]))
    (lost,) = findings(RULE, Example(CASES["a-dict-in-one-go"]))
    assert "more labels than logits" in short.message
    assert "placeholders" in lost.message
