"""The model without its weights: on the meta device, or as near to it as its code allows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

from .events import Events
from .failure import is_memory
from .modules import module
from .refusal import Refused
from .sources import Make

_WARN_BYTES = 1 << 20
_ACCELERATOR = ("CUDA", "cuda", "NPU", "XPU", "HIP")
_VALUES = ("arange", "linspace", "logspace", "range", "tensor", "as_tensor", "scalar_tensor", "from_numpy")


def build(make: Make, events: Events) -> tuple[Any, str]:
    """Make the model, and say how: `meta`; `fake`, under FakeTensorMode; or `values`, where only tensors that the code
    states by value are real. Raises what the first attempt raised when no way works."""
    first: BaseException | None = None
    for mode, context in _MODES:
        try:
            with context():
                model = make()
        except Exception as error:
            first = first or error
            if not _may_be_meta(error):
                raise
            continue
        if first is not None:
            said = str(first).strip().split("\n")[0][:200]
            how = "with fake tensors" if mode == "fake" else "with small tensors on the CPU"
            events.warn(f"the model cannot be built on the meta device ({said}); it was built {how} instead")
        return model, mode
    assert first is not None
    raise first


def _may_be_meta(error: BaseException) -> bool:
    """Whether an error may be owed to the meta device; one that asks for an accelerator or memory is not."""
    text = str(error)
    if isinstance(error, Refused) or is_memory(error) or any(word in text for word in _ACCELERATOR):
        return False
    return isinstance(error, (RuntimeError, TypeError)) or "meta" in text


def _meta() -> AbstractContextManager[Any]:
    return module("torch").device("meta")  # type: ignore[no-any-return]  # torch is not there when types are checked


def _fake() -> AbstractContextManager[Any]:
    fake = module("torch._subclasses.fake_tensor").FakeTensorMode
    return fake(allow_non_fake_inputs=True)  # type: ignore[no-any-return]  # as above


def _values() -> AbstractContextManager[Any]:
    torch = module("torch")
    makers = module("torch.utils._device")._device_constructors()
    makers = {maker for maker in makers if getattr(maker, "__name__", "") not in _VALUES}

    def function(self: Any, made: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        del self, types
        kwargs = kwargs or {}
        if made in makers and kwargs.get("device") is None:
            kwargs = {**kwargs, "device": "meta"}
        return made(*args, **kwargs)

    mode: Any = type("Values", (torch.overrides.TorchFunctionMode,), {"__torch_function__": function})
    return mode()  # type: ignore[no-any-return]  # as above


_MODES: tuple[tuple[str, Callable[[], AbstractContextManager[Any]]], ...] = (
    ("meta", _meta),
    ("fake", _fake),
    ("values", _values),
)


def warn_of_real(model: Any, events: Events) -> dict[str, int]:
    """Count the tensors that hold memory, and warn of parameters among them, or of much."""
    count = size = 0
    first = ""
    for name, tensor, is_parameter in _tensors(model):
        if _is_real(tensor):
            count += 1
            size += tensor.numel() * tensor.element_size()
            first = first or (name if is_parameter else "")
    if first or size > _WARN_BYTES:
        which = f", `{first}` first" if first else ""
        noun = "tensor" if count == 1 else "tensors"
        events.warn(
            f"{count} {noun} of the model held real memory ({size / 2**20:.1f} MiB{which}): "
            "its code places them on a device of its own choice"
        )
    return {"tensors": count, "bytes": size}


def _tensors(model: Any) -> Iterator[tuple[str, Any, bool]]:
    for name, parameter in model.named_parameters():
        yield name, parameter, True
    for name, buffer in model.named_buffers():
        yield name, buffer, False


def _is_real(tensor: Any) -> bool:
    kinds = {kind.__name__ for kind in type(tensor).__mro__} | {kind.__name__ for kind in type(tensor.data).__mro__}
    if "FakeTensor" in kinds or "UninitializedTensorMixin" in kinds:
        return False
    return str(tensor.device.type) != "meta"
