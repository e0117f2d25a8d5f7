"""Communication of compressed gradients, and the time to encode and decode them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from perfmodel.core import ops
from perfmodel.core.tracing.tracing import remembered
from perfmodel.equations import compression as equations
from perfmodel.equations.shuffles import ring_all_gather_time
from perfmodel.model.fitted.calibration import Calibration
from perfmodel.model.options.compression import Scheme
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.step.compression import Coded, coded, coding_time, gradient_of
from perfmodel.model.step.fabric import Fabric
from perfmodel.model.step.layout import gradient_group
from perfmodel.model.step.library import library_all_gather, runs_nccl

if TYPE_CHECKING:
    from collections.abc import Callable

    from perfmodel.workloads.workload import Workload


@remembered(maxsize=1024)
def _compressed_gradient(scheme: Scheme, workload: Workload, ranks: int, software_year: int) -> Coded:
    """Return the compressed gradient of a workload, cached."""
    return coded(scheme, gradient_of(workload), ranks, software_year)


def compressed_times(
    setting: Setting,
    scheme: Scheme,
    message_bytes: Any,
    fabric: Fabric,
    all_reduce_time: Callable[[Any], Any],
) -> Any:
    """Return the time of each message of compressed gradients, without overlap [s].

    Parameters
    ----------
    setting : of the job
    scheme : the compression scheme
    message_bytes : of uncompressed gradients, shape (messages,) [B]
    fabric : bandwidths and latencies
    all_reduce_time : returns the time of an all-reduce [s] of messages [B]
    """
    whole = setting.format.gradient_bytes * setting.workload.parameters
    fractions = [size / whole for size in sent_bytes(setting, scheme) if size]
    if scheme.kind.collective == "all-reduce":
        sizes = [equations.compressed_message_bytes(message_bytes, each, 1) for each in fractions]
        first, *others = (all_reduce_time(size) for size in sizes)
    else:
        n = setting.world_size
        sizes = [equations.compressed_message_bytes(message_bytes, each, n) for each in fractions]
        first, *others = (gathered_time(setting, size, fabric) for size in sizes)
    return equations.in_turn(first, *others) if others else first


def sent_bytes(setting: Setting, scheme: Scheme) -> tuple[float, ...]:
    """Return the bytes that one rank contributes to each collective; independent of the number of ranks."""
    return _compressed_gradient(scheme, setting.workload, 2, setting.software_year).messages


def gathered_time(setting: Setting, message_bytes: Any, fabric: Fabric) -> Any:
    """Return the time of an all-gather [s], given the total bytes of all ranks."""
    group = gradient_group(setting, fabric)
    if runs_nccl(setting.accelerator):
        return library_all_gather(group).time(message_bytes)
    several = group.several_nodes
    hop = (
        ops.maximum(fabric.intra_hop_latency, fabric.inter_hop_latency)
        if several
        else fabric.intra_hop_latency
    )
    narrow = (
        ops.minimum(fabric.intra_link_bandwidth, fabric.inter_link_bandwidth)
        if several
        else fabric.intra_link_bandwidth
    )
    return ring_all_gather_time(setting.world_size, message_bytes, hop, narrow)


def coding_times(setting: Setting, constants: Calibration) -> Any:
    """Return the time of encoding and decoding in an iteration [s]; an array if the world size is one."""
    scheme = setting.compression
    if scheme is None:
        return 0.0
    if np.ndim(setting.world_size) == 0:
        return _time(setting, scheme, int(ops.plain(setting.world_size)), constants)
    sizes, where = np.unique(setting.world_size, return_inverse=True)
    times = np.array([_time(setting, scheme, int(n), constants) for n in sizes.tolist()])
    return times[where].reshape(np.shape(setting.world_size))


def _time(setting: Setting, scheme: Scheme, ranks: int, constants: Calibration) -> Any:
    """Return the coding time for one number of ranks [s]; 0 for a single rank."""
    if ranks == 1:
        return 0.0
    work = _compressed_gradient(scheme, setting.workload, ranks, setting.software_year)
    times = (coding_time(one, setting, constants) for one in (work.encode, work.decode))
    return equations.coding_time(*times)
