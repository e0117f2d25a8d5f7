"""Efficiency of one accelerator, learned from measured runs: time over the time at peak, by type of work.

Every number is the natural logarithm of a factor or of a time in seconds, learned by ``perfmodel calibrate``
and kept by name.  An architecture or a network that was not measured has no entry: it takes the value of its
family, with a factor of 1.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from perfmodel.core import ops
from perfmodel.model.fitted.effect_inputs import EffectInputs

if TYPE_CHECKING:
    from perfmodel.model.fitted.own_effects import OwnEffects

UNITS = ("vector", "vector-fp16", "matrix-16", "matrix-tf32")
"""Arithmetic that serves a product: ordinary units in fp32 or fp16, matrix units in 16 bits or TF32."""
CLASSES = (
    "conv3x3-stride1",
    "conv3x3",
    "conv1x1",
    "conv-other",
    "conv-stem",
    "linear",
    "matmul",
    "depthwise",
    "grouped",
)
"""Classes of matrix products; a stem is a convolution of the image, grouped has under 32 columns a group."""
KINDS = ("norm", "activation", "heavy", "embedding", "product")
"""Types of memory traffic; heavy: dropout, softmax and concatenation."""
SIZES = ("half_work", "half_depth", "half_columns")
GROUPS = ("vector", "matrix")
OF_TRANSFORMERS = (*SIZES, "kernel_floor")
"""Numbers of an ``Efficiency`` that steps of transformers take too, without their groups."""
MEANINGS = (
    "slowdown",
    "traffic",
    "channels_first",
    "kernel_floor",
    "product_set_up",
    "dispatch_time",
    "iteration_overhead",
    "optimizer_kernels",
)
"""Attributes of an ``Efficiency`` that it computes from its logarithms."""
NESTED = (
    ("vgg11", "vgg13", "vgg16", "vgg19"),
    ("resnet18", "resnet34"),
    ("resnet50", "resnet101", "resnet152", "resnet200"),
    ("resnet50-v1.5", "resnet101-v1.5", "resnet152-v1.5", "resnet200-v1.5"),
    ("resnet18-v2", "resnet34-v2"),
    ("resnet50-v2", "resnet101-v2", "resnet152-v2", "resnet200-v2"),
    ("resnext50-32x4d", "resnext101-32x4d", "se-resnext101-32x4d"),
    ("resnext50-32x4d", "se-resnext50-32x4d", "se-resnext101-32x4d"),
    ("resnet50-v1.5", "se-resnet50"),
    ("swin-tiny", "swin-small"),
    ("mask-rcnn-r50-fpn", "mask-rcnn-r101-fpn"),
    ("faster-rcnn-r50-fpn", "faster-rcnn-r101-fpn"),
    ("detr-r50", "detr-r101"),
    ("gpt3-5b", "gpt3-6.7b"),
    ("qwen2.5-1.5b", "qwen2vl-2b"),
    ("qwen2.5-7b", "qwen2vl-7b"),
    ("qwen2.5-72b", "qwen2vl-72b"),
    ("qwen3-1.7b", "qwen3vl-2b"),
    ("qwen3-4b", "qwen3vl-4b"),
    ("qwen3-8b", "qwen3vl-8b"),
    ("qwen3-32b", "qwen3vl-32b"),
    ("qwen3-30b-a3b", "qwen3vl-30b-a3b"),
    ("whisper-large-v3-turbo", "whisper-large-v3"),
)
"""Families of networks; each network contains all layers of the one before it."""


class Effects(NamedTuple):
    """Factors on the times of a configuration's products, traffic and whole computation."""

    vector: float
    """On matrix products of ordinary units."""
    matrix: float
    """On matrix products of matrix units."""
    traffic: float
    elementwise: float
    """On the traffic of all layers but products, in addition to ``traffic``."""
    light: float
    """On grouped and depthwise convolutions, in addition to the factor of their unit."""
    total: float


