"""Finds a network by its name or file, and imports only the module that builds it."""

from __future__ import annotations

import os
import re
from functools import cache, lru_cache
from importlib import import_module

from perfmodel.core.errors import InputError, refusal, unknown_name
from perfmodel.core.problem import LONGEST_NAME
from perfmodel.core.records.arguments import COUNT, FROM_ZERO, TEXT, expect
from perfmodel.core.records.names import Meaning, Named, added_to, meaning
from perfmodel.workloads.built_in import FIXED, IMAGES, MODULES, SEQUENCE
from perfmodel.workloads.preset_names import COMMON, LANGUAGE, VISION
from perfmodel.workloads.workload import Workload


def _common_first(family: str, members: tuple[str, ...]) -> tuple[str, ...]:
    common = COMMON.get(family, members[0])
    return (common, *(name for name in members if name != common))


_FAMILIES: dict[str, tuple[str, ...]] = {
    **{family: _common_first(family, members) for family, members in {**LANGUAGE, **VISION}.items()},
    "clip": ("clip-vit-b-32", "clip-vit-b-16", "clip-vit-l-14", "clip-vit-l-14-336"),
    "convnext": ("convnext-tiny",),
    "detr": ("detr-r50", "detr-r101"),
    "deeplab": ("deeplab-v3-plus",),
    "densenet": FIXED["densenet"],
    "dit": ("dit-xl-2", "dit-s-2", "dit-b-2", "dit-l-2"),
    "efficientnet": ("efficientnet-b0", "efficientnet-b4", "efficientnet-v2-s"),
    "flux": ("flux.1-dev", "flux.1-schnell"),
    "gpt": LANGUAGE["gpt2"],
    "inception": ("inception-v3", "inception-v3-aux", "inception-v4"),
    "faster-rcnn": ("faster-rcnn-r50-fpn", "faster-rcnn-r101-fpn"),
    "llava": ("llava-1.5-7b", "llava-1.5-13b"),
    "mask-rcnn": (
        "mask-rcnn-r50-fpn",
        "mask-rcnn-r101-fpn",
        "mask-rcnn-x101-fpn",
        "mask-rcnn-x101-64x4d-fpn",
    ),
    "mobilenet": ("mobilenet-v2", "mobilenet-v3-large"),
    "regnet": ("regnety-3.2gf",),
    "resnet": ("resnet50", "resnet18", "resnet34", "resnet101", "resnet152", "resnet200"),
    "resnext": ("resnext50-32x4d", "resnext101-32x4d", "resnext101-32x8d", "resnext101-64x4d"),
    "qwen2vl": ("qwen2vl-7b", "qwen2vl-2b", "qwen2vl-72b"),
    "qwen3vl": ("qwen3vl-8b", "qwen3vl-2b", "qwen3vl-4b", "qwen3vl-32b", "qwen3vl-30b-a3b"),
    "retinanet": ("retinanet-r50-fpn", "retinanet-x50-fpn"),
    "sd3": ("sd3-medium",),
    "sd3.5": ("sd3.5-large", "sd3.5-medium"),
    "ssd300": ("ssd300-r34", "ssd300-r50"),
    "se-resnext": ("se-resnext50-32x4d", "se-resnext101-32x4d"),
    "swin": ("swin-tiny", "swin-small", "swin-base", "swin-large"),
    "transformer-xl": ("transformer-xl-base", "transformer-xl-large"),
    "vgg": ("vgg16", "vgg11", "vgg13", "vgg19"),
    "whisper": (
        "whisper-large-v3",
        *(name for name in SEQUENCE["whisper"] if name != "whisper-large-v3"),
    ),
    "wide-resnet": ("wide-resnet50-2",),
    "yolo": ("yolov3",),
}
"""Family name -> its networks; the first, with the most measured runs, is what the name means."""

