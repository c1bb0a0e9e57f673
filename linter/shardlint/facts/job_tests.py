"""Conditions that ask whether there are several processes at all: in a job of many ranks each has one known answer.

`dist.is_initialized()`, `world_size > 1`, `local_rank != -1`, `self.distributed`. Every rank gives the same answer, so
they part nobody, and the arm of the other answer never runs where ranks could wait for each other.
"""

from __future__ import annotations

import re

_COUNT = re.compile(
    r"(?:.*\.)?(?:world_?size|num_processes|get_world_size\(\)|num_?procs?|nprocs) (==|!=|>=|<=|>|<) ([012])"
)
_NUMBER = re.compile(r"(?:.*[._])?(?:rank|get_rank\(\)) (==|!=|>=|<=|>|<|is not|is) (-1|0|None)")
_NAMED = re.compile(
    r"(?:\w+\.)*(?:(?:use_|is_)?(?:distributed|ddp|multi_?gpu)|is_dist(?:_(?:initialized|available|avail_and_initialized))?"
    r"|is_(?:torch_)?distributed(?:_available|_initialized|_available_and_initialized)?)(?:\(\))?"
)
_HOLDS = {"==": False, "!=": True, ">": True, ">=": True, "<": False, "<=": False, "is": False, "is not": True}
_UNTOLD = {"2 ==", "2 !=", "2 >", "2 <=", "0 ==", "0 !=", "0 >", "0 <="}
_known: dict[str, bool | None] = {}


def in_a_job(text: str) -> bool | None:
    """The answer that every rank of a job gives to a condition; None when the text does not tell."""
    if text not in _known:
        _known[text] = _answer(text)
    return _known[text]


def _answer(text: str) -> bool | None:
    if text.startswith("not "):
        inner = _answer(text[4:])
        return None if inner is None else not inner
    if text.endswith(")") and "is_initialized(" in text and " " not in text:
        return True
    if text in ("dist.is_available()", "torch.distributed.is_available()") or _NAMED.fullmatch(text):
        return True
    found = _COUNT.fullmatch(text)
    if found:
        operator, bound = found.groups()
        return None if bound == "2" and f"2 {operator}" in _UNTOLD else _HOLDS[operator]
    found = _NUMBER.fullmatch(text)
    if found:
        operator, bound = found.groups()
        return None if bound == "0" and f"0 {operator}" in _UNTOLD else _HOLDS[operator]
    return None
