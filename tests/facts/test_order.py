"""Order: what can run after what, what has always run before, which binding holds."""

from __future__ import annotations

import ast
import sys
from textwrap import dedent, indent

import pytest

from shardlint.facts.module import Module
from shardlint.facts.order import Flow, flow, statements


class Sketch:
    """A function body in which `a()`, `b()`, ... mark places."""

    def __init__(self, body: str) -> None:
        text = "def f(c, xs):\n" + indent(dedent(body), "    ")
        self.module = Module("x.py", text, ast.parse(text))
        self.flow: Flow = flow(self.module, self.module.functions[0])
        self.calls = {
            node.func.id: node
            for node in ast.walk(self.module.tree)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }

    def reaches(self, first: str, second: str) -> bool:
        return self.flow.reaches(self.calls[first], self.calls[second])

    def dominates(self, first: str, second: str) -> bool:
        return self.flow.dominates(self.calls[first], self.calls[second])

    def between(self, first: str, second: str, *avoid: str) -> bool:
        return self.flow.between(self.calls[first], self.calls[second], [self.calls[name] for name in avoid])


STRAIGHT = "a()\nb()"
BRANCH = "if c:\n    a()\nelse:\n    b()\nd()"
LOOP = "for x in h():\n    a()\n    b()\nd()"
ENDLESS = "while True:\n    a()\n    if c:\n        break\n    b()\nd()"
TRY = "try:\n    a()\n    b()\nexcept E:\n    h()\nelse:\n    e()\nfinally:\n    f()\nd()"
MATCH = "match c:\n    case 1:\n        a()\n    case _:\n        b()\nd()"
PARTIAL_MATCH = "match c:\n    case 1:\n        a()\nd()"
EARLY = "a()\nif c:\n    b()\n    return\nd()"
WHILE_ELSE = "while c:\n    a()\n    if c:\n        break\nelse:\n    e()\nd()"


@pytest.mark.parametrize(
    ("body", "first", "second", "answer"),
    [
        (STRAIGHT, "a", "b", True),
        (STRAIGHT, "b", "a", False),
        (BRANCH, "a", "b", False),
        (BRANCH, "a", "d", True),
        (LOOP, "b", "a", True),
        (LOOP, "a", "h", True),
        (LOOP, "h", "a", True),
        (LOOP, "d", "a", False),
        (ENDLESS, "b", "d", True),
        ("while True:\n    a()\nb()", "a", "b", False),
        (TRY, "a", "h", True),
        (TRY, "h", "e", False),
        (TRY, "b", "e", True),
        (TRY, "h", "f", True),
        (TRY, "h", "d", True),
        ("try:\n    a()\n    return\nfinally:\n    f()\nd()", "a", "f", True),
        ("try:\n    return a()\nfinally:\n    f()\nd()", "a", "f", True),
        (MATCH, "a", "b", False),
        (EARLY, "b", "d", False),
        (WHILE_ELSE, "a", "e", True),
        ("a(b())", "b", "a", True),
        ("a(b())", "a", "b", False),
        ("a()\nraise E\nb()", "a", "b", False),
        ("import sys\nif c:\n    a()\n    sys.exit(1)\nb()", "a", "b", False),
        ("for x in xs:\n    if c:\n        a()\n        continue\n    b()", "a", "b", True),
        ("for x in xs:\n    if c:\n        a()\n        break\n    b()", "a", "b", False),
        ("class A:\n    a()\nb()", "a", "b", True),
        ("async def g():\n    async with a():\n        b()", "a", "b", False),
    ],
)
def test_reaches(body: str, first: str, second: str, answer: bool) -> None:
    assert Sketch(body).reaches(first, second) is answer


@pytest.mark.parametrize(
    ("body", "first", "second", "answer"),
    [
        (STRAIGHT, "a", "b", True),
        (STRAIGHT, "b", "a", False),
        (BRANCH, "a", "d", False),
        (LOOP, "a", "b", True),
        (LOOP, "a", "d", False),
        (LOOP, "h", "d", True),
        (ENDLESS, "a", "d", True),
        (ENDLESS, "b", "d", False),
        (TRY, "a", "e", True),
        (TRY, "a", "h", False),
        (TRY, "a", "f", False),
        ("try:\n    a()\nfinally:\n    f()\nd()", "a", "d", True),
        ("try:\n    a()\nfinally:\n    f()\nd()", "f", "d", True),
        ("try:\n    a()\nexcept E:\n    raise\nd()", "a", "d", True),
        (MATCH, "a", "d", False),
        (PARTIAL_MATCH, "a", "d", False),
        ("match c:\n    case 1:\n        a()\n    case _:\n        return\nd()", "a", "d", True),
        (EARLY, "a", "d", True),
        ("if c:\n    return\na()\nb()", "a", "b", True),
        ("c and a()\nb()", "a", "b", False),
        ("a() and c\nb()", "a", "b", True),
        ("a() if c else None\nb()", "a", "b", False),
        ("x = a() if c else b()\nd()", "a", "b", False),
        ("c and a(b())", "b", "a", True),
        ("x = c and a() and b()", "a", "b", True),
        ("x = [a() for x in xs if x]\nb()", "a", "b", False),
        ("g = lambda: a()\nb()", "a", "b", False),
        ("a()\ndef g():\n    b()", "a", "b", True),
        ("def g():\n    b()\na()", "a", "b", False),
        ("with a():\n    b()\nd()", "b", "d", True),
    ],
)
def test_dominates(body: str, first: str, second: str, answer: bool) -> None:
    assert Sketch(body).dominates(first, second) is answer


