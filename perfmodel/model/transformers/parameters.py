"""The learned parameters of transformers' steps: meaning and prior of each."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from perfmodel.core.tracing.tracing import TRACE
from perfmodel.model.fitted.calibration import calibration, of_transformers
from perfmodel.model.fitted.learned import neutral_means
from perfmodel.model.fitted.ledger_scales import TRANSFORMERS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


class Prior(NamedTuple):
    """Prior of a parameter: a log-normal distribution, and the parameter's meaning."""

    mean: float
    spread: float
    """Standard deviation of its logarithm."""
    meaning: str
    """With its unit."""


PARAMETERS: dict[str, Prior] = {
    # products
    "product": Prior(0.90, 0.10, "rate of a large product in training, over the best measured product [1]"),
    "product_32": Prior(0.90, 0.10, "the same in fp32 and tf32 [1]"),
    "product_memory": Prior(0.80, 0.10, "memory bandwidth of products, over the nominal one [1]"),
    "product_8": Prior(
        0.85, 0.15, "rate of products in 8 bits over the best measured one, over the same in 16 bits [1]"
    ),
    "cast": Prior(6.0, 0.40, "traffic to cast, scale and transpose an element of an operand [B]"),
    "misaligned": Prior(
        1.25, 0.08, "time of products with heads that are no multiple of 32 features, over others [1]"
    ),
    "power": Prior(0.70, 0.40, "exponent of a rate as a function of the module's power limit [1]"),
    "grouped": Prior(0.75, 0.20, "rate of experts' grouped products, over single products [1]"),
    # attention
    "flash": Prior(0.65, 0.12, "FlashAttention 1 and 2 up to Ampere, over the best measured product [1]"),
    "flash_hopper": Prior(0.50, 0.20, "FlashAttention 2 on Hopper, over the best measured product [1]"),
    "flash_newest": Prior(
        0.75, 0.15, "FlashAttention 3 and cuDNN from Hopper on, over the best measured product [1]"
    ),
    "flash_backward": Prior(
        3.0, 0.15, "time of the backward pass of fused attention, over the forward pass [1]"
    ),
    "biased": Prior(0.70, 0.10, "rate of the attention kernel with biased scores, over FlashAttention 2 [1]"),
    "score": Prior(6.0, 0.20, "memory traffic of a score in addition to its products [B]"),
    "loose_scores": Prior(
        2.0, 0.20, "the same without a fused kernel for softmax and dropout, over that with it [1]"
    ),
    # what passes memory between products
    "element": Prior(1.0, 0.30, "element-wise traffic, over the bytes counted [1]"),
    "element_memory": Prior(0.60, 0.10, "memory bandwidth of element-wise kernels, over the nominal one [1]"),
    "element_backward": Prior(
        1.5, 0.20, "element-wise traffic of the backward pass, over the forward pass [1]"
    ),
    "unfused": Prior(
        2.0, 0.30, "traffic of a static graph with a kernel for every small operation, over others [1]"
    ),
    "fusion": Prior(0.60, 0.20, "share of the traffic left by fusion [1]"),
    "routing": Prior(25.0, 0.40, "traffic of a routed feature in router and permutation [B]"),
    "logit": Prior(20.0, 0.40, "traffic of a logit, forward and backward [B]"),
    "odd_vocabulary": Prior(
        2.5, 0.15, "time of logits if the vocabulary is no multiple of 8, over others [1]"
    ),
    "encoder_decoder": Prior(
        1.15, 0.10, "time of kernels of an encoder-decoder, over others: short decoder, biased scores [1]"
    ),
    # kernels of stacks
    "early": Prior(1.00, 0.08, "time of kernels, software of 2019 to 2021, over tuned software [1]"),
    "eager": Prior(1.05, 0.08, "time of kernels, eager PyTorch, over tuned software [1]"),
    "deepspeed": Prior(1.05, 0.08, "time of kernels, Megatron under DeepSpeed, over tuned software [1]"),
    "xla": Prior(1.00, 0.08, "time of kernels, XLA on GPUs, over tuned software [1]"),
    "tpu": Prior(0.92, 0.05, "time of kernels, XLA on TPUs, over tuned software [1]"),
    "blackwell": Prior(1.05, 0.05, "time of kernels, first software for Blackwell, over later [1]"),
    "untuned": Prior(
        1.15,
        0.12,
        "time of kernels of runs not tuned by the software's developers, over those they tuned [1]",
    ),
    # the host
    "launch": Prior(8e-6, 0.30, "launch of a kernel from Python [s]"),
    "launch_compiled": Prior(3e-6, 0.40, "launch of a kernel from a graph, a compiler or C++ [s]"),
    "launch_checkpointed": Prior(40e-6, 0.30, "launch of a kernel with the hooks of old DeepSpeed [s]"),
    "routing_host": Prior(600e-6, 0.60, "wait of a layer's pass for the host to count routed tokens [s]"),
    "host_update": Prior(1.3e-9, 0.40, "optimizer on the host, for each parameter [s]"),
    "step": Prior(4e-3, 0.30, "fixed overhead of a step [s]"),
    "step_slow": Prior(20e-3, 0.40, "fixed overhead of a step with a trainer around it [s]"),
    # traffic
    "inside": Prior(
        0.75, 0.10, "largest bandwidth of collectives in a node during computation, over the nominal one [1]"
    ),
    "between": Prior(0.70, 0.15, "the same for adapters [1]"),
    "exchange": Prior(0.50, 0.40, "bandwidth of tokens to experts, over the nominal one [1]"),
    "tensor_hidden": Prior(
        0.40, 0.40, "hidden share of tensor-parallel communication, if the software hides any [1]"
    ),
    "context_window": Prior(0.70, 0.30, "share of attention that hides the ring of keys and values [1]"),
    "send_exposed": Prior(0.50, 0.50, "exposed share of sends between stages [1]"),
    "nodes": Prior(0.004, 0.70, "growth of a step with each doubling of nodes [1]"),
    # the rest
    "update": Prior(30.0, 0.25, "traffic of the optimizer for each parameter [B]"),
    "selective": Prior(0.45, 0.30, "share of the products that FSDP's selective checkpoints recompute [1]"),
}
"""By name.  Means and spreads come from the algebra, from NVIDIA's and PyTorch's documentation and from a
prototype that was shaped with the measured runs in view; the spreads let the fit move them.  The sources of
each, and its mean without them, are in ``perfmodel.model.fitted.learned``."""

