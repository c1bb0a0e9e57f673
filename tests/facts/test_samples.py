"""Samples: the origin of a value, the keys of a dataset, the keys that a collator takes."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from shardlint.facts.module import Module
from shardlint.facts.origins import Origin, origin
from shardlint.facts.samples import Keys
from shardlint.facts.site import Expression
from shardlint.finding import Evidence
from shardlint.voice import Voice

VOICE = Voice("rule", "family", "warning", Evidence("observation"), 0.9)


def of(source: str) -> Origin:
    """The origin of the argument of the call `here(...)`."""
    text = dedent(source)
    module = Module("example.py", text, ast.parse(text))
    return origin(Expression(module, module.calls["here"][0].args[0], VOICE))


def shown(keys: Keys | None) -> tuple[str, str] | None:
    """Keys as two texts: the sure ones, and the others that are possible."""
    if keys is None:
        return None
    return " ".join(sorted(keys.sure)), " ".join(sorted(keys.possible - keys.sure))


def dataset(body: str) -> tuple[str, str] | None:
    """The keys of the samples of a dataset whose `__getitem__` has this body."""
    inner = "\n".join(f"        {line}" for line in dedent(body).strip().split("\n"))
    return shown(of(f"class D:\n    def __getitem__(self, index):\n{inner}\nhere(D())").sample_keys)


def collator(body: str) -> tuple[str, str] | None:
    """The keys that `def collate(batch)` with this body takes."""
    inner = "\n".join(f"    {line}" for line in dedent(body).strip().split("\n"))
    return shown(of(f"def collate(batch):\n{inner}\nhere(collate)").read_keys)


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("import a.b as c\nhere(c.F())", "a.b.F"),
        ("from a import F\nf = F()\ng = f\nhere(g)", "a.F"),
        ("from a import f\nhere(f)", "a.f"),
        ("from a import f\nfrom functools import partial\nhere(partial(f, 1))", "a.f"),
        ("def f(): ...\nhere(f)", "example.f"),
        ("from a import F\ndef g(f):\n    f = F()\n    here(f)", "a.F"),
        ("from a import F\nclass C:\n    def g(self):\n        self.f = F()\n        here(self.f)", "a.F"),
        ("class C:\n    def f(self): ...\n    def g(self):\n        here(self.f)", "example.C.f"),
        ("from peft import get_peft_model\nfrom a import F\nf = F()\nhere(get_peft_model(f, c))", "a.F"),
    ],
)
def test_the_only_source_of_a_value_is_its_origin(source: str, name: str) -> None:
    assert of(source).name == name


@pytest.mark.parametrize(
    "source",
    [
        "from a import F\ndef g(f: F):\n    here(f)",
        "from a import F\ndef g(f: F):\n    def h():\n        here(f)",
        "from a import F\ndef g(f=None):\n    f = f or F()\n    here(f)",
        "from a import F, G\ndef g(c):\n    f = F()\n    if c:\n        f = G()\n    here(f)",
        "from a import F, G\nhere(F() if c else G())",
        "from a import F\nfor f in F():\n    here(f)",
        "from a import fs\nhere(fs[0])",
        "from a import F\nclass C:\n  def g(self, f):\n    self.f = F()\n    self.f = f\n    here(self.f)",
        "from a import F\nclass C:\n    def g(self):\n        self.e, self.f = F()\n        here(self.f)",
        "def g():\n    while c:\n        f = f\n    here(f)",
    ],
)
def test_a_value_that_may_be_another_has_no_origin(source: str) -> None:
    known = of(source)
    assert (known.name, known.sample_keys, known.read_keys, known.argument("x", 0)) == ("", None, None, None)


def test_a_library_name_leaves_out_inner_modules_and_loading_methods() -> None:
    assert of("from transformers.models.bert import Bert\nhere(Bert.from_pretrained(m))").of("transformers") == "Bert"
    assert of("import trl.trainer.sft as s\nhere(s.C())").library_name == "trl.C"
    assert of("from ours import Bert\nhere(Bert())").of("transformers") == ""


def test_the_arguments_of_the_call_behind_a_value_are_at_hand() -> None:
    given = of("from a import F\nf = F(1, key=2)\nhere(f)")
    assert [value.text for value in (given.argument("x", 0), given.argument("key")) if value] == ["1", "2"]


def test_a_dict_that_is_returned_gives_its_keys() -> None:
    assert dataset('return {"a": 1, "b": None}') == ("a", "b")


def test_a_call_of_dict_gives_its_keys() -> None:
    assert dataset("return dict(a=1, b=None)") == ("a", "b")
    assert dataset("return dict(a=1, **more)") is None


def test_keys_that_a_loop_names_are_taken() -> None:
    loop = 'ids, labels = tuple([s[key] for s in batch] for key in ("a", "b"))\nreturn ids'
    assert collator(loop) == ("a b", "")
    assert collator('for key in ["a", "b"]:\n    out[key] = [s[key] for s in batch]\nreturn out') == ("a b", "")


def test_what_is_added_in_a_branch_is_possible_and_in_the_body_sure() -> None:
    body = """
        sample: dict = {"a": 1}
        sample["b"] = 2
        if index:
            sample["c"] = 3
        return sample
    """
    assert dataset(body) == ("a b", "c")


def test_every_return_counts() -> None:
    assert dataset('if index:\n    return {"a": 1}\nreturn {"a": 1, "b": 2}') == ("a", "b")


def test_a_return_before_an_addition_makes_it_possible_only() -> None:
    assert dataset('s = {"a": 1}\nif index:\n    return s\ns["b"] = 2\nreturn s') == ("a", "b")


def test_returns_of_inner_functions_are_not_samples() -> None:
    assert dataset('def inner():\n    return {"b": 1}\nreturn {"a": inner}') == ("a", "")


@pytest.mark.parametrize(
    "body",
    [
        "return self.rows[index]",
        "return {**self.rows[index], 'a': 1}",
        "return {self.key: 1}",
        "s = {'a': 1}\ns[self.key] = 2\nreturn s",
        "s = {'a': 1}\ns.update(self.rows[index])\nreturn s",
        "s = {'a': 1}\nother = s\nreturn s",
        "s = {'a': 1}\ndel s['a']\nreturn s",
        "if index:\n    return {'a': 1}\nreturn self.rows[index]",
        "pass",
    ],
)
def test_samples_that_are_not_plain_to_see_have_no_known_keys(body: str) -> None:
    assert dataset(body) is None


def test_a_dataset_that_fetches_whole_batches_has_no_known_keys() -> None:
    body = "    def __getitems__(self, i): ...\n    def __getitem__(self, i):\n        return {'a': 1}\n"
    assert of(f"class D:\n{body}here(D())").sample_keys is None


def test_the_keys_of_a_batch() -> None:
    keys = of("class C:\n    def __call__(self, rows):\n        return {'ids': rows}\nhere(C())").emitted_keys
    assert shown(keys) == ("ids", "")
    assert of("def f(rows):\n    b = {'ids': rows}\n    b.update(more=1)\n    return b\nhere(f)").emitted_keys is None
    assert of("from elsewhere import f\nhere(f)").emitted_keys is None


def test_of_two_classes_of_one_name_none_is_known() -> None:
    one = '    class D:\n        def __getitem__(self, i):\n            return {"a": 1}\n'
    assert of(f"if c:\n{one}else:\n{one}here(D())").sample_keys is None


@pytest.mark.parametrize(
    ("body", "keys"),
    [
        ('return {"a": [s["a"] for s in batch], "n": len(batch)}', ("a", "")),
        ('for s in batch:\n    out.append(s["a"])', ("a", "")),
        ('return batch[0]["a"]', ("a", "")),
        ('return [s.get("b") or s["a"] for s in batch]', ("a", "b")),
        ('return [s["a"] for s in batch], [s["b"] for s in batch] if c else []', ("a", "b")),
        ('if "b" in batch[0]:\n    pass\nreturn [s["a"] + s["b"] for s in batch]', ("a", "b")),
        ('for s in batch:\n    s["b"] = s["a"]', ("a", "b")),
    ],
)
def test_a_collator_takes_keys_by_name(body: str, keys: tuple[str, str]) -> None:
    assert collator(body) == keys


@pytest.mark.parametrize(
    "body",
    [
        'return {"a": [s["a"] for s in batch], "all": batch}',
        'return {"a": batch[0]["a"], **default_collate(batch)}',
        'return [s["a"] for s in batch[1:]]',
        "return {k: [s[k] for s in batch] for k in names}",
        'return {k: [s[k] for s in batch] for k in ("a", other)}',
        'for s in batch:\n    s["b"] = s.pop("a")',
        'return [s["a"] for s in batch], [s.keys() for s in batch]',
        'return [a["a"] for a, b in batch]',
        'return super().f(), batch[0]["a"]',
        "return None",
    ],
)
def test_a_collator_that_may_pass_other_keys_is_not_known(body: str) -> None:
    assert collator(body) is None


@pytest.mark.parametrize(
    "source",
    [
        'class C:\n    def __call__(self, batch, /):\n        return [s["a"] for s in batch]\nhere(C())',
        'class C:\n    def f(self, batch):\n        return batch[0]["a"]\n    def g(self):\n        here(self.f)',
        'from functools import partial\ndef f(batch, pad):\n    return batch[0]["a"]\nhere(partial(f, pad=0))',
    ],
)
def test_a_collator_may_be_an_object_a_method_or_a_partial(source: str) -> None:
    assert shown(of(source).read_keys) == ("a", "")


@pytest.mark.parametrize(
    "source",
    [
        'def make(cfg):\n    size = cfg[0]["a"]\n    return lambda b: b\nhere(make(c))',
        'from functools import partial\ndef f(pad, batch):\n    return pad[0]["a"]\nhere(partial(f, 0))',
        '@staticmethod\ndef f(batch):\n    return batch[0]["a"]\nhere(f)',
    ],
)
def test_what_is_not_called_with_the_batch_first_is_not_known(source: str) -> None:
    assert of(source).read_keys is None
