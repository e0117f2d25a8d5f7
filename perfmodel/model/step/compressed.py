"""Compressed gradients on their way, and what coding them takes of the accelerators."""

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
from perfmodel.model.step.library import library_gather, runs_nccl

if TYPE_CHECKING:
    from collections.abc import Callable

    from perfmodel.workloads.workload import Workload


@remembered(maxsize=1024)
def _coded(scheme: Scheme, workload: Workload, ranks: int, software_year: int) -> Coded:
    return coded(scheme, gradient_of(workload), ranks, software_year)


def compressed_times(
    setting: Setting, scheme: Scheme, message_bytes: Any, on: Fabric, added: Callable[[Any], Any]
) -> Any:
    """Return the time of each message on its own [s], its gradients compressed.

    Parameters
    ----------
    setting : whose gradients they are
    scheme : by which they are compressed
    message_bytes : of gradients as they are, shape (messages,) [B]
    on : bandwidths and latencies
    added : the time of an all-reduce of messages [s]
    """
    whole = setting.format.gradient_bytes * setting.workload.parameters
    fractions = [size / whole for size in sent_bytes(setting, scheme) if size]
    if scheme.kind.collective == "all-reduce":
        sizes = [equations.compressed_message_bytes(message_bytes, each, 1) for each in fractions]
        first, *others = (added(size) for size in sizes)
    else:
        n = setting.world_size
        sizes = [equations.compressed_message_bytes(message_bytes, each, n) for each in fractions]
        first, *others = (gathered_time(setting, size, on) for size in sizes)
    return equations.in_turn(first, *others) if others else first


def sent_bytes(setting: Setting, scheme: Scheme) -> tuple[float, ...]:
    """Return what one rank contributes to each collective [B]; it does not hang on how many there are."""
    return _coded(scheme, setting.workload, 2, setting.software_year).messages


def gathered_time(setting: Setting, message_bytes: Any, on: Fabric) -> Any:
    """Return the time of an all-gather of so many bytes of all ranks together [s]."""
    group = gradient_group(setting, on)
    if runs_nccl(setting.accelerator):
        return library_gather(group).time(message_bytes)
    several = group.several_nodes
    hop = ops.maximum(on.intra_hop_latency, on.inter_hop_latency) if several else on.intra_hop_latency
    narrow = (
        ops.minimum(on.intra_link_bandwidth, on.inter_link_bandwidth) if several else on.intra_link_bandwidth
    )
    return ring_all_gather_time(setting.world_size, message_bytes, hop, narrow)


def coding_times(setting: Setting, constants: Calibration) -> Any:
    """Return what encoding and decoding add to an iteration [s]; an array where the world size is one."""
    scheme = setting.compression
    if scheme is None:
        return 0.0
    if np.ndim(setting.world_size) == 0:
        return _time(setting, scheme, int(ops.plain(setting.world_size)), constants)
    sizes, where = np.unique(setting.world_size, return_inverse=True)
    times = np.array([_time(setting, scheme, int(n), constants) for n in sizes.tolist()])
    return times[where].reshape(np.shape(setting.world_size))


def _time(setting: Setting, scheme: Scheme, ranks: int, constants: Calibration) -> Any:
    """Coding time of one number of ranks [s]; a single one has nothing to send."""
    if ranks == 1:
        return 0.0
    work = _coded(scheme, setting.workload, ranks, setting.software_year)
    times = (coding_time(one, setting, constants) for one in (work.encode, work.decode))
    return equations.coding_time(*times)