Values = Mapping[str, Any]
"""Parameters by name."""


OF_ALL_NETWORKS = ("contention",)
"""Constants of ``Calibration`` that apply to all networks, transformers included."""


@cache
def shared() -> dict[str, float]:
    """Return the parameters learned from all networks: half rates of products, time of a kernel, and
    ``OF_ALL_NETWORKS``.

    They come from the fit to data-parallel training.  For the sizes at which a product reaches half its rate
    (half_depth 56, half_work 4,330) a fit to runs of transformers gives 63 and 4,160 from the same priors,
    with equal errors on sources left out.
    """
    known = calibration()
    return known.efficiency.of_transformers | {name: getattr(known, name) for name in OF_ALL_NETWORKS}


def named(scores: Array) -> dict[str, float]:
    """Return the parameters by name, from standard scores of their priors, shape (parameters,)."""
    table = np.array([prior[:2] for prior in PARAMETERS.values()])
    learned = (table[:, 0] * np.exp(scores * table[:, 1])).tolist()
    return dict(zip(PARAMETERS, learned, strict=True)) | shared()


def scores_of(means: Mapping[str, float]) -> Array:
    """Return standard scores of parameters by name, 0 for those that are not named, shape (parameters,)."""
    return np.array(
        [
            np.log(means.get(name, prior.mean) / prior.mean) / prior.spread
            for name, prior in PARAMETERS.items()
        ]
    )


def neutral_scores(seen: Collection[str] | None = None) -> Array:
    """Return the standard scores of ``learned.neutral_means``, 0 for other parameters."""
    return scores_of(neutral_means(TRANSFORMERS, seen))


class Fitted(NamedTuple):
    """Learned parameters of transformers and the errors of the fit."""

    parameters: Mapping[str, float]
    spreads: Mapping[str, float]
    """Standard deviation of ln(measured / predicted) out of sample, by class."""
    accelerator_spread: float
    """Standard deviation among accelerators of their runs' mean ln(measured / predicted), each accelerator
    left out of the fit."""
    software_spread: float
    """The same among software."""
    accelerators: frozenset[str]
    """Accelerators of the runs that were fitted."""
    stacks: frozenset[str]
    """Software of the runs that were fitted."""


def fitted() -> Fitted:
    """Return the shipped fit, with traced numbers during a traced evaluation."""
    trace = TRACE.get()
    return shipped() if trace is None else trace.learned.get(TRANSFORMERS, shipped())


@cache
def shipped() -> Fitted:
    """Return the shipped fit with plain numbers, read once."""
    table = of_transformers()
    parameters = {name: table["parameters"][name] for name in PARAMETERS} | shared()
    return Fitted(
        parameters,
        table["spreads"],
        table["accelerator_spread"],
        table["software_spread"],
        frozenset(table["accelerators"]),
        frozenset(table["software"]),
    )
