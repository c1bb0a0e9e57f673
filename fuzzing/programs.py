"""Programs by a grammar of our domain: what the rules look for, in every statement that Python has."""

from __future__ import annotations

import textwrap
from random import Random

from fuzzing.vocabulary import Vocabulary

MODULES: tuple[str, ...] = ("a", "b", "c", "pkg/__init__", "pkg/x", "pkg/deep/y")
"""The files of a generated project, without their ending."""

_RANKED = (
    "dist.get_rank() == 0",
    "rank == 0",
    "self.rank != 0",
    "local_rank > 0",
    "int(os.environ['RANK']) == 0",
    "os.environ.get('LOCAL_RANK', '0') == '0'",
    "accelerator.is_main_process",
    "(rank := dist.get_rank()) in (0, 1)",
    "not rank",
    "rank % 2",
    "is_main()",
    "0 <= rank < world_size // 2",
    "rank == 0 if flag else rank == 1",
    "mesh.get_local_rank('tp') == 0",
    "dist.is_initialized() and dist.get_rank() == 0",
    "any(rank == r for r in ranks)",
)
_COLLECTIVES = (
    "dist.barrier()",
    "dist.all_reduce(x, group=group)",
    "dist.broadcast(x, src=rank)",
    "dist.all_gather(out, x)",
    "dcp.save(state, checkpoint_id=path)",
    "torch.save(model.state_dict(), path)",
    "dist.new_group([0, 1])",
    "torch.distributed.reduce_scatter_tensor(x, y)",
    "model.save_checkpoint(path)",
    "accelerator.wait_for_everyone()",
    "sync(x)",
    "self.helper(x)",
    "f0(x)",
    "FSDP.state_dict_type(model, kind)",
    "torch.load(path)",
    "nn.utils.clip_grad_norm_(model.parameters(), 1.0)",
)
_ATOMS = (
    "0",
    "1e400",
    "-1",
    "0x" + "f" * 90,
    "9" * 400,
    "1_000j",
    "...",
    "None",
    "True",
    "''",
    '"""a\nb"""',
    "b'\\xff'",
    "'\\N{BULLET}'",
    "r'\\d'",
    "__debug__",
    "'\\ud800'",
    "()",
    "[]",
    "{}",
)
_NAMES = (
    "x",
    "rank",
    "state",
    "model",
    "optimizer",
    "scaler",
    "group",
    "path",
    "self",
    "cfg",
    "é",
    "_",
    "match",
    "type",
)
_OPERATORS = ("+", "-", "@", "//", "%", "**", "<<", "and", "or", "==", "is not", "not in", "<", "|")
_FUNCTIONS = ("f0", "f1", "f2", "sync", "save", "main", "is_main", "forward", "__init__", "collate_fn")
_CLASSES = ("A", "B", "C", "Trainer", "Model")


