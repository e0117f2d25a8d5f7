"""What an ONNX file holds, and the same without its weights, of which only the number matters."""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import Any

from perfmodel.core.errors import needed, refusal

MOST_NODES = 100_000
SMALL = 1024
"""Elements of a constant that may matter to the shapes; larger ones are not looked into."""


def without_weights(path: str | Path, data: bytes) -> bytes:
    """Return an ONNX file whose large tensors have dimensions and no values: the same network is read of it.

    Raises
    ------
    InputError : the onnx package is absent, the file is no ONNX
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
    """Return the model that an ONNX file holds.

    Raises
    ------
    InputError : the onnx package is absent, the file is no ONNX
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
