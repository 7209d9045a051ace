"""Names that describe custom operators of other devices: data only."""
from __future__ import annotations

# formats of every element type, and those that some have besides
_COMMON = {
    "None": "", "Default": "DefaultFormat", "5HD": "NC1HWC0", "FracZ": "FRACTAL_Z", "FracNZ": "FRACTAL_NZ",
    "C1HWNCoC0": "C1HWNCoC0", "NCHW": "NCHW", "NHWC": "NHWC", "HWCN": "HWCN", "NDHWC": "NDHWC",
    "ChannelLast": "ChannelLast",
}
_DEEP = {"NDC1HWC0": "NDC1HWC0"}
_FLOATS = {
    "NCDHW": "NCDHW", "DHWCN": "DHWCN", "NDC1HWC0": "NDC1HWC0", "FRACTAL_Z_3D": "FRACTAL_Z_3D",
    "FracZNLSTM": "FRACTAL_ZN_LSTM", "FracZNRNN": "FRACTAL_ZN_RNN", "ND_RNNBIAS": "ND_RNN_BIAS",
}
_TYPES = {
    "BOOL": ("bool", {}), "I8": ("int8", _DEEP), "U8": ("uint8", _DEEP), "I16": ("int16", {}),
    "U16": ("uint16", {}), "I32": ("int32", {}), "U32": ("uint32", {}), "I64": ("int64", {}),
    "U64": ("uint64", {}), "F16": ("float16", _FLOATS), "F32": ("float32", _FLOATS), "F64": ("float64", {}),
}


class DataType:
    """Pairs of an element type and a memory format, e.g. ``DataType.F32_Default``."""

    None_None = ("", "")
    None_Default = ("", "DefaultFormat")
    C64_Default = ("complex64", "DefaultFormat")
    C128_Default = ("complex128", "DefaultFormat")


for _prefix, (_name, _more) in _TYPES.items():
    for _suffix, _format in {**_COMMON, **_more}.items():
        setattr(DataType, f"{_prefix}_{_suffix}", (_name, _format))
