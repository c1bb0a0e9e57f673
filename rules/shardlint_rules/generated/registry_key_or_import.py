"""The rule registry-key-or-import."""

from __future__ import annotations

from shardlint.rule import Bad, Call, Findings, Good, LocalRule, Site, idle_function, observation, unnamed_module


class RegistryKeyOrImport(LocalRule):
    """Reports a registration that does not run when the project is imported.

    Why is this bad?
    A registry knows what was registered before it is asked. A registration inside a function that nobody calls, or in
    a module that nobody imports, never happens: the key is unknown, or, where the loader falls back, the plain class
    of another library is trained without the project's patches.

    Use instead
    Registration at the top level of the module, and an import of the module in the `__init__` of its package.

    Known limits
    Only calls of `register` on something whose name says registry. A function counts if no Python file of the project
    says its name again, and other registrations in the same registry are at the top level. A module counts if no other
    Python file imports it, by a statement or a text, and the `__init__` of its package imports others that register in
    the same registry, without looking for modules by itself. Entry points and names in configuration files are not
    read. A key is not compared with the `model_type` of a config, and `REGISTRY["key"] = ...` is not seen.
    """

    severity = "error"
    since = "0.1.0"
    evidence = observation("https://github.com/vllm-project/vllm-omni/issues/5026")
    suspects = Call("*.register")
    symptoms = (r"is not in the .*registry", r"Unknown \w+ name: ", r"not registered")
    preview = True
    bad = (
        Bad(
            {
                "zoo/__init__.py": "from . import first\n",
                "zoo/registry.py": "MODEL_REGISTRY = Registry('model')\n",
                "zoo/first.py": """
                    from .registry import MODEL_REGISTRY

                    @MODEL_REGISTRY.register("first")
                    class First: ...
                    """,
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
            }
        ),
    )
    good = (
        Good(
            {
                "zoo/__init__.py": "from . import first\nfrom .third import Third\nadd_models()\n",
                "zoo/registry.py": "MODEL_REGISTRY = Registry('model')\n",
                "zoo/first.py": """
                    import atexit
                    from .registry import MODEL_REGISTRY

                    @MODEL_REGISTRY.register("first")
                    class First: ...

                    def at_end():
                        atexit.register(print)

                    def add_models():
                        MODEL_REGISTRY.register("more", First)
                    """,
                "zoo/third.py": "from .registry import *\n@MODEL_REGISTRY.register('third')\nclass Third: ...\n",
                "zoo/script.py": """
                    from .registry import MODEL_REGISTRY

                    MODEL_REGISTRY.register("tried", object)
                    if __name__ == "__main__":
                        print(MODEL_REGISTRY)
                    """,
            }
        ),
        Good(
            {
                "zoo/__init__.py": "import pkgutil\nfrom . import first\nlist(pkgutil.iter_modules(__path__))\n",
                "zoo/first.py": "from r import REGISTRY\nREGISTRY.register('first', object)\n",
                "zoo/second.py": "from r import REGISTRY\nREGISTRY.register('second', object)\n",
            }
        ),
    )

    def judge(self, site: Site) -> Findings:
        registry = site.receiver
        if registry is None or "regist" not in registry.last_name.lower() or site.in_tests:
            return
        function, start = idle_function(site), unnamed_module(site)
        if function:
            yield site.finding(
                f"this registration in `{registry.text}` waits for a call of `{function}`, and nothing in the project "
                "calls it: the key stays unknown",
                help="register at the top level of the module, so that importing it is enough",
            )
        elif start:
            yield site.finding(
                f"nothing imports this module, so its registration in `{registry.text}` never runs: {start} imports "
                "other modules that register there, and not this one",
                help=f"import the module in {start}",
            )