_ALIASES: dict[str, tuple[str, ...]] = {
    "bert-base": ("bert-base-uncased", "bert-base-cased"),
    "bert-large": ("bert-large-uncased", "bert-large-cased"),
    "clip-vit-b-16": ("clip-vit-base-patch16",),
    "clip-vit-b-32": ("clip-vit-base-patch32",),
    "clip-vit-l-14": ("clip-vit-large-patch14",),
    "clip-vit-l-14-336": ("clip-vit-large-patch14-336",),
    "convnext-tiny": ("convnext-t",),
    "deeplab-v3-plus": ("deeplabv3+",),
    "distilbert": ("distilbert-base", "distilbert-base-uncased"),
    "faster-rcnn-r50-fpn": ("fasterrcnn-resnet50-fpn",),
    "gpt2": ("gpt2-small",),
    "gpt2-medium": ("megatron-gpt2-345m",),
    "gpt3-350m": ("gpt3-355m",),
    "inception-v3": ("inception3",),
    "inception-v4": ("inception4",),
    "llava-1.5-13b": ("llava-1.5-13b-hf",),
    "llava-1.5-7b": ("llava-1.5-7b-hf",),
    "llama-33b": ("llama-30b",),
    "lenet": ("lenet-5", "lenet5"),
    "llama-3.1-405b": ("llama-3-405b",),
    "mask-rcnn-r50-fpn": ("maskrcnn-resnet50-fpn",),
    "mask-rcnn-x101-fpn": ("mask-rcnn-x101-32x4d-fpn",),
    "overfeat": ("overfeat-fast",),
    "mlp-mnist": ("mlp", "mnist-mlp"),
    "openclip-vit-h-14": ("clip-vit-h-14-laion2b",),
    "resnet50": ("resnet50-v1",),
    "retinanet-r50-fpn": ("retinanet-resnet50-fpn",),
    "ssd300-r34": ("ssd300-resnet34", "ssd-resnet34"),
    "ssd300-r50": ("ssd300-resnet50",),
    "sd-1.5": ("stable-diffusion-v1-5", "stable-diffusion-1.5"),
    "sd-2.1": ("stable-diffusion-2-1",),
    "sd3-medium": ("stable-diffusion-3-medium", "stable-diffusion-3-medium-diffusers"),
    "sd3.5-large": ("stable-diffusion-3.5-large",),
    "sd3.5-medium": ("stable-diffusion-3.5-medium",),
    "sdxl": ("stable-diffusion-xl", "stable-diffusion-xl-base-1.0", "sdxl-base"),
    "squeezenet1-1": ("squeezenet1.1",),
    "swin-base": ("swin-b",),
    "swin-large": ("swin-l",),
    "swin-small": ("swin-s",),
    "swin-tiny": ("swin-t",),
    "unet3d": ("3d-unet", "u-net-3d"),
    "vit-b-32": ("vit-base-32", "vit-base-patch32-224"),
    "vit-base-16": ("vit-b", "vit-b-16", "vit-base-patch16", "vit-base-patch16-224"),
    "vit-h-14": ("vit-h", "vit-huge-14", "vit-huge-patch14-224"),
    "vit-l-16": ("vit-large-16", "vit-large-patch16-224"),
    "vit-l-32": ("vit-large-32", "vit-large-patch32-224"),
    "wide-and-deep": ("wide & deep", "widedeep"),
    "wide-resnet50-2": ("wide-resnet50",),
}
"""Network -> its names in other libraries."""

_VERSIONS: dict[str, str] = {
    **{f"resnet{depth}-v1.5": f"resnet{depth}" for depth in (50, 101, 152, 200)},
    **{f"resnet{depth}-v2": f"resnet{depth}" for depth in (18, 34, 50, 101, 152, 200)},
    "llama-3.1-8b": "llama-3-8b",
    "llama-3.1-70b": "llama-3-70b",
}
"""Network -> another one that it differs from by a detail."""

LENGTHS = ("sequence_length", "image_tokens")
"""Options that ``workload`` takes after the name, in order."""

_COUNT_OR_NONE, _FROM_ZERO_OR_NONE = COUNT.or_none, FROM_ZERO.or_none
_PUBLISHED = re.compile(r"[A-Za-z0-9][\w-]*/[\w. -]+", re.ASCII)
_FILES = (".onnx", ".csv", ".json")


def workload(name: str, sequence_length: int | None = None, image_tokens: int | None = None) -> Workload:
    """Return a built-in network, or the one a file describes.

    Parameters
    ----------
    name : one of ``names()``, another name of a network, or the path of an ``.onnx``, ``.csv`` or ``.json``
        file
    sequence_length : tokens of one sample, if the network takes sequences; its own default if None
    image_tokens : tokens of one sample that are of images, if the network takes images

    Raises
    ------
    InputError : the name is unknown, the file cannot be read, or the network takes no sequence length or
        images

    Examples
    --------
    ResNet-50 v1.5 makes 4 089 184 256 multiply-adds per image, of two FLOP each.

    >>> workload("resnet50-v1.5").forward_flops
    8178368512.0
    """
    expect(TEXT, name=name)
    expect(_COUNT_OR_NONE, sequence_length=sequence_length)
    expect(_FROM_ZERO_OR_NONE, image_tokens=image_tokens)
    return network(name, sequence_length, image_tokens)


