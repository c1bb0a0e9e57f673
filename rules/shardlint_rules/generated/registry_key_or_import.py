"""The rule registry-key-or-import."""

from __future__ import annotations

from shardlint.rule import (
    Bad,
    Call,
    Findings,
    Good,
    LocalRule,
    Site,
    Written,
    idle_function,
    mismatch,
    observation,
    unnamed_module,
)


class RegistryKeyOrImport(LocalRule):
    """Reports a registration that does not run when the project is imported, or whose key no config asks for.

    Why is this bad?
    A loader asks a registry with the `model_type` of a config, among what was registered before. A registration inside
    a function that nobody calls or in a module that nobody imports, or under another key, is not found: an error, or,
    where the loader falls back, the plain class of another library is trained without the project's patches.
    `AutoConfig.register` itself raises ValueError where key and `model_type` differ.

    Use instead
    Registration at the top level of the module, an import of the module in the `__init__` of its package, and the
    `model_type` of the config as the key.

    Known limits
    Only calls of `register` on something whose name says registry, and on `AutoConfig`. A function counts if no Python
    file of the project says its name again, and other registrations in the same registry are at the top level. A module
    counts if no other Python file imports it, by a statement or a text, and the `__init__` of its package imports
    others that register in the same registry, without looking for modules by itself. Entry points and names in
    configuration files are not read. A literal key counts if the registry is looked up by a `model_type` or most of its
    keys are one, no Python file, `config.json` or installed transformers has it as a `model_type`, and the class that
    it stands for, or a class of the folder with a `model_type` much alike, is not registered under its own.
    Dictionaries and `REGISTRY["key"] = ...` are not judged.
    """

    severity = "error"
    since = "0.1.0"
    evidence = observation("https://github.com/vllm-project/vllm-omni/issues/5026")
    suspects = Call("*.register") & Written("egistry.register(", "EGISTRY.register(", "AutoConfig.register(")
    symptoms = (r"is not in the .*registry", r"Unknown \w+ name: ", r"not registered")
    preview = True
    proof = ("test_registry_key_or_import", "the registry lacks the key after the import; `AutoConfig` refuses one")
    bad = (
        Bad(
            {
                "zoo/__init__.py": "from . import first\n",
                "zoo/registry.py": "MODEL_REGISTRY = Registry()\nload = lambda c: MODEL_REGISTRY[c.model_type]\n",
                "zoo/first.py": "from .registry import *\n\n@MODEL_REGISTRY.register('first')\nclass First: ...\n",
                "zoo/second.py": """
                    from .registry import MODEL_REGISTRY as MODEL_REGISTRY
                    @MODEL_REGISTRY.register("second")  # error
                    class Second: ...
                    """,
                "other/late.py": """
                    from zoo.registry import MODEL_REGISTRY

                    def add_models():
                        @MODEL_REGISTRY.register("late")  # error
                        class Late: ...

                        MODEL_REGISTRY.register("later", Late)  # error
                    """,
                "llama_vl/__init__.py": """
                    from transformers import AutoConfig
                    from zoo.registry import MODEL_REGISTRY
                    from .config import LlamaVLConfig

                    AutoConfig.register("llamavl", LlamaVLConfig)  # error

                    @MODEL_REGISTRY.register("llama-vl")  # error
                    def model(): ...
                    """,
                "llama_vl/config.py": "class LlamaVLConfig(LlamaConfig):\n    model_type = 'llama_vl'\n",
            }
        ),
    )
    good = (
        Good(
            {
                "zoo/__init__.py": "from . import first\nfrom .third import Third\nadd_models()\n",
                "zoo/registry.py": "MODEL_REGISTRY = Registry()\nload = lambda c: MODEL_REGISTRY[c.model_type]\n",
                "zoo/first.py": """
                    import atexit
                    from .registry import MODEL_REGISTRY

                    MODEL_REGISTRY.register("first", object)

                    def at_end():
                        atexit.register(print)

                    def add_models():
                        MODEL_REGISTRY.register("more", object)
                    """,
                "zoo/third.py": "from .registry import *\n@MODEL_REGISTRY.register('third')\nclass Third: ...\n",
                "zoo/config.py": "class A(B):\n    model_type = 'third'\nclass C(A):\n    model_type = 'mored'\n",
                "zoo/config.json": '{"model_type": "more"}',
                "zoo/script.py": "MODEL_REGISTRY.register('a', object)\nif __name__ == '__main__':\n    print(1)\n",
            }
        ),
    )

    def judge(self, site: Site) -> Findings:
        registry = site.receiver
        if registry is None or not registry.text.lower().endswith(("registry", "autoconfig")) or site.in_tests:
            return
        name, wrong, function, start = registry.text, mismatch(site), idle_function(site), unnamed_module(site)
        if wrong is not None:
            config, what = wrong.config, "transformers refuses that with a ValueError when this line runs"
            if not wrong.refused:
                what = f"`{name}` is asked for a `model_type`, so a job gets an error, or the plain class instead"
            at = f"the key is `{wrong.key}`, but the `model_type` of `{config.name}` is `{config.model_type}`"
            yield site.finding(f"{at}: {what}", help="write the same name in both places", related=config.notes)
        if function:
            what = f"this registration in `{name}` waits for a call of `{function}`, which nothing in the project calls"
            help = "register at the top level of the module, so that importing it is enough"
            yield site.finding(f"{what}: the key stays unknown", help=help)
        elif start:
            what = f"nothing imports this module, so its registration in `{name}` never runs: {start} imports other "
            help = f"import the module in {start}"
            yield site.finding(f"{what}modules that register there, and not this one", help=help)
