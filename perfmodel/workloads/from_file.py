"""Reads a network from a file, by the ending of its name."""

from __future__ import annotations

import os
from pathlib import Path

from perfmodel.attachments import attached
from perfmodel.errors import InputError, nearest
from perfmodel.specs.workload import Workload


def workload_from_file(path: str | Path, sequence_length: int | None = None) -> Workload:
    """Return the workload that an ONNX file, a Hugging Face config.json or a CSV table of layers describes.

    Parameters
    ----------
    path : ends in ``.onnx``, ``.json`` or ``.csv``; or a folder that holds a config.json
    sequence_length : tokens of one sample, where the file leaves it open

    Raises
    ------
    InputError : no such file, not such a file, or a network that cannot be counted
    """
    path = Path(path)
    in_request = attached(path) is not None
    if not in_request and os.path.isfile(
        path / "config.json"
    ):  # unlike Path's own, also for a name too long to be one
        path = path / "config.json"
    if sequence_length is not None and sequence_length < 1:
        raise InputError(f"sequence length {sequence_length}: must be at least 1 token")
    suffix = path.suffix.lower()
    if suffix == ".onnx":
        from perfmodel.workloads.from_onnx import workload_from_onnx

        return workload_from_onnx(path, sequence_length)
    if suffix == ".json":
        from perfmodel.workloads.from_huggingface import workload_from_huggingface

        return workload_from_huggingface(path, sequence_length)
    if suffix == ".csv":
        from perfmodel.workloads.from_csv import workload_from_csv

        if sequence_length is not None:
            raise InputError(f"{path}: a table of layers is of one sequence length; leave the option out")
        return workload_from_csv(path)
    if not in_request and not os.path.exists(path):
        from perfmodel.workloads.built_in import names

        near = nearest(path.name, names())
        hint = f"; nearest network: {', '.join(near)}" if near else ""
        raise InputError(f"{path}: no such file{hint}")
    raise InputError(f"{path}: not a network this reads; expected .onnx, .json (Hugging Face) or .csv")
