"""Which conditions come from data that only this rank has, and whether ranks have agreed on them before."""

from __future__ import annotations

import ast
from textwrap import dedent, indent

import pytest

from shardlint.facts.agreement import Agreement
from shardlint.facts.divergence import Split, splits
from shardlint.facts.effects import Effects
from shardlint.facts.local_tests import LocalTest, local_test
from shardlint.facts.local_words import KINDS
from shardlint.facts.module import Module
from shardlint.facts.program import Program
from shardlint.parsing import parse

EFFECTS = Effects(
    {
        "barrier": {"in": ["torch.distributed"], "group": 0},
        "all_reduce": {"in": ["torch.distributed"], "group": 2},
        "broadcast_object_list": {"in": ["torch.distributed"], "group": 2},
    }
)
HEAD = """
import glob, math, os, time, torch
import os.path as osp
import torch.distributed as dist
import torch.nn.functional as F
from datetime import datetime
from pathlib import Path
"""


def module_of(*lines: str) -> Module:
    """A module whose function `f` has these lines, the test at their end."""
    text = HEAD + "def f(model, batch, path, best, loss_param, args):\n" + indent(dedent("\n".join(lines)), "    ")
    text += "\n        dist.barrier()\n"
    tree = parse(text)
    assert not isinstance(tree, SyntaxError), text
    return Module("main.py", text, tree)


def last_test(*lines: str) -> LocalTest | None:
    """The test of the last `if` of a function."""
    module = module_of(*lines)
    return local_test(module, max(module.nodes(ast.If), key=lambda node: node.lineno).test)


def kind(*lines: str) -> str:
    found = last_test(*lines)
    return found.kind if found is not None else ""


@pytest.mark.parametrize(
    "lines",
    [
        ["if os.path.exists(path):"],
        ["if osp.isdir(path):"],
        ["if Path(path).is_file():"],
        ["target = Path(path)", "if (target / 'x').exists():"],
        ["if os.listdir(path):"],
        ["found = sorted(glob.glob(path))", "if len(found) > 0:"],
        ["size = os.path.getsize(path)", "if size > 5:"],
        ["found = os.path.exists(path)", "known = bool(found)", "if known:"],
        ["if (found := os.path.exists(path)):"],
        ["known = torch.tensor(int(os.path.exists(path)))", "if known.item():"],
    ],
)
def test_questions_about_files(lines: list[str]) -> None:
    assert kind(*lines) == "files"


@pytest.mark.parametrize(
    "lines",
    [
        ["start = time.time()", "if time.time() - start > 60:"],
        ["gone = time.monotonic() - args.start", "if gone > 60:"],
        ["late = datetime.now() > args.end", "if late:"],
    ],
)
def test_questions_about_the_clock(lines: list[str]) -> None:
    assert kind(*lines) == "clock"


@pytest.mark.parametrize(
    "lines",
    [
        ["loss = model(batch).mean()", "if torch.isnan(loss):"],
        ["loss = F.cross_entropy(model(batch), batch)", "if 3 < loss:"],
        ["loss = model(batch)", "value = loss.item()", "if not math.isfinite(value) :"],
        ["outputs = model(batch)", "if outputs.loss < best:"],
        ["outputs = model(batch)", "if outputs['accuracy'] > best:"],
        ["loss, logits = model(batch)", "if loss != loss:"],
        ["val_loss = 0", "for x in batch:", "    val_loss += model(x).loss.item()", "if val_loss < best:"],
        ["loss = model(batch)", "loss = loss / 3", "if loss.isinf().any():"],
        ["loss = model(batch)", "bad = (~torch.isfinite(loss)).float()", "if bad.item():"],
    ],
)
def test_numbers_that_this_function_has_computed(lines: list[str]) -> None:
    assert kind(*lines) == "data"


@pytest.mark.parametrize(
    "lines",
    [
        ["if loss_param > 3:"],
        ["if args.loss < best:"],
        ["loss = args.loss", "if loss < best:"],
        ["loss = model(batch)", "if loss is not None:"],
        ["loss = model(batch)", "if loss:"],
        ["loss_fn = args.make()", "if loss_fn == 'mse':"],
        ["loss_weight = model(batch)", "if loss_weight > 0:"],
        ["loss = args.get('loss')", "if loss > 0:"],
        ["norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)", "if torch.isnan(norm):"],
        ["steps = len(batch)", "if steps > 3:"],
        ["start = time.time()", "if start:"],
        ["seen = [os.path.exists(path)]", "if seen[0]:"],
        ["seen = os.path.exists(path) if dist.get_rank() == 0 else None", "if seen:"],
        ["if args.fs.exists(path):"],
        ["if 'loss' in batch:"],
    ],
)
def test_what_is_no_evidence(lines: list[str]) -> None:
    assert kind(*lines) == ""


def test_helper_of_the_same_file() -> None:
    text = (
        HEAD
        + "def known(path):\n    return os.path.exists(path)\n\ndef f(path):\n    if known(path):\n        load()\n"
    )
    tree = parse(text)
    assert not isinstance(tree, SyntaxError)
    module = Module("main.py", text, tree)
    found = local_test(module, module.nodes(ast.If)[0].test)
    assert found is not None
    assert (found.kind, found.certainty) == ("files", 0.8)


