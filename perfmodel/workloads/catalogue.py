"""Which module builds which network; only the module of the network asked for is imported."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module

from perfmodel.errors import InputError, unknown_name
from perfmodel.specs.workload import Workload

_FIXED: dict[str, tuple[str, ...]] = {
    "alexnet": ("alexnet", "alexnet-grouped", "alexnet-normalised"),
    "densenet": ("densenet121", "densenet161", "densenet169", "densenet201"),
    "detection": ("yolov3", "mask-rcnn-r50-fpn", "deeplab-v3-plus"),
    "googlenet": ("googlenet", "googlenet-bn"),
    "inception": ("inception-v3", "inception-v3-aux", "inception-v4"),
    "mobilenet": (
        "mobilenet-v2",
        "mobilenet-v3-large",
        "efficientnet-b0",
        "efficientnet-b4",
        "efficientnet-widese-b0",
        "efficientnet-widese-b4",
        "efficientnet-v2-s",
    ),
    "recommender": ("ncf", "ncf-ml1m", "dlrm"),
    "regnet": ("regnety-3.2gf",),
    "squeezenet": ("squeezenet", "squeezenet1-1"),
    "vision_transformer": ("vit-base-16", "swin-tiny", "convnext-tiny"),
    "xception": ("xception",),
    "resnet": (
        "resnet18",
        "resnet34",
        "resnet50",
        "resnet101",
        "resnet152",
        "resnet200",
        "resnet50-v1.5",
        "resnet101-v1.5",
        "resnet152-v1.5",
        "resnet200-v1.5",
        "resnext50-32x4d",
        "resnext101-32x4d",
        "wide-resnet50-2",
        "se-resnet50",
        "se-resnext50-32x4d",
        "se-resnext101-32x4d",
    ),
    "vgg": ("vgg11", "vgg13", "vgg16", "vgg19"),
}
"""Modules with ``build(name)``: their networks take no sequence length."""

_SEQUENCE: dict[str, tuple[str, ...]] = {
    "transformer": (
        "bert-base",
        "bert-large",
        "gpt2",
        "gpt2-medium",
        "gpt2-large",
        "gpt2-xl",
        "transformer-big",
    ),
}
"""Modules with ``build(name, sequence_length)``."""

_FILES = (".onnx", ".csv", ".json")


def names() -> tuple[str, ...]:
    """Every built-in network, by name; builds none."""
    return tuple(sorted(_MODULES))


def workload(name: str, sequence_length: int | None = None) -> Workload:
    """Return a built-in network, or the one a file describes.

    Parameters
    ----------
    name : one of ``names()``, or the path of an ``.onnx``, ``.csv`` or ``.json`` file
    sequence_length : tokens of one sample, where the network takes sequences; its own default if None

    Raises
    ------
    InputError : nobody knows the name, the file cannot be read, the network has no sequence length to set

    Examples
    --------
    ResNet-50 v1.5 makes 4 089 184 256 multiply-adds per image, of two FLOP each.

    >>> workload("resnet50-v1.5").forward_flops
    8178368512
    """
    if name.endswith(_FILES) or "/" in name or "\\" in name:
        from perfmodel.workloads.from_file import workload_from_file

        return workload_from_file(name, sequence_length)
    return _built_in(name, sequence_length)


@lru_cache(maxsize=64)
def _built_in(name: str, sequence_length: int | None) -> Workload:
    if name not in _MODULES:
        raise unknown_name("workload", name, _MODULES)
    module = import_module(f"perfmodel.workloads.{_MODULES[name]}")
    result: Workload
    if _MODULES[name] in _SEQUENCE:
        if sequence_length is not None and sequence_length < 1:
            raise InputError(f"sequence length {sequence_length}: must be at least 1 token")
        result = module.build(name, sequence_length)
    elif sequence_length is not None:
        raise InputError(f"workload {name!r} takes no sequences; leave out the sequence length")
    else:
        result = module.build(name)
    return result


_MODULES = {
    name: module for table in (_FIXED, _SEQUENCE) for module, members in table.items() for name in members
}
