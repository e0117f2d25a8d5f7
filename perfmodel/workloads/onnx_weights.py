"""An ONNX file without its weights, of which only the number matters."""

from __future__ import annotations

from math import prod
from pathlib import Path

from perfmodel.workloads.from_onnx import SMALL, model_of


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
