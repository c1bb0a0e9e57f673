"""Where ranks part: what is reported, what is silent, and what is silent because it is not known."""

from __future__ import annotations

from textwrap import dedent

import pytest

from shardlint.facts.divergence import Split, splits
from shardlint.facts.divergent import Divergent
from shardlint.facts.effects import Effects
from shardlint.facts.module import Module
from shardlint.facts.program import Program, package_name
from shardlint.finding import Evidence
from shardlint.parsing import parse
from shardlint.voice import Voice

EFFECTS = Effects(
    {
        "barrier": {"in": ["torch.distributed"], "group": 0},
        "all_reduce": {"in": ["torch.distributed"], "group": 2},
        "broadcast": {"in": ["torch.distributed"], "group": 2},
        "torch.distributed.checkpoint.save": {"unless": {"no_dist": True}},
        "*.wait_for_everyone": {},
        "*.full_tensor": {"mesh": True},
    }
)
HEAD = "import os, sys\nimport torch.distributed as dist\nrank = dist.get_rank()\n"


def program_of(source: str, **others: str) -> Program:
    """A program of main.py and further files, which are given by their stems."""
    files = {"main.py": HEAD + dedent(source), **{f"{stem}.py": dedent(text) for stem, text in others.items()}}
    names = frozenset(files)

    def load(path: str, _: str | None) -> Module:
        tree = parse(files[path])
        assert not isinstance(tree, SyntaxError)
        return Module(path, files[path], tree, dotted=package_name(path, names))

    return Program(files, load, lambda path: files[path].encode(), EFFECTS.words)


def found(source: str, function: str = "f", **others: str) -> list[Split]:
    """The divergences of a function of main.py; the other files of the program are given by their stems."""
    return splits(program_of(source, **others), "main.py", function, EFFECTS)


def told(source: str, function: str = "f", **others: str) -> list[str]:
    """The calls that are certain to be reached on one side only."""
    return [split.first.place[2] for split in found(source, function, **others) if not split.there.unknown]


def body(*lines: str) -> str:
    """A function `f` with these lines."""
    return "\ndef f(x, a, b):\n" + "\n".join(f"    {line}" for line in lines) + "\n"


REPORTED = {
    "branch": ["if rank == 0:", "    dist.barrier()"],
    "branch beside an assertion": ["assert a", "if rank == 0:", "    dist.barrier()"],
    "else": ["if rank == 0:", "    print(x)", "else:", "    dist.barrier()"],
    "rank alone": ["if not rank:", "    dist.barrier()"],
    "flipped": ["if 0 == rank:", "    dist.barrier()"],
    "early return": ["if rank != 0:", "    return", "dist.barrier()"],
    "early return of a value": ["if rank > 0:", "    return x", "a()", "dist.barrier()"],
    "continue": ["for item in x:", "    if rank > 0:", "        continue", "    dist.barrier()"],
    "break": ["for item in x:", "    if rank != 0:", "        break", "    dist.barrier()"],
    "and": ["if a and rank == 0:", "    dist.barrier()"],
    "and first": ["if rank == 0 and a:", "    dist.barrier()"],
    "or not": ["if a or rank != 0:", "    return", "dist.barrier()"],
    "condition inside": ["if rank == 0:", "    if a:", "        dist.barrier()"],
    "condition outside": ["if a:", "    if rank == 0:", "        dist.barrier()"],
    "other operation": ["if rank == 0:", "    dist.barrier()", "else:", "    dist.all_reduce(x)"],
    "one more": ["if rank == 0:", "    dist.barrier()", "    dist.barrier()", "else:", "    dist.barrier()"],
    "ternary": ["y = dist.all_reduce(x) if rank == 0 else None"],
    "short circuit": ["rank == 0 and dist.barrier()"],
    "walrus": ["if (main := rank == 0):", "    dist.barrier()"],
    "named compound": ["save = rank == 0 and a", "if save:", "    dist.barrier()"],
    "comprehension": ["y = [dist.all_reduce(i) for i in x if rank == 0]"],
    "while": ["while rank == 0:", "    dist.barrier()", "    x()"],
    "range of the rank": ["for i in range(rank):", "    dist.barrier()"],
    "match": ["match rank:", "    case 0:", "        dist.barrier()", "    case _:", "        pass"],
    "with": ["with open(x) as file:", "    if rank == 0:", "        dist.barrier()"],
    "try": ["try:", "    if rank == 0:", "        dist.barrier()", "except OSError:", "    pass"],
    "finally on one rank": ["try:", "    x()", "finally:", "    if rank == 0:", "        dist.barrier()"],
    "environment": ["if os.environ['RANK'] == '0':", "    dist.barrier()"],
    "environment as a number": ["if int(os.environ.get('LOCAL_RANK', 0)) == 0:", "    dist.barrier()"],
    "flag": ["if x.is_main_process:", "    x.wait_for_everyone()"],
    "call of a flag": ["if x.is_main_process():", "    dist.barrier()"],
    "several ranks": ["if rank < 2:", "    dist.barrier()"],
    "member": ["if rank in [0, 1]:", "    dist.barrier()"],
    "remainder": ["if rank % 8 == 0:", "    dist.barrier()"],
    "tensor of a mesh": ["if rank == 0:", "    x.full_tensor()"],
    "group of one process": ["if dist.get_rank() == 0:", "    dist.all_reduce(x, group=a.tp_group)"],
    "group of the whole job": ["cpu = dist.new_group()", "if dist.get_rank() == 0:", "    dist.barrier(group=cpu)"],
    "rank of the group": ["if dist.get_rank(a) == 0:", "    dist.all_reduce(x, group=a)"],
    "single process arm": ["if rank == 0:", "    if dist.is_initialized():", "        dist.barrier()"],
    "defined inside": ["def g():", "    dist.barrier()", "if rank == 0:", "    g()"],
    "flag in or": ["main = not dist.is_initialized() or rank == 0", "if main:", "    dist.barrier()"],
    "flag in ternary": ["main = rank == 0 if dist.is_initialized() else True", "if main:", "    dist.barrier()"],
}