class Writer:
    """Writes one project. `most` bounds the statements of a block, `deepest` the nesting of expressions, `left` counts
    the statements that may still come."""

    def __init__(self, words: Vocabulary, chance: Random) -> None:
        self.words = words
        self.chance = chance
        self.most = chance.choice((2, 3, 4, 6))
        self.deepest = chance.choice((1, 2, 3))
        self.nesting = chance.choice((2, 3, 4, 7))
        self.left = chance.choice((10, 25, 60))
        self.own = chance.choice((0.2, 0.5, 0.9))
        self.step = chance.choice(("    ", "  ", "\t", " "))

    def project(self) -> dict[str, str]:
        """Some files that import each other, in circles too."""
        stems = self.chance.sample(MODULES, self.chance.choice((1, 1, 2, 3, len(MODULES))))
        return {f"{stem}.py": self.module(stems) for stem in stems}

    def module(self, stems: list[str]) -> str:
        """The text of one file."""
        chance = self.chance
        lines = [self.imported(stems) for _ in range(chance.randrange(1, 8))]
        if chance.random() < 0.1:
            lines.insert(0, "from __future__ import annotations")
        if chance.random() < 0.2:
            lines.insert(0, '"""A module."""')
        lines += [self.statement(0, stems) for _ in range(chance.randrange(1, 8))]
        return "\n".join(lines) + chance.choice(("\n", "\n", "", "\n\n\n"))

    def imported(self, stems: list[str]) -> str:
        """One import, of what the rules know or of another file of the project."""
        chance = self.chance
        usual = (
            "import torch",
            "import torch.distributed as dist",
            "import torch.distributed.checkpoint as dcp",
            "import os",
        )
        if chance.random() < 0.4:
            return chance.choice(usual)
        if chance.random() < 0.4:
            return chance.choice(self.words.imports)
        stem = chance.choice(stems).removesuffix("/__init__").replace("/", ".")
        name = chance.choice(("*", *_FUNCTIONS, *_CLASSES))
        alias = "" if name == "*" else chance.choice(("", f" as {chance.choice(_FUNCTIONS)}"))
        return chance.choice(
            (
                f"from {stem} import {name}{alias}",
                f"import {stem}",
                f"import {stem} as {chance.choice(_NAMES)}",
                f"from .{chance.choice(('', stem))} import {name}{alias}",
                f"from {'.' * chance.randrange(1, 5)} import {name}{alias}",
            )
        )

    def block(self, depth: int, stems: list[str]) -> str:
        """The statements of one block, indented once."""
        chance = self.chance
        if depth > self.nesting or self.left < 0:
            return self.step + chance.choice(("pass", self.call(1), "return", "yield", "raise"))
        statements = [self.statement(depth, stems) for _ in range(chance.randrange(1, self.most + 1))]
        return textwrap.indent("\n".join(statements), self.step, lambda _: True)

    def statement(self, depth: int, stems: list[str]) -> str:
        """One statement; at the top mostly functions and classes."""
        chance = self.chance
        self.left -= 1
        if chance.random() > self.own:
            return chance.choice(self.words.statements)
        if depth == 0 and chance.random() < 0.6:
            return chance.choice((self.function, self.function, self.klass))(depth, stems)
        if depth > self.nesting or self.left < 0 or chance.random() < 0.45:
            return self.simple(stems)
        compound = (
            self.guard,
            self.guard,
            self.guard,
            self.loop,
            self.attempt,
            self.within,
            self.choices,
            self.function,
            self.klass,
        )
        return chance.choice(compound)(depth, stems)

    def simple(self, stems: list[str]) -> str:
        """A statement of one line."""
        chance = self.chance
        e = self.expression
        return chance.choice(
            (
                lambda: chance.choice(_COLLECTIVES),
                lambda: chance.choice(_COLLECTIVES),
                lambda: self.call(0),
                lambda: f"{self.target()} = {e(0)}",
                lambda: f"{self.target()} = {self.target()} = {chance.choice(_COLLECTIVES)}",
                lambda: f"{chance.choice(_NAMES)}: {e(1)} = {e(0)}",
                lambda: f"x {chance.choice(('+=', '@=', '//=', '|='))} {e(1)}",
                lambda: f"return {e(0)}",
                lambda: f"yield {e(1)}",
                lambda: f"x = yield from {self.call(1)}",
                lambda: f"raise {e(1)} from {e(1)}",
                lambda: f"assert {chance.choice(_RANKED)}, {e(1)}",
                lambda: f"del {chance.choice(_NAMES)}, x[{e(1)}]",
                lambda: f"global {chance.choice(_NAMES)}",
                lambda: f"nonlocal {chance.choice(_NAMES)}",
                lambda: chance.choice(("pass", "break", "continue", "return", "...", "'text'")),
                lambda: f"await {self.call(1)}",
                lambda: f"rank = {chance.choice(_RANKED)}; {chance.choice(_COLLECTIVES)}",
                lambda: self.imported(stems),
                lambda: f"{chance.choice(_NAMES)} = lambda {self.parameters(typed=False)}: {e(1)}",
                lambda: f"# shardlint: ignore[{chance.choice(('rank-guarded-collective', 'ALL', 'nothing', ''))}] why",
            )
        )()

    def target(self) -> str:
        """What can be assigned to."""
        chance = self.chance
        return chance.choice(
            (
                chance.choice(_NAMES),
                f"self.{chance.choice(_NAMES)}",
                f"x[{self.expression(1)}]",
                "x, *rest",
                "(x, [rank, y])",
                "self.a.b[0].c",
            )
        )

    def guard(self, depth: int, stems: list[str]) -> str:
        """A branch on a rank, or a ternary chain of them."""
        chance = self.chance
        text = f"if {self.condition()}:\n{self.block(depth + 1, stems)}"
        for _ in range(chance.choice((0, 0, 1, 3))):
            text += f"\nelif {self.condition()}:\n{self.block(depth + 1, stems)}"
        return text + (f"\nelse:\n{self.block(depth + 1, stems)}" if chance.random() < 0.4 else "")

    def condition(self) -> str:
        """What a branch or a loop asks."""
        chance = self.chance
        return chance.choice((chance.choice(_RANKED), chance.choice(_RANKED), self.expression(0)))

    def loop(self, depth: int, stems: list[str]) -> str:
        """A loop, with its `else` at times."""
        chance = self.chance
        heads = (
            f"for {self.target()} in {self.expression(0)}:",
            "for i in range(rank):",
            "for batch in loader:",
            f"while {self.condition()}:",
            f"async for x in {self.call(1)}:",
        )
        text = f"{chance.choice(heads)}\n{self.block(depth + 1, stems)}"
        return text + (f"\nelse:\n{self.block(depth + 1, stems)}" if chance.random() < 0.2 else "")

    def attempt(self, depth: int, stems: list[str]) -> str:
        """A `try` with handlers."""
        chance = self.chance
        text = f"try:\n{self.block(depth + 1, stems)}"
        star = chance.choice(("", "", "*"))
        handlers = chance.choice((0, 1, 2))
        for _ in range(handlers):
            caught = chance.choice(("OSError", "(A, B)", "RuntimeError as error"))
            text += f"\nexcept{star} {caught}:\n{self.block(depth + 1, stems)}"
        if handlers and not star and chance.random() < 0.2:
            text += f"\nexcept:\n{self.block(depth + 1, stems)}"
        if handlers and chance.random() < 0.3:
            text += f"\nelse:\n{self.block(depth + 1, stems)}"
        if not handlers or chance.random() < 0.3:
            text += f"\nfinally:\n{self.block(depth + 1, stems)}"
        return text

    def within(self, depth: int, stems: list[str]) -> str:
        """A `with` block."""
        chance = self.chance
        heads = (
            f"with {self.call(1)} as {self.target()}, {self.expression(1)}:",
            "with torch.no_grad():",
            "with model.no_sync():",
            "with accelerator.main_process_first():",
            "async with lock:",
            f"with ({self.call(1)} as x, {self.call(1)}):",
        )
        return f"{chance.choice(heads)}\n{self.block(depth + 1, stems)}"

    def choices(self, depth: int, stems: list[str]) -> str:
        """A `match` statement."""
        chance = self.chance
        patterns = (
            "0",
            "_",
            "[rank, *rest]",
            "{'a': x, **rest}",
            "A(x=0) | B(1, y=[])",
            "(dist.x | None) as rank",
            "-1.5 + 2j",
            "'a' 'b'",
        )
        cases: list[str] = []
        for _ in range(chance.choice((1, 2, 4))):
            when = f" if {self.condition()}" if chance.random() < 0.4 else ""
            cases.append(f"case {chance.choice(patterns)}{when}:\n{self.block(depth + 2, stems)}")
        return f"match {self.condition()}:\n" + textwrap.indent("\n".join(cases), self.step, lambda _: True)

    def parameters(self, *, typed: bool = True) -> str:
        """The parameters of a function."""
        chance = self.chance
        named = chance.sample(_NAMES, chance.randrange(4))
        marked = [name + (f": {self.expression(2)}" if typed and chance.random() < 0.2 else "") for name in named]
        ending = [f"k={self.expression(2)}"] * (chance.random() < 0.3) + ["*args"] * (chance.random() < 0.3)
        return ", ".join([*marked, *ending, *["**kwargs"] * (chance.random() < 0.3)])

    def function(self, depth: int, stems: list[str]) -> str:
        """A function or a coroutine, perhaps decorated."""
        chance = self.chance
        asynchronous = chance.choice(("", "", "", "async "))
        returns = f" -> {self.expression(2)}" if chance.random() < 0.1 else ""
        name = chance.choice(_FUNCTIONS)
        head = f"{self.decorators()}{asynchronous}def {name}({self.parameters()}){returns}:"
        return f"{head}\n{self.block(depth + 1, stems)}"

    def klass(self, depth: int, stems: list[str]) -> str:
        """A class, whose bases may lead back to it."""
        chance = self.chance
        bases = [
            chance.choice((*self.words.bases, *_CLASSES, "a.A", "*x", "metaclass=B"))
            for _ in range(chance.randrange(3))
        ]
        bases.sort(key=lambda base: "=" in base)
        return (
            f"{self.decorators()}class {chance.choice(_CLASSES)}({', '.join(bases)}):\n{self.block(depth + 1, stems)}"
        )

    def decorators(self) -> str:
        """Lines above a definition."""
        chance = self.chance
        usual = (
            "@torch.no_grad()",
            "@property",
            "@rank_zero_only",
            "@dataclass",
            "@(x := y)",
            "@a[0].b",
            "@staticmethod",
        )
        known = tuple(f"@{one}" for one in self.words.decorators)
        return "".join(chance.choice((*usual, *known)) + "\n" for _ in range(chance.choice((0, 0, 0, 1, 2))))

    def call(self, depth: int) -> str:
        """A call that a rule knows, or one of any callee with any arguments."""
        chance = self.chance
        if chance.random() < 0.5:
            return chance.choice((*self.words.calls, *_COLLECTIVES))
        callee = chance.choice(
            (*_FUNCTIONS, "self.save", "super().__init__", "a.b.c", f"({self.expression(depth + 1)})")
        )
        given = [self.expression(depth + 1) for _ in range(chance.randrange(3))]
        given += [f"{name}={self.expression(depth + 1)}" for name in chance.sample(_NAMES, chance.randrange(2))]
        given += chance.choice(([], [], ["*args"], ["**kwargs"], ["*args", "**{**a, 'b': 1}"]))
        given.sort(
            key=lambda one: (
                ("=" in one.partition("(")[0] and not one.startswith(("*", "(", "'"))) or one.startswith("**")
            )
        )
        return f"{callee}({', '.join(given)})"

    def expression(self, depth: int) -> str:
        """Any expression."""
        chance = self.chance
        if depth >= self.deepest:
            return chance.choice((*_ATOMS, *_NAMES, *_NAMES, repr(chance.choice(self.words.texts))))
        e = self.expression
        d = depth + 1
        return chance.choice(
            (
                lambda: chance.choice((*_ATOMS, *self.words.names)),
                lambda: self.call(d),
                lambda: self.call(d),
                lambda: f"({chance.choice(_RANKED)})",
                lambda: f"({e(d)} {chance.choice(_OPERATORS)} {e(d)})",
                lambda: f"({chance.choice(('not', '-', '~', 'await'))} {e(d)})",
                lambda: f"({e(d)} if {e(d)} else {e(d)})",
                lambda: f"(lambda {self.parameters(typed=False)}: {e(d)})",
                lambda: f"[{e(d)} for x in {e(d)} if {e(d)}]",
                lambda: f"{{{e(d)}: {e(d)} for x, y in {e(d)}}}",
                lambda: f"({e(d)} for x in {e(d)})",
                lambda: f"{{{e(d)}, *{e(d)}}}",
                lambda: f"{{'a': {e(d)}, **{e(d)}, {e(d)}: {e(d)}}}",
                lambda: f"({e(d)}).{chance.choice(_NAMES)}",
                lambda: f"({e(d)})[{e(d)}:{e(d)}, ...]",
                lambda: f"(x := {e(d)})",
                lambda: "f'{x!r:>{rank}} {{}} {dist.get_rank()=}'",
                lambda: f"({e(d)} < {e(d)} <= {e(d)})",
                lambda: f"[*{e(d)}, {e(d)}]",
                lambda: "('a' 'b' f'{x}')",
            )
        )()


