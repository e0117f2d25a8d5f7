"""Reads a network from a file; the ending of its name decides the format."""

from __future__ import annotations

import os
from pathlib import Path

from perfmodel.core.errors import nearest, refusal
from perfmodel.core.files.attachments import attached
from perfmodel.workloads.workload import Workload


def workload_from_file(
    path: str | Path, sequence_length: int | None = None, image_tokens: int | None = None
) -> Workload:
    """Return the workload in an ONNX file, a Hugging Face config.json or a CSV table of layers.

    Parameters
    ----------
    path : of a file in ``.onnx``, ``.json`` or ``.csv``, or of a folder with a config.json
    sequence_length : tokens of one sample, if the file leaves it open
    image_tokens : tokens of one sample that are of images, of the config.json of a multimodal model

    Raises
    ------
    InputError : no such file, another format, or a network whose work cannot be counted
    """
    path = Path(path)
    in_request = attached(path) is not None
    if not in_request and os.path.isfile(
        path / "config.json"
    ):  # unlike Path's own, also for a name too long to be one
        path = path / "config.json"
    if sequence_length is not None and sequence_length < 1:
        raise refusal("workload.sequence_length", "sequence_length", sequence_length=sequence_length)
    suffix = path.suffix.lower()
    if image_tokens is not None and suffix in (".onnx", ".csv"):
        raise refusal("workload.no_images", "image_tokens", name=path.name)
    if suffix == ".onnx":
        from perfmodel.workloads.from_onnx import workload_from_onnx

        return workload_from_onnx(path, sequence_length)
    if suffix == ".json":
        from perfmodel.workloads.from_huggingface import workload_from_huggingface

        return workload_from_huggingface(path, sequence_length, image_tokens)
    if suffix == ".csv":
        from perfmodel.workloads.from_csv import workload_from_csv

        if sequence_length is not None:
            raise refusal("network.one_length").under(path)
        return workload_from_csv(path)
    if not in_request and not os.path.exists(path):
        from perfmodel.workloads.built_in import names

        near = nearest(path.name, names())
        hint = f"; nearest network: {', '.join(near)}" if near else ""
        raise refusal("file.no_such", hint=hint).under(path)
    raise refusal("network.other_file").under(path)
