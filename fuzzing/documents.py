"""YAML, JSON and TOML with all that their grammars allow, in the shapes that the config rules judge."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from random import Random

from fuzzing.vocabulary import Vocabulary

NAMES = ("train.yaml", "configs/sft.yml", "conf.json", "ds_config.json", "recipe.toml", "model/config.json", "run.sh")
"""The documents of a generated project; their ending chooses the grammar."""

_KEYS = (
    "lr",
    "learning_rate",
    "train",
    "optimizer",
    "model",
    "dataset",
    "datasets",
    "template",
    "eps",
    "fsdp_config",
    "zero_optimization",
    "model_type",
    "a b",
    "1",
    "true",
    "null",
    "~",
    "é",
    "",
    "<<",
    "=",
    "a.b",
    "a/b~c",
    "-",
)
_SCALARS = (
    "1e-5",
    "1E5",
    "-2e3",
    "1.5e+10",
    ".5e1",
    "1e400",
    "0x1F",
    "0o17",
    "017",
    "1_000",
    "9" * 400,
    "-0.0",
    ".nan",
    ".inf",
    "nan",
    "NaN",
    "Infinity",
    "yes",
    "No",
    "null",
    "~",
    "true",
    "1:30:00",
    "2001-12-14t21:59:43.10-05:00",
    "2024-02-30",
    "${oc.env:RANK}",
    "{{ x }}",
    "text",
    "é𝒳",
    "\\ud800",
    "@x",
    "`x",
    "%x",
)
_TAGS = (
    "!!float",
    "!!str",
    "!!int",
    "!!null",
    "!!binary",
    "!!python/object/apply:os.system",
    "!x",
    "!",
    "!<tag:a,b:c>",
    "!!set",
    "!!omap",
)

Write = Callable[["Writer", int], str]


class Writer:
    """Writes documents. Keys and values of the rules' example documents come beside odd ones."""

    def __init__(self, words: Vocabulary, chance: Random) -> None:
        self.chance = chance
        self.deepest = chance.choice((1, 2, 3, 6))
        texts = [text for project in words.projects for path, text in project.items() if not path.endswith(".py")]
        pairs = [
            pair for text in texts for pair in re.findall(r"""^\s*["']?([\w.-]+)["']?\s*[:=]\s*(.*?),?$""", text, re.M)
        ]
        self.keys: Sequence[str] = (*_KEYS, *dict.fromkeys(key for key, _ in pairs))
        self.values: Sequence[str] = (*_SCALARS, *dict.fromkeys(value for _, value in pairs if value))
        self.anchors = 0

    def document(self, path: str) -> str:
        """The text of one document."""
        form = path.rpartition(".")[2]
        if form == "json":
            return self.json(0)
        if form == "toml":
            return self.toml()
        return self.shell() if form == "sh" else self.yaml()

    def key(self) -> str:
        """A name."""
        return self.chance.choice(self.keys)

    def yaml(self) -> str:
        """One YAML file, at times of several documents."""
        chance = self.chance
        head = chance.choice(
            ("", "", "", "---\n", "%YAML 1.1\n---\n", "%TAG ! tag:x,2000:\n---\n", "# shardlint: ignore-file[ALL] x\n")
        )
        parts = [self.block(0, 0) for _ in range(chance.choice((1, 1, 1, 2, 3)))]
        return (
            head
            + chance.choice(("\n---\n", "\n...\n---\n", "\n--- # x\n")).join(parts)
            + chance.choice(("\n", "", "\n...\n"))
        )

    def block(self, depth: int, column: int) -> str:
        """A mapping or sequence in block style."""
        chance = self.chance
        lines: list[str] = []
        pad = " " * column
        sequence = chance.random() < 0.2
        for _ in range(chance.choice((1, 2, 3, 6))):
            lead = "- " if sequence else f"{self.yaml_key()}: "
            if depth < self.deepest and chance.random() < 0.4:
                inner = self.block(depth + 1, column + 2)
                anchor = self.anchor() if chance.random() < 0.2 else ""
                lines.append(f"{pad}{lead}{anchor}\n{inner}")
            else:
                comment = chance.choice(("", "", "", "  # shardlint: ignore[yaml-float-is-string] why", " #"))
                lines.append(f"{pad}{lead}{self.flow(depth)}{comment}")
        return "\n".join(lines)

    def anchor(self) -> str:
        """A new anchor."""
        self.anchors += 1
        return f"&a{self.anchors} "

    def yaml_key(self) -> str:
        """A key, plain, quoted, complex, or a merge."""
        chance = self.chance
        if chance.random() < 0.08:
            return chance.choice(
                ("<<", "? [a, b]\n:", "? {a: 1}\n", "!!str 1", "&k key", "*a1 ", "'it''s'", '"\\x41\\n"', "[x]")
            )
        key = self.key()
        return key if re.fullmatch(r"[\w.]+", key) else json.dumps(key)

    def flow(self, depth: int) -> str:
        """A value on one line, or a block scalar."""
        chance = self.chance
        kind = chance.random()
        if kind < 0.5 or depth > self.deepest:
            return chance.choice(self.values)
        if kind < 0.58:
            return f"*a{chance.randrange(1, max(2, self.anchors + 2))}"
        if kind < 0.66:
            return f"{chance.choice(_TAGS)} {chance.choice(self.values)}"
        if kind < 0.74:
            return f"[{', '.join(self.flow(depth + 1) for _ in range(chance.randrange(4)))}]"
        if kind < 0.82:
            return (
                "{" + ", ".join(f"{self.yaml_key()}: {self.flow(depth + 1)}" for _ in range(chance.randrange(3))) + "}"
            )
        if kind < 0.88:
            return f"{chance.choice(('|', '>', '|-', '>+', '|2'))}\n      {chance.choice(self.values)}\n      text"
        if kind < 0.94:
            return json.dumps(chance.choice(self.values))
        return self.anchor() + chance.choice(self.values)

    def json(self, depth: int) -> str:
        """A JSON value, with numbers and doubles that only some readers take."""
        chance = self.chance
        kind = chance.random() if depth else 0.0
        if kind < 0.4 and depth <= self.deepest:
            keys = [self.key() for _ in range(chance.choice((1, 2, 4)))]
            if chance.random() < 0.1:
                keys.append(keys[0])
            space = chance.choice(("", "\n", " ", "\n\t"))
            return "{" + ",".join(f"{space}{json.dumps(key)}: {self.json(depth + 1)}" for key in keys) + "}"
        if kind < 0.55 and depth <= self.deepest:
            return "[" + ", ".join(self.json(depth + 1) for _ in range(chance.randrange(4))) + "]"
        value = chance.choice(self.values)
        if re.fullmatch(r"-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?|true|false|null|NaN|Infinity", value):
            return value
        return chance.choice((json.dumps(value), json.dumps(value), json.dumps(value, ensure_ascii=False), '"\\ud800"'))

    def toml(self) -> str:
        """A TOML file."""
        chance = self.chance
        lines: list[str] = []
        for _ in range(chance.randrange(1, 8)):
            kind = chance.random()
            name = ".".join(self.toml_key() for _ in range(chance.choice((1, 1, 2, 3))))
            if kind < 0.25:
                lines.append(f"[{name}]")
            elif kind < 0.35:
                lines.append(f"[[{name}]]")
            elif kind < 0.4:
                lines.append("# shardlint: ignore[config] x")
            else:
                lines.append(f"{name} = {self.toml_value(0)}")
        return "\n".join(lines) + "\n"

    def toml_key(self) -> str:
        """A bare or quoted key."""
        key = self.key()
        return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key)

    def toml_value(self, depth: int) -> str:
        """A value of any type that TOML has."""
        chance = self.chance
        if depth <= self.deepest and chance.random() < 0.3:
            inner = [self.toml_value(depth + 1) for _ in range(chance.randrange(4))]
            if chance.random() < 0.5:
                return "[" + ", ".join(inner) + chance.choice(("]", ",\n]" if inner else "]"))
            return "{" + ", ".join(f"{self.toml_key()} = {one}" for one in inner) + "}"
        value = chance.choice(self.values)
        plain = (
            "1",
            "1e5",
            "-inf",
            "nan",
            "0xff",
            "1_0",
            "true",
            "1979-05-27T07:32:00Z",
            "07:32:00",
            "9" * 400,
            "1e400",
        )
        return chance.choice((json.dumps(value), f"'{value}'", f'"""{value}"""', chance.choice(plain)))

    def shell(self) -> str:
        """A launch script."""
        chance = self.chance
        lines = ["#!/bin/bash", "# shardlint: ignore[x] y"]
        lines += [
            f"torchrun --nproc-per-node {chance.choice(self.values)} train.py --{self.key()} {self.flow(9)} \\"
            for _ in range(3)
        ]
        return "\n".join(lines) + "\n"


