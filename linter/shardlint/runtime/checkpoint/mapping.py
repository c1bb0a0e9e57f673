"""A table of renames, from the checkpoint's keys to the model's, for a person to review."""

from __future__ import annotations

import re
from dataclasses import dataclass

from shardlint.runtime.checkpoint.comparison import Comparison
from shardlint.runtime.checkpoint.pickle_subset import printable
from shardlint.runtime.checkpoint.prefixes import Prefix
from shardlint.runtime.checkpoint.renames import Rename

_HEAD = """\
# Renames from the keys of {path} to those of the model, in order.
# Review each line: equal shapes and names that resemble each other prove nothing.
"""
_HOOK = """\

# For a loader: the keys that torch's `load_state_dict` is to be given.
#     for pattern, target in RENAMES:
#         state = {re.sub(pattern, target, key, count=1): value for key, value in state.items()}
"""
_CLASS_NOTE = "\n# For a Transformers model class:\n"


@dataclass(frozen=True)
class Line:
    """One rename.

    Args:
        pattern, target: for `re.sub` with a count of 1, over the checkpoint's keys.
        note: what a reviewer must know.
    """

    pattern: str
    target: str
    note: str = ""


def mapping_lines(compared: Comparison) -> list[Line]:
    """The renames that would bring the checkpoint's keys to the model, each for the keys that the ones before leave."""
    first = [] if compared.prefix is None else [_prefix_line(compared.prefix)]
    return first + [_rename_line(one) for one in compared.renames]


def mapping_text(compared: Comparison) -> str:
    """The table as Python, in two forms, with what no rename explains as comments."""
    lines = mapping_lines(compared)
    left = [f"#   missing: {printable(pattern)}\n" for pattern in compared.missing]
    left += [f"#   unexpected: {printable(pattern)}\n" for pattern in compared.unexpected]
    for gap in compared.missing_layers:
        left.append(f"#   missing: {printable(gap.holder)}.{{{','.join(map(str, sorted(gap.lacking)))}}}\n")
    for gap in compared.unexpected_layers:
        left.append(f"#   unexpected: {printable(gap.holder)}.{{{','.join(map(str, sorted(gap.lacking)))}}}\n")
    text = _HEAD.format(path=compared.contents.path)
    if lines:
        text += _HOOK + "RENAMES = [\n"
        text += "".join(f"    ({_raw(one.pattern)}, {_raw(one.target)}),{_note(one)}\n" for one in lines) + "]\n"
        text += _CLASS_NOTE + "_checkpoint_conversion_mapping = {\n"
        text += "".join(f"    {_raw(one.pattern)}: {_raw(one.target)},{_note(one)}\n" for one in lines) + "}\n"
    else:
        text += "\n# No rename is needed, or none is likely.\n"
    return text + ("\n# No rename explains these:\n" + "".join(left) if left else "")


def _prefix_line(prefix: Prefix) -> Line:
    if prefix.anywhere:
        return Line(rf"(^|\.){re.escape(prefix.old)}\.", r"\1", "repeat it for keys that hold it twice")
    new = f"{prefix.new}." if prefix.new else ""
    if not prefix.old:
        # A key that has the prefix already must not get it twice.
        return Line(rf"^(?!{re.escape(new)})", new)
    return Line(rf"^{re.escape(prefix.old)}\.", new)


def _rename_line(rename: Rename) -> Line:
    before = "".join(rf"{_segment(part)}\." for part in rename.before.split(".")) if rename.before else ""
    note = f"candidate, or `{'`, `'.join(rename.rivals)}`" if rename.rivals else "candidate"
    old, new = rename.old, rename.new
    if old:
        target = rf"\1{new}." if new else r"\1"
        # With its end in the pattern, a name that only begins alike is left alone.
        return (
            Line(rf"^({before}){_name(old)}(?:\.|$)", target, note)
            if not _last(rename)
            else Line(rf"^({before}){_name(old)}$", rf"\1{new}", note)
        )
    first = sorted({pair[0] for pair in rename.pairs})
    rest = "|".join(re.escape(one[len(rename.before) + 1 if rename.before else 0 :]) for one in first)
    return Line(rf"^({before})(?={rest})", rf"\1{new}.", note)


def _last(rename: Rename) -> bool:
    """Whether the names that differ are the last ones of the key."""
    whole = f"{rename.before}.{rename.old}" if rename.before else rename.old
    return any(given == whole for given, _ in rename.pairs)


def _name(text: str) -> str:
    return r"\.".join(_segment(part) for part in text.split("."))


def _segment(part: str) -> str:
    return r"\d+" if part == "*" else re.escape(part)


def _raw(text: str) -> str:
    return f'r"{text}"' if '"' not in text and text.isprintable() else repr(text)


def _note(line: Line) -> str:
    return f"  # {printable(line.note)}" if line.note else ""