def test_a_call_in_a_nested_function_dominates_nothing_outside() -> None:
    sketch = Sketch("def g():\n    a()\nb()")
    inner = flow(sketch.module, sketch.module.functions[1])
    assert not inner.dominates(sketch.calls["a"], sketch.calls["b"])


@pytest.mark.parametrize(
    ("body", "avoid", "answer"),
    [
        ("a()\nx()\nb()", ("x",), False),
        ("a()\nif c:\n    x()\nb()", ("x",), True),
        ("a()\nc and x()\nb()", ("x",), True),
        ("x()\na()\nb()", ("x",), True),
        ("a()\nb(x())", ("x",), False),
        ("a()\nx(b())", ("x",), True),
        ("x(a())\nb()", ("x",), False),
        ("y(a(), b())", (), True),
        ("for x in xs:\n    b()\n    a()", (), True),
        ("for x in xs:\n    x()\n    b()\n    a()", ("x",), False),
        ("if c:\n    a()\nelse:\n    b()", (), False),
    ],
)
def test_between(body: str, avoid: tuple[str, ...], answer: bool) -> None:
    assert Sketch(body).between("a", "b", *avoid) is answer


def holding(source: str) -> list[str]:
    """The values that `m` may hold where `use(m)` reads it."""
    text = "def f(c, xs):\n" + indent(dedent(source), "    ")
    module = Module("x.py", text, ast.parse(text))
    use = next(
        node.args[0]
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "use" and isinstance(node.args[0], ast.Name)
    )
    assert isinstance(use, ast.Name)
    bindings = module.scopes[module.functions[0]].bindings[use.id]
    found = flow(module, module.functions[0]).reaching(use, bindings)
    return sorted(ast.unparse(b.value) if b.value is not None else b.kind for b in found)


@pytest.mark.parametrize(
    ("source", "values"),
    [
        ("m = 1\nm = 2\nuse(m)", ["2"]),
        ("m = 1\nif c:\n    m = 2\nuse(m)", ["1", "2"]),
        ("m = 1\nif c:\n    m = 2\nelse:\n    m = 3\nuse(m)", ["2", "3"]),
        ("m = 1\nfor x in xs:\n    use(m)\n    m = 2", ["1", "2"]),
        ("m = 1\nfor m in xs:\n    use(m)", ["xs"]),
        ("m = 1\nfor m in xs:\n    pass\nuse(m)", ["1", "xs"]),
        ("m = 1\nfor x in use(m):\n    m = 2", ["1"]),
        ("for y in xs:\n    for x in use(c):\n        pass\n    c = 2", ["2", "param"]),
        ("m = 1\nwhile use(m):\n    m = 2", ["1", "2"]),
        ("m = 1\nwhile c:\n    m = 2\nelse:\n    m = 3\nuse(m)", ["3"]),
        ("m = 1\nwhile c:\n    m = 2\n    break\nelse:\n    m = 3\nuse(m)", ["2", "3"]),
        ("m = 1\ntry:\n    m = 2\nexcept E:\n    use(m)", ["1", "2"]),
        ("m = 1\ntry:\n    m = 2\nexcept E:\n    pass\nuse(m)", ["1", "2"]),
        ("m = 1\ntry:\n    pass\nexcept E as m:\n    use(m)", ["E"]),
        ("m = 1\nwith g() as m:\n    use(m)", ["g()"]),
        ("m = 1\nmatch c:\n    case [m]:\n        use(m)", ["match"]),
        ("m = 1\nmatch c:\n    case [m]:\n        pass\n    case _:\n        use(m)", ["1"]),
        ("m = 1\nif (m := 2):\n    use(m)", ["2"]),
        ("m = 1\nm: int\nuse(m)", ["1"]),
        ("m: int\nuse(m)", ["annotation"]),
        ("m = 1\ndel m\nm = 2\nuse(m)", ["2"]),
        ("m = 1\nm += 2\nuse(m)", ["2"]),
        ("m = g(m)\nuse(m)", ["g(m)"]),
        ("use(c)", ["param"]),
        ("if xs:\n    c = 1\nuse(c)", ["1", "param"]),
        ("use(m)\nm = 1", []),
    ],
)
def test_reaching_definitions(source: str, values: list[str]) -> None:
    assert holding(source) == values


def test_a_name_is_read_before_its_own_statement_binds_it() -> None:
    assert holding("m = 1\nm = use(m)") == ["1"]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="`except*` came with Python 3.11")
def test_except_star_is_ordered_like_except() -> None:
    sketch = Sketch("try:\n    a()\nexcept* E:\n    b()\nd()")
    assert sketch.reaches("a", "b")
    assert not sketch.dominates("b", "d")


def test_statements_enter_blocks_and_no_definitions() -> None:
    tree = ast.parse(
        "if a:\n    b\nelse:\n    c\nmatch d:\n    case 1:\n        e\ndef f():\n    g\ntry:\n    h\nexcept I:\n    j\n"
    )
    found = [ast.unparse(node) for node in statements(tree.body) if isinstance(node, ast.Expr)]
    assert found == ["b", "c", "e", "h", "j"]
