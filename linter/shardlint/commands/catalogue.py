"""rules/README.md, made from the rules: an index by family, then a section for each rule."""

from __future__ import annotations

from collections.abc import Iterable

from shardlint.commands.engine_rules import FAMILY
from shardlint.commands.page import Page, shown_example

_INTRODUCTION = """\
# The rules

Written by `make catalogue` from the rules themselves: change a rule, not this page.

A name selects, ignores and suppresses a rule; so does the name of its family. `fix` says whether `--fix` can repair a
finding; an unsafe fix also needs `--unsafe-fixes`. Rules marked *preview* are off unless they are selected by name.
`proof` says `run` where a run shows that such code does what the rule says: the run of the rule's own examples, or a
test module of `tests/proofs`. `make proofs` runs them all.
"""
_KINDS = {
    "local": "looks at one call in one file",
    "program": "looks at the whole program",
    "config": "looks at one place of a document",
    "change": "looks at a file before and after a change",
    "plan": "looks at a parallel plan or a checkpoint, and the model that it is for",
    FAMILY: "the engine's own: it speaks of the run",
}


def catalogue(pages: Iterable[Page]) -> str:
    """The catalogue as Markdown. The same rules give the same text."""
    families: dict[str, list[Page]] = {}
    for page in sorted(pages, key=lambda page: (page.family == FAMILY, page.family, page.name)):
        families.setdefault(page.family, []).append(page)
    parts = [_INTRODUCTION, *(_index(family, inside) for family, inside in families.items())]
    parts += [_section(page) for inside in families.values() for page in inside]
    return "\n".join(parts)


def _index(family: str, pages: list[Page]) -> str:
    lines = [f"## {family}", "", "| rule | severity | kind | proof | fix | what it reports |", f"|{'---|' * 6}"]
    for page in pages:
        preview = " *preview*" if page.preview else ""
        summary = page.summary.replace("|", "\\|")
        proof = "run" if page.proof is not None and page.proof.proved else ""
        cells = (f"[{page.name}](#{page.name}){preview}", page.severity, page.kind, proof, page.fixable, summary)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _section(page: Page) -> str:
    preview = ", *preview*" if page.preview else ""
    facts = f"{page.severity}, family {page.family}, {page.kind} ({_KINDS[page.kind]}), since {page.since}{preview}"
    lines = [f"### {page.name}", "", facts]
    for heading, text in page.body:
        lines += ["", *([f"**{heading}**", ""] if heading else []), text]
    references = "".join(f" <{url}>" for url in page.evidence.references)
    lines += ["", f"- Evidence: {page.evidence.kind}{references}"]
    if page.proof is not None:
        lines.append(f"- Proof: {page.how_proved()}")
    lines.append(f"- Confidence: {page.how_sure()}")
    if page.fix is not None:
        lines.append(f"- Fix: {page.fixable}, {page.fix[1]}")
    lines += [f"- Symptom: {_code(pattern)}" for pattern in page.symptoms]
    for title, examples in (("Reported", page.bad), ("Not reported", page.good)):
        for example in examples:
            text = shown_example(example)
            fence = "`" * max(3, _longest_run(text) + 1)
            lines += ["", f"{title}:", "", f"{fence}{_language(example.files)}", text, fence]
    return "\n".join(lines) + "\n"


def _code(text: str) -> str:
    ticks = "`" * (_longest_run(text) + 1)
    return f"{ticks}{text}{ticks}" if ticks == "`" else f"{ticks} {text} {ticks}"


def _longest_run(text: str) -> int:
    """The longest run of backticks."""
    longest = run = 0
    for character in text:
        run = run + 1 if character == "`" else 0
        longest = max(longest, run)
    return longest


def _language(files: Iterable[str]) -> str:
    """What highlights an example: the kind of its files when they are all of one kind."""
    names = {"py": "python", "yaml": "yaml", "yml": "yaml", "json": "json", "toml": "toml", "sh": "bash"}
    endings = {path.rpartition(".")[2] for path in files}
    return names.get(endings.pop(), "text") if len(endings) == 1 else "text"
