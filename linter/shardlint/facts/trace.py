"""What a function does that other ranks must do too, as a small tree of plain tuples that can be stored.

A trace is a tuple of steps:

    ("call", names, certainty, span, text, arguments)   names: dotted candidates; arguments, only for a call whose last
                                                        name a rule asked for: (place, text, whether literal, literal),
                                                        with the place OPAQUE when `*` or `**` may pass more of them
    ("unknown", span, last)                             a call of something that no name is known for, but its last one
    ("if", span, test, then, otherwise)                 test: a rank test or a test of local data as a tuple, or the
                                                        text of any other condition
    ("loop", span, body)                                with a fourth part, the test of a `while`, if of local data
    ("exit", kind)                                      return, raise, break or continue

`and`, `or`, `not` and conditional expressions become `if` steps, so that a rank test stands alone in its step.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable
from typing import Any

from shardlint.facts.job_groups import whole_job
from shardlint.facts.local_tests import LocalTest, local_test
from shardlint.facts.local_words import KINDS as LOCAL_KINDS
from shardlint.facts.module import COMPREHENSIONS, FUNCTIONS, FunctionNode, Module
from shardlint.facts.names import NOTHING, Resolved, bindings_at, resolve
from shardlint.facts.rank_tests import RankTest, decorator_test, rank_test
from shardlint.facts.values import literal, made_from
from shardlint.finding import Span

OPAQUE = "**"
WHOLE = "whole job: "
"""Before the place of an argument that is a group of all processes: says so of it."""
Step = tuple[Any, ...]
Trace = tuple[Step, ...]
Test = tuple[Any, ...]
"""key, positive, text, span, kind, group, certainty, and for local data the steps in which ranks may have agreed."""

_MOST_TWICE = 1_000
"""Steps of an arm that is repeated. A long chain of `elif a and b` would double the trace at each of its links."""

_QUIET_NAMES = (
    "aim aiohttp anthropic av boto3 botocore clearml click cloudpickle colorama comet_ml cv2 datasets decord dill "
    "dotenv dvclive einops fastapi fire fsspec gcsfs google httpx huggingface_hub hydra jieba jinja2 librosa loguru "
    "matplotlib mlflow msgpack neptune nltk numba numpy nvtx omegaconf openai orjson packaging pandas PIL "
    "prometheus_client psutil pyarrow pydantic pynvml regex requests rich rouge_score s3fs safetensors scipy "
    "sentencepiece setproctitle setuptools sklearn soundfile swanlab tabulate tensorboard tensorboardX termcolor "
    "tiktoken tokenizers toml tomli torch torchvision tqdm trackio triton typer uvicorn wandb yaml zmq"
)
QUIET = frozenset(sys.stdlib_module_names).union(_QUIET_NAMES.split())
"""Packages whose functions issue no collective unless a rule's table names them."""

_STOPS = {"sys.exit", "builtins.exit", "builtins.quit", "os._exit", "os.abort"}
_PLAIN_WORDS = (
    "append extend items keys values get format join split strip startswith endswith lower upper replace copy pop add "
    "update sort index count encode decode setdefault info debug warning error exception critical write writelines "
    "flush close read readline size dim item tolist numel float double half int long bool cpu cuda detach clone view "
    "reshape permute contiguous mean sum max min isoformat total_seconds exists is_dir is_file mkdir add_scalar "
    "set_description set_postfix print rstrip lstrip insert remove clear discard union removeprefix "
    "removesuffix to_dict parameters named_parameters buffers named_buffers modules named_modules children "
    "named_children warning_once info_once info_rank0 warning_rank0 addHandler removeHandler setLevel requires_grad_ "
    "send_string recv_string warn memory_stats memory_allocated max_memory_allocated memory_reserved "
    "max_memory_reserved reset_peak_memory_stats empty_cache mem_get_info current_device device_count get_device_name "
    "get_device_properties"
)
_PLAIN = frozenset(_PLAIN_WORDS.split())
"""Methods of strings, containers, loggers, files and tensors: whatever the receiver, they wait for no other rank."""


def trace(module: Module, owner: FunctionNode | ast.Module, asked: frozenset[str], *, local: bool = False) -> Trace:
    """The trace of one function. `asked` holds the last names of the calls whose arguments a rule needs.

    `local`: whether its tests of local data are told from other conditions.

    A body that does nothing is one to be overridden (an abstract method, a protocol): what is called is not known.
    """
    tracer = _Tracer(module, asked, local)
    if isinstance(owner, FUNCTIONS) and all(_is_stub(statement) for statement in owner.body):
        return (("unknown", _span(module.span(owner)), ""),)
    body = tracer.block(owner.body)
    if isinstance(owner, FUNCTIONS):
        for decorator in reversed(owner.decorator_list):
            test = decorator_test(module, decorator)
            if test is not None:
                body = (("if", _span(test.span), _test(test), body, ()),)
    return body


