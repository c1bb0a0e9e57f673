"""The rule model-type-unknown."""

from __future__ import annotations

from difflib import get_close_matches

from shardlint.rule import Bad, Findings, Good, PlanMesh, PlanRule, observation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shardlint.rule import Plan

_MODEL = """
    model_types llama qwen3 qwen3_moe deepseek_v3
    config model_type = {}
    w  [8, 8]  bf16
"""


class ModelTypeUnknown(PlanRule):
    """Reports a config whose `model_type` the installed frameworks do not know.

    Why is this bad?
    `AutoConfig` looks the class up by `model_type`. An unknown one stops with a ValueError on every rank once the job
    has its devices: it is misspelt, or the installed package is older than the model.

    Use instead
    The name that the installed package knows, or a version of the package that knows the model.

    Known limits
    A model that brings its own code (`auto_map`) is only noted: it loads with `trust_remote_code`. Nothing is said
    where the names are not known.
    """

    severity = "error"
    since = "0.1.0"
    evidence = observation("https://huggingface.co/docs/transformers/model_doc/auto")
    suspects = PlanMesh()
    symptoms = (
        r"The checkpoint you are trying to load has model type `\S+` but Transformers does not recognize this",
        r"Unrecognized model in .* Should have a `model_type` key",
    )
    proof = ("test_transformers_names", "`AutoConfig` raises the error that the rule states")
    bad = (
        Bad(model=_MODEL.format("qwen3moe"), plan="matcher: hf  # error"),
        Bad(model=_MODEL.format("deepseek_v4"), plan="matcher: veomni  # error"),
        Bad(
            model=_MODEL.format("grok\n    config auto_map.AutoConfig = configuration.Grok"),
            plan="matcher: hf  # error",
        ),
    )
    good = (
        Good(model=_MODEL.format("qwen3_moe"), plan="matcher: hf"),
        Good(model="config model_type = qwen9\nw [8] bf16", plan="matcher: hf"),
        Good(model="model_types llama\nw [8] bf16", plan="matcher: torch"),
    )

    def judge(self, plan: Plan) -> Findings:
        known, asked = plan.model.model_types, plan.model.config.get("model_type")
        if not known or not isinstance(asked, str) or asked in known:
            return
        remote = any(name.partition(".")[0] == "auto_map" for name in plan.model.config)
        near = get_close_matches(asked, sorted(known), 1, 0.8)
        if remote:
            said, help = (
                "loads only with the code that the model brings along",
                "pass `trust_remote_code=True` knowingly",
            )
        else:
            said = "stops with a ValueError"
            help = f"write `{near[0]}` if that is meant, or install" if near else "install"
            help += " a version that knows the model"
        yield plan.finding_at(
            plan.head,
            f"the installed frameworks know no `model_type` `{asked}`: `AutoConfig` {said}",
            help=help,
            note=remote,
        )
