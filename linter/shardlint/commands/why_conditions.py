"""Under which conditions one line runs: the guards of its statement and calls, rank tests marked."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from shardlint.commands.why_names import calls_on, certainty
from shardlint.facts.guards import Guard, guards
from shardlint.facts.module import FUNCTIONS, Module
from shardlint.facts.rank_tests import RankTest, decorator_test, rank_test


def conditions(module: Module, statement: ast.stmt, line: int) -> list[str]:
    """A sentence for each guard of what stands on the line, outermost first, its function's decorators included."""
    function = module.function(statement)
    decorators = function.decorator_list if isinstance(function, FUNCTIONS) else []
    found: dict[str, None] = {}
    for decorator in decorators:
        test = decorator_test(module, decorator)
        if test is not None:
            found[_sentence(decorator.lineno, f"decorated with `@{module.source(decorator)}`", [test])] = None
    for node in (statement, *calls_on(module, line)):
        for guard in guards(module, node):
            found[_told(module, guard)] = None
    return list(found)


def _told(module: Module, guard: Guard) -> str:
    test, node = guard.test, guard.node
    line: int = getattr(node, "lineno", 0)
    text = module.source(test) if test is not None else ""
    if isinstance(node, ast.match_case):
        pattern = f"case `{ast.unparse(node.pattern)}`"
        return _sentence(node.pattern.lineno, f"{pattern} if `{text}`" if text else pattern, _tests(module, test))
    if guard.kind == "except":
        return _sentence(line, f"handler of `{text}`" if text else "handler of any exception", [])
    if guard.kind == "for":
        return _sentence(line, f"loop over `{text}`", _tests(module, test))
    if guard.kind == "with":
        return _sentence(line, f"with `{text}`", [])
    if guard.kind == "exit":
        side = "unless" if guard.holds else "if"
        return _sentence(line, f"left before this line {side} `{text}`", _tests(module, test))
    word = "while" if guard.kind == "while" else "only if" if guard.holds else "only unless"
    return _sentence(line, f"{word} `{text}`", _tests(module, test))


def _tests(module: Module, test: ast.expr | None) -> list[RankTest]:
    """The rank tests in a condition; `and`, `or` and `not` are taken apart."""
    parts = [] if test is None else [test]
    found: list[RankTest] = []
    while parts:
        part = parts.pop(0)
        if isinstance(part, ast.BoolOp):
            parts = [*part.values, *parts]
        elif isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.Not):
            parts.insert(0, part.operand)
        else:
            known = rank_test(module, part)
            found += [known] if known is not None else []
    return found


def _sentence(line: int, text: str, tests: Iterable[RankTest]) -> str:
    marks = [f"differs between ranks: `{test.text}` ({test.kind}, {certainty(test.certainty)})" for test in tests]
    return f"line {line}: {'; '.join([text, *marks])}"
