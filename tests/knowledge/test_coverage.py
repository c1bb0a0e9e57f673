"""What is enforced, what is only prose, and which rule speaks of it."""

from __future__ import annotations

from shardlint.knowledge.constraint_file import read_constraints
from shardlint.knowledge.coverage import Rules, coverage
from shardlint.knowledge.markdown import read_markdown

RULES = Rules(
    {
        "rank-guarded-checkpoint": "A checkpoint is saved or loaded by some ranks only. Saving is collective.",
        "clip-before-unscale": "Gradients are clipped before the scaler has unscaled them.",
        "generated-file-edited": "A generated file was edited by hand; the generator overwrites it.",
    }
)
PAGE = """\
# C

1. **Saved checkpoints are collective.** All ranks save them.
2. **Pull requests have a title.**
3. **NPU imports are guarded.**

   ```yaml constraint
   id: npu
   forbidden: {imports: [torch_npu]}
   ```
4. **Generated files: never edit by hand.**

```yaml constraint
id: by-rule
enforced_by: {rule: generated-file-edited}
```

# More

```yaml constraint
id: alone
title: Alone
forbidden: {imports: [apex]}
```
"""


def test_each_statement_is_enforced_proposed_or_prose() -> None:
    found = coverage("c.md", read_constraints("c.md", PAGE.encode()), RULES)

    assert [(one.number, [c.id for c in one.by], one.proposed) for one in found] == [
        ("1", [], ("rank-guarded-checkpoint",)),
        ("2", [], ()),
        ("3", ["npu"], ()),
        ("4", ["by-rule"], ()),
        ("", ["alone"], ()),
    ]


def test_a_file_without_statements_is_covered_by_its_constraints() -> None:
    text = "version: 1\nconstraints:\n  - {id: a, title: T, forbidden: {imports: [apex]}}\n"
    (one,) = coverage("c.yaml", read_constraints("c.yaml", text.encode()), RULES)

    assert (one.title, one.by[0].id) == ("T", "a")


def test_without_rules_nothing_is_proposed() -> None:
    assert Rules({}).like(read_markdown("1. Anything\n").items[0]) == ()
