"""More cases of collator-modality-mismatch, most of them over several files."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shardlint.example import Example

from ...conftest import Project

Files = dict[str, str]

SETS = """
    from torch.utils.data import Dataset

    class Figures(Dataset):
        def __init__(self, rows):
            self.rows = rows

        def __getitem__(self, index):
            row = self.rows[index]
            return {"input_ids": row.ids, "labels": row.labels, "pixel_values": row.image}

    class Notes(Dataset):
        def __getitem__(self, index):
            return {"input_ids": self.ids[index], "labels": self.labels[index]}

    class Speech(Dataset):
        def __getitem__(self, index):
            return {"input_features": self.sounds[index], "labels": self.labels[index]}
    """
COLLATORS = """
    import torch

    def text(batch):
        ids = [sample["input_ids"] for sample in batch]
        return {"input_ids": torch.stack(ids), "labels": torch.stack([sample["labels"] for sample in batch])}

    def figures(batch):
        images = torch.stack([sample["pixel_values"] for sample in batch])
        return {"input_ids": torch.stack([sample["input_ids"] for sample in batch]), "pixel_values": images}

    class TextCollator:
        def __init__(self, pad):
            self.pad = pad

        def __call__(self, samples):
            return {"input_ids": [s["input_ids"] for s in samples], "labels": [s["labels"] for s in samples]}

    class Everything:
        def __call__(self, samples):
            return {key: [sample[key] for sample in samples] for key in samples[0]}
    """
ASKS = """
    from dataclasses import dataclass
    from typing import Any

    def ask(samples, processor, limit=0):
        batch = processor(text=[s["text"] for s in samples], images=[s["image"] for s in samples], padding=True)
        return batch

    @dataclass
    class Asking:
        processor: Any
        limit: int = 0

        def __call__(self, samples):
            words = [self.processor.apply_chat_template(s["messages"]) for s in samples]
            return self.processor(text=words, images=[s["image"] for s in samples])
    """

LOADED = """
    import torchaudio
    from PIL import Image
    from torch.utils.data import Dataset

    class Pictures(Dataset):
        def __init__(self, folder):
            self.rows = read(folder)

        def __getitem__(self, index):
            try:
                row = self._row(index)
                return row
            except OSError:
                return self.__getitem__(0)

        def _row(self, index):
            kept = tokenize(self.rows[index])
            if "file" in self.rows[index]:
                images = [Image.open(path).convert("RGB") for path in self.rows[index]["file"]]
                images = [self.transform(image) for image in images]
            kept = dict(input_ids=kept["input_ids"], labels=kept["labels"])
            if "file" in self.rows[index]:
                kept["pic"] = images
            elif self.args.multimodal:
                kept["pic"] = zeros(3, 224, 224)
            return kept

    class Recordings(Dataset):
        def __getitem__(self, index):
            wave, rate = torchaudio.load(self.files[index])
            return {"audio": wave, "image_id": self.names[index], "audio_latents": self.encode(wave), "rate": rate}

    class Clips(Dataset):
        def __init__(self, processor):
            self.still = make_random_image(processor)

        def __getitem__(self, index):
            key = None
            if "video" in self.rows[index]:
                key = "pixel_values_videos"
            sample = {"prompt": self.rows[index]["prompt"]}
            if key:
                sample[key] = self.processor(self.rows[index]["video"])
            sample["image"] = self.still
            return sample
    """

BAD: dict[str, Files] = {
    "branches-of-which-one-is-wrong": {
        "sets.py": SETS,
        "collators.py": COLLATORS,
        "train.py": """
            from torch.utils.data import DataLoader
            import collators, sets

            def main(cfg):
                if cfg.vision:
                    data, collate = sets.Figures(cfg.rows), collators.TextCollator(0)
                elif cfg.speech:
                    data, collate = sets.Speech(), collators.Everything()
                else:
                    data, collate = sets.Notes(), collators.text
                return DataLoader(data, collate_fn=collate)  # error
            """,
    },
    "media-that-some-samples-have": {
        "collators.py": COLLATORS,
        "train.py": """
            from torch.utils.data import DataLoader
            from collators import text

            class Mixed:
                def __getitem__(self, index):
                    sample = {"input_ids": self.ids[index], "labels": self.labels[index]}
                    if self.images[index] is not None:
                        sample["pixel_values"] = self.images[index]
                    return sample

            DataLoader(Mixed(), collate_fn=text)  # error
            """,
    },
    "images-of-a-dataset-under-a-name-of-its-own": {
        "loaded.py": LOADED,
        "modules.py": """
            from transformers import DataCollatorWithFlattening
            from loaded import Pictures

            def data_module(folder):
                if packed:
                    return dict(train_dataset=Pictures(folder), data_collator=DataCollatorWithFlattening())
                collator = DataCollatorWithFlattening(return_position_ids=True)
                return dict(train_dataset=Pictures(folder), data_collator=collator)
            """,
        "train.py": """
            from transformers import Trainer
            from modules import data_module

            module = data_module(args.folder)
            Trainer(model=model, args=args, **module)  # error
            """,
    },
    "sound-that-is-dropped-and-videos-under-a-key-with-a-name": {
        "loaded.py": LOADED,
        "collators.py": """
            def stills(examples):
                ids, images, prompts = [], [], []
                for number, example in enumerate(examples):
                    keys = example.keys()
                    prompts.append(example["prompt"] if "prompt" in keys else number)
                return {"prompt": prompts, "many": len(examples)}

            def names(_rows):
                ids = [_["image_id"] for _ in _rows]
                ids = [pad(_) + _ for _ in ids]
                return {"names": ids, "rate": [_["rate"] for _ in _rows]}
            """,
        "train.py": """
            from torch.utils.data import DataLoader
            from collators import names, stills
            from loaded import Clips, Recordings

            DataLoader(Recordings(), collate_fn=names)  # error
            DataLoader(Clips(processor), collate_fn=stills)  # error
            """,
    },
    "images-that-a-transform-loads": {
        "train.py": """
            from datasets import load_dataset
            from PIL import Image
            from torch.utils.data import DataLoader

            def load(rows):
                photos = []
                for path in rows["path"]:
                    photos.append(Image.open(path))
                rows["photos"] = photos
                rows["words"] = tokenize(rows["caption"])
                return rows

            def collate(rows):
                return {"words": [row["words"] for row in rows]}

            DataLoader(load_dataset("m")["train"].with_transform(load), collate_fn=collate)  # error
            """,
    },
    "one-of-several-callers-hands-over-a-tokenizer": {
        "asks.py": ASKS,
        "loop.py": """
            from torch.utils.data import DataLoader

            def run(rows, collect):
                return DataLoader(rows, collate_fn=collect)  # error
            """,
        "first.py": """
            from functools import partial
            from transformers import AutoProcessor
            from asks import ask
            from loop import run

            run(rows, collect=partial(ask, processor=AutoProcessor.from_pretrained("m")))
            """,
        "second.py": """
            from functools import partial
            from transformers import AutoTokenizer
            from asks import ask
            from loop import run

            def load(name):
                return AutoTokenizer.from_pretrained(name), None

            processor, model = load("m")
            run(rows, collect=partial(ask, processor=processor))
            """,
    },
    "a-collator-of-text-for-a-model-of-images": {
        "collators.py": COLLATORS,
        "train.py": """
            from transformers import Trainer, ViTForImageClassification
            import collators

            model = ViTForImageClassification.from_pretrained("m")
            Trainer(model=model, args=args, train_dataset=rows, data_collator=collators.TextCollator(0))  # error
            """,
    },
    "sound-for-a-model-of-text": {
        "collators.py": """
            class Padding:
                def __call__(self, features):
                    sounds = [{"input_values": feature["input_values"]} for feature in features]
                    batch = self.processor.pad(sounds, return_tensors="pt")
                    batch["labels"] = [feature["labels"] for feature in features]
                    return batch
            """,
        "train.py": """
            from transformers import BertForSequenceClassification, Trainer
            from collators import Padding

            Trainer(BertForSequenceClassification.from_pretrained("m"), args, data_collator=Padding())  # error
            """,
    },
    "images-that-the-samples-lack": {
        "sets.py": SETS,
        "train.py": """
            from torch.utils.data import DataLoader
            from trl.trainer.sft_trainer import DataCollatorForVisionLanguageModeling
            from sets import Notes

            def collate(rows):
                return [row["input_ids"] for row in rows], [row["image_tensor"] for row in rows]

            DataLoader(Notes(), collate_fn=collate)  # error
            DataLoader(Notes(), collate_fn=DataCollatorForVisionLanguageModeling(processor))  # error
            """,
    },
    "a-tokenizer-that-only-its-name-tells": {
        "loaded.py": LOADED,
        "train.py": """
            from torch.utils.data import DataLoader
            from transformers import DataCollatorForSeq2Seq
            from loaded import Recordings

            def main(cfg):
                model, tokenizer = cfg.load()
                DataLoader(Recordings(), collate_fn=DataCollatorForSeq2Seq(tokenizer))  # error
            """,
    },
    "packages-without-init-that-run-from-their-folder": {
        "tool/zoo/data/__init__.py": "",
        "tool/zoo/data/sets.py": SETS,
        "tool/zoo/collators.py": COLLATORS,
        "tool/zoo/train/run.py": """
            from torch.utils.data import DataLoader
            from zoo.collators import text
            from zoo.data.sets import Figures

            DataLoader(Figures(rows), collate_fn=text)  # error
            """,
    },
    "a-dict-of-arguments-from-another-file": {
        "pkg/__init__.py": "",
        "pkg/sets.py": SETS,
        "pkg/collators.py": COLLATORS,
        "pkg/data.py": """
            from .collators import TextCollator
            from .sets import Figures

            def make_data(tokenizer, rows):
                train = Figures(rows)
                return dict(train_dataset=train, eval_dataset=None, data_collator=TextCollator(tokenizer.pad_token_id))
            """,
        "pkg/train.py": """
            from transformers import Trainer
            from pkg.data import make_data

            class FigureTrainer(Trainer):
                pass

            def main(model, tokenizer, args, rows):
                module = make_data(tokenizer, rows)
                FigureTrainer(model=model, args=args, **module).train()  # error
            """,
    },
    "a-factory-whose-answers-are-all-for-text": {
        "sets.py": SETS,
        "collators.py": COLLATORS,
        "train.py": """
            from torch.utils.data import DataLoader
            import collators, sets

            def build(packed, pad):
                if packed:
                    return collators.text
                return collators.TextCollator(pad)

            def loader(cfg):
                return DataLoader(sets.Figures(cfg.rows), 8, collate_fn=build(cfg.packed, cfg.pad))  # error
            """,
    },
    "a-table-of-collators": {
        "sets.py": SETS,
        "collators.py": COLLATORS,
        "table.py": """
            from collators import figures, text

            BY_TASK = {"sft": text, "vlm": figures}
            """,
        "train.py": """
            from torch.utils.data import DataLoader
            from sets import Figures
            from table import BY_TASK

            loader = DataLoader(Figures(rows), collate_fn=BY_TASK["sft"])  # error
            """,
    },
    "a-registry-of-datasets-and-its-builder": {
        "zoo/__init__.py": "from .registry import DATASETS, build_dataset\n",
        "zoo/registry.py": """
            DATASETS = Registry("datasets")

            def build_dataset(name, **options):
                return DATASETS.get(name)(**options)
            """,
        "zoo/figures.py": """
            from .registry import DATASETS

            @DATASETS.register("figures")
            class Figures:
                def __getitem__(self, index):
                    return {"input_ids": self.ids[index], "pixel_values": self.images[index]}
            """,
        "train.py": """
            from torchdata.stateful_dataloader import StatefulDataLoader
            from zoo import build_dataset

            def text(batch):
                return {"input_ids": [sample["input_ids"] for sample in batch]}

            def main(cfg):
                return StatefulDataLoader(build_dataset("figures", rows=cfg.rows), collate_fn=text)  # error
            """,
    },
    "attributes-of-a-base-class-in-another-file": {
        "sets.py": SETS,
        "collators.py": COLLATORS,
        "base.py": """
            from collators import TextCollator

            class BaseData:
                def __init__(self, pad):
                    self.collator = TextCollator(pad)
            """,
        "figures.py": """
            import lightning as L
            from torch.utils.data import DataLoader
            from base import BaseData
            from sets import Figures

            class FigureData(BaseData, L.LightningDataModule):
                def setup(self, stage):
                    self.train = Figures(self.rows)

                def train_dataloader(self):
                    return DataLoader(self.train, batch_size=4, collate_fn=self.collator)  # error
            """,
    },
    "parameters-given-by-position-in-another-file": {
        "sets.py": SETS,
        "collators.py": COLLATORS,
        "loop.py": """
            from torch.utils.data import DataLoader

            def run(dataset, collate, steps=10):
                for batch in DataLoader(dataset, collate_fn=collate):  # error
                    step(batch)
            """,
        "train.py": """
            from collators import text
            from loop import run
            from sets import Figures

            run(Figures(rows), text, steps=3)
            """,
    },
    "parameters-given-by-the-same-keywords": {
        "sets.py": SETS,
        "collators.py": COLLATORS,
        "loop.py": """
            from torch.utils.data import DataLoader

            def run(train_dataset, data_collator):
                return DataLoader(train_dataset, collate_fn=data_collator)
            """,
        "train.py": """
            from collators import text
            from loop import run
            from sets import Figures

            run(train_dataset=Figures(rows), data_collator=text)  # error
            """,
    },
    "one-of-two-results": {
        "sets.py": SETS,
        "collators.py": COLLATORS,
        "train.py": """
            from torch.utils.data import DataLoader
            from collators import TextCollator
            from sets import Figures

            def build(cfg):
                train = Figures(cfg.rows)
                return train, TextCollator(cfg.pad)

            def main(cfg):
                data, collate = build(cfg)
                return DataLoader(dataset=data, collate_fn=collate)  # error
            """,
    },
    "a-text-dataset-under-a-collator-for-images": {
        "pkg/__init__.py": "",
        "pkg/sets.py": SETS,
        "pkg/collators.py": COLLATORS,
        "run.py": """
            import torch.utils.data as tud
            from pkg import collators as c
            from pkg.sets import Notes as Text

            tud.DataLoader(Text(), collate_fn=c.figures)  # error
            """,
    },
    "sound-under-a-collator-that-pads-tokens": {
        "sets.py": SETS,
        "train.py": """
            from transformers import AutoTokenizer, DataCollatorForSeq2Seq, Seq2SeqTrainer
            from sets import Speech

            tok = AutoTokenizer.from_pretrained("m")
            collator = DataCollatorForSeq2Seq(tok, model=model)
            Seq2SeqTrainer(model, args, train_dataset=Speech(), data_collator=collator)  # error
            """,
    },
    "a-tokenizer-for-a-partial-collator-that-hands-over-images": {
        "asks.py": ASKS,
        "train.py": """
            from functools import partial
            from torch.utils.data import DataLoader
            from transformers import AutoTokenizer
            from asks import ask

            tokenizer = AutoTokenizer.from_pretrained("m")
            DataLoader(rows, collate_fn=partial(ask, processor=tokenizer))  # error
            """,
    },
    "a-tokenizer-for-a-dataclass-that-hands-over-images": {
        "asks.py": ASKS,
        "train.py": """
            from transformers import AutoProcessor, Trainer
            from asks import Asking

            def main(args, model, rows):
                processor = AutoProcessor.from_pretrained("m")
                collator = Asking(processor.tokenizer)
                Trainer(model=model, args=args, train_dataset=rows, data_collator=collator)  # error
            """,
    },
    "a-tokenizer-in-a-lambda": {
        "asks.py": ASKS,
        "train.py": """
            from torch.utils.data import DataLoader
            from transformers import LlamaTokenizerFast
            from asks import ask

            tok = LlamaTokenizerFast.from_pretrained("m")
            DataLoader(rows, collate_fn=lambda batch: ask(batch, tok))  # error
            """,
    },
    "a-tokenizer-for-the-collator-of-a-library": {
        "parts.py": """
            from transformers import AutoTokenizer

            def load(name):
                return AutoTokenizer.from_pretrained(name)
            """,
        "train.py": """
            from trl import SFTTrainer
            from trl.trainer.sft_trainer import DataCollatorForVisionLanguageModeling as Collator
            from parts import load

            tokenizer = load("m")
            SFTTrainer(model, train_dataset=rows, data_collator=Collator(tokenizer))  # error
            """,
    },
    "image-grids-that-the-model-needs-are-left-out": {
        "train.py": """
            import torch
            from transformers import Qwen2VLForConditionalGeneration, Trainer

            def collate(batch):
                out = {"input_ids": torch.stack([s["input_ids"] for s in batch])}
                out["pixel_values"] = torch.cat([s["pixel_values"] for s in batch])
                return out

            model = Qwen2VLForConditionalGeneration.from_pretrained("m")
            Trainer(model=model, train_dataset=rows, data_collator=collate)  # error
            """,
    },
    "images-for-a-model-of-text": {
        "collators.py": COLLATORS,
        "train.py": """
            from transformers import MistralForCausalLM, Trainer
            import collators

            model = MistralForCausalLM.from_pretrained("m")
            Trainer(model, args, train_dataset=rows, data_collator=collators.figures)  # error
            """,
    },
    "a-builder-of-torchtune": {
        "train.py": """
            from functools import partial
            from torch.utils.data import DataLoader
            from torchtune.data import padded_collate_sft
            from torchtune.datasets.multimodal import llava_instruct_dataset

            ds = llava_instruct_dataset(model_transform=transform)
            DataLoader(ds, batch_size=2, collate_fn=partial(padded_collate_sft, padding_idx=0))  # error
            """,
    },
    "a-class-that-only-renames-a-collator": {
        "sets.py": SETS,
        "own.py": """
            from transformers import DataCollatorWithFlattening

            class Packing(DataCollatorWithFlattening):
                pass
            """,
        "train.py": """
            from transformers import Trainer
            from own import Packing
            from sets import Figures

            Trainer(model, args, data_collator=Packing(), train_dataset=Figures(rows))  # error
            """,
    },
    "columns-that-a-function-adds": {
        "collators.py": COLLATORS,
        "columns.py": """
            from datasets import load_dataset
            from transformers import AutoImageProcessor

            images = AutoImageProcessor.from_pretrained("m")

            def add_images(rows):
                rows["pixel_values"] = images(rows["image"])["pixel_values"]
                return rows

            def load(name):
                return load_dataset(name).map(add_images, batched=True)["train"].shuffle(seed=0)
            """,
        "train.py": """
            from torch.utils.data import DataLoader
            from collators import text
            from columns import load

            train = load("m")
            DataLoader(train.select(range(9)), collate_fn=text)  # error
            """,
    },
    "keys-that-a-loop-takes": {
        "train.py": """
            from dataclasses import dataclass
            import transformers
            from torch.utils.data import Dataset

            class Sound(Dataset):
                def __getitem__(self, index):
                    return dict(input_ids=self.ids[index], labels=self.labels[index], input_values=self.sounds[index])

            @dataclass
            class Collator:
                tokenizer: transformers.PreTrainedTokenizer

                def __call__(self, instances):
                    ids, labels = tuple([instance[key] for instance in instances] for key in ("input_ids", "labels"))
                    return dict(input_ids=ids, labels=labels)

            def module(tokenizer):
                data = Sound(tokenizer)
                return {"train_dataset": data, "eval_dataset": None, "data_collator": Collator(tokenizer=tokenizer)}

            def main(model, tokenizer, args):
                transformers.Trainer(model=model, tokenizer=tokenizer, args=args, **module(tokenizer))  # error
            """,
    },
}

GOOD: dict[str, Files] = {
    "branches-that-choose-apart": {
        "sets.py": SETS,
        "collators.py": COLLATORS,
        "train.py": """
            from torch.utils.data import DataLoader
            import collators, sets

            def main(cfg):
                if cfg.vision:
                    data = sets.Figures(cfg.rows)
                else:
                    data = sets.Notes()
                if cfg.images:
                    collate = collators.figures
                else:
                    collate = collators.text
                return DataLoader(data, collate_fn=collate)
            """,
    },
    "branches-that-belong-together": {
        "sets.py": SETS,
        "collators.py": COLLATORS,
        "train.py": """
            from torch.utils.data import DataLoader
            import collators, sets

            def main(cfg):
                if cfg.vision:
                    data, collate = sets.Figures(cfg.rows), collators.figures
                else:
                    data, collate = sets.Notes(), collators.text
                return DataLoader(data, collate_fn=collate)
            """,
    },
    "a-collator-for-every-key": {
        "sets.py": SETS,
        "collators.py": COLLATORS,
        "train.py": """
            from torch.utils.data import DataLoader
            from collators import Everything
            from sets import Figures

            DataLoader(Figures(rows), collate_fn=Everything())
            """,
    },
    "a-method-that-a-subclass-replaces": {
        "sets.py": SETS,
        "collators.py": COLLATORS,
        "base.py": """
            from torch.utils.data import DataLoader
            from collators import TextCollator
            from sets import Figures

            class Base:
                def collator(self):
                    return TextCollator(0)

                def loader(self):
                    return DataLoader(Figures(self.rows), collate_fn=self.collator())
            """,
        "vision.py": """
            from base import Base
            from collators import figures

            class Vision(Base):
                def collator(self):
                    return figures
            """,
    },
    "a-parameter-with-a-caller-that-is-not-known": {
        "sets.py": SETS,
        "collators.py": COLLATORS,
        "loop.py": """
            from torch.utils.data import DataLoader

            def run(dataset, collate):
                return DataLoader(dataset, collate_fn=collate)
            """,
        "train.py": """
            from collators import figures, text
            from loop import run
            from sets import Figures, Notes

            run(Figures(rows), figures)
            run(Notes(), text)
            """,
    },
    "a-function-that-is-handed-on-as-a-value": {
        "sets.py": SETS,
        "collators.py": COLLATORS,
        "train.py": """
            from torch.utils.data import DataLoader
            from collators import text
            from sets import Figures

            def run(collate):
                return DataLoader(Figures(rows), collate_fn=collate)

            run(text) if debug else start(run)
            """,
    },
    "a-decorated-factory": {
        "sets.py": SETS,
        "collators.py": COLLATORS,
        "train.py": """
            from torch.utils.data import DataLoader
            from collators import text
            from sets import Figures

            @with_media
            def build():
                return text

            DataLoader(Figures(rows), collate_fn=build())
            """,
    },
    "a-processor-where-one-is-needed": {
        "asks.py": ASKS,
        "train.py": """
            from functools import partial
            from torch.utils.data import DataLoader
            from transformers import AutoProcessor, AutoTokenizer
            from asks import Asking, ask

            processor = AutoProcessor.from_pretrained("m")
            tokenizer = AutoTokenizer.from_pretrained("m")
            DataLoader(rows, collate_fn=partial(ask, processor=processor))
            DataLoader(rows, collate_fn=Asking(processor))
            DataLoader(rows, collate_fn=lambda batch: ask(batch, processor, limit=tokenizer.model_max_length))
            """,
    },
    "no-images-are-handed-over": {
        "train.py": """
            from torch.utils.data import DataLoader
            from transformers import AutoTokenizer

            tokenizer = AutoTokenizer.from_pretrained("m")

            def collate(batch):
                return tokenizer(text=[s["text"] for s in batch], images=None, padding=True)

            DataLoader(rows, collate_fn=collate)
            """,
    },
    "a-feature-extractor-that-pads-sound": {
        "sets.py": SETS,
        "train.py": """
            from transformers import AutoFeatureExtractor, DataCollatorWithPadding, Trainer
            from sets import Speech

            extractor = AutoFeatureExtractor.from_pretrained("m")
            Trainer(model, args, train_dataset=Speech(), data_collator=DataCollatorWithPadding(extractor))
            """,
    },
    "image-grids-are-kept": {
        "train.py": """
            import torch
            from transformers import Qwen2VLForConditionalGeneration, Trainer

            def collate(batch):
                out = {"input_ids": torch.stack([s["input_ids"] for s in batch])}
                out["pixel_values"] = torch.cat([s["pixel_values"] for s in batch])
                out["image_grid_thw"] = torch.cat([s["image_grid_thw"] for s in batch])
                return out

            model = Qwen2VLForConditionalGeneration.from_pretrained("m")
            Trainer(model=model, train_dataset=rows, data_collator=collate)
            """,
    },
    "a-model-of-the-project-with-that-name": {
        "collators.py": COLLATORS,
        "train.py": """
            from transformers import MistralForCausalLM as Base, Trainer
            import collators

            class MistralForCausalLM(Base):
                def forward(self, input_ids, pixel_values=None):
                    return super().forward(input_ids)

            Trainer(MistralForCausalLM.from_pretrained("m"), args, data_collator=collators.figures)
            """,
    },
    "a-name-that-two-files-have": {
        "a/sets.py": SETS,
        "b/sets.py": SETS,
        "collators.py": COLLATORS,
        "train.py": """
            from torch.utils.data import DataLoader
            from collators import text
            from sets import Figures

            DataLoader(Figures(rows), collate_fn=text)
            """,
    },
    "a-key-that-configuration-chooses": {
        "sets.py": SETS,
        "collators.py": COLLATORS,
        "train.py": """
            from torch.utils.data import DataLoader
            from collators import figures, text
            from sets import Figures

            BY_TASK = {"sft": text, "vlm": figures}
            DataLoader(Figures(rows), collate_fn=BY_TASK[cfg.task])
            DataLoader(Figures(rows), collate_fn=BY_TASK.get("vlm"))
            """,
    },
    "a-collator-that-calls-the-one-above-it": {
        "sets.py": SETS,
        "train.py": """
            from transformers import DataCollatorWithFlattening, Trainer
            from sets import Figures

            class Packing(DataCollatorWithFlattening):
                def __call__(self, samples):
                    batch = super().__call__([{"input_ids": s["input_ids"]} for s in samples])
                    batch["pixel_values"] = stack(s["pixel_values"] for s in samples)
                    return batch

            Trainer(model, args, train_dataset=Figures(rows), data_collator=Packing())
            """,
    },
    "media-that-a-setting-asks-for": {
        "collators.py": COLLATORS,
        "train.py": """
            from torch.utils.data import DataLoader
            from collators import text

            class Mixed:
                def __getitem__(self, index):
                    sample = {"input_ids": self.ids[index], "labels": self.labels[index]}
                    if self.args.with_images and self.vision is not None:
                        sample["pixel_values"] = self.images[index]
                    return sample

            DataLoader(Mixed(), collate_fn=text)
            """,
    },
    "media-under-a-name-that-the-collator-takes": {
        "loaded.py": LOADED,
        "train.py": """
            from torch.utils.data import DataLoader
            from loaded import Pictures, Recordings

            def collate(rows):
                batch = {"x": [row["pic"] for row in rows], "labels": [row["labels"] for row in rows]}
                return batch

            def hear(rows):
                return {"latents": [row["audio_latents"] for row in rows], "names": [row["image_id"] for row in rows]}

            DataLoader(Pictures(folder), collate_fn=collate)
            DataLoader(Recordings(), collate_fn=hear)
            """,
    },
    "what-is-told-of-an-image-is-left-out": {
        "train.py": """
            from PIL import Image
            from torch.utils.data import DataLoader

            class Buckets:
                def __getitem__(self, index):
                    image, bucket = self.fit(Image.open(self.paths[index]))
                    height, width = image.size
                    return {"instance_images": image, "bucket_idx": bucket, "extent": image.size, "hw": (height, width)}

            def collate(rows):
                return {"pixel_values": stack([row["instance_images"] for row in rows])}

            DataLoader(Buckets(), collate_fn=collate)
            """,
    },
    "paths-of-images-that-the-collator-opens": {
        "train.py": """
            from PIL import Image
            from torch.utils.data import DataLoader

            class Paths:
                def __getitem__(self, index):
                    path = self.get_image_path(index)
                    return {"image": path, "file": self.files[index], "text": self.texts[index]}

            class Thumbs(Paths):
                def __getitem__(self, index):
                    image = Image.open(self.files[index])
                    return {"thumb": image, "file": self.files[index], "text": self.texts[index]}

            def texts(rows):
                return [row["text"] for row in rows]

            def collate(rows):
                return [row["text"] for row in rows], [Image.open(row["file"]) for row in rows]

            DataLoader(Paths(), collate_fn=texts)
            DataLoader(Thumbs(), collate_fn=collate)
            """,
    },
    "a-collator-for-both-and-a-dataset-of-text": {
        "sets.py": SETS,
        "train.py": """
            from transformers import LlamaForCausalLM, Trainer
            from sets import Notes

            def collate(rows):
                batch = {"input_ids": [row["input_ids"] for row in rows]}
                if "pixel_values" in rows[0]:
                    batch["pixel_values"] = [row["pixel_values"] for row in rows]
                return batch

            Trainer(LlamaForCausalLM.from_pretrained("m"), args, train_dataset=Notes(), data_collator=collate)
            """,
    },
    "keys-with-a-word-inside": {
        "sets.py": SETS,
        "train.py": """
            from torch.utils.data import DataLoader
            from sets import Notes

            def collate(rows):
                masks = [row["special_tokens_mask"] for row in rows], [row["revision"] for row in rows]
                return [row["input_ids"] for row in rows], masks, [row["image_id"] for row in rows]

            DataLoader(Notes(), collate_fn=collate)
            """,
    },
    "samples-that-are-taken-apart-or-handed-on": {
        "sets.py": SETS,
        "train.py": """
            from torch.utils.data import DataLoader
            from sets import Figures

            def parts(rows):
                return [first for first, second in rows]

            def views(rows):
                names = rows[0].keys()
                return {name: [row[name] for row in rows] for name in names}

            def numbered(rows):
                return {"input_ids": [row["input_ids"] for row in rows], "all": [f(row) for _, row in enumerate(rows)]}

            DataLoader(Figures(rows), collate_fn=parts)
            DataLoader(Figures(rows), collate_fn=views)
            DataLoader(Figures(rows), collate_fn=numbered)
            """,
    },
    "an-image-model-whose-collator-keeps-the-images": {
        "train.py": """
            from transformers import Trainer, ViTForImageClassification

            def collate(rows):
                images = processor([row["image"] for row in rows])
                return {"input_ids": [row["input_ids"] for row in rows], "pixel_values": images}

            def unknown(rows):
                batch = processor.pad([{"input_ids": row["input_ids"]} for row in rows])
                return batch

            Trainer(ViTForImageClassification.from_pretrained("m"), args, data_collator=collate)
            Trainer(ViTForImageClassification.from_pretrained("m"), args, data_collator=unknown)
            """,
    },
    "no-collator-or-none": {
        "sets.py": SETS,
        "train.py": """
            from torch.utils.data import DataLoader
            from transformers import Trainer
            from sets import Figures

            DataLoader(Figures(rows), batch_size=4)
            DataLoader(Figures(rows), collate_fn=None)
            Trainer(model=model, train_dataset=Figures(rows), **options)
            """,
    },
    "text-under-a-collator-for-text": {
        "sets.py": SETS,
        "train.py": """
            from transformers import AutoTokenizer, DataCollatorForSeq2Seq, LlamaForCausalLM, Trainer
            from sets import Notes

            tokenizer = AutoTokenizer.from_pretrained("m")
            model = LlamaForCausalLM.from_pretrained("m")
            Trainer(model, args, train_dataset=Notes(), data_collator=DataCollatorForSeq2Seq(tokenizer))
            """,
    },
    "columns-that-were-there-before": {
        "collators.py": COLLATORS,
        "train.py": """
            from datasets import load_dataset
            from torch.utils.data import DataLoader
            from collators import figures

            def mask(rows):
                rows["labels"] = [[-100] * len(ids) for ids in rows["input_ids"]]
                return rows

            DataLoader(load_dataset("m").map(mask)["train"], collate_fn=figures)
            """,
    },
    "columns-that-became-latents": {
        "train.py": """
            from datasets import load_dataset
            from torch.utils.data import DataLoader

            def crop(rows):
                rows["pixel_values"] = [transform(image) for image in rows["image"]]
                return rows

            def encode(rows):
                return {"model_input": vae.encode(rows.pop("pixel_values"))}

            def collate(samples):
                return {"model_input": [torch.tensor(sample["model_input"]) for sample in samples]}

            train = load_dataset("m")["train"].map(crop).map(encode)
            DataLoader(train, collate_fn=collate)
            """,
    },
    "images-for-a-builder-of-torchtune": {
        "train.py": """
            from functools import partial
            from torch.utils.data import DataLoader
            from torchtune.data import padded_collate_tiled_images_and_mask
            from torchtune.datasets.multimodal import llava_instruct_dataset

            ds = llava_instruct_dataset(model_transform=transform)
            DataLoader(ds, collate_fn=partial(padded_collate_tiled_images_and_mask, padding_idx=0))
            """,
    },
}


@pytest.mark.parametrize("name", BAD)
def test_a_collator_of_another_modality_is_found(name: str, problems: Callable[[str, Example], list[str]]) -> None:
    example = Example(BAD[name])
    assert example.marked
    assert problems("collator-modality-mismatch", example) == []


@pytest.mark.parametrize("name", GOOD)
def test_a_fitting_or_unknown_collator_is_not(name: str, problems: Callable[[str, Example], list[str]]) -> None:
    assert problems("collator-modality-mismatch", Example(GOOD[name])) == []


def found(project: Project) -> list[str]:
    outcome = project.outcome(select=("collator-modality-mismatch",))
    return [f"{finding.path}:{finding.span.line}" for finding in outcome.findings]


def test_names_that_a_project_adds_are_known(project: Project) -> None:
    project.write("zoo.py", "class Clips:\n    pass\nclass Plain:\n    pass\nclass Reader:\n    pass\n")
    project.write(
        "train.py",
        "import zoo\nfrom torch.utils.data import DataLoader\n"
        "from transformers import DataCollatorWithFlattening, Trainer\n"
        "DataLoader(zoo.Clips(), collate_fn=zoo.Plain())\n"
        "Trainer(zoo.Reader(), data_collator=DataCollatorWithFlattening())\n",
    )
    assert found(project) == []
    project.write(
        "pyproject.toml",
        '[tool.shardlint.modality]\ndatasets = {"zoo.Clips" = "text video"}\ncollators = {"zoo.Plain" = "text"}\n'
        'models = {"zoo.Reader" = "image"}\n',
    )
    assert found(project) == ["train.py:4", "train.py:5"]


def test_a_collator_that_cannot_be_told_is_counted_and_named(project: Project) -> None:
    project.write(
        "train.py",
        "from torch.utils.data import DataLoader\n\n"
        "def loader(cfg, rows):\n    return DataLoader(rows, collate_fn=cfg.build_collator())\n",
    )
    places = project.outcome(select=("collator-modality-mismatch",)).not_judged
    assert [(path, function, line) for path, function, line, _ in places] == [("train.py", "loader", 4)]
    assert places[0][3].startswith("what `cfg.build_collator()` (by way of `cfg`) takes or gives is not known")
    assert [place[3] for place in project.outcome(select=("collator-modality-mismatch",)).not_judged] == [places[0][3]]
    _, out = project.check("--show-unknown", "--select", "collator-modality-mismatch", "--output-format", "concise")
    assert "train.py:4:1: note not-checked `loader` could not be judged: what `cfg.build_collator" in out


def test_a_change_in_another_file_is_seen_by_a_cached_result(project: Project) -> None:
    project.write("own.py", "def collate(batch):\n    return {'input_ids': [s['input_ids'] for s in batch]}\n")
    given = "return {'input_ids': self.a[i], 'pixel_values': self.b[i]}"
    project.write("sets.py", f"class Data:\n    def __getitem__(self, i):\n        {given}\n")
    project.write(
        "train.py",
        "from torch.utils.data import DataLoader\nfrom own import collate\nfrom sets import Data\n"
        "DataLoader(Data(), collate_fn=collate)\n",
    )
    assert found(project) == found(project) == ["train.py:4"]
    project.write("own.py", "def collate(batch):\n    return {'pixel_values': [s['pixel_values'] for s in batch]}\n")
    assert found(project) == []
