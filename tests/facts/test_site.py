"""What a rule is handed: sites, expressions, functions."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from shardlint.facts.matching import matches
from shardlint.facts.module import Module
from shardlint.facts.site import MISSING, Expression, Site, file_calls
from shardlint.finding import Evidence
from shardlint.query import Call, Method
from shardlint.voice import Voice

VOICE = Voice("some-rule", "some", "error", Evidence("research", ("https://example.org",)), 0.85)
SEE = Call("builtins.print")


def sites(source: str) -> list[Site]:
    """The calls of `print` in a file."""
    text = dedent(source)
    module = Module("pkg/x.py", text, ast.parse(text))
    return [Site(module, hit, VOICE) for hit in matches(module, SEE)]


def site(source: str) -> Site:
    (found,) = sites(source)
    return found


def texts(expressions: list[Expression]) -> list[str]:
    return [expression.text for expression in expressions]


def test_arguments_by_keyword_and_position() -> None:
    call = site("print(a, b, sep=c)")
    assert texts(call.positional) == ["a", "b"]
    for given, text in ((call.argument("x", 1), "b"), (call.argument("sep"), "c"), (call.argument("sep", 0), "c")):
        assert given is not None
        assert given.text == text
    assert call.argument("x", 2) is None
    assert call.argument("x") is None
    assert not call.opaque


def test_a_spread_hides_what_comes_after_it() -> None:
    call = site("print(a, *b, c, **d)")
    first = call.argument("x", 0)
    assert first is not None
    assert first.text == "a"
    assert call.argument("x", 1) is None
    assert call.argument("x", 2) is None
    assert call.positional == []
    assert call.opaque


def test_names_of_a_call() -> None:
    call = site("import builtins\nbuiltins.print(a)")
    assert (call.name, call.called, call.text) == ("builtins.print", "builtins.print", "builtins.print(a)")
    assert call.receiver is not None
    assert call.receiver.text == "builtins"
    assert site("print(a)").receiver is None


@pytest.mark.parametrize(
    ("source", "targets"),
    [
        ("x = print(a)", ["x"]),
        ("x = y = print(a)", ["x", "y"]),
        ("x: int = print(a)", ["x"]),
        ("(x := print(a))", ["x"]),
        ("x = [print(a)]", []),
        ("x = print(a) if b else None", ["x"]),
        ("x = c or print(a)", ["x"]),
        ("print(a)", []),
    ],
)
def test_targets(source: str, targets: list[str]) -> None:
    assert texts(site(source).targets) == targets


@pytest.mark.parametrize(
    ("source", "loops"),
    [
        ("for a in b:\n    print(a)", 1),
        ("for a in print(b): ...", 0),
        ("for a in b: ...\nelse:\n    print(a)", 0),
        ("while print(a): ...", 1),
        ("while a:\n    for b in c:\n        print(b)", 2),
        ("for a in b:\n    def f():\n        print(a)", 0),
        ("while a:\n    if b:\n        print(b)", 1),
    ],
)
def test_loops_that_run_a_call_in_each_round(source: str, loops: int) -> None:
    assert len(site(source).loops) == loops


def test_expression_facts() -> None:
    call = site(
        "from torch.amp import GradScaler\ns = GradScaler()\nn = 3\ndef f(d=7):\n    print(s, n, d, open, s.scaler)"
    )
    scaler, number, default, builtin, attribute = call.positional
    assert scaler.made_from == ("torch.amp.GradScaler",)
    assert number.literal == 3
    assert default.literal is MISSING
    assert default.default is not None
    assert default.default.literal == 7
    assert number.default is None
    assert builtin.is_builtin
    assert not scaler.is_builtin
    assert builtin.names == ("builtins.open",)
    assert attribute.last_name == "scaler"
    owner = attribute.attribute_of("scaler")
    assert owner is not None
    assert owner.same_as(scaler)
    assert attribute.attribute_of("other") is None
    assert not owner.same_as(None)
    assert not owner.same_as(number)


def test_values_are_what_a_name_may_hold() -> None:
    (name, call) = site("def f(c):\n    x = g()\n    if c:\n        x = h()\n    print(x, g())").positional
    assert sorted(texts(name.values)) == ["g()", "h()"]
    assert texts(call.values) == ["g()"]
    (unknown,) = site("print(x)").positional
    assert unknown.values == []
    (kept,) = site("class A:\n    x = 1\n    def f(self):\n        self.x, _ = g()\n        print(self.x)").positional
    assert texts(kept.values) == ["1"]


@pytest.mark.parametrize(
    ("source", "classes"),
    [
        ("class A(torch.nn.Module): ...\nm = A()\nprint(m)", ["pkg.x.A", "torch.nn.Module"]),
        ("m = torch.nn.Linear(1, 1)\nprint(m)", ["torch.nn.Linear"]),
        ("m = torch.nn.Linear(1, 1) if c else f()\nprint(m)", []),
        ("m = torch.nn.Linear(1, 1) if c else torch.nn.Identity()\nprint(m)", []),
        ("def f(m):\n    print(m)", []),
    ],
)
def test_the_class_of_a_value_is_told_when_it_is_certain(source: str, classes: list[str]) -> None:
    assert site("import torch\n" + source).positional[0].classes == classes


def test_reaching_in_the_same_round_of_a_loop() -> None:
    call = site("for a in b:\n    if a:\n        print(a)\n    else:\n        open(1)\n    open(2)")
    same, other = sorted(call.function.calls(Call("builtins.open")), key=lambda found: -found.call.lineno)
    assert (call.reaches(other), call.reaches_in_round(other), call.reaches_in_round(same)) == (True, False, True)


def test_parts_and_calls_inside() -> None:
    (argument,) = site("print(f(a) + 1)").positional
    assert texts(argument.parts) == ["f(a) + 1", "f(a)", "1", "f", "a"]
    inner = argument.parts[1].as_site()
    assert inner is not None
    assert inner.called == "f"
    assert argument.as_site() is None


def test_function_of_a_site() -> None:
    call = site(
        "class A:\n    def f(self):\n        open(1)\n        print(2)\n        open(3)\n"
        "    def g(self):\n        open(4)"
    )
    assert (call.function.name, call.function.class_name, call.function.is_module) == ("A.f", "A", False)
    assert len(call.function.statements) == 3
    opens = call.function.calls(Call("builtins.open"))
    assert texts(list(opens)) == ["open(1)", "open(3)"]
    assert (opens[0].reaches(call), opens[0].dominates(call), opens[1].dominates(call)) == (True, True, False)
    assert not opens[0].reaches_without(opens[1], [call])
    assert len(file_calls(call, Call("builtins.open"))) == 3
    assert site("print(1)").function.is_module
    assert site("print(1)").function.name == ""


def test_calls_on_the_same_receiver() -> None:
    call = site("import torch\ndef f(a: torch.G, b: torch.G):\n    a.step()\n    b.step()\n    print(a)")
    steps = call.function.calls(Method("torch.G", "step"), receiver=call.positional[0])
    assert texts(list(steps)) == ["a.step()"]


def test_a_finding_has_the_exact_range_and_the_lower_certainty() -> None:
    call = site("def f():\n    print(aé, b)\n")
    found = call.finding("wrong", help="right", certainty=0.6)
    assert (found.path, found.span.line, found.span.column, found.span.end_column) == ("pkg/x.py", 2, 5, 17)
    assert (found.confidence, found.fix) == (0.6, None)
    there = call.finding("wrong", help="right", at=call.positional[1])
    assert (there.span.column, there.confidence) == (15, 0.85)
    assert there.fingerprint == found.fingerprint
    note = call.note("here")
    assert (note.path, note.line, note.column, note.message) == ("pkg/x.py", 2, 5, "here")


def test_a_site_says_where_it_is() -> None:
    assert repr(site("print(a)")) == "Site(pkg/x.py:1 print(a))"
    assert repr(site("print(a)").positional[0]) == "Expression(a)"


def test_the_syntax_of_a_call_over_several_lines() -> None:
    call = site("x = [\n  print(a,\n        b),\n]\n")
    assert len(call.node.args) == 2


def test_reads_of_what_a_call_is_assigned_to() -> None:
    (target,) = site(
        "def f():\n    x = 1\n    x = print(2)\n    a(x)\n    for y in x:\n        x = x + y\n    g(x)"
    ).targets
    assert [(read.span.line, read.span.column) for read in target.reads] == [(4, 7), (5, 14)]
    (kept,) = site(
        "class A:\n    def f(self):\n        self.x = print(2)\n    def g(me):\n        h(me.x, me.y)"
    ).targets
    assert [read.text for read in kept.reads] == ["me.x"]
    assert site("print(a)").reads == []


def test_guards_apart_from_another_place() -> None:
    first, second = sites(
        """
        def f(a, b, c):
            if a:
                if b:
                    print(1)
                if not c:
                    return
                print(2)
        """
    )
    assert [ast.unparse(guard.test) for guard in first.guards_apart_from(second) if guard.test] == ["b"]
    assert [ast.unparse(guard.test) for guard in second.guards_apart_from(first) if guard.test] == ["not c"]
    assert first.guards_apart_from(first) == []


def test_calls_that_are_handed_a_name() -> None:
    function = site("def f(a):\n    g(a)\n    h(b, a)\n    k(x=a)\n    m(a.b)\n    print()").function
    assert [ast.unparse(call) for call in function.handing("a")] == ["g(a)", "h(b, a)"]


def test_calls_spelled_with_a_text() -> None:
    function = site("def f(s):\n    s.unscale_(o)\n    unscale_all()\n    s.scale(l)\n    print()\nunscale()").function
    assert sorted(call.called for call in function.calls_spelled_with("unscale")) == ["s.unscale_", "unscale_all"]


def test_a_site_knows_whether_it_is_in_tests() -> None:
    tree = ast.parse("print()")
    found = [
        Site(module, hit, VOICE)
        for path in ("tests/x.py", "x.py")
        for module in [Module(path, "print()", tree)]
        for hit in matches(module, SEE)
    ]
    assert [one.in_tests for one in found] == [True, False]


def test_a_site_shows_what_the_settings_say_of_modalities() -> None:
    text = "print()"
    module = Module("x.py", text, ast.parse(text), modality={"models": {"Omni": "text audio"}})
    (found,) = (Site(module, hit, VOICE) for hit in matches(module, SEE))
    assert (found.modality("models"), found.modality("templates")) == ({"Omni": "text audio"}, {})


def test_a_call_that_a_test_of_the_rank_keeps_some_ranks_from() -> None:
    source = """
    import torch.distributed as dist

    def f(c):
        if c and dist.get_rank() == 0:
            print(c)
        print(1)
    """
    assert [place.on_some_ranks for place in sites(source)] == [True, False]
