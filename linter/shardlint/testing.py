"""For tests of a training repository: a parallel plan against its model, in the process of the test.

    from shardlint.testing import assert_plan_ok

    def test_the_plan_fits_the_model():
        assert_plan_ok(lambda: Transformer(ModelArgs()), PLAN, mesh={"tp": 4})

The model is built without weights. Torch must be installed; nothing else of shardlint imports it.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from shardlint.errors import PlanError
from shardlint.finding import Finding
from shardlint.loading import make
from shardlint.plan_run import judge_plan
from shardlint.report.summary import Summary
from shardlint.report.text import render_text
from shardlint.rule import PlanRule
from shardlint.runtime.collected import Collected, ReadPlan
from shardlint.runtime.model_facts import ModelFacts
from shardlint.runtime.plan import Entry, WrittenPlan
from shardlint.runtime.target import Target
from shardlint.runtime.units import Stated
from shardlint.runtime.written import written_plan
from shardlint.selection import Choice, active_rows
from shardlint.session import open_session

if TYPE_CHECKING:
    from typing import TypeGuard

_FAILING = ("error", "warning")


def assert_plan_ok(
    model: Any,
    plan: Any = None,
    mesh: Mapping[str, int] | None = None,
    *,
    axis: str | None = None,
    world: int | None = None,
    wrap: Iterable[str] = (),
    fsdp_dims: Mapping[str, int] | None = None,
    fsdp_ignores: Iterable[str] = (),
    uncovered_ok: Iterable[str] = (),
    budget_gib: float | None = None,
    ignore: Iterable[str] = (),
) -> None:
    """Fail with the findings, unless a plan fits the model and the mesh.

    Args:
        model: a `torch.nn.Module`, or a class or function that makes one without arguments, on the meta device.
        plan: a dict for `parallelize_module`, a dict of transformers styles, a VeOmni `ParallelPlan`, or None to judge
            the FSDP units alone.
        mesh: axis -> size.
        axis: the mesh axis of a dict: `tp` unless given; `ep` for one of placements.
        world: how many processes there are.
        wrap: classes or module patterns that become FSDP2 units, in the order of the calls.
        fsdp_dims: module pattern -> the dim that FSDP2 divides, where it is not 0.
        fsdp_ignores: module patterns that FSDP2 leaves alone.
        uncovered_ok: patterns of parameters that are whole on every rank on purpose.
        budget_gib: what parameters, gradients and optimizer state of a rank may take, in GiB.
        ignore: names of rules that are not asked.

    Raises:
        AssertionError: with the findings, as the command line prints them.
        PlanError: the plan is none that is known, or the settings leave no rule on.
    """
    here = inspect.currentframe()
    caller = here.f_back if here is not None else None
    at = (os.path.relpath(caller.f_code.co_filename), caller.f_lineno) if caller is not None else ("the test", 1)
    target = Target(
        "model",
        {},
        None,
        dict(mesh or {}),
        world,
        tuple(wrap),
        dict(fsdp_dims or {}),
        tuple(fsdp_ignores),
        (),
        tuple(uncovered_ok),
        budget_gib,
    )
    written = written_plan(target, Collected(_facts(model), _read(plan, axis, at)), Stated("", at[1], 1, at[0]))
    findings = [one for one in _judged(written, frozenset(ignore)) if one.severity in _FAILING]
    if findings:
        text = render_text(findings, _text, colour=False, summary=Summary(findings))
        raise AssertionError("\n" + text.rpartition("\n\n")[0])


def _judged(written: WrittenPlan, ignored: frozenset[str]) -> list[Finding]:
    """The findings of the plan rules that the project has on."""
    session = open_session(os.getcwd(), os.environ)
    rows = [row for row in active_rows(session, Choice()) if row["kind"] == "plan" and row["name"] not in ignored]
    rules = [rule for rule in map(make, rows) if isinstance(rule, PlanRule)]
    if not rules:
        raise PlanError("no plan rule is on, so nothing was asked: select the families `plan` and `fsdp`")
    least = session.settings.min_confidence
    return [finding for finding in judge_plan(rules, written) if finding.confidence >= least]


def _facts(model: Any) -> ModelFacts:
    from shardlint.runtime.runner import building, description
    from shardlint.runtime.runner.events import Events

    class Quiet(Events):
        def send(self, event: str, **what: Any) -> None:
            """Nobody listens: the model is in this process."""

    quiet = Quiet(-1)
    built: Any = model
    if isinstance(model, type) or not hasattr(model, "named_parameters"):
        maker: Callable[[], Any] = model
        built, _ = building.build(maker, quiet)
    return ModelFacts.from_json(description.facts(built, quiet))


def _read(plan: Any, axis: str | None, at: tuple[str, int]) -> ReadPlan | None:
    """The entries of a plan that is an object of this process; they all lie at the call."""
    if plan is None:
        return None
    from shardlint.runtime.runner.plans import axes_of, placement, style_text

    def entry(pattern: object, how: str, of: str) -> Entry:
        return Entry(str(pattern), how, of, at[1], 1, at[0])

    styles = _mapping(plan)
    nested = styles is not None and bool(styles) and all(_mapping(one) is not None for one in styles.values())
    if nested or styles is None:
        axes = axes_of(plan)
        if axes is None:
            raise PlanError(f"a {type(plan).__name__} is no plan: give a dict, or a ParallelPlan of VeOmni")
        found = [
            entry(pattern, placement(how), of) for of, patterns in axes.items() for pattern, how in patterns.items()
        ]
        return ReadPlan("veomni", tuple(found))
    if any(hasattr(how, "is_shard") for how in styles.values()):
        return ReadPlan(
            "veomni", tuple(entry(pattern, placement(how), axis or "ep") for pattern, how in styles.items())
        )
    matcher = "hf" if all(isinstance(how, str) for how in styles.values()) else "torch"
    return ReadPlan(matcher, tuple(entry(pattern, style_text(how), axis or "tp") for pattern, how in styles.items()))


def _mapping(value: object) -> Mapping[object, Any] | None:
    return value if _is_mapping(value) else None


def _is_mapping(value: object) -> TypeGuard[Mapping[object, Any]]:
    return isinstance(value, Mapping)


def _text(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError):
        return None


__all__ = ["assert_plan_ok"]
