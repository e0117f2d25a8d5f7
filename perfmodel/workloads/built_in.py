"""Names of the built-in networks and of the modules that build them."""

from __future__ import annotations

from perfmodel.workloads.preset_names import ENCODERS, GPT, LANGUAGE, LLAMA, VISION

FIXED: dict[str, tuple[str, ...]] = {
    "alexnet": ("alexnet", "alexnet-grouped", "alexnet-normalised", "caffenet"),
    "clip": (
        "clip-vit-b-32",
        "clip-vit-b-16",
        "clip-vit-l-14",
        "clip-vit-l-14-336",
        "openclip-vit-h-14",
    ),
    "densenet": ("densenet121", "densenet161", "densenet169", "densenet201"),
    "detection": ("yolov3", "deeplab-v3-plus"),
    "detr": ("detr-r50", "detr-r101"),
    "digits": ("lenet", "lenet-caffe", "mlp-mnist"),
    "dit": ("dit-s-2", "dit-b-2", "dit-l-2", "dit-xl-2"),
    "googlenet": ("googlenet", "googlenet-bn"),
    "joint_transformer": (
        "sd3-medium",
        "sd3.5-medium",
        "sd3.5-large",
        "flux.1-dev",
        "flux.1-schnell",
    ),
    "latent_unet": ("sd-1.5", "sd-2.1", "sdxl"),
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
    "overfeat": ("overfeat", "overfeat-accurate"),
    "preactivation": (
        "resnet18-v2",
        "resnet34-v2",
        "resnet50-v2",
        "resnet101-v2",
        "resnet152-v2",
        "resnet200-v2",
    ),
    "pyramids": (
        "faster-rcnn-r50-fpn",
        "faster-rcnn-r101-fpn",
        "mask-rcnn-r50-fpn",
        "mask-rcnn-r101-fpn",
        "mask-rcnn-x101-fpn",
        "mask-rcnn-x101-64x4d-fpn",
        "retinanet-r50-fpn",
        "retinanet-x50-fpn",
    ),
    "recommender": ("ncf", "ncf-ml1m", "dlrm", "two-tower"),
    "regnet": ("regnety-3.2gf",),
    "ssd": ("ssd300-r34", "ssd300-r50"),
    "squeezenet": ("squeezenet", "squeezenet1-1"),
    "vision_transformer": (
        *VISION["vit"],
        "swin-tiny",
        "swin-small",
        "swin-base",
        "swin-large",
        "convnext-tiny",
    ),
    "wide_and_deep": ("wide-and-deep",),
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
        "resnext101-32x8d",
        "resnext101-64x4d",
        "wide-resnet50-2",
        "se-resnet50",
        "se-resnext50-32x4d",
        "se-resnext101-32x4d",
    ),
    "unet": ("unet3d",),
    "vgg": ("vgg11", "vgg13", "vgg16", "vgg19"),
}
"""Modules with ``build(name)`` -> their networks, which take no sequence length."""

SEQUENCE: dict[str, tuple[str, ...]] = {
    "gnmt": ("gnmt",),
    "transformer_xl": ("transformer-xl-base", "transformer-xl-large"),
    "transformer": tuple(name for names in LANGUAGE.values() for name in names),
    "vision_language": (
        "llava-1.5-7b",
        "llava-1.5-13b",
        "qwen2vl-2b",
        "qwen2vl-7b",
        "qwen2vl-72b",
        "qwen3vl-2b",
        "qwen3vl-4b",
        "qwen3vl-8b",
        "qwen3vl-32b",
        "qwen3vl-30b-a3b",
        "gemma-3-4b-vision",
        "gemma-3-12b-vision",
        "gemma-3-27b-vision",
    ),
    "whisper": (
        "whisper-tiny",
        "whisper-base",
        "whisper-small",
        "whisper-medium",
        "whisper-large-v2",
        "whisper-large-v3",
        "whisper-large-v3-turbo",
    ),
}
"""Modules with ``build(name, sequence_length)`` -> their networks."""

IMAGES = ("dit", "joint_transformer", "vision_language")
"""Modules whose networks have a number of image tokens, the last argument of ``build``."""

_HEADINGS = {
    "detection": ("detection", "detr", "pyramids", "ssd", "unet"),
    "diffusion": ("latent_unet", "dit", "joint_transformer"),
    "images and texts": ("clip", "vision_language"),
    "recommendation": ("recommender", "wide_and_deep"),
}
_LANGUAGE = {"encoders": ENCODERS, "decoders: GPT": GPT, "decoders: Llama": LLAMA}
"""Headings of ``groups`` -> modules or families; all other modules build image classifiers."""

MODULES = {
    name: module for table in (FIXED, SEQUENCE) for module, members in table.items() for name in members
}
"""Name of a network -> the module that builds it."""


def names() -> tuple[str, ...]:
    """Return the names of all built-in networks, without building any."""
    return tuple(sorted(MODULES))


def groups() -> dict[str, tuple[str, ...]]:
    """Return heading -> names of built-in networks, families together, without building any.

    >>> list(groups())[:5]
    ['images', 'detection', 'diffusion', 'images and texts', 'recommendation']
    """
    elsewhere = {module for modules in _HEADINGS.values() for module in modules}
    headings = {"images": tuple(sorted(FIXED.keys() - elsewhere)), **_HEADINGS}
    result = {
        heading: tuple(name for module in modules for name in {**FIXED, **SEQUENCE}[module])
        for heading, modules in headings.items()
    }
    for heading, families in _LANGUAGE.items():
        result[heading] = tuple(name for members in families.values() for name in members)
    listed = {name for members in result.values() for name in members}
    result["encoders"] += tuple(name for name in MODULES if name not in listed)
    return result
