"""`shardlint checkpoint DIR`: the keys of a checkpoint beside those of a model."""

from __future__ import annotations

import os

from shardlint.arguments import Parsed
from shardlint.errors import UsageError
from shardlint.filters import Filters
from shardlint.finding import Finding, any_at_least
from shardlint.loading import make
from shardlint.plan_run import judge_checkpoint
from shardlint.report.form import in_form
from shardlint.report.summary import Summary
from shardlint.rule import CheckpointRule
from shardlint.runtime.checkpoint.comparison import Comparison
from shardlint.runtime.checkpoint.folder import read_folder
from shardlint.runtime.checkpoint.mapping import mapping_text
from shardlint.runtime.checkpoint.stored import Contents
from shardlint.runtime.facts_file import read_facts
from shardlint.runtime.learning import learn
from shardlint.runtime.target import from_settings, named_target
from shardlint.selection import Choice, active_rows, engine_rules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import TextIO

    from shardlint.runtime.model_facts import ModelFacts
    from shardlint.session import Session


def checkpoint(session: Session, parsed: Parsed, out: TextIO, environ: Mapping[str, str]) -> tuple[str, int]:
    """Run `shardlint checkpoint` and give what it prints and its exit code: 1 when a finding fails the run.

    Raises:
        UsageError: no folder is named, or the model is not.
        CheckpointError: the folder holds no checkpoint that can be read.
        PlanError: the facts cannot be read, or there is no such target.
        PlanFailed: the model of the target cannot be built.
    """
    if not parsed.operands:
        raise UsageError("name the folder of a checkpoint: shardlint checkpoint DIR --facts-in FILE")
    model = _model(session, parsed, environ)
    folder = parsed.operands[0]
    compared = Comparison(read_folder(folder, _shown(folder, session.root)), model)
    choice = Choice(parsed.many("select"), parsed.many("ignore") or ())
    rows = active_rows(session, choice)
    rules = [rule for rule in (make(row) for row in rows if row["kind"] == "plan") if isinstance(rule, CheckpointRule)]
    found = judge_checkpoint(rules, compared, resumes=parsed.flag("resume"))
    filters = Filters(session.settings, rows, session.rows, engine_rules(session, choice))
    least_sure = session.settings.min_confidence
    findings = [one for one in filters.apply(found, {}, set()) if one.confidence >= least_sure]
    text = mapping_text(compared)
    if not parsed.flag("write-mapping"):
        form, closing = parsed.one("output-format"), _Closing(findings, compared)
        text = in_form(form, findings, lambda _path: None, closing, terminal=out, environ=environ)
    failing = any_at_least(findings, parsed.one("fail-on") or session.settings.fail_on)
    return text, int(failing and not parsed.flag("exit-zero"))


def _model(session: Session, parsed: Parsed, environ: Mapping[str, str]) -> ModelFacts:
    facts, name = parsed.one("facts-in"), parsed.one("target")
    if facts is not None and name is None:
        return read_facts(facts).facts
    if facts is not None or name is None:
        raise UsageError("name the model that is to be loaded: `--facts-in FILE` or `--target NAME`, one of them")
    target = named_target([from_settings(table) for table in session.settings.plan], name)
    return learn(target, session.root, environ).facts


def _shown(folder: str, root: str) -> str:
    """The folder as findings name it: relative to the project if it lies in it."""
    relative = os.path.relpath(folder, root)
    return os.path.abspath(folder) if relative.startswith("..") else relative.replace(os.sep, "/")


class _Closing(Summary):
    """The closing line of a run: what was found, and what was compared."""

    __slots__ = ("compared",)

    def __init__(self, findings: Iterable[Finding], compared: Comparison) -> None:
        super().__init__(findings)
        self.compared = compared

    def _checked(self) -> str:
        contents = self.compared.contents
        agreeing = f"{len(self.compared.pairs)} of {len(self.compared.wanted)} tensors of the model found"
        return f"{contents.form}: {described(contents)}; {agreeing}"


def described(contents: Contents) -> str:
    """How many keys a checkpoint has, how large its tensors are, and their dtypes."""
    sizes = [entry.bytes for entry in contents.tensors]
    dtypes: dict[str, int] = {}
    for entry in contents.tensors:
        dtypes[entry.dtype or "unknown dtype"] = dtypes.get(entry.dtype or "unknown dtype", 0) + 1
    named = ", ".join(f"{count} {dtype}" for dtype, count in sorted(dtypes.items(), key=lambda one: (-one[1], one[0])))
    objects = len(contents.entries) - len(contents.tensors)
    total = sum(size for size in sizes if size is not None)
    size = f"{total / 2**30:.2f} GiB" if total >= 2**27 else f"{total / 2**20:.2f} MiB"
    known = size if None not in sizes else f"at least {size}" if total else "sizes unknown"
    return f"{len(contents.tensors)} tensors ({named or 'none'}; {known})" + (
        f" and {objects} object{'s' * (objects > 1)}" if objects else ""
    )