SILENT = {
    "assertion keeps the others out": [
        "if rank != 0:",
        "    dist.barrier()",
        "if a:",
        "    if rank == 0:",
        "        dist.barrier()",
        "else:",
        "    assert rank == 0, 'the others find the file'",
        "    dist.barrier()",
    ],
    "log only": ["if rank == 0:", "    print(x)", "dist.barrier()"],
    "balanced arms": ["if rank == 0:", "    a()", "    dist.broadcast(x, 0)", "else:", "    dist.broadcast(x, 0)"],
    "first and last": ["if rank != 0:", "    dist.barrier()", "x()", "if rank == 0:", "    dist.barrier()"],
    "both spellings": ["if x.is_main_process:", "    dist.barrier()", "if rank != 0:", "    dist.barrier()"],
    "balanced early return": ["if rank != 0:", "    dist.barrier()", "    return", "x.y = 1", "dist.barrier()"],
    "all cases": [
        "if rank == 0:",
        "    dist.barrier()",
        "elif rank == 1:",
        "    dist.barrier()",
        "else:",
        "    dist.barrier()",
    ],
    "conditional arms": ["if rank == 0 or a:", "    dist.barrier()", "else:", "    dist.barrier()"],
    "or with three": [
        "if a or rank != 0 or b:",
        "    if a:",
        "        return",
        "    dist.all_reduce(x)",
        "    return",
        "dist.all_reduce(x)",
    ],
    "leaves with the same call": ["if a and rank == 0:", "    dist.barrier()", "    return", "dist.barrier()"],
    "same condition twice": [
        "if rank == 0:",
        "    if a:",
        "        dist.barrier()",
        "    if a:",
        "        dist.all_reduce(x)",
        "elif a:",
        "    dist.barrier()",
        "    dist.all_reduce(x)",
    ],
    "condition that was answered": ["if a:", "    if a or rank != 0:", "        dist.barrier()"],
    "condition that has left": ["if a:", "    return", "if a and rank == 0:", "    dist.barrier()"],
    "first and last under a condition": [
        "if a:",
        "    if rank != 0:",
        "        dist.barrier()",
        "x.y = 1",
        "if a:",
        "    if rank == 0:",
        "        dist.barrier()",
    ],
    "member of a group": ["if rank in a:", "    dist.all_reduce(x, group=b)"],
    "group is given": ["if b is not None:", "    dist.all_reduce(x, group=b)"],
    "rank of another group": ["if dist.get_rank(a) == 0:", "    dist.all_reduce(x, group=b)"],
    "rank of a mesh axis": ["if a['tp'].get_local_rank() == 0:", "    dist.all_reduce(x, group=b)"],
    "remainder with a group": ["if rank % 8 == 0:", "    dist.all_reduce(x, group=b)"],
    "members of the whole job": ["cpu = dist.new_group()", "if rank in a:", "    dist.barrier(group=cpu)"],
    "group of given ranks": ["some = dist.new_group(a)", "if dist.get_rank() == 0:", "    dist.barrier(group=some)"],
    "group with others": ["if dist.get_rank() == 0:", "    dist.broadcast(x, 0, group=a.group)"],
    "raise on both": ["if a:", "    if rank != 0:", "        dist.barrier()", "        raise x", "    raise x"],
    "group in keywords": ["if rank % 8 == 0:", "    dist.all_reduce(x, **a)"],
    "not distributed": ["if rank == -1:", "    dist.barrier()"],
    "distributed": ["if rank != -1:", "    dist.barrier()"],
    "local rank distributed": ["if x.local_rank != -1:", "    dist.barrier()"],
    "at least 0": ["if rank >= 0:", "    dist.barrier()"],
    "no rank": ["if rank is None:", "    return", "dist.barrier()"],
    "adapter": ["if x.lora.rank == 0:", "    return", "dist.barrier()"],
    "configured rank": ["if x.config.rank > 0:", "    dist.barrier()"],
    "taking turns": ["for turn in range(a):", "    if turn == rank:", "        x()", "    dist.barrier()"],
    "initialized": ["if dist.is_initialized():", "    dist.barrier()"],
    "world size": ["if dist.get_world_size() > 1:", "    dist.barrier()"],
    "single process arm": ["if rank == 0:", "    if not dist.is_initialized():", "        dist.barrier()"],
    "raise": ["if rank != 0:", "    raise ValueError(x)", "dist.barrier()"],
    "exit": ["if rank != 0:", "    sys.exit(1)", "dist.barrier()"],
    "finally": ["try:", "    if rank != 0:", "        return", "    x.y = 1", "finally:", "    dist.barrier()"],
    "local save": ["import torch.distributed.checkpoint as c", "if rank == 0:", "    c.save(x, no_dist=True)"],
    "lambda": ["if rank == 0:", "    y = lambda: dist.barrier()"],
    "definition": ["if rank == 0:", "    def g():", "        dist.barrier()"],
    "sharded loop": ["for i in range(rank, 100, 8):", "    dist.barrier()"],
    "match in every case": [
        "match rank:",
        "    case 0:",
        "        dist.barrier()",
        "    case _:",
        "        dist.barrier()",
    ],
}