def extreme(chance: Random) -> tuple[str, str]:
    """The path and text of a document that is nested, repeated or shared far beyond what people write."""
    many = chance.choice((20, 100, 600, 3000))
    texts: dict[str, Sequence[Callable[[], str]]] = {
        "train.yaml": (
            lambda: "a: " + "[" * many + "1e5" + "]" * many,
            lambda: "a: " + "{a: " * many + "1e5" + "}" * many,
            lambda: "".join(" " * n + f"a{n}:\n" for n in range(min(many, 600))),
            lambda: "- " * many + "1e-5",
            lambda: "a0: &a0 [1e-5, 1e5]\n" + "".join(f"a{n + 1}: &a{n + 1} [*a{n}, *a{n}]\n" for n in range(many)),
            lambda: (
                "a0: &a0 {lr: 1e-5}\n" + "".join(f"a{n + 1}: &a{n + 1} {{<<: [*a{n}, *a{n}]}}\n" for n in range(many))
            ),
            lambda: "a: &a\n  <<: *a\n  lr: 1e-5\n",
            lambda: "a: &a [*a, 1e-5]\n",
            lambda: "&a a: &b {*a : *b}\n",
            lambda: "lr: 1e-5\n" * many,
            lambda: "---\nlr: 1e-5\n" * many,
            lambda: "a: |\n" + "  1e-5\n" * many,
            lambda: "? " * many + "a",
            lambda: "a: '" + "1e-5\n\n  " * many + "'",
            lambda: "!!x " * many + "1e-5",
            lambda: "a: &" + "x" * many * 100 + " 1e-5",
            lambda: "# shardlint: ignore[" + "a, " * many + "]\na: 1e-5",
        ),
        "conf.json": (
            lambda: '{"a": ' * many + "1e-5" + "}" * many,
            lambda: "[" * many * 30,
            lambda: '{"a": ' + "9" * many + "}",
            lambda: '{"a": 1e' + "9" * many + "}",
            lambda: "{" + ", ".join(f'"a": {n}' for n in range(many)) + "}",
            lambda: '"' + "\\u00e9" * many + '"',
            lambda: "[" + "1e-5, " * many + "1]",
        ),
        "recipe.toml": (
            lambda: "a = " + "[" * many + "1e-5" + "]" * many,
            lambda: "a" + ".a" * many + " = 1\n",
            lambda: "a = " + "{a = " * many + "1" + "}" * many,
            lambda: "[" + "a." * many + "a]\nlr = 1e-5\n",
            lambda: "[[a]]\nlr = 1e-5\n" * many,
            lambda: "a = " + "9" * many * 3 + "\n",
            lambda: 'a = """' + "1e-5\\\n  " * many + '"""',
        ),
    }
    path = chance.choice(sorted(texts))
    return path, chance.choice(texts[path])()