def parted(source: str, **others: str) -> tuple[list[Split], list[bool | None]]:
    """The divergences of `f` in main.py at tests of local data, and whether the ranks have agreed at each."""
    files = {"main.py": HEAD + dedent(source), **{f"{stem}.py": dedent(text) for stem, text in others.items()}}

    def load(path: str, _: str | None) -> Module:
        tree = parse(files[path])
        assert not isinstance(tree, SyntaxError)
        return Module(path, files[path], tree)

    program = Program(files, load, lambda path: files[path].encode(), EFFECTS.words)
    program.file("main.py").stored["local"] = {"data": ["f"]}
    found = splits(program, "main.py", "f", EFFECTS, local=KINDS)
    agreement = Agreement(program, EFFECTS)
    return found, [agreement.of(split.guard.calls, "main.py") for split in found]


def agreed(*lines: str, **others: str) -> bool | None:
    source = "def f(model, batch, path, best, box):\n" + indent("\n".join(lines), "    ") + "\n        dist.barrier()\n"
    (answer,) = parted(source, **others)[1]
    return answer


def test_reduced_before_the_test() -> None:
    loss = ["loss = F.mse_loss(model(batch), batch)", "dist.all_reduce(loss)", "if loss < best:"]
    assert agreed(*loss) is True
    assert agreed(loss[0], loss[2]) is False
    assert agreed(loss[0], "print(loss)", "loss.backward()", loss[2]) is False


def test_reduced_flag() -> None:
    flag = ["flag = torch.tensor([int(os.path.exists(path))])", "dist.all_reduce(flag)", "if flag.item():"]
    assert agreed(*flag) is True


def test_reduced_before_it_is_made_anew() -> None:
    assert agreed("loss = model(batch)", "dist.all_reduce(loss)", "loss = model(batch)", "if loss < best:") is False


def test_shared_in_a_function_of_another_file() -> None:
    helper = """
        import torch.distributed as dist
        def mean(x):
            if x is not None:
                dist.all_reduce(x)
            return x
    """
    made = "loss = F.mse_loss(model(batch), batch)"
    assert agreed("import helper", f"{made}", "loss = helper.mean(loss)", "if loss < best:", helper=helper) is True
    assert agreed("import helper", f"{made}", "helper.mean(loss)", "if loss < best:", helper=helper) is True
    alone = "def mean(x):\n    return x / 2\n"
    assert agreed("import helper", f"{made}", "loss = helper.mean(loss)", "if loss < best:", helper=alone) is False


def test_unknown_call_on_the_way() -> None:
    assert agreed("loss = F.mse_loss(model(batch), batch)", "box.share(loss)", "if loss < best:") is None
    assert agreed("loss = box.compute_it(batch)", "if loss < best:") is None
    assert agreed("loss = box.criterion(batch)", "if loss < best:") is False


def test_rank_tests_stay_open_beside_local_ones() -> None:
    source = """
        def f(path):
            if dist.get_rank() == 0:
                dist.barrier()
            if os.path.exists(path):
                return
            dist.all_reduce(path)
    """
    (split,) = parted(source)[0]
    assert (split.guard.kind, split.first.effect.text, split.holds) == ("files", "dist.all_reduce", False)


def test_local_tests_are_open_conditions_of_rank_tests() -> None:
    source = HEAD + "def f(path):\n    if os.path.exists(path) and dist.get_rank() == 0:\n        dist.barrier()\n"
    tree = parse(source)
    assert not isinstance(tree, SyntaxError)
    module = Module("main.py", source, tree)

    def load(_: str, __: str | None) -> Module:
        return module

    program = Program(["main.py"], load, lambda _: source.encode(), EFFECTS.words)
    (split,) = splits(program, "main.py", "f", EFFECTS)
    assert split.guard.text == "dist.get_rank() == 0"


def test_loop_that_a_rank_leaves_by_its_clock() -> None:
    source = "def f(end):\n    while time.time() < end:\n        dist.barrier()\n"
    (split,) = parted(source)[0]
    assert (split.guard.kind, split.holds) == ("clock", True)


@pytest.mark.parametrize(("group", "parts"), [("dp_group", True), ("tp_group", False), ("mine", False)])
def test_groups_that_share_their_data(group: str, parts: bool) -> None:
    source = f"def f(x, {group}):\n    loss = F.relu(x)\n    if loss > 3:\n        dist.all_reduce(x, group={group})\n"
    assert bool(parted(source)[0]) is parts


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["if batch.sum() > 0:", "    dist.all_reduce(batch)"], "data"),
        (["if (batch > best).any():", "    print(1)", "    dist.all_reduce(batch, op=best)"], "data"),
        (["if batch.sum() > 0:", "    batch = batch + 1", "    dist.all_reduce(batch)"], ""),
        (["if batch.sum() > 0:", "    dist.all_reduce(model)"], ""),
        (["if batch is not None:", "    dist.all_reduce(batch)"], ""),
        (["if len(batch) > 0:", "    dist.all_reduce(batch)"], ""),
        (["if batch.dim() > 1:", "    dist.all_reduce(batch)"], ""),
        (["if batch.sum() > 0:", "    all_reduce(batch)"], ""),
    ],
)
def test_a_branch_on_what_it_reduces(lines: list[str], expected: str) -> None:
    assert kind(*lines) == expected