def network(
    name: str,
    sequence_length: int | None,
    image_tokens: int | None = None,
    modules: int | None = None,
) -> Workload:
    """Return a network as ``workload`` does, without checks of the arguments' types.

    Parameters
    ----------
    name, sequence_length, image_tokens : as for ``workload``
    modules : that predict further tokens, after the last layer of a decoder
    """
    if modules:
        from perfmodel.workloads.modules import with_modules

        return with_modules(network(name, sequence_length, image_tokens), modules)
    if name in MODULES:
        return _built_in(name, sequence_length, image_tokens)
    if is_file(name):
        from perfmodel.workloads.from_file import workload_from_file

        return workload_from_file(name, sequence_length, image_tokens)
    return _built_in(understood(name).id, sequence_length, image_tokens)


def network_words(network: Workload) -> str:
    """Return what people call a network: its published name, and of variants what their ids add to it.

    >>> [network_words(workload(id)) for id in ("resnet50", "resnet50-v1.5", "swin-tiny", "bert-large")]
    ['ResNet-50', 'ResNet-50 v1.5', 'Swin-T', 'BERT large']
    """
    return f"{network.name} {added_to(network.name, network.id)}".rstrip()


@cache
def words_of(id: str) -> str:
    """Return what people call a built-in network; it is not kept, as a list of all needs their names alone.

    >>> words_of("resnet50-v1.5"), words_of("llama-2-70b")
    ('ResNet-50 v1.5', 'Llama 2 70B')
    """
    from perfmodel.workloads.presets import title_of

    return title_of(id) or network_words(_built_in.__wrapped__(id, None))


def understood(name: str) -> Meaning:
    """Return the built-in network that a name means, and others that it fits; a file's name means itself.

    A publisher's name before a slash is ignored.

    Raises
    ------
    InputError : the name is unknown

    >>> understood("ResNet-50").id, understood("bert").others
    ('resnet50', ('bert-large',))
    >>> understood("meta-llama/Llama-3.1-8B").id
    'llama-3.1-8b'
    """
    if name in MODULES or is_file(name):
        return Meaning(name)
    return _meant(name.rpartition("/")[2])


@lru_cache(maxsize=1024)
def _meant(name: str) -> Meaning:
    families = {id: (family, id == ids[0]) for family, ids in _FAMILIES.items() for id in ids}
    known = (Named(id, _ALIASES.get(id, ()), *families.get(id, ("", False))) for id in MODULES)
    meant = meaning("workload", name, known)
    if meant is None:
        raise unknown_name("workload", name, MODULES)
    return meant


def version_of(name: str) -> str:
    """Return the network of which a built-in one is a version; a network without such is returned itself.

    >>> version_of("resnet50-v1.5"), version_of("vgg16")
    ('resnet50', 'vgg16')
    """
    return _VERSIONS.get(name, name)


def is_file(name: str) -> bool:
    """Whether the name of a network is a file's path."""
    return name.endswith(_FILES) or "\\" in name or ("/" in name and not _is_published(name))


def _is_published(name: str) -> bool:
    """Whether a name is ``publisher/network`` of a built-in network, and not an existing path."""
    if len(name) > LONGEST_NAME or not _PUBLISHED.fullmatch(name):
        return False
    try:
        _meant(name.rpartition("/")[2])
    except InputError:
        return False
    from perfmodel.core.files.attachments import is_request

    return is_request() or not os.path.exists(name)


@lru_cache(maxsize=64)
def _built_in(name: str, sequence_length: int | None, image_tokens: int | None = None) -> Workload:
    module = import_module(f"perfmodel.workloads.networks.{MODULES[name]}")
    arguments: tuple[int | None, ...] = ()
    if MODULES[name] in SEQUENCE:
        if sequence_length is not None and sequence_length < 1:
            raise refusal("workload.sequence_length", "sequence_length", sequence_length=sequence_length)
        arguments = (sequence_length,)
    elif sequence_length is not None:
        raise refusal("workload.no_sequences", "sequence_length", name=name)
    if MODULES[name] in IMAGES:
        arguments = (*arguments, image_tokens)
    elif image_tokens is not None:
        raise refusal("workload.no_images", "image_tokens", name=name)
    result: Workload = module.build(name, *arguments)
    return result
