"""The rule collator-modality-mismatch."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from shardlint.rule import Bad, Call, Expression, Findings, Good, LocalRule, Site, observation, table

_TABLE = table("modalities", of=__name__)
_PADDING, _READING, _EMITTING = _TABLE["padding"], _TABLE["reading"], _TABLE["emitting"]
_MEDIA = {key: kind for kind, keys in _TABLE["media"].items() for key in str(keys).split()}
_MEDIA_MODELS = {name: kind for kind, names in _TABLE["media_models"].items() for name in str(names).split()}
_TEXT_MODELS = frozenset(str(_TABLE["text_models"]["text"]).split())
_LOADERS = ("torch.utils.data.DataLoader", "torchdata.stateful_dataloader.StatefulDataLoader")
_TRAINERS = ("transformers.Trainer", "transformers.Seq2SeqTrainer", "trl.SFTTrainer", "trl.DPOTrainer")


class CollatorModalityMismatch(LocalRule):
    """Reports a collator that loses the images, sound or video of its samples, or asks for media that are not there.

    Why is this bad?
    A collator decides which keys of a sample reach the model. One that was written for text, or for images alone,
    leaves the other media behind without a word: the model trains on placeholders. The other way round, a batch fails
    on the first missing key, or carries `pixel_values` to a model that has no use for them.

    Use instead
    A collator that batches every media key of the dataset; a plain text collator for a text model.

    Known limits
    Both sides must be known in one file: a dataset class whose `__getitem__` returns a dict of literal keys, or a
    model class that takes only media or only text; and a collator from the table, or one in the file that takes keys
    from each sample by name. A collator or dataset that is a parameter, chosen in a branch, or imported is not judged.
    """

    severity = "warning"
    since = "0.1.0"
    evidence = observation("https://huggingface.co/docs/transformers/main_classes/data_collator")
    suspects = Call(*_LOADERS, *_TRAINERS)
    symptoms = (r"KeyError: '(pixel_values|input_features)'", r"You should supply an encoding .* includes input_ids")
    bad = (
        Bad(
            """
            import torch
            from torch.utils.data import DataLoader, Dataset

            class Figures(Dataset):
                def __getitem__(self, index):
                    sample = {"input_ids": self.rows[index].ids}
                    sample["pixel_values"] = self.rows[index].image
                    return sample

            class TextCollator:
                def __call__(self, samples):
                    return {"input_ids": torch.stack([s["input_ids"] for s in samples])}

            class Trainer:
                def __init__(self):
                    self.collator = TextCollator()

                def loader(self):
                    return DataLoader(Figures(), batch_size=4, collate_fn=self.collator)  # error
            """
        ),
        Bad(
            """
            from functools import partial
            import torch.utils.data as tud

            class Texts(tud.Dataset):
                def __getitem__(self, index):
                    sample = {"input_ids": self.rows[index]}
                    sample["labels"] = self.rows[index]
                    return sample

            def collate(batch, pad):
                images = [b["pixel_values"] for b in batch]
                return {"input_ids": [b["input_ids"] for b in batch], "pixel_values": images}

            def build():
                texts = Texts()
                return tud.DataLoader(texts, collate_fn=partial(collate, pad=0))  # error
            """
        ),
        Bad(
            """
            from transformers import AutoTokenizer, Seq2SeqTrainer, WhisperForConditionalGeneration as Whisper
            from transformers import DataCollatorForSeq2Seq

            def main(args, data):
                model = Whisper.from_pretrained(args.model)
                tokenizer = AutoTokenizer.from_pretrained(args.model)
                collator = DataCollatorForSeq2Seq(tokenizer, model=model)
                Seq2SeqTrainer(model=model, args=args, data_collator=collator, train_dataset=data)  # error
            """
        ),
        Bad(
            """
            import trl
            from transformers import LlamaForCausalLM
            from trl.trainer.sft_trainer import DataCollatorForVisionLanguageModeling

            model = LlamaForCausalLM.from_pretrained("some/model")
            trl.SFTTrainer(model, data_collator=DataCollatorForVisionLanguageModeling(processor))  # error
            """
        ),
    )
    good = (
        Good(
            """
            import torch
            from torch.utils.data import DataLoader, Dataset
            from elsewhere import Collator

            class Figures(Dataset):
                def __getitem__(self, index):
                    return {"input_ids": self.ids[index], "pixel_values": self.images[index]}

            class Both:
                def __call__(self, samples):
                    batch = {"pixel_values": torch.cat([s["pixel_values"] for s in samples])}
                    batch["input_ids"] = torch.stack([s["input_ids"] for s in samples])
                    return batch

            class Sometimes(Dataset):
                def __getitem__(self, index):
                    sample = {"input_ids": self.ids[index], "input_values": None}
                    if self.images:
                        sample["pixel_values"] = self.images[index]
                    return sample

            class Text:
                def __call__(self, samples):
                    return {"input_ids": torch.stack([s["input_ids"] for s in samples])}

            class Any:
                def __call__(self, samples):
                    return {"first": samples[0]["input_ids"], **torch.utils.data.default_collate(samples)}

            def optional(samples):
                batch = {"input_ids": [s["input_ids"] for s in samples]}
                if "input_features" in samples[0]:
                    batch["input_features"] = [s["input_features"] for s in samples]
                return batch | {"pixel_values": [s.get("pixel_values") for s in samples]}

            def renaming(samples):
                for s in samples:
                    s["images"] = s.pop("pixel_values")
                return {"images": [s["images"] for s in samples]}

            def by_list(samples):
                return {key: [s[key] for s in samples] for key in ("input_ids", "pixel_values")}

            def whole(samples):
                return {"input_ids": [s["input_ids"] for s in samples], "samples": samples}

            def loaders(multimodal, dataset, collator=None):
                collate = Text()
                if multimodal:
                    collate = Both()
                collator = collator or Text()
                yield DataLoader(Figures(), collate_fn=Both())
                yield DataLoader(Sometimes(), collate_fn=Both())
                yield DataLoader(Sometimes(), collate_fn=Text())
                yield DataLoader(Figures(), collate_fn=Any())
                yield DataLoader(Figures(), collate_fn=optional)
                yield DataLoader(Figures(), collate_fn=renaming)
                yield DataLoader(Figures(), collate_fn=by_list)
                yield DataLoader(Figures(), collate_fn=whole)
                yield DataLoader(Figures(), collate_fn=collate)
                yield DataLoader(Figures(), collate_fn=collator)
                yield DataLoader(Figures(), collate_fn=Collator())
                yield DataLoader(Figures())
                yield DataLoader(dataset, collate_fn=Text())

            class Trainer:
                def __init__(self, collator):
                    self.collator = Text()
                    if collator:
                        self.collator = collator

                def loader(self):
                    return DataLoader(Figures(), collate_fn=self.collator)
            """
        ),
        Good(
            """
            from transformers import AutoModelForImageTextToText, AutoFeatureExtractor, AutoTokenizer, Trainer
            from transformers import DataCollatorWithPadding, ViTForImageClassification, Wav2Vec2ForCTC
            from transformers import default_data_collator
            from ours import WhisperForConditionalGeneration

            def main(args, data, texts):
                tokenizer = AutoTokenizer.from_pretrained("m")
                vit, ctc = ViTForImageClassification.from_pretrained("m"), Wav2Vec2ForCTC.from_pretrained("m")
                sound = AutoFeatureExtractor.from_pretrained("m")
                vlm, own = AutoModelForImageTextToText.from_pretrained("m"), WhisperForConditionalGeneration()
                Trainer(vit, args, data_collator=default_data_collator, train_dataset=data)
                Trainer(ctc, args, data_collator=DataCollatorWithPadding(sound), train_dataset=data)
                Trainer(vlm, args, data_collator=DataCollatorWithPadding(tokenizer), train_dataset=texts)
                Trainer(own, args, data_collator=DataCollatorWithPadding(tokenizer), train_dataset=texts)
            """
        ),
    )

    def judge(self, site: Site) -> Findings:
        given = site.argument("collate_fn") or site.argument("data_collator")
        collator = _origin(given)
        if given is None or collator is None:
            return
        name = _made(collator)
        needs_ids = name in _READING or (name in _PADDING and _has_tokenizer(collator))
        trains = site.name in _TRAINERS
        keys = _sample_keys(_origin(site.argument("train_dataset") if trains else site.argument("dataset", 0)))
        model = _model(_origin(site.argument("model", 0))) if trains and keys is None else ""
        problem = None
        if keys is not None:
            problem = _lost(keys, _reads(collator)) or _without_ids(keys, needs_ids)
        elif model in _MEDIA_MODELS and needs_ids:
            problem = (
                f"needs `input_ids` in every sample, but `{model}` takes {_MEDIA_MODELS[model]} and no token ids: the "
                "first batch fails",
                "use a collator that pads what the processor or feature extractor makes",
            )
        elif model in _TEXT_MODELS and name in _EMITTING:
            problem = (
                f"puts `{_EMITTING[name]}` into every batch, but `{model}` takes text alone",
                "use a text collator, or the class of the model that takes images",
            )
        if problem is not None:
            yield site.finding(f"`{name.rpartition('.')[2]}` {problem[0]}", help=problem[1], at=given)


_Keys = tuple[set[str], set[str]]
"""Keys that are sure to be there or needed, beside all that occur; see each function for the order."""


def _lost(samples: _Keys, reads: _Keys | None) -> tuple[str, str] | None:
    """What is wrong, and its remedy, where a collator drops media of its samples or asks for media they lack."""
    always, ever = samples
    if reads is None:
        return None
    lost = sorted(key for key in always if key in _MEDIA and key not in reads[0])
    missing = sorted(key for key in reads[1] if key in _MEDIA and key not in ever)
    if lost:
        return (
            f"takes {_listed(reads[0])} of each sample and drops {_listed(lost)}, so the {_MEDIA[lost[0]]} that the "
            "dataset loads never reaches the model",
            f"batch {_listed(lost)} in the collator, or do not load it",
        )
    if missing:
        return (
            f"takes {_listed(missing)} of each sample, but the dataset only gives {_listed(ever)}: the first batch "
            "fails with a KeyError",
            "use a collator for the modality of the dataset, or let the dataset give that key",
        )
    return None


def _without_ids(samples: _Keys, needs_ids: bool) -> tuple[str, str] | None:
    """The same for a collator that pads token ids, over samples of media without any."""
    always, ever = samples
    if not needs_ids or "input_ids" in ever or always.isdisjoint(_MEDIA):
        return None
    return (
        f"needs `input_ids` in every sample, but the dataset gives {_listed(ever)}: the first batch fails",
        "use a collator that pads what the processor or feature extractor makes",
    )


def _origin(value: Expression | None) -> Expression | None:
    """The call, function or import that alone gives a value; None when it may be something else."""
    if value is None or isinstance(value.ast, ast.Call):
        return value
    module, node = value.module, value.ast
    values: list[Expression] = []
    if isinstance(node, ast.Name):
        function = module.function(node)
        given = ast.walk(function.args) if not isinstance(function, ast.Module) else ()
        if any(isinstance(arg, ast.arg) and arg.arg == node.id for arg in given):
            return None
        values = value.values
    elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
        for inside in ast.walk(module.enclosing_class(node) or node):
            targets = inside.targets if isinstance(inside, ast.Assign) else [getattr(inside, "target", None)]
            if any(isinstance(target, ast.Attribute) and ast.unparse(target) == value.text for target in targets):
                assigned = inside.value if isinstance(inside, (ast.Assign, ast.AnnAssign)) else None
                if assigned is None:
                    return None
                values.append(Expression(module, assigned, value.voice))
    else:
        return None
    if not values:
        return value
    return _origin(values[0]) if len(values) == 1 else None


def _made(value: Expression) -> str:
    """The class or function behind a value, if there is one answer."""
    names = value.made_from or value.names
    name = names[0] if len(names) == 1 else ""
    return f"transformers.{name.rpartition('.')[2]}" if name.startswith("transformers.data.") else name


def _model(value: Expression | None) -> str:
    """The transformers class that a model was loaded as; empty when unknown."""
    if value is None:
        return ""
    site = value.as_site()
    if site is not None and _made(value) == "peft.get_peft_model":
        return _model(_origin(site.argument("model", 0)))
    package, _, name = _made(value).removesuffix(".from_pretrained").rpartition(".")
    return name if package.partition(".")[0] == "transformers" else ""


def _has_tokenizer(collator: Expression) -> bool:
    """Whether the collator was given a tokenizer, not a feature extractor or processor, which pad media."""
    site = collator.as_site()
    given = site.argument("tokenizer", 0) if site is not None else None
    tokenizer = _origin(given)
    made = _made(tokenizer) if tokenizer is not None else ""
    if given is not None and given.attribute_of("tokenizer") is not None:
        return given.text != "self.tokenizer"
    return made.startswith("transformers.") and made.endswith(("Tokenizer.from_pretrained", "Fast.from_pretrained"))


def _definition(value: Expression | None) -> ast.FunctionDef | ast.ClassDef | None:
    """The function or class of this file behind a value."""
    if value is None:
        return None
    module, name = value.module, _made(value)
    found = [
        node
        for node in ast.walk(module.tree)
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and f"{module.dotted}.{module.qualified(node)}" == name
    ]
    return found[0] if len(found) == 1 else None


def _method(owner: ast.AST | None, name: str) -> ast.FunctionDef | None:
    body = owner.body if isinstance(owner, ast.ClassDef) else []
    return next((node for node in body if isinstance(node, ast.FunctionDef) and node.name == name), None)


def _sample_keys(data: Expression | None) -> _Keys | None:
    """The keys that every sample of a dataset has, and all that one may have; None when that is not plain to see."""
    owner = _definition(data)
    getter = _method(owner, "__getitem__")
    if data is None or getter is None or _method(owner, "__getitems__") is not None:
        return None
    own = [node for node in ast.walk(getter) if data.module.function(node) is getter]
    results = [_returned(data, own, node.value) for node in own if isinstance(node, ast.Return)]
    known = [result for result in results if result is not None]
    if not known or len(known) < len(results):
        return None
    return set[str].intersection(*(always for always, _ in known)), set[str]().union(*(ever for _, ever in known))


def _returned(data: Expression, own: list[ast.AST], result: ast.expr | None) -> _Keys | None:
    """The keys of one returned dict: written in place, or under a name that is only added to."""
    added: list[ast.expr | None] = []
    sure: list[ast.expr | None] = []
    returns = [node for node in own if isinstance(node, ast.Return)]
    written = result
    for use in own if isinstance(result, ast.Name) else ():
        if not isinstance(use, ast.Name) or not isinstance(result, ast.Name) or use.id != result.id:
            continue
        parent = data.module.parent(use)
        if isinstance(parent, (ast.Assign, ast.AnnAssign)) and written is result:
            written = parent.value
        elif isinstance(parent, ast.Subscript) and isinstance(parent.ctx, ast.Store):
            added.append(parent.slice)
            place = data.module.parent(data.module.statement(use))
            sure += [parent.slice] if isinstance(place, ast.FunctionDef) and len(returns) == 1 else []
        elif not isinstance(parent, ast.Return):
            return None
    if not isinstance(written, ast.Dict) or any(not _texts(key) for key in (*written.keys, *added)):
        return None
    items = zip(written.keys, written.values, strict=True)
    present = [key for key, value in items if not (isinstance(value, ast.Constant) and value.value is None)]
    return _texts(*present, *sure), _texts(*written.keys, *added)


def _reads(collator: Expression) -> _Keys | None:
    """The keys that a collator takes of a sample, and those that it cannot do without; None when others may pass."""
    name, place = _made(collator), _definition(collator)
    if name in _READING:
        return set(str(_READING[name]).split()), {"input_ids"}
    call = _method(place, "__call__") if isinstance(place, ast.ClassDef) else place
    module, site = collator.module, collator.as_site()
    if not isinstance(call, ast.FunctionDef) or call.decorator_list:
        return None
    args = call.args.args[1 if isinstance(module.parent(call), ast.ClassDef) else 0 :]
    if not args or (call is place and site is not None and len(site.positional) != 1):
        return None
    batch, nodes = args[0].arg, list(ast.walk(call))
    loops = [node for node in nodes if isinstance(node, (ast.comprehension, ast.For))]
    each = [loop.target for loop in loops if isinstance(loop.iter, ast.Name) and loop.iter.id == batch]
    items = {target.id for target in each if isinstance(target, ast.Name)}
    reads: set[str] = set()
    needs: set[str] = set()
    optional = _texts(*(node.left for node in nodes if isinstance(node, ast.Compare)))
    if len(items) < len({ast.unparse(target) for target in each}):
        return None
    for node in nodes:
        if not isinstance(node, ast.Name) or node.id not in ("super", batch, *items):
            continue
        if isinstance(node.ctx, ast.Load):
            taken = _taken(collator, node, whole=node.id == batch)
            if taken is None or node.id == "super":
                return None
            reads |= taken[0]
            needs |= taken[0] & taken[1]
            optional |= taken[0] - taken[1]
    return (reads, needs - optional) if reads else None


def _taken(collator: Expression, node: ast.AST, *, whole: bool) -> _Keys | None:
    """The key that one use of a sample takes, and the same again if it must be there; None if it may take more."""
    module = collator.module
    parent = module.parent(node)
    if whole:
        length = isinstance(parent, ast.Call) and isinstance(parent.func, ast.Name) and parent.func.id == "len"
        if length or isinstance(parent, (ast.comprehension, ast.For)):
            return set(), set()
        indexed = isinstance(parent, ast.Subscript) and not isinstance(parent.slice, ast.Slice)
        return _taken(collator, parent, whole=False) if indexed and parent is not None else None
    if isinstance(parent, ast.Compare) and _texts(parent.left):
        return set(), set()
    if isinstance(parent, ast.Attribute) and parent.attr == "get":
        called = module.parent(parent)
        found = _texts(*called.args[:1]) if isinstance(called, ast.Call) else set[str]()
        return (found, set()) if found else None
    if not isinstance(parent, ast.Subscript) or parent.value is not node or not _texts(parent.slice):
        return None
    branches = (ast.If, ast.IfExp, ast.Try)
    function = module.function(node)
    inside = [at for at in module.ancestors(node) if isinstance(at, branches) and module.function(at) is function]
    sure = isinstance(parent.ctx, ast.Load) and not inside
    return _texts(parent.slice), _texts(parent.slice) if sure else set[str]()


def _texts(*nodes: ast.expr | None) -> set[str]:
    """The texts among some expressions."""
    return {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def _listed(keys: Iterable[str]) -> str:
    return ", ".join(f"`{key}`" for key in sorted(keys))