def _is_stub(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Pass):
        return True
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Constant)
    return isinstance(statement, ast.Raise) and "NotImplemented" in ast.unparse(statement)


def _span(span: Span) -> tuple[int, int, int, int]:
    return (span.line, span.column, span.end_line, span.end_column)


def _test(test: RankTest) -> Test:
    return (test.key, test.positive, test.text, _span(test.span), test.kind, test.group, test.certainty, ())


def plain(test: Test | str) -> str:
    """The text of a condition that is no rank test; empty for a rank test."""
    if isinstance(test, str):
        return test
    return test[2] if test[4] in LOCAL_KINDS else ""


def tests_rank(test: Test | str) -> bool:
    """Whether a condition is a rank test."""
    return not isinstance(test, str) and test[4] not in LOCAL_KINDS


def callee(module: Module, call: ast.Call) -> Resolved:
    """The dotted names of what a call calls: functions by name, methods by the class of their receiver."""
    answer = resolve(module, call.func)
    if answer or not isinstance(call.func, ast.Attribute):
        return answer
    receiver = call.func.value
    made = made_from(module, receiver) or _taken_apart(module, receiver)
    return made.with_suffix(call.func.attr)


def _taken_apart(module: Module, node: ast.expr) -> Resolved:
    """The factory behind one of several results: `engine` in `engine, _ = deepspeed.initialize(...)`."""
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Call):
        return resolve(module, node.value.func)
    if isinstance(node, ast.Name):
        found = bindings_at(module, node)
        if found is not None and len(found[0]) == 1:
            binding = found[0][0]
            if binding.kind == "assign" and not binding.exact and isinstance(binding.value, ast.Call):
                return resolve(module, binding.value.func)
    return NOTHING


def _chooses_ranks(steps: Iterable[Step]) -> bool:
    conditions = [step for step in steps if step[0] == "if"]
    return any(tests_rank(step[2]) or _chooses_ranks((*step[3], *step[4])) for step in conditions)


def _fits_twice(steps: Trace) -> bool:
    """Whether a trace has few enough steps, inner ones too, to be repeated."""
    waiting, count = [steps], 0
    while waiting and count <= _MOST_TWICE:
        for step in waiting.pop():
            count += 1
            if step[0] == "if":
                waiting += step[3:]
            elif step[0] == "loop":
                waiting.append(step[2])
    return count <= _MOST_TWICE


