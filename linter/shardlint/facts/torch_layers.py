"""What the classes of ``torch.nn`` put into a state dict, and which of their arguments are sizes.

Source: the constructors of torch 2.13 (``torch/nn/modules``); checked there against real ``state_dict()`` keys.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Flags = tuple[tuple[str, bool], ...]


class Tensor(NamedTuple):
    """One tensor of a layer. `conditional`: whether it exists depends on a value that only the run knows."""

    name: str
    kind: Literal["parameter", "buffer"]
    conditional: bool = False


class Layer(NamedTuple):
    """A class of torch.nn: positional arguments, those that decide shapes, tensors with the flags that they need."""

    arguments: tuple[str, ...]
    sizes: tuple[str, ...]
    parameters: tuple[tuple[str, Flags], ...]
    buffers: tuple[tuple[str, Flags], ...] = ()


_BIAS: Flags = (("bias", True),)
_WEIGHT_BIAS = (("weight", ()), ("bias", _BIAS))
_DEFAULTS = {
    "bias": "True",
    "affine": "True",
    "elementwise_affine": "True",
    "track_running_stats": "True",
    "groups": "1",
    "num_layers": "1",
    "num_parameters": "1",
    "bidirectional": "False",
    "proj_size": "0",
    "add_bias_kv": "False",
    "kdim": "None",
    "vdim": "None",
}


def _layer(arguments: str, sizes: str, parameters: tuple[tuple[str, Flags], ...], buffers: Flags = ()) -> Layer:
    flagged = tuple((name, (("track_running_stats", default),)) for name, default in buffers)
    return Layer(tuple(arguments.split()), tuple(sizes.split()), parameters, flagged)


def _norm(arguments: str, sizes: str, flag: str, affine: bool, tracks: bool | None) -> Layer:
    needs: Flags = ((flag, affine),)
    also_bias = (*needs, *_BIAS) if flag == "elementwise_affine" else needs
    names = () if tracks is None else ("running_mean", "running_var", "num_batches_tracked")
    buffers = tuple((name, bool(tracks)) for name in names)
    return _layer(arguments, sizes, (("weight", needs), ("bias", also_bias)), buffers)


def _within(prefix: str, names: tuple[str, ...]) -> tuple[tuple[str, Flags], ...]:
    return tuple((f"{prefix}{name}.{end}", flags) for name in names for end, flags in _WEIGHT_BIAS)


_ATTENTION = (
    ("in_proj_weight", ()),
    ("in_proj_bias", _BIAS),
    ("out_proj.weight", ()),
    ("out_proj.bias", _BIAS),
)
_CONV = _layer(
    "in_channels out_channels kernel_size stride padding dilation groups bias padding_mode",
    "in_channels out_channels kernel_size groups bias",
    _WEIGHT_BIAS,
)
_CONV_TRANSPOSE = _layer(
    "in_channels out_channels kernel_size stride padding output_padding groups bias dilation padding_mode",
    "in_channels out_channels kernel_size groups bias",
    _WEIGHT_BIAS,
)
_BATCH = _norm("num_features eps momentum affine track_running_stats", "num_features affine", "affine", True, True)
_INSTANCE = _norm("num_features eps momentum affine track_running_stats", "num_features affine", "affine", False, False)
_CELL = _layer(
    "input_size hidden_size bias",
    "input_size hidden_size bias",
    (("weight_ih", ()), ("weight_hh", ()), ("bias_ih", _BIAS), ("bias_hh", _BIAS)),
)
_EMBEDDING = _layer("num_embeddings embedding_dim", "num_embeddings embedding_dim", (("weight", ()),))


def _recurrent(arguments: str) -> Layer:
    one = (("weight_ih_l{}", ()), ("weight_hh_l{}", ()), ("bias_ih_l{}", _BIAS), ("bias_hh_l{}", _BIAS))
    back = tuple((name + "_reverse", (("bidirectional", False), *flags)) for name, flags in one)
    projected: tuple[tuple[str, Flags], ...] = (
        ("weight_hr_l{}", (("proj_size", False),)),
        ("weight_hr_l{}_reverse", (("proj_size", False), ("bidirectional", False))),
    )
    sizes = "input_size hidden_size num_layers bias bidirectional proj_size"
    return _layer(arguments, sizes, (*one, *back, *projected))


def _transformer_layer(attentions: tuple[str, ...], norms: tuple[str, ...]) -> Layer:
    parts = tuple((f"{name}.{end}", flags) for name in attentions for end, flags in _ATTENTION)
    arguments = "d_model nhead dim_feedforward dropout activation layer_norm_eps batch_first norm_first bias"
    return _layer(arguments, "d_model dim_feedforward bias", (*parts, *_within("", ("linear1", "linear2", *norms))))


_RNN_ARGUMENTS = "input_size hidden_size num_layers bias batch_first dropout bidirectional proj_size"

LAYERS: dict[str, Layer] = {
    "Linear": _layer("in_features out_features bias", "in_features out_features bias", _WEIGHT_BIAS),
    "LazyLinear": _layer("out_features bias", "out_features bias", _WEIGHT_BIAS),
    "Bilinear": _layer(
        "in1_features in2_features out_features bias", "in1_features in2_features out_features bias", _WEIGHT_BIAS
    ),
    "Embedding": _EMBEDDING,
    "EmbeddingBag": _EMBEDDING,
    "LayerNorm": _norm(
        "normalized_shape eps elementwise_affine bias",
        "normalized_shape elementwise_affine bias",
        "elementwise_affine",
        True,
        None,
    ),
    "RMSNorm": _layer(
        "normalized_shape eps elementwise_affine",
        "normalized_shape elementwise_affine",
        (("weight", (("elementwise_affine", True),)),),
    ),
    "GroupNorm": _norm("num_groups num_channels eps affine", "num_channels affine", "affine", True, None),
    "PReLU": _layer("num_parameters", "num_parameters", (("weight", ()),)),
    "RNN": _recurrent("input_size hidden_size num_layers nonlinearity bias batch_first dropout bidirectional"),
    "LSTM": _recurrent(_RNN_ARGUMENTS),
    "GRU": _recurrent("input_size hidden_size num_layers bias batch_first dropout bidirectional"),
    "RNNCell": _CELL,
    "LSTMCell": _CELL,
    "GRUCell": _CELL,
    "TransformerEncoderLayer": _transformer_layer(("self_attn",), ("norm1", "norm2")),
    "TransformerDecoderLayer": _transformer_layer(("self_attn", "multihead_attn"), ("norm1", "norm2", "norm3")),
    "MultiheadAttention": _layer(
        "embed_dim num_heads dropout bias add_bias_kv add_zero_attn kdim vdim", "embed_dim bias kdim vdim", _ATTENTION
    ),
}
for _dimension in ("1d", "2d", "3d"):
    for _lazy in ("", "Lazy"):
        _skip = 1 if _lazy else 0
        for _name, _of in (
            ("Conv", _CONV),
            ("ConvTranspose", _CONV_TRANSPOSE),
            ("BatchNorm", _BATCH),
            ("InstanceNorm", _INSTANCE),
        ):
            LAYERS[f"{_lazy}{_name}{_dimension}"] = _of._replace(arguments=_of.arguments[_skip:])
LAYERS["SyncBatchNorm"] = _BATCH

_LOSSES = {
    "CrossEntropyLoss": ("weight",),
    "NLLLoss": ("weight",),
    "BCELoss": ("weight",),
    "BCEWithLogitsLoss": ("weight", "pos_weight"),
    "MultiMarginLoss": ("weight",),
    "MultiLabelSoftMarginLoss": ("weight",),
}

_STATELESS = """
    Identity Dropout Dropout1d Dropout2d Dropout3d AlphaDropout FeatureAlphaDropout Flatten Unflatten Upsample
    UpsamplingNearest2d UpsamplingBilinear2d PixelShuffle PixelUnshuffle ChannelShuffle Fold Unfold ZeroPad1d ZeroPad2d
    ZeroPad3d ConstantPad1d ConstantPad2d ConstantPad3d ReflectionPad1d ReflectionPad2d ReflectionPad3d ReplicationPad1d
    ReplicationPad2d ReplicationPad3d CircularPad1d CircularPad2d CircularPad3d MaxPool1d MaxPool2d MaxPool3d
    MaxUnpool1d MaxUnpool2d MaxUnpool3d AvgPool1d AvgPool2d AvgPool3d LPPool1d LPPool2d LPPool3d FractionalMaxPool2d
    FractionalMaxPool3d AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d AdaptiveMaxPool2d
    AdaptiveMaxPool3d ReLU ReLU6 RReLU LeakyReLU ELU CELU SELU GELU GLU SiLU Mish Sigmoid LogSigmoid Tanh Tanhshrink
    Hardtanh Hardsigmoid Hardswish Hardshrink Softshrink Softplus Softsign Softmin Softmax Softmax2d LogSoftmax
    Threshold LocalResponseNorm CrossMapLRN2d CosineSimilarity PairwiseDistance L1Loss MSELoss KLDivLoss PoissonNLLLoss
    GaussianNLLLoss SmoothL1Loss HuberLoss HingeEmbeddingLoss MultiLabelMarginLoss SoftMarginLoss CosineEmbeddingLoss
    MarginRankingLoss TripletMarginLoss TripletMarginWithDistanceLoss CTCLoss
