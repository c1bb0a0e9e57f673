"""The rule unsorted-file-listing."""

from __future__ import annotations

import ast

from shardlint.rule import (
    LISTING,
    Bad,
    Expression,
    Findings,
    Good,
    LocalRule,
    Site,
    Spelled,
    in_file_order,
    observation,
)

_DATASETS = frozenset(("Dataset", "IterableDataset", "MapDataset"))


class UnsortedFileListing(LocalRule):
    """Reports a listing of files whose order decides which sample a rank reads.

    Why is this bad?
    `os.listdir`, `glob` and `iterdir` give names in the order in which the file system keeps them, and two nodes with
    the same files may keep another one. Each rank then takes its share of another list: some samples are read twice
    in an epoch, others never.

    Use instead
    `sorted(os.listdir(folder))`, before the files are divided or read.

    Known limits
    Only a `data_files=` argument, a share by rank and a dataset indexed by sample count as uses of the order.
    """

    severity = "warning"
    since = "0.1.0"
    evidence = observation("https://docs.python.org/3/library/os.html#os.listdir")
    suspects = LISTING & Spelled("data_files", "rank", *_DATASETS)
    symptoms = (r"[Ll]oss differs after (?:a )?resume", r"[Ss]amples? (?:is|are) (?:seen|read) twice")
    proof = ("test_unsorted_file_listing", "two ranks with the same files take shares that overlap")
    bad = (
        Bad(
            """
            import os

            def share(folder, rank, world_size):
                names = os.listdir(folder)  # error
                return names[rank::world_size]
            """
        ),
        Bad(
            """
            from glob import glob
            from torch.utils.data import Dataset

            class Frames(Dataset):
                def __init__(self, root):
                    self.files = [path for path in glob(root + "/*.pt") if "bad" not in path]  # error

                def __getitem__(self, index):
                    return self.files[index]
            """
        ),
        Bad(
            """
            from pathlib import Path
            from datasets import load_dataset

            def load(folder):
                data_files = []
                for path in Path(folder).rglob("*.jsonl"):  # error
                    data_files.append(str(path))
                return load_dataset("json", data_files=data_files, split="train")
            """
        ),
    )
    good = (
        Good(
            """
            import os

            def share(folder, rank, world_size):
                return sorted(os.listdir(folder))[rank::world_size]
            """
        ),
        Good(
            """
            import os
            from pathlib import Path
            from datasets import load_dataset

            def load(folder, rank, world_size):
                found = [name for name in os.listdir(folder) if len(os.listdir(folder)) == world_size]
                found.sort(key=len)
                print(found[rank::world_size])
                return load_dataset("json", data_files=sorted(Path(folder).rglob("*.jsonl")))
            """
        ),
    )

    def judge(self, site: Site) -> Findings:
        uses = [(held, what) for held in in_file_order(site) if (what := self._use(site, held))]
        for held, what in uses[:1]:
            yield site.finding(
                f"`{site.called}` lists files in the order of the file system, and {what}: another node has another "
                "order, so samples are read twice or never",
                help="sort the list before anything is divided or indexed: `sorted(...)`",
                related=[held.note("its order is used here")] if held.ast is not site.ast else [],
            )

    def _use(self, site: Site, held: Expression) -> str:
        """What depends on the order of an expression; empty where nothing that is known does."""
        outer, owner = site.module.parent(held.ast), site.module.enclosing_class(held.ast)
        if isinstance(outer, ast.keyword) and outer.arg == "data_files":
            return "`data_files=` takes them in that order"
        if not isinstance(outer, ast.Subscript) or outer.value is not held.ast:
            return ""
        if any(part.rank is not None for part in Expression(site.module, outer.slice, site.voice).parts):
            return f"each rank takes `{site.module.source(outer)}` of them"
        bases = {site.module.source(base).rpartition(".")[2] for base in (owner.bases if owner is not None else ())}
        by_sample = getattr(site.module.function(held.ast), "name", "") == "__getitem__"
        return f"sample `{site.module.source(outer.slice)}` is at that place" if by_sample and bases & _DATASETS else ""
