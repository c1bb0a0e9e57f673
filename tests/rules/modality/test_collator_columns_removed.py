"""More cases of collator-columns-removed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shardlint.example import Example
from shardlint.finding import Finding

RULE = "collator-columns-removed"
COLLATE = """
from transformers import AutoModelForImageTextToText, Trainer, TrainingArguments

def collate(rows):
    return processor(text=[row["text"] for row in rows], images=[row["image"] for row in rows])

"""
CASES = {
    "no-arguments-at-all": f"""{COLLATE}
Trainer(AutoModelForImageTextToText.from_pretrained("m"), data_collator=collate)  # error
""",
    "said-out-loud": f"""{COLLATE}
model = AutoModelForImageTextToText.from_pretrained("m")
args = TrainingArguments("o", remove_unused_columns=True)
Trainer(model=model, args=args, data_collator=collate)  # error
""",
    "an-adapter-around-the-model": f"""{COLLATE}
from peft import get_peft_model
model = get_peft_model(AutoModelForImageTextToText.from_pretrained("m"), config)
Trainer(model, TrainingArguments("o"), data_collator=collate, train_dataset=data)  # error
""",
    "a-model-of-this-file": """
        import transformers
        from torch import nn

        class Reader(nn.Module):
            def forward(self, input_ids, pixels, labels=None):
                return self.head(input_ids)

        class Collate:
            def __call__(self, rows):
                pixels = [load(row["image_path"]) for row in rows]
                return {"pixels": pixels, "input_ids": [row["input_ids"] for row in rows]}

        class Loop:
            def run(self):
                self.collate = Collate()
                transformers.Trainer(Reader(), data_collator=self.collate)  # error
        """,
    "a-dataset-of-this-file": """
        import transformers as hf

        class Clips:
            def __getitem__(self, index):
                return {"sound": self.sounds[index], "labels": self.labels[index]}

        def collate(rows, rate):
            return {"input_values": [row["sound"] for row in rows], "labels": [row["labels"] for row in rows]}

        model = hf.Wav2Vec2ForCTC.from_pretrained("m")
        bound = __import__("functools").partial(collate, rate=16000)
        hf.Trainer(model, hf.TrainingArguments("o"), train_dataset=Clips(), data_collator=collate)  # error
        """,
    "a-name-that-forward-lacks": """
        from torch import nn
        from transformers import Trainer, TrainingArguments

        class Reader(nn.Module):
            def forward(self, input_ids, pixel_values):
                return self.head(input_ids)

        def collate(rows):
            batch = {"input_ids": [row["input_ids"] for row in rows]}
            batch["images"] = [row["pixel_values"] for row in rows]
            return batch

        Trainer(Reader(), TrainingArguments("o"), data_collator=collate)  # error
        """,
    "good-forward-takes-anything": """
        from torch import nn
        from transformers import Trainer, TrainingArguments

        class Reader(nn.Module):
            def forward(self, input_ids, pixel_values, **others):
                return self.head(input_ids)

        def collate(rows):
            return {"input_ids": [row["input_ids"] for row in rows], "images": [row["pixel_values"] for row in rows]}

        Trainer(Reader(), TrainingArguments("o"), data_collator=collate)
        """,
    "good-set-later": f"""{COLLATE}
args = TrainingArguments("o")
args.remove_unused_columns = False
Trainer(AutoModelForImageTextToText.from_pretrained("m"), args, data_collator=collate)
""",
    "good-arguments-of-a-parser": f"""{COLLATE}
from transformers import HfArgumentParser
(args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
Trainer(AutoModelForImageTextToText.from_pretrained("m"), args, data_collator=collate)
""",
    "good-arguments-that-are-not-seen": f"""{COLLATE}
Trainer(AutoModelForImageTextToText.from_pretrained("m"), TrainingArguments(**options), data_collator=collate)
Trainer(**given, data_collator=collate)
""",
    "good-a-model-that-is-not-known": f"""{COLLATE}
def main(model):
    Trainer(model, TrainingArguments("o"), data_collator=collate)
""",
    "good-a-trainer-that-chooses": f"""{COLLATE}
class Raw(Trainer):
    def _set_signature_columns_if_needed(self):
        self._signature_columns = ["text", "image"]

Raw(AutoModelForImageTextToText.from_pretrained("m"), TrainingArguments("o"), data_collator=collate)
""",
    "good-another-trainer": f"""{COLLATE}
from trl import SFTConfig, SFTTrainer
from lightning import Trainer as Light
SFTTrainer(AutoModelForImageTextToText.from_pretrained("m"), SFTConfig("o"), data_collator=collate)
Light(AutoModelForImageTextToText.from_pretrained("m"), data_collator=collate)
""",
    "good-samples-that-are-no-dicts": """
        import transformers as hf

        class Encoded:
            def __getitem__(self, index):
                return self.processor(self.texts[index], return_tensors="pt")

        def collate(rows):
            return {"input_ids": [row["input_ids"] for row in rows], "labels": [row["target"] for row in rows]}

        model = hf.BertForMaskedLM.from_pretrained("m")
        hf.Trainer(model, hf.TrainingArguments("o"), train_dataset=Encoded(), data_collator=collate)
        """,
    "good-columns-of-a-transform": f"""{COLLATE}
data = data.with_transform(add_text_and_image)
Trainer(AutoModelForImageTextToText.from_pretrained("m"), TrainingArguments("o"), data_collator=collate)
""",
    "good-a-column-that-it-can-do-without": """
        from transformers import LlamaForCausalLM, Trainer, TrainingArguments

        def collate(rows):
            weights = [row["weight"] for row in rows] if "weight" in rows[0] else None
            return weigh([row["input_ids"] for row in rows], [row.get("source") for row in rows], weights)

        Trainer(LlamaForCausalLM.from_pretrained("m"), TrainingArguments("o"), data_collator=collate)
        """,
    "good-labels-under-their-other-names": """
        from transformers import Trainer, TrainingArguments, ViTForImageClassification

        def collate(rows):
            return {"pixel_values": [row["pixel_values"] for row in rows], "labels": [row["label_ids"] for row in rows]}

        Trainer(ViTForImageClassification.from_pretrained("m"), TrainingArguments("o"), data_collator=collate)
        """,
    "good-other-label-names": f"""{COLLATE}
args = TrainingArguments("o", label_names=["text", "image"])
Trainer(AutoModelForImageTextToText.from_pretrained("m"), args, data_collator=collate)
""",
    "good-a-collator-of-the-library": """
        from transformers import DataCollatorForSeq2Seq, LlamaForCausalLM, Trainer, TrainingArguments

        collator = DataCollatorForSeq2Seq(tokenizer)
        Trainer(LlamaForCausalLM.from_pretrained("m"), TrainingArguments("o"), data_collator=collator)
        """,
}


@pytest.mark.parametrize("source", CASES.values(), ids=CASES.keys())
def test_marked_lines_are_reported(problems: Callable[[str, Example], list[str]], source: str) -> None:
    assert problems(RULE, Example(source)) == []


def test_the_message_says_which_side_lacks_the_name(findings: Callable[[str, Example], list[Finding]]) -> None:
    (removed,) = findings(RULE, Example(CASES["a-dataset-of-this-file"]))
    (added,) = findings(RULE, Example(CASES["a-name-that-forward-lacks"]))
    assert "reads `sound` of each sample" in removed.message
    assert "adds `images` to the batch" in added.message