UNKNOWN = {
    "call of a parameter": ["if rank == 0:", "    dist.barrier()", "else:", "    a()"],
    "unknown flag": ["import torch.distributed.checkpoint as c", "if rank == 0:", "    c.save(x, no_dist=a)"],
    "unknown package": ["import engine", "if rank == 0:", "    dist.barrier()", "else:", "    engine.sync()"],
}


@pytest.mark.parametrize("name", REPORTED)
def test_collective_of_some_ranks_is_told(name: str) -> None:
    assert len(told(body(*REPORTED[name]))) == 1


@pytest.mark.parametrize("name", SILENT)
def test_collective_of_all_ranks_is_silent(name: str) -> None:
    assert found(body(*SILENT[name])) == []


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_is_not_known_is_never_told(name: str) -> None:
    assert told(body(*UNKNOWN[name])) == []


def test_unknown_call_of_the_others_is_counted() -> None:
    (split,) = found(body(*UNKNOWN["call of a parameter"]))
    assert split.there.unknown


def test_decorator_that_keeps_ranks_out_parts_them() -> None:
    source = """
        from lib import rank_zero_only

        @rank_zero_only
        def f(x):
            dist.barrier()
    """
    (split,) = found(source)
    assert (split.guard.text, split.holds) == ("@rank_zero_only", True)


def test_attribute_set_from_the_rank_parts_the_ranks() -> None:
    source = """
        class T:
            def __init__(self):
                self.chief = dist.get_rank() == 0

            def f(self):
                if self.chief:
                    dist.barrier()
    """
    assert told(source, "T.f") == ["dist.barrier"]


