"""The rule yaml-float-is-string."""

from __future__ import annotations

import re

from shardlint.rule import Bad, ConfigRule, Edit, Findings, Good, Scalar, Scalars, observation, safe, table

_FLOAT_NAME = re.compile(
    r"(?:.*_)?(?:lr|learning_rate|decay|wd|eps|epsilon|betas?|beta[12]|momentum|dropout|temperature|gamma|alpha|theta"
    r"|clip|grad_norm|max_norm|tol|tolerance|rtol|atol|ratio|coeff?|std|smoothing|initializer_range|scale|threshold)"
    r"|(?:lr|learning_rate|clip)_.*"
)
_COUNT_NAME = re.compile(r"(?:.*_)?(?:steps|iters|iterations|epochs|tokens|samples|interval)")
_LARGEST_COUNT = 1e15
_TABLE = table("yaml_readers", of=__name__)
_CONVERTING = frozenset(str(_TABLE["converting"]["keys"]).split())
_CONVERTING_TEXT = str(_TABLE["not_pyyaml"]["texts"]).split("\n")[:-1]
_VEOMNI_SECTIONS, _VEOMNI = (frozenset(str(_TABLE["veomni"][name]).split()) for name in ("sections", "keys"))
_READER_UNKNOWN = 0.3
"""In four repositories with such a number and no such mark, the code converted it or another YAML reader read it."""
_EXPONENTS = tuple(f"{before}{e}" for before in "0123456789." for e in "eE")


class YamlFloatIsString(ConfigRule):
    """Reports a number in scientific notation that PyYAML reads as text, under a key that holds a number in training.

    Why is this bad?
    PyYAML follows YAML 1.1, where a float needs a dot before the exponent and a sign in it: `1e-5` and `1.0e5` are
    strings. A dataclass does not convert them, and the optimizer fails on `0.0 <= lr`, or a schedule multiplies text.

    Use instead
    Write the dot and the sign: `1.0e-5`, `1.0e+5`.

    Known limits
    Confidence is low, and nothing is shown by default, unless the loader is known: by the marks of VeOmni's configs, or
    because the project imports no other reader than PyYAML, takes the key by name, and never calls `float` on it.
    Keys whose name does not say that they hold a number are not judged, nor are files with the marks of a reader that
    converts (Hydra, OmegaConf, jsonargparse, axolotl, TRL, LLaMA-Factory, ms-swift), nor templates, nor keys in
    capitals (yacs).
    """

    severity = "error"
    since = "0.1.0"
    evidence = observation("https://github.com/yaml/pyyaml/issues/173", "https://yaml.org/type/float.html")
    suspects = Scalars(r"[-+]?(?:\d+\.?\d*|\.\d+)[eE][-+]?\d+", words=_EXPONENTS)
    symptoms = (r"'<=?' not supported between instances of 'float' and 'str'", r"must be real number, not str")
    fixes = safe("it writes the same number in the form that YAML 1.1 and 1.2 both read as a float")
    proof = ("test_yaml_float_is_string", "PyYAML gives text, and AdamW cannot compare it")
    bad = (
        Bad(
            """
            model: {config_path: ./configs/model.json}
            data: {train_path: tulu}
            train:
              accelerator: {fsdp_config: {fsdp_mode: fsdp2}}
              optimizer:
                lr: 1e-5  # error
                betas: [0.9, 95e-2]  # error
              max_steps: 1e5  # error
            """,
            path="configs/sft.yaml",
            fixed="""
            model: {config_path: ./configs/model.json}
            data: {train_path: tulu}
            train:
              accelerator: {fsdp_config: {fsdp_mode: fsdp2}}
              optimizer:
                lr: 1.0e-5  # error
                betas: [0.9, 95.0e-2]  # error
              max_steps: 1e5  # error
            """,
        ),
        Bad(
            {
                "sft.yaml": "optim:\n  lr: 2e-5  # error\n  eps: 1.0e-8",
                "train.py": """
                import yaml
                from torch.optim import AdamW

                def build(model, text):
                    config = yaml.safe_load(text)["optim"]
                    return AdamW(model.parameters(), lr=config["lr"], eps=config["eps"])
                """,
            }
        ),
    )
    good = (
        Good(
            """
            train: {lr: 1.0e-5, eps: .1e-7, warmup_ratio: 0.03, min_lr: 1.e-6}
            revision: 1234e5
            commit: 1e10
            run_name: "1e-5"
            layers: [1e3]
            """,
            path="configs/sft.yaml",
        ),
        Good("train: {lr: !!float 1e-5, eps: '1e-8'}", path="tagged.yaml"),
        Good("defaults: [base]\noptim:\n  lr: 2e-5", path="conf/hydra.yaml"),
        Good("out: ${paths.out}/run\nlr: 2e-5", path="omega.yaml"),
        Good("model_name_or_path: some/model\nstage: sft\nlearning_rate: 1e-4", path="llamafactory.yaml"),
        Good("method: random\nparameters: {lr: {min: 1e-5}, eps: {values: [1e-8]}}", path="sweep.yaml"),
    )

    def judge(self, scalar: Scalar) -> Findings:
        name = scalar.name.replace("-", "_")
        count = _COUNT_NAME.fullmatch(name) is not None
        if not isinstance(scalar.value, str) or not (count or _FLOAT_NAME.fullmatch(name)):
            return
        keys = scalar.keys
        sweep = {"method", "parameters"} <= keys
        if sweep or keys & _CONVERTING or any(text in scalar.source for text in _CONVERTING_TEXT):
            return
        veomni = keys >= _VEOMNI_SECTIONS and len(keys & _VEOMNI) >= 3
        certainty = 1.0 if veomni else 0.8 if scalar.readers.keeps_text(scalar.name) else _READER_UNKNOWN
        count = count and 1 <= float(scalar.text) < _LARGEST_COUNT
        better = str(int(float(scalar.text))) if count else scalar.float_text
        yield scalar.finding(
            f"PyYAML reads `{scalar.text}` as text, not as a number, so `{scalar.pointer}` is a string and fails where "
            "it is compared or computed with",
            help=f"write `{better}`" + ("" if count else ": YAML 1.1 wants a dot before the exponent and a sign in it"),
            certainty=certainty,
            fixable=not count,
        )

    def fix(self, scalar: Scalar, edit: Edit) -> None:
        edit.replace(scalar, scalar.float_text)
