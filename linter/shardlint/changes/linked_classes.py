"""The module classes of a state's files, with what they inherit from classes of other files of the project."""

from __future__ import annotations

from shardlint.changes.edit import parsed

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ast

    from shardlint.changes.states import State
    from shardlint.facts.module_tree import ModuleClass

MODULE_WORDS = (b"Module", b"nn.", b"Layer", b"Model", b"Parameter", b"register_buffer")
"""A Python file without any of these holds no module."""

_STEPS = 6
"""Files from the one that names a base to the one that defines it: packages hand classes on."""


class LinkedClasses:
    """The module classes of one state, each file read once.

    A base is looked for where its import says: relative to the file, or as the only file of the project at the end of
    that dotted path. A base that several files may mean, or that comes with a star, is not known.
    """

    def __init__(self, state: State) -> None:
        self._state = state
        self._trees: dict[str, ast.Module | None] = {}
        self._classes: dict[str, dict[str, ModuleClass]] = {}
        self._open: set[str] = set()
        self._by_stem: dict[str, list[str]] | None = None

    def of(self, path: str, content: bytes | None = None) -> dict[str, ModuleClass] | None:
        """The module classes of a file by qualified name; None if it is not there or does not parse.

        Args:
            content: what the file holds, where that was read already.
        """
        tree = self._tree(path, content)
        if tree is None:
            return None
        if path not in self._classes:
            # Costly to import, and most changes touch no module.
            from shardlint.facts.module_tree import module_classes

            self._open.add(path)
            self._classes[path] = module_classes(tree, lambda target: self._class(path, target, _STEPS))
            self._open.discard(path)
        return self._classes[path]

    def _tree(self, path: str, content: bytes | None = None) -> ast.Module | None:
        if path not in self._trees:
            content = self._state.read(path) if content is None else content
            self._trees[path] = parsed(content) if content is not None else None
        return self._trees[path]

    def _class(self, importer: str, target: str, steps: int) -> ModuleClass | None:
        """The class behind an imported name, through the packages that hand it on."""
        module, _, name = target.rpartition(".")
        if target.startswith(".") and not module.strip("."):
            module += "."
        path = self._file(importer, module)
        # Two files whose classes extend each other's are read without that link.
        if path is None or not name or path == importer or path in self._open:
            return None
        found = (self.of(path) or {}).get(name)
        if found is not None or steps == 0:
            return found
        from shardlint.facts.module_index import ModuleIndex

        tree = self._tree(path)
        passed = ModuleIndex(tree).aliases.get(name) if tree is not None else None
        return self._class(path, passed, steps - 1) if passed else None

    def _file(self, importer: str, module: str) -> str | None:
        """The file of a module as an import names it; None if there is none, or more than one."""
        names = module.lstrip(".")
        level = len(module) - len(names)
        inner = names.replace(".", "/")
        if level:
            folders = importer.split("/")[:-level]
            if len(folders) != len(importer.split("/")) - level:
                return None
            at = "/".join([*folders, *filter(None, [inner])])
            choices = [f"{at}.py", f"{at}/__init__.py" if at else "__init__.py"]
            return next((one for one in choices if self._state.read(one) is not None), None)
        if self._by_stem is None:
            self._by_stem = {}
            for one in self._state.paths():
                if one.endswith(".py"):
                    stem = one.removesuffix(".py").removesuffix("/__init__").rpartition("/")[2]
                    self._by_stem.setdefault(stem, []).append(one)
        ends = (f"/{inner}.py", f"/{inner}/__init__.py")
        fitting = [one for one in self._by_stem.get(inner.rpartition("/")[2], ()) if f"/{one}".endswith(ends)]
        return fitting[0] if len(fitting) == 1 else None