def test_module_level_flag_parts_the_ranks() -> None:
    assert told("CHIEF = rank == 0\n" + body("if CHIEF:", "    dist.barrier()")) == ["dist.barrier"]


def test_small_function_that_asks_for_the_rank_is_a_test() -> None:
    source = "def chief():\n    if not dist.is_initialized():\n        return True\n    return dist.get_rank() == 0\n"
    assert told(source + body("if chief():", "    dist.barrier()")) == ["dist.barrier"]


def test_enter_and_exit_are_halves_of_one_balance() -> None:
    source = """
        class First:
            def __enter__(self):
                if rank != 0:
                    dist.barrier()

            def __exit__(self, *_):
                if rank == 0:
                    dist.barrier()
    """
    assert found(source, "First.__enter__") == []


def test_generator_of_a_context_manager_is_balanced() -> None:
    assert found(body("if rank != 0:", "    dist.barrier()", "yield", "if rank == 0:", "    dist.barrier()")) == []


CALLS = "import lib\nfrom lib import sync\n"


def test_callee_in_another_file_is_followed_with_its_chain() -> None:
    lib = "import inner\ndef sync():\n    inner.wait()\n"
    inner = "import torch.distributed as dist\ndef wait():\n    dist.barrier()\n"
    (split,) = found(CALLS + body("if rank == 0:", "    sync()"), lib=lib, inner=inner)
    assert [hop.path for hop in split.first.hops] == ["main.py", "lib.py"]
    assert (split.first.effect.path, split.first.effect.span[0]) == ("inner.py", 3)


@pytest.mark.parametrize(
    "lib",
    [
        "import torch.distributed as dist\ndef sync(on=False):\n    if on:\n        dist.barrier()\n",
        "import torch.distributed as dist\ndef sync(on=False):\n    if not on:\n        return\n    dist.barrier()\n",
        "def sync():\n    return 1\n",
        "def sync():\n    raise NotImplementedError\n",
    ],
)
def test_callee_that_need_not_wait_is_silent(lib: str) -> None:
    assert told(CALLS + body("if rank == 0:", "    sync()"), lib=lib) == []


@pytest.mark.parametrize(
    "lib",
    [
        "from inner import sync\n",
        "from inner import *\n",
        "import inner\nsync = inner.sync\n",
        "from torch.distributed import barrier as sync\n",
        "import torch.distributed as dist\nsync = dist.barrier\n",
    ],
)
def test_re_exported_helper_is_found_or_open(lib: str) -> None:
    inner = "import torch.distributed as dist\ndef sync():\n    dist.barrier()\n"
    splits_found = found(CALLS + body("if rank == 0:", "    sync()"), lib=lib, inner=inner)
    assert len(splits_found) == (0 if "torch" in lib else 1)


def test_stub_on_the_other_side_is_unknown() -> None:
    lib = "class A:\n    def sync(self):\n        raise NotImplementedError\n"
    source = """
        from lib import A

        class B(A):
            def f(self):
                if rank == 0:
                    dist.barrier()
                else:
                    self.sync()
    """
    assert told(source, "B.f", lib=lib) == []


def test_inherited_method_of_another_file_is_followed() -> None:
    lib = "import torch.distributed as dist\nclass A:\n    def sync(self):\n        dist.barrier()\n"
    source = "from lib import A\nclass B(A):\n    def f(self):\n        if rank == 0:\n            self.sync()\n"
    assert told(source, "B.f", lib=lib) == ["self.sync"]


def test_method_that_torch_has_is_known_but_not_on_the_object_itself() -> None:
    lib = "from torch import nn\nclass A(nn.Module):\n    pass\n"
    lines = ["y = A()", "if rank == 0:", "    dist.barrier()", "else:", "    y.state_dict()"]
    assert told("from lib import A\nimport torch.distributed as dist\n" + body(*lines), lib=lib) == ["dist.barrier"]
    source = """
        from torch import nn

        class A(nn.Module):
            def f(self):
                if rank == 0:
                    dist.barrier()
                else:
                    self.meet()
    """
    assert told(source, "A.f") == []


def test_method_of_an_object_is_followed() -> None:
    lib = "import torch.distributed as dist\nclass A:\n    def sync(self):\n        dist.barrier()\n"
    assert told("from lib import A\n" + body("y = A()", "if rank == 0:", "    y.sync()"), lib=lib) == ["y.sync"]


