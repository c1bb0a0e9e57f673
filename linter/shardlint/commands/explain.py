"""`shardlint explain RULE`: a rule's page for a terminal."""

from __future__ import annotations

from textwrap import indent

from shardlint.commands.engine_rules import FAMILY, PAGES
from shardlint.commands.page import Page, engine_page, nearest, page_of, shown_example
from shardlint.errors import UsageError
from shardlint.session import Session


def explain(session: Session, name: str) -> str:
    """The page of a rule.

    Raises UsageError for a name that is no rule, with the rules of a family or the nearest name.
    """
    return rendered(_page(session, name))


def _page(session: Session, name: str) -> Page:
    rows = {row["name"]: row for row in session.rows}
    if name in rows:
        return page_of(rows[name])
    for row in session.rows:
        for _, _, given, called, title, file, line in row["enforces"]:
            if given == name:
                page = page_of(row)
                page.body.insert(0, ("", f"{called}: {title} ({file}:{line})\nis enforced by this rule:"))
                return page
    own = {rule.name: rule for rule in PAGES}
    if name in own:
        return engine_page(own[name])
    families: dict[str, list[str]] = {FAMILY: list(own)}
    for row in session.rows:
        families.setdefault(row["family"], []).append(row["name"])
    if name in families:
        raise UsageError(f"`{name}` is a family, not a rule; explain one of {', '.join(families[name])}")
    raise UsageError(f"`{name}` is no rule; {nearest(name, sorted([*rows, *own]))}")


def rendered(page: Page) -> str:
    """A page as plain text."""
    kind = "the engine's own rule" if page.kind == FAMILY else f"{page.kind} rule"
    preview = ", preview: off unless selected by name" if page.preview else ""
    since = f", since {page.since}" if page.since else ""
    lines = [page.name, f"  {page.severity}, family {page.family}, {kind}{since}{preview}"]
    for heading, text in page.body:
        lines += ["", *([heading] if heading else []), indent(text, "  " if heading else "")]
    lines += ["", f"Evidence    {page.evidence.kind}", *(f"            {url}" for url in page.evidence.references)]
    lines += [f"Proof       {page.how_proved()}"] if page.proof is not None else []
    lines += [f"Confidence  {page.how_sure()}", f"Fix         {_fix(page)}"]
    if page.symptoms:
        lines += ["Symptoms    what a log may show, as regular expressions"]
        lines += [f"            {pattern}" for pattern in page.symptoms]
    for title, examples in (("Reported", page.bad), ("Not reported", page.good)):
        for number, example in enumerate(examples, 1):
            lines += ["", f"{title}, example {number}", indent(shown_example(example), "    ")]
    return "\n".join(lines) + "\n"


def _fix(page: Page) -> str:
    if page.fix is None:
        return "none"
    safe, reason = page.fix
    return f"safe, with --fix: {reason}" if safe else f"unsafe, with --fix --unsafe-fixes: {reason}"
