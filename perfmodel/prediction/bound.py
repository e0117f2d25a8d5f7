"""The least time an iteration can take: what no run may beat, whatever its software does.

The bound knows what fast algorithms save: Winograd's on 3x3 convolutions, Fourier transforms on larger
filters.  It counts the bytes no cache can spare, and takes the nominal peak of the fastest unit the precision
may use.  Communication, launches, and all that software wastes are left out.
"""

from __future__ import annotations

from functools import lru_cache

from perfmodel.equations.lower_bounds import physical_iteration_time
from perfmodel.resolve import Setting
from perfmodel.specs.workload import Layer, Workload

WINOGRAD_SAVING = 2.25
"""Of F(2x2, 3x3): 36 multiplications become 16 (Lavin and Gray 2016)."""
PADDED = ("bert-base", "bert-large")
"""Networks whose corpora are mostly padding; others are fed whole sequences."""
LEAST_FILLED = 0.5
"""Share of a sequence's tokens that are no padding, at the least, in the corpora BERT is trained on (Krell et
al. 2021: packing saves half); software may leave padding out, and sources count whole sequences."""


def saving(layer: Layer) -> float:
    """How many times fewer operations a fast algorithm needs for a layer than its FLOP count.

    A Fourier transform replaces a filter of k by k taps by one product for each point of the spectrum: it
    can save up to k squared, of which we grant a quarter, as its products are complex.
    """
    height, width = layer.kernel_size
    if layer.kind != "conv" or max(height, width) < 3:
        return 1.0
    if max(height, width) == 3:
        return WINOGRAD_SAVING if layer.stride == 1 else 1.0
    return max(1.0, height * width / 4)


@lru_cache(maxsize=256)
def _least_flops(workload: Workload) -> float:
    """Operations of one sample's forward and backward pass that no known algorithm avoids [FLOP]."""
    return sum((layer.forward_flops + layer.backward_flops) / saving(layer) for layer in workload.layers)


@lru_cache(maxsize=256)
def _dense_parameters(workload: Workload) -> float:
    """Parameters that every iteration touches: embedding tables are read and updated by row."""
    return float(sum(layer.parameters for layer in workload.layers if layer.kind != "embedding"))


def physical_bound(setting: Setting) -> float:
    """Return the least iteration time of a setting's computation on each accelerator [s].

    Parameters
    ----------
    setting : its workload, accelerator, precision and batch; the rest does not matter
    """
    accelerator, workload = setting.accelerator, setting.workload
    peaks = [setting.peak_flops]
    if setting.precision != "tf32" and "fp32" in accelerator.peak_flops:
        peaks.append(accelerator.peak_flops["fp32"].value)
    samples = setting.local_batch_size * setting.accumulation_steps
    filled = LEAST_FILLED if workload.id in PADDED and setting.scenario.input == "real" else 1.0
    weights = setting.format.weight_copy_bytes or setting.format.activation_bytes
    return float(
        physical_iteration_time(
            filled * samples * _least_flops(workload),
            # weights are read once and their gradients written once
            2 * weights * _dense_parameters(workload),
            max(peaks),
            accelerator.memory_bandwidth.value,
        )
    )