class _Tracer:
    def __init__(self, module: Module, asked: frozenset[str], asks_data: bool) -> None:
        self.module = module
        self.asked = asked
        self.asks_data = asks_data

    def block(self, body: Iterable[ast.stmt]) -> Trace:
        steps: list[Step] = []
        for statement in body:
            steps += self.statement(statement)
        return tuple(steps)

    def statement(self, statement: ast.stmt) -> list[Step]:
        if isinstance(statement, (*FUNCTIONS, ast.ClassDef)):
            return []
        if isinstance(statement, ast.If):
            return self.branch(statement.test, self.block(statement.body), self.block(statement.orelse))
        if isinstance(statement, ast.While):
            body = (*self.expression(statement.test), *self.block(statement.body))
            return [*self.guarded_loop(statement, statement.test, body), *self.block(statement.orelse)]
        if isinstance(statement, (ast.For, ast.AsyncFor)):
            steps = self.expression(statement.iter)
            steps += self.loop(statement, statement.iter, self.block(statement.body))
            return [*steps, *self.block(statement.orelse)]
        if isinstance(statement, (ast.With, ast.AsyncWith)):
            steps = [step for item in statement.items for step in self.expression(item.context_expr)]
            return [*steps, *self.block(statement.body)]
        if isinstance(statement, ast.Match):
            return self.match(statement)
        if isinstance(statement, ast.Assert):
            return self.assertion(statement)
        if isinstance(statement, ast.Try) or statement.__class__.__name__ == "TryStar":
            return self.attempt(statement)
        return self.simple(statement)

    def simple(self, statement: ast.stmt) -> list[Step]:
        steps: list[Step] = []
        for child in ast.iter_child_nodes(statement):
            if isinstance(child, ast.expr):
                steps += self.expression(child)
        if isinstance(statement, (ast.Return, ast.Raise, ast.Break, ast.Continue)):
            steps.append(("exit", statement.__class__.__name__.lower()))
        elif any(step[0] == "call" and step[1] and step[1][0] in _STOPS for step in steps):
            steps.append(("exit", "raise"))
        return steps

    def assertion(self, statement: ast.Assert) -> list[Step]:
        """`assert rank == 0` says which ranks come this far: the others leave. Other assertions choose no ranks."""
        steps = self.branch(statement.test, (), (("exit", "raise"),))
        return steps if _chooses_ranks(steps) else self.simple(statement)

    def attempt(self, statement: ast.stmt) -> list[Step]:
        """`finally` runs on every way out of the rest, so its steps come before each exit too."""
        steps = list(self.block(getattr(statement, "body", ())))
        for handler in getattr(statement, "handlers", ()):
            inside = self.block(handler.body)
            if inside:
                steps.append(("if", _span(self.module.span(handler)), "", inside, ()))
        steps += self.block(getattr(statement, "orelse", ()))
        final = self.block(getattr(statement, "finalbody", ()))
        return [*(_before_exits(steps, final) if final else steps), *final]

    def match(self, statement: ast.Match) -> list[Step]:
        """Cases are a chain of conditions; `case 0:` on a process number is a rank test."""
        steps: list[Step] = []
        for case in reversed(statement.cases):
            inside = self.block(case.body)
            pattern, span = case.pattern, _span(self.module.span(case.pattern))
            if isinstance(pattern, ast.MatchAs) and pattern.pattern is None and case.guard is None:
                steps = list(inside)
            elif isinstance(pattern, ast.MatchValue) and case.guard is None:
                steps = self.branch(self._equals(statement, pattern), inside, tuple(steps))
            elif inside or steps:
                steps = [("if", span, "", inside, tuple(steps))]
        return [*self.expression(statement.subject), *steps]

    def _equals(self, statement: ast.Match, pattern: ast.MatchValue) -> ast.Compare:
        test = ast.Compare(statement.subject, [ast.Eq()], [pattern.value])
        ast.copy_location(test, pattern)
        self.module.parents[test] = statement
        return test

    def loop(self, statement: ast.AST, source: ast.expr, body: Trace) -> list[Step]:
        """A loop over `range(rank)` runs a different number of times on each rank: a test on the rank itself."""
        if not body:
            return []
        step: Step = ("loop", _span(self.module.span(statement)), body)
        if isinstance(source, ast.Call) and "builtins.range" in resolve(self.module, source.func).names:
            stop = source.args[:1] if len(source.args) == 1 else source.args[1:2]
            test = rank_test(self.module, stop[0]) if stop else None
            if test is not None:
                return [("if", step[1], _test(test), (step,), ())]
        return [step]

    def guarded_loop(self, statement: ast.While, test: ast.expr, body: Trace) -> list[Step]:
        found = rank_test(self.module, test)
        step: Step = ("loop", _span(self.module.span(statement)), body)
        if found is not None and body:
            return [("if", step[1], _test(found), (step,), ())]
        local = local_test(self.module, test) if self.asks_data and body else None
        if local is not None:
            return [(*step, self.local(local))]
        return [step] if body else []

    def local(self, test: LocalTest) -> Test:
        """A test of local data. A call on its way that is resolved may be anything, even if it is called `mean`."""
        calls = tuple(
            step for call in test.calls for step in self.call(call, plain=not resolve(self.module, call.func))
        )
        return (test.key, True, test.text, _span(test.span), test.kind, None, test.certainty, calls)

    def branch(self, test: ast.expr, then: Trace, otherwise: Trace) -> list[Step]:
        """`if test: then else: otherwise`, with the condition taken apart: one arm then stands in two places."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            return self.branch(test.operand, otherwise, then)
        if isinstance(test, ast.BoolOp) and _fits_twice(otherwise if isinstance(test.op, ast.And) else then):
            first, rest = test.values[0], test.values[1:]
            remaining = rest[0] if len(rest) == 1 else self._rest(test, rest)
            if isinstance(test.op, ast.And):
                return self.branch(first, tuple(self.branch(remaining, then, otherwise)), otherwise)
            return self.branch(first, then, tuple(self.branch(remaining, then, otherwise)))
        expanded = self._named(test)
        if expanded is not None:
            return self.branch(expanded, then, otherwise)
        steps = self.expression(test)
        if not then and not otherwise:
            return steps
        found = rank_test(self.module, test)
        condition: Test | str = _test(found) if found else self.module.source(test)
        local = local_test(self.module, test) if self.asks_data and found is None else None
        if local is not None:
            condition = self.local(local)
        steps.append(("if", _span(self.module.span(test)), condition, then, otherwise))
        return steps

    def _rest(self, test: ast.BoolOp, values: list[ast.expr]) -> ast.BoolOp:
        rest = ast.copy_location(ast.BoolOp(test.op, values), values[0])
        self.module.parents[rest] = self.module.parents[test]
        return rest

    def _named(self, test: ast.expr) -> ast.BoolOp | None:
        """The compound condition that a name was given just before: `save = rank == 0 and step % n == 0`."""
        if not isinstance(test, ast.Name):
            return None
        found = bindings_at(self.module, test)
        if found is None or len(found[0]) != 1 or found[0][0].kind != "assign" or not found[0][0].exact:
            return None
        value = found[0][0].value
        if isinstance(value, ast.BoolOp) and any(rank_test(self.module, part) for part in value.values):
            return value
        return None

    def expression(self, node: ast.expr) -> list[Step]:
        """The calls of an expression in the order in which they run."""
        if isinstance(node, (ast.Constant, ast.Name, ast.Lambda)):
            return []
        if isinstance(node, ast.BoolOp):
            *first, last = node.values
            inner: list[Step] = self.expression(last)
            for value in reversed(first):
                then, otherwise = (tuple(inner), ()) if isinstance(node.op, ast.And) else ((), tuple(inner))
                inner = self.branch(value, then, otherwise)
            return inner
        if isinstance(node, ast.IfExp):
            return self.branch(node.test, tuple(self.expression(node.body)), tuple(self.expression(node.orelse)))
        if isinstance(node, COMPREHENSIONS):
            return self.comprehension(node)
        steps: list[Step] = []
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                steps += self.expression(child)
            elif isinstance(child, ast.keyword):
                steps += self.expression(child.value)
        if isinstance(node, ast.Call):
            steps += self.call(node)
        return steps

    def comprehension(self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> list[Step]:
        elements = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        inside = [step for element in elements for step in self.expression(element)]
        for generator in node.generators:
            for condition in generator.ifs:
                inside = self.branch(condition, tuple(inside), ())
        steps = [step for generator in node.generators for step in self.expression(generator.iter)]
        return [*steps, ("loop", _span(self.module.span(node)), tuple(inside))] if inside else steps

    def call(self, node: ast.Call, *, plain: bool = True) -> list[Step]:
        """The step of a call; none for one that waits for nobody. `plain`: methods are believed by their name."""
        func = node.func
        last = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
        wanted = last in self.asked
        if plain and not wanted and last in _PLAIN and _on_other(func):
            return []
        found = callee(self.module, node)
        names = found.names
        wanted = wanted or any(name.rpartition(".")[2] in self.asked for name in names)
        stops = names[:1] and names[0] in _STOPS
        if names and not wanted and not stops and all(name.partition(".")[0] in QUIET for name in names):
            return []
        if names and all(name.startswith("builtins.") for name in names) and not stops:
            return []
        span = _span(self.module.span(node))
        if not names and not wanted:
            return [("unknown", span, last)]
        arguments = self.arguments(node) if wanted else ()
        if wanted and not names:
            names = _by_name(func)
            found = NOTHING
        return [("call", names, found.certainty, span, self.module.source(node.func), arguments)]

    def arguments(self, node: ast.Call) -> tuple[tuple[int | str, str, bool, object], ...]:
        given: list[tuple[int | str, ast.expr]] = list(enumerate(node.args))
        given += [(keyword.arg or OPAQUE, keyword.value) for keyword in node.keywords]
        stored: list[tuple[int | str, str, bool, object]] = []
        for place, value in given:
            if isinstance(value, ast.Starred):
                stored.append((OPAQUE, self.module.source(value), False, None))
                break
            constant = literal(self.module, value)
            known = isinstance(constant, (bool, int, str, type(None)))
            stored.append((place, self.module.source(value), known, constant if known else None))
            if not known and whole_job(self.module, value):
                stored.append((f"{WHOLE}{place}", "", True, True))
        return tuple(stored)


def _on_other(func: ast.expr) -> bool:
    """Whether a method of something else than the object itself is called."""
    if not isinstance(func, ast.Attribute):
        return False
    return not isinstance(func.value, ast.Name) or func.value.id not in ("self", "cls")


def _by_name(func: ast.expr) -> tuple[str, ...]:
    """What a method is called where nothing is known of its receiver: `*.accelerator.gather`."""
    if not isinstance(func, ast.Attribute):
        return ()
    owner = func.value
    last = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")
    return (f"*.{last}.{func.attr}" if last else f"*.{func.attr}",)


def _before_exits(steps: Iterable[Step], final: Trace, *, looped: bool = False) -> list[Step]:
    """The steps with `final` before each exit that leaves them; break and continue of an inner loop do not."""
    found: list[Step] = []
    for step in steps:
        if step[0] == "exit" and not (looped and step[1] in ("break", "continue")):
            found += [*final, step]
        elif step[0] == "if":
            then = _before_exits(step[3], final, looped=looped)
            found.append((*step[:3], tuple(then), tuple(_before_exits(step[4], final, looped=looped))))
        elif step[0] == "loop":
            found.append((*step[:2], tuple(_before_exits(step[2], final, looped=True)), *step[3:]))
        else:
            found.append(step)
    return found