def test_recursion_ends() -> None:
    assert found("def g(n):\n    return g(n - 1)\n" + body("if rank == 0:", "    g(3)")) == []


def test_rank_test_inside_a_callee_is_answered() -> None:
    lib = """
        import torch.distributed as dist

        def before():
            if dist.get_rank() != 0:
                dist.barrier()

        def after():
            if dist.get_rank() == 0:
                dist.barrier()
    """
    source = "import lib\n" + body("lib.before()", "if rank == 0:", "    print(x)", "lib.after()")
    assert found(source, lib=lib) == []
    source = "import lib\n" + body("if rank == 0:", "    lib.before()", "else:", "    lib.after()")
    assert found(source, lib=lib) == []


def test_group_of_a_callee_may_be_any() -> None:
    lib = "import torch.distributed as dist\ndef sync(x, g):\n    dist.all_reduce(x, group=g)\n"
    lines = ["if rank == 0:", "    sync(x, a)", "else:", "    dist.all_reduce(x, group=a)"]
    assert found(CALLS + body(*lines), lib=lib) == []


def test_both_sides_are_told() -> None:
    (split,) = found(body("if rank == 0:", "    dist.all_reduce(x)", "dist.barrier()"))
    assert split.first.effect.text == "dist.all_reduce"
    assert split.there.next is not None
    assert split.there.next.effect.text == "dist.barrier"


def test_collective_beside_the_table_is_followed_but_not_told() -> None:
    effects = Effects({"torch.distributed.checkpoint.save": {}}, beside=Effects({"torch.distributed.barrier": {}}))
    text = HEAD + body("import torch.distributed.checkpoint as c", "if rank == 0:", "    c.save(x)", "dist.barrier()")
    text += body("if rank == 0:", "    dist.barrier()").replace("def f", "def g")
    tree = parse(text)
    assert not isinstance(tree, SyntaxError)
    program = Program(["main.py"], lambda path, _: Module(path, text, tree), lambda _: text.encode(), effects.words)
    (split,) = splits(program, "main.py", "f", effects)
    assert split.there.next is not None
    assert split.there.next.effect.name == "torch.distributed.barrier"
    assert splits(program, "main.py", "g", effects) == []


def test_finding_has_the_guard_and_the_chain_of_calls() -> None:
    lib = "import inner\ndef sync():\n    inner.wait()\n"
    inner = "import torch.distributed as dist\ndef wait():\n    dist.barrier()\n"
    lines = ["if rank != 0:", "    return", "sync()"]
    (split,) = found(CALLS + body(*lines), lib=lib, inner=inner)
    voice = Voice("rule", "family", "error", Evidence("observation"), 0.9)
    divergent = Divergent(split, voice, "    sync()", program_of(""))
    finding = divergent.finding("message", help="help")
    assert (divergent.call, divergent.effect) == ("sync", "dist.barrier")
    assert divergent.who == "only ranks where `rank != 0` is false"
    assert divergent.onward == "the others never do"
    assert [(place.path, place.line, place.message) for place in finding.related] == [
        ("main.py", 8, "the ranks part at `rank != 0`"),
        ("lib.py", 3, "which calls `inner.wait`"),
        ("inner.py", 3, "which issues `dist.barrier`"),
    ]
    assert (finding.path, finding.span.line, finding.confidence) == ("main.py", 10, 0.9)


def test_onward_names_the_place_where_the_others_wait() -> None:
    (split,) = found(body("if rank == 0:", "    dist.all_reduce(x)", "dist.barrier()"))
    divergent = Divergent(split, Voice("rule", "family", "error", Evidence("observation"), 0.9), "", program_of(""))
    assert divergent.onward == "the others go on to `dist.barrier` (main.py:8)"


def test_call_that_is_too_many_is_told_and_not_the_common_end() -> None:
    lines = ["if rank == 0:", "    dist.barrier()", "for i in x:", "    dist.barrier()", "return x"]
    (split,) = found(body(*lines))
    assert split.first.effect.span[0] == 7


def test_ways_that_grow_beyond_reason_are_unknown() -> None:
    lines = ["if rank == 0:"]
    for number in range(8):
        lines += [f"    if a[{number}]:", "        dist.barrier()" if number % 2 else "        dist.all_reduce(x)"]
    assert all(split.here.unknown for split in found(body(*lines)))