class Efficiency:
    """Learned efficiency of the parts of one accelerator's iteration."""

    def __init__(
        self,
        logarithms: Mapping[str, float],
        own: OwnEffects | None = None,
        borrowed: Mapping[str, float] | None = None,
    ) -> None:
        """Take learned logarithms by name, the effects of own runs, and substitutes for missing names."""
        self._log, self._own = dict(logarithms), own
        self.borrowed = dict(borrowed or {})
        """Substitutes for effects that were not learned, by the same names."""
        get = self._logarithm
        self.slowdown = np.exp([[get(f"slowdown/{u}/{c}") for c in CLASSES] + [0.0] for u in UNITS])
        """Slowdown of a very large product, shape (units, classes + 1); the last column is for other work."""
        self.traffic = np.exp([get(f"traffic/{kind}") for kind in KINDS])
        self.half = np.exp([[get(f"{size}/{group}") for group in GROUPS] for size in SIZES])
        """Size at which a product reaches half its rate, shape (sizes, groups)."""
        self.channels_first = float(np.exp(get("channels_first")))
        """Traffic of transposing images for matrix units, over the images' own traffic."""
        self.kernel_floor = float(np.exp(get("kernel_floor")))
        """Fixed time of one kernel on the accelerator [s]."""
        self.product_set_up = float(np.exp(self._log.get("product_set_up", -math.inf)))
        """Additional fixed time of a product's kernel [s]; 0 for files without it."""
        self.dispatch_time = float(np.exp(get("dispatch_time")))
        """Host time to launch one kernel [s]."""
        self.iteration_overhead = float(np.exp(get("iteration_overhead")))
        """Host time of every iteration in addition to launches [s]."""
        self.optimizer_kernels = float(np.exp(get("optimizer_kernels")))
        """Kernels that one update launches for each parameter tensor."""

    @property
    def of_transformers(self) -> dict[str, Any]:
        """Numbers that steps of transformers take too, by name: ``OF_TRANSFORMERS``.

        They are the sizes at which a product reaches half its rate, by ``SIZE/GROUP``, and the time of a
        kernel.
        """
        sizes = {
            f"{size}/{group}": ops.number(self.half[row, column])
            for row, size in enumerate(SIZES)
            for column, group in enumerate(GROUPS)
        }
        return sizes | {"kernel_floor": self.kernel_floor}

    def _logarithm(self, name: str) -> float:
        """Return the logarithm of a learned number, 0 if it was not learned."""
        return self._log.get(name, 0.0)

    def with_own_effects(self, own: OwnEffects) -> Efficiency:
        """Return this efficiency with the effects learned from a user's own runs."""
        return Efficiency(self._log, own, self.borrowed)

    def with_numbers(self, change: Callable[[Any, str], Any]) -> Efficiency:
        """Return this efficiency with each number replaced by ``change(number, name)``."""
        rows = dict(zip(SIZES, self.half, strict=True))
        known = {name: getattr(self, name) for name in MEANINGS} | rows
        numbers = {name: change(value, name) for name, value in known.items()}
        tables = self._log, self.borrowed
        log, borrowed = ({name: change(each, f"log {name}") for name, each in of.items()} for of in tables)
        if all(
            value is of[name]
            for of, changed in ((known, numbers), (self._log, log), (self.borrowed, borrowed))
            for name, value in changed.items()
        ):
            return self
        result = copy.copy(self)
        vars(result).update({name: numbers[name] for name in MEANINGS}, _log=log, borrowed=borrowed)
        result.half = ops.array([numbers[size] for size in SIZES])
        return result

    def knows(self, name: str) -> bool:
        """Whether measured runs determined an effect, e.g. ``workload/resnet50``."""
        return name in self._log

    def effects(self, on: EffectInputs) -> Effects:
        """Return the factors of a configuration."""
        get, architecture = self._logarithm, on.architecture
        own = 0.0 if self._own is None else self._own.computation(on)
        network = f"workload/{on.workload}"
        logarithms = (
            get(f"architecture/vector/{architecture}"),
            get(f"architecture/matrix/{architecture}")
            + get("power") * on.power
            + get("year/matrix") * on.year,
            get(f"architecture/traffic/{architecture}"),
            get("year/elementwise") * on.year
            + get("fused") * on.fused
            + get("unfused_transformer") * on.unfused_transformer,
            get("year/light") * on.year,
            self._log.get(network, self.borrowed.get(network, 0.0)) + get("detection") * on.detection + own,
        )
        return Effects(*np.exp(ops.array(logarithms)).tolist())


def borrowed_effects(logarithms: Mapping[str, float]) -> dict[str, float]:
    """Return substitutes for the effects of unmeasured networks in ``NESTED``, by ``workload/NAME``.

    Such a network is taken as no faster than a measured one it contains, nor slower than one that contains
    it.
    """
    result: dict[str, float] = {}
    for family in NESTED:
        known = [logarithms.get(f"workload/{name}") for name in family]
        for at, name in enumerate(family):
            if known[at] is None:
                below = next((one for one in known[at::-1] if one is not None), -math.inf)
                above = next((one for one in known[at:] if one is not None), math.inf)
                middle = min(max(0.0, below), above) if below <= above else (below + above) / 2
                result.setdefault(f"workload/{name}", middle)
    return result
