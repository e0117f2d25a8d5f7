"""Parses ONNX files, and removes the values of weights, of which only the shape matters."""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import Any

from perfmodel.core.errors import needed, refusal

MOST_NODES = 100_000
SMALL = 1024
"""Most elements of a constant whose values are kept, as shapes may depend on them."""


def without_weights(path: str | Path, data: bytes) -> bytes:
    """Return an ONNX file without the values of large tensors, from which the same network is read.

    Raises
    ------
    InputError : the onnx package is not installed, or the file is not ONNX
    """
    model = model_of(path, data)
    for tensor in model.graph.initializer:
        if prod(tensor.dims) > SMALL:
            for field, _ in tensor.ListFields():
                if field.name.endswith("_data"):
                    tensor.ClearField(field.name)
    result: bytes = model.SerializeToString()
    return result


def model_of(path: str | Path, data: bytes) -> Any:
    """Return the ``ModelProto`` of an ONNX file.

    Raises
    ------
    InputError : the onnx package is not installed, the file is not ONNX, or it is too large
    """
    needed("onnx", "onnx", "an ONNX file")
    import onnx

    try:
        model = onnx.ModelProto.FromString(data)
    except Exception:  # the parser's own error class is not part of onnx
        raise refusal("network.no_onnx").under(path) from None
    if not model.graph.node or not model.opset_import:
        raise refusal("network.onnx_empty").under(path)
    if len(model.graph.node) > MOST_NODES:
        raise refusal("network.onnx_large", count=len(model.graph.node), most_nodes=MOST_NODES).under(path)
    return model
