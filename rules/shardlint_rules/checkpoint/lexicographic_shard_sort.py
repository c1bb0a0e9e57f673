"""The rule lexicographic-shard-sort."""

from __future__ import annotations

import ast
import re

from shardlint.rule import (
    LISTING,
    Bad,
    Expression,
    Findings,
    Good,
    LocalRule,
    Matching,
    Site,
    in_text_order,
    observation,
)

_NUMBERED = r"(?:rank|step|epoch|iter|iteration|checkpoint|ckpt)s?[_\-=.]?\*"
_NUMBERED_END = re.compile(rf"(?<![A-Za-z])(?<!mp_)(?<!tp_)({_NUMBERED})", re.IGNORECASE)
_PADDED = re.compile(r":0?\d*[>0]?\d+d?\}|zfill|%0\d|rjust")


class LexicographicShardSort(LocalRule):
    """Reports files numbered by step, epoch or rank that are sorted as text and then taken by their place.

    Why is this bad?
    As text, `checkpoint-900` comes after `checkpoint-1000` and `rank_10` before `rank_2`. `sorted(...)[-1]` is then an
    old checkpoint, so a resumed run loses hours without a word; a cleanup deletes the newest ones; the parts of the
    ranks are joined in another order than they were written.

    Use instead
    `sorted(paths, key=lambda path: int(path.name.rpartition("-")[2]))`, or numbers that are padded with zeros.

    Known limits
    A file that pads numbers with zeros anywhere is not judged, nor is a pattern that is built elsewhere. Taken by
    place is what an index from the end, a slice, the rank, `max` or `min` gives.
    """

    severity = "warning"
    since = "0.1.0"
    evidence = observation("https://github.com/Lightning-AI/litgpt/pull/661")
    suspects = LISTING & Matching(_NUMBERED)
    symptoms = (r"[Rr]esum\w+ from (?:an )?(?:old|earlier|wrong) (?:step|checkpoint)",)
    proof = ("test_lexicographic_shard_sort", "step 900 is taken for the latest of 900 and 1000")
    bad = (
        Bad(
            """
            from pathlib import Path

            def latest(folder):
                return sorted(Path(folder).glob("checkpoint-*"))[-1]  # error
            """
        ),
        Bad(
            """
            import glob as files
            import os

            def stale(folder, keep):
                found = files.glob(os.path.join(folder, "global_step*"))  # error
                found.sort()
                return found[:-keep], max(files.glob(f"{folder}/epoch=*.ckpt"))  # error

            class State:
                def __init__(self, folder):
                    self.parts = sorted(path for path in files.iglob(folder + "/rank_*.pt"))  # error

                def mine(self, rank):
                    return self.parts[rank]
            """
        ),
    )
    good = (
        Good(
            """
            import os
            from glob import glob
            from pathlib import Path

            def latest(folder):
                return max(Path(folder).glob("checkpoint-*"), key=lambda path: int(path.name[11:]))

            def found(folder):
                paths = sorted(glob(folder + "/checkpoint-*"))
                newest = sorted(glob(folder + "/checkpoint-*"), key=os.path.getmtime)[-1]
                print([(path, newest) for path in paths])
                return sorted(glob(folder + "/*.safetensors"))[-1], len(paths), sorted(glob(folder + "/mp_rank_*"))[-1]
            """
        ),
        Good(
            """
            from pathlib import Path

            def save(folder, step):
                (Path(folder) / f"step_{step:08d}").mkdir()

            def latest(folder):
                return sorted(Path(folder).glob("step_*"))[-1]
            """
        ),
    )

    def judge(self, site: Site) -> Findings:
        pattern = site.argument("pathname", 0) or site.argument("pattern")
        numbered = _NUMBERED_END.search(pattern.text) if pattern is not None else None
        if numbered is None or _PADDED.search(site.module.text):
            return
        uses = [(held, taken) for held in in_text_order(site) if (taken := self._taken(site, held))]
        for held, taken in uses[:1]:
            yield site.finding(
                f"`{numbered[1]}` is sorted as text, where 1000 comes before 900, and then `{taken}` is taken: that is "
                "not the place of its number",
                help="sort by the number: `key=lambda path: int(...)`",
                related=[held.note("sorted as text")] if held.span.line != site.span.line else [],
            )

    def _taken(self, site: Site, held: Expression) -> str:
        """How something is taken by its place in the sorted names; empty where nothing is."""
        outer = site.module.parent(held.ast)
        if held.text.startswith(("max(", "min(")):
            return held.text
        if not isinstance(outer, ast.Subscript) or outer.value is not held.ast:
            return ""
        index = Expression(site.module, outer.slice, site.voice)
        from_end = isinstance(outer.slice, (ast.Slice, ast.UnaryOp)) or index.rank is not None
        return site.module.source(outer) if from_end else ""