def deep(words: Vocabulary, chance: Random) -> str:
    """A program with one construct nested or repeated far beyond what people write."""
    ranked, call = chance.choice(_RANKED), chance.choice((*words.calls, *_COLLECTIVES))
    many = chance.choice((30, 90, 99, 150, 400))
    few = min(many, 99)
    body = chance.choice(
        (
            lambda: f"x = {'(' * many}{call}{')' * many}",
            lambda: f"x = {'f(' * many}{ranked}{')' * many}",
            lambda: "x = " + "[" * many + call + "]" * many,
            lambda: "x = " + "not " * many + f"({ranked})",
            lambda: "x = " + " + ".join([call] * many),
            lambda: f"x = {call}" + f".m({ranked})" * many,
            lambda: "x = " + "".join(f"{call} if {ranked} else " for _ in range(many)) + "0",
            lambda: "x = " + "lambda: " * many + call,
            lambda: "\n".join(" " * n + f"if {ranked}:" for n in range(few)) + "\n" + " " * few + call,
            lambda: "\n".join(" " * n + f"def f{n}(rank):" for n in range(few)) + "\n" + " " * few + call,
            lambda: "\n".join(" " * n + f"class A{n}(A{n + 1}):" for n in range(few)) + "\n" + " " * few + call,
            lambda: "\n".join(" " * n + "with f() as x:" for n in range(19)) + "\n" + " " * 19 + call,
            lambda: "\n".join(" " * n + "for x in f():" for n in range(19)) + "\n" + " " * 19 + call,
            lambda: "if x: pass\n" + f"elif {ranked}: {call}\n" * many,
            lambda: f"def f(x):\n  if {ranked}:\n    return {call}\n" * many,
            lambda: (
                "".join(f"def f{n}(x):\n  f{n + 1}(x); f{n + 1}(x)\n" for n in range(few)) + f"if {ranked}: f0({call})"
            ),
            lambda: "".join(f"a{n + 1} = a{n}\n" for n in range(many)) + f"if a{many}: {call}",
            lambda: f"def f(rank):\n  f(rank)\n  if {ranked}:\n    g(rank)\n  {call}\ndef g(rank):\n  f(rank)\n" * 3,
            lambda: (
                "class A(B): pass\nclass B(C): pass\nclass C(A):\n" + f"  def f(self):\n    if {ranked}: {call}\n" * few
            ),
            lambda: "x = {" + ", ".join(f"'k{n}': {call}" for n in range(many)) + "}",
            lambda: "match x:\n" + f"  case {{'a': [1, *r]}} if {ranked}:\n    {call}\n" * many,
            lambda: "while x:\n" + "  x = f(x)\n" * many + f"  if {ranked}: break\n  {call}",
            lambda: "try:\n  f()\n" + f"except A:\n  if {ranked}: {call}\n" * many,
            lambda: f"x = '{'rank ' * many * 50}'\nif {ranked}: {call}",
            lambda: f"x = f'{'{x}' * many}'\nif {ranked}: {call}",
            lambda: "from b import *\n" * many + f"if {ranked}: {call}",
            lambda: f"global {', '.join(f'a{n}' for n in range(many))}\nif {ranked}: {call}",
            lambda: f"def f({', '.join(f'a{n}={n}' for n in range(many))}):\n  if {ranked}: {call}",
            lambda: f"# shardlint: ignore[{'a,' * many}]\n" + f"if {ranked}: {call}",
            lambda: f"{'@d' + chr(10)}" * many + f"def f(rank):\n  if {ranked}: {call}",
        )
    )()
    usual = ("import os, torch", "import torch.distributed as dist", "import torch.distributed.checkpoint as dcp")
    head = "\n".join([*usual, *chance.sample(words.imports, min(8, len(words.imports)))])
    return f"{head}\n{body}\n"
