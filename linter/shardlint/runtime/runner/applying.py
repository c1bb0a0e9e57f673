"""A function that applies a plan, called for real on a mesh of pretended ranks; then the result is read back."""

from __future__ import annotations

import math
from typing import Any

from .modules import module, target
from .plans import placement
from .refusal import Refused


def pretend(mesh: dict[str, int]) -> None:
    """Be rank 0 of a mesh whose collectives do nothing."""
    fake = module("torch.testing._internal.distributed.fake_pg")
    module("torch.distributed").init_process_group(
        "fake", store=fake.FakeStore(), rank=0, world_size=math.prod(mesh.values())
    )


def apply(plan: dict[str, Any], model: Any) -> dict[str, Any]:
    """Call `target(model, mesh)` and read placements and FSDP units off what it gives, or off the model."""
    torch = module("torch")
    function = target(plan["target"])
    mesh: dict[str, int] = plan["mesh"]
    made = module("torch.distributed.device_mesh").init_device_mesh(
        "cpu", tuple(mesh.values()), mesh_dim_names=tuple(mesh)
    )
    with torch.device("meta"):
        given = function(model, made)
    model = given if isinstance(given, torch.nn.Module) else model
    return {"applied": {"parameters": _parameters(model), "units": _units(model)}}


def check(plan: dict[str, Any]) -> None:
    """Refuse a plan that cannot be applied because something is not said."""
    if not plan.get("target"):
        raise Refused("a plan of the kind `apply` needs its function, `package.module:function`")
    if not plan.get("mesh"):
        raise Refused("a plan of the kind `apply` needs the sizes of the mesh")


def _parameters(model: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for name, parameter in model.named_parameters():
        row: dict[str, Any] = {"name": name, "shape": list(parameter.shape), "placements": {}, "local": None}
        if hasattr(parameter, "placements"):
            axes = parameter.device_mesh.mesh_dim_names or [f"dim{at}" for at in range(parameter.device_mesh.ndim)]
            row["placements"] = {axes[at]: placement(how) for at, how in enumerate(parameter.placements)}
            row["local"] = list(parameter.to_local().shape)
        found.append(row)
    return found


def _units(model: Any) -> list[dict[str, Any]]:
    """The FSDP units: each is known by its base class, and holds what no unit below it holds."""
    units = {name: part for name, part in model.named_modules() if _is_unit(part)}
    held: dict[str, list[str]] = {name: [] for name in units}
    for name, _ in model.named_parameters():
        owner = name
        while owner:
            owner = owner.rpartition(".")[0]
            if owner in units:
                held[owner].append(name)
                break
    return [{"module": name, "class": _written_class(part), "parameters": held[name]} for name, part in units.items()]


def _is_unit(part: Any) -> bool:
    return any(kind.__name__ in ("FSDPModule", "FullyShardedDataParallel") for kind in type(part).__mro__)


def _written_class(part: Any) -> str:
    """`fully_shard` puts a class of its own, `FSDPName`, before the one that the user wrote."""
    names = [kind.__name__ for kind in type(part).__mro__]
    return names[names.index("FSDPModule") + 1] if names[0].startswith("FSDP") and "FSDPModule" in names else names[0]