"""
STATELESS = frozenset(_STATELESS.split())
"""Classes of torch.nn without a tensor of their own: renaming an attribute that holds one changes no key."""


def flag(given: Mapping[str, str], name: str, default: bool) -> bool | None:
    """The truth of an argument, or None when only the run knows. `given` maps names of arguments to their text."""
    value = given.get(name)
    if value is None:
        return None if "**" in given else default
    if value in ("True", "False"):
        return value == "True"
    if value in ("None", "0"):
        return False
    return True if value.isdigit() else None


def tensors(name: str, given: Mapping[str, str]) -> tuple[Tensor, ...] | None:
    """The tensors of ``torch.nn.<name>(...)``, or None when the class is not in the tables.

    `given` maps names of arguments to their text (``"bias": "False"``); the name ``**`` stands for unknown keywords.
    """
    if name in STATELESS:
        return ()
    if name in _LOSSES:
        maybe = "**" in given
        return tuple(
            Tensor(part, "buffer", maybe) for part in _LOSSES[name] if maybe or given.get(part, "None") != "None"
        )
    layer = LAYERS.get(name)
    if layer is None:
        return None
    found = [*_present(layer.parameters, "parameter", given), *_present(layer.buffers, "buffer", given)]
    return tuple(_attention(found, given)) if name == "MultiheadAttention" else tuple(found)


def _present(
    parts: tuple[tuple[str, Flags], ...], kind: Literal["parameter", "buffer"], given: Mapping[str, str]
) -> Iterator[Tensor]:
    for name, flags in parts:
        answers = [flag(given, argument, default) for argument, default in flags]
        if False not in answers:
            yield Tensor(name, kind, None in answers)


def _attention(found: list[Tensor], given: Mapping[str, str]) -> Iterator[Tensor]:
    separate = any(given.get(name, "None") != "None" for name in ("kdim", "vdim"))
    for tensor in found:
        yield tensor._replace(conditional=True) if separate and tensor.name == "in_proj_weight" else tensor
    if separate:
        # torch fuses the three again when kdim and vdim equal embed_dim, which only the run knows.
        yield from (Tensor(f"{part}_proj_weight", "parameter", True) for part in "qkv")
    extra = flag(given, "add_bias_kv", False)
    if extra is not False:
        yield from (Tensor(f"bias_{part}", "parameter", extra is None) for part in "kv")


def size_text(name: str, given: Mapping[str, str]) -> str:
    """The arguments that decide the shapes of a layer of torch.nn, by name, without those left at their default."""
    layer = LAYERS.get(name)
    if layer is None:
        return ""
    parts = ((argument, _one_size(argument, given[argument])) for argument in layer.sizes if argument in given)
    return ", ".join(f"{argument}={value}" for argument, value in parts if value != _DEFAULTS.get(argument))


def _one_size(argument: str, value: str) -> str:
    """`(dim)` says what `dim` says, and a kernel of `(3, 3)` what `3` says."""
    inside = value[1:-1]
    if not (value.startswith("(") and value.endswith(")")) or any(mark in inside for mark in "(+-*/%"):
        return value
    parts = [part.strip() for part in inside.split(",") if part.strip()]
    same = len(parts) == 1 or (argument == "kernel_size" and len(set(parts)) == 1)
    return parts[0] if same else value
