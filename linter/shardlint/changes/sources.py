"""Which files of the repository a generated file is written from: what its header names, and what lies beside it.

Where names carry the relation, they are those of public code bases: ``modular_x.py`` beside ``modeling_x.py``,
``x_patch_gen_config.py`` above ``generated/patched_modeling_x.py``, ``x.proto`` beside ``x_pb2.py``, a template
beside its result.
"""

from __future__ import annotations

from .generated import is_dotted, is_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .generated import Header

_PATCH_CONFIG = "_patch_gen_config.py"
_TEMPLATES = (".in", ".j2", ".jinja", ".tmpl", ".tpl")


def declared_sources(path: str, header: Header, exists: Callable[[str], bool]) -> tuple[str, ...]:
    """Files that a generated file is written from: to change it, change one of these and run the generator.

    Args:
        path: the generated file, relative to the project root.
        header: what it says of itself.
        exists: whether a path, relative to the project root, is a file or folder of the repository.
    """
    found: dict[str, None] = {}
    for source in header.sources:
        for candidate in _places(path, source):
            if candidate != path and exists(candidate):
                found[candidate] = None
                break
    for candidate in _beside(path):
        if candidate != path and exists(candidate):
            found[candidate] = None
    return tuple(found)


def justifies(path: str, header: Header, changed: str) -> bool:
    """Whether a changed file explains that a generated one changed with it.

    Wider than `declared_sources`: patch configurations import each other, so any of them explains any file that is
    written from one.

    Args:
        path: the generated file, relative to the project root.
        header: what it says of itself.
        changed: another file that changed, relative to the project root.
    """
    if changed == path:
        return False
    if changed in _beside(path) or (changed.endswith(_PATCH_CONFIG) and "/generated/" in "/" + path):
        return True
    inside = "/" + changed + "/"
    for source in header.sources:
        if changed in _places(path, source) or any("/" + form + "/" in inside for form in _forms(source)):
            return True
    return False


def _places(path: str, source: str) -> Iterator[str]:
    """Where a named source can lie: as written, beside the generated file, or below a root that it does not know."""
    folder = path.rpartition("/")[0]
    for form in _forms(source):
        yield form
        if folder:
            yield _normal(folder + "/" + form)
        yield "src/" + form
        rest = form
        while rest.count("/") > 1:
            rest = rest.partition("/")[2]
            yield rest


def _forms(source: str) -> tuple[str, ...]:
    """A named source as paths: a module is a file or a package."""
    if not is_path(source) and is_dotted(source):
        module = source.replace(".", "/")
        return module + ".py", module + "/__init__.py"
    return (_normal(source),)


def _normal(path: str) -> str:
    """A path without `.` and `..`."""
    parts: list[str] = []
    for part in path.split("/"):
        if part == ".." and parts and parts[-1] != "..":
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


def _beside(path: str) -> tuple[str, ...]:
    """Files that generate others by where they lie and what they are called."""
    folder, slash, name = path.rpartition("/")
    here = folder + slash
    stem, _, suffix = name.rpartition(".")
    found = [here + stem + ".diff", *(path + template for template in _TEMPLATES)]
    for ending in ("_pb2", "_pb2_grpc"):
        if suffix in ("py", "pyi") and stem.endswith(ending):
            found.append(here + stem.removesuffix(ending) + ".proto")
    above, _, last = folder.rpartition("/")
    if last == "generated":
        found += _patch_configs(above + "/" if above else "", stem)
    kind, underscore, model = stem.partition("_")
    if suffix == "py" and underscore and kind != "modular":
        found += [f"{here}modular_{model}.py", f"{here}modular_{last or folder}.py"]
    return tuple(dict.fromkeys(found))


def _patch_configs(here: str, stem: str) -> list[str]:
    """Configurations that a patched file is written from; the one for another device imports the one for GPUs."""
    name = stem.removeprefix("patched_").removeprefix("modeling_")
    names = [name]
    for device in ("_npu", "_xpu", "_hpu"):
        if name.endswith(device):
            names.append(name.removesuffix(device) + "_gpu")
    return [here + each + _PATCH_CONFIG for each in names]
