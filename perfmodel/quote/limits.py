"""What no machine can do: physical limits of what a quote claims, with their arithmetic in words."""

from __future__ import annotations

from typing import NamedTuple

from perfmodel.equations.bandwidths import bus_bandwidth
from perfmodel.equations.lower_bounds import (
    all_reduce_lower_bound,
    broadcast_lower_bound,
    in_network_all_reduce_lower_bound,
    share_lower_bound,
)
from perfmodel.errors import unknown_name
from perfmodel.prediction.all_reduce import adds
from perfmodel.prediction.bound import LEAST_FILLED, PADDED, physical_bound, saving
from perfmodel.resolve import Setting
from perfmodel.specs.accelerator import Accelerator
from perfmodel.units import show

SUPERLINEAR = 1.10
"""Efficiency beyond which a job and its baseline cannot have done the same work on each accelerator: of the
published runs of trust A or B with one undisputed baseline the largest has 1.07, which is noise."""


LEAST_GRADIENT_BYTES = 2
"""Of one gradient that is sent uncompressed: fp16 or bf16, whatever it is computed in."""


SPARSE = ("Ampere", "Ada", "Hopper", "Blackwell")
"""Architectures whose data sheets also state a peak with structured sparsity."""


BASE_CLOCKED = ("Kepler",)
"""Architectures whose data sheets state peaks at the base clock; a run may boost."""


class Limit(NamedTuple):
    """The best a quantity can be, and why."""

    value: float
    because: tuple[str, ...]


def least_iteration_time(setting: Setting) -> Limit:
    """Return the time no iteration of a setting can beat [s]: that of its arithmetic or of its gradients.

    One may hide behind the other, so the longer counts.
    """
    work, sums = _least_computation(setting), _least_exchange(setting)
    if sums.value > work.value:
        return sums
    return work


def _least_computation(setting: Setting) -> Limit:
    time = physical_bound(setting) / _boost(setting.accelerator)
    workload, accelerator = setting.workload, setting.accelerator
    samples = setting.local_batch_size * setting.accumulation_steps
    least, filled = _least_flops(setting), _least_filled(setting)
    peak, unit = _fastest(setting)
    needs = f"one {workload.sample} needs {show(workload.training_flops, 'FLOP')} forward and backward"
    if least < 0.999 * workload.training_flops:
        needs += f", {show(least, 'FLOP')} by the fastest known convolutions"
    if filled < 1:
        needs += f"; up to {1 - filled:.0%} of the tokens may be padding that software skips"
    if time > 1.001 * filled * samples * least / peak:
        rate = show(accelerator.memory_bandwidth.value, "B/s")
        return Limit(time, (f"reading weights and writing gradients once at {rate} takes {show(time, 's')}",))
    rate = f"{show(peak, 'FLOP/s')} ({unit}, dense)"
    takes = f"{samples} {workload.sample}s on one {accelerator.id} at {rate} take {show(time, 's')}"
    return Limit(time, (needs, f"{takes} at the least, communication not counted"))


def _least_flops(setting: Setting) -> float:
    """Operations of one sample that no known algorithm avoids [FLOP]."""
    layers = setting.workload.layers
    return sum((layer.forward_flops + layer.backward_flops) / saving(layer) for layer in layers)


def _least_filled(setting: Setting) -> float:
    """Share of the tokens that must be computed: the rest may be padding."""
    return LEAST_FILLED if setting.workload.id in PADDED and setting.scenario.input == "real" else 1.0


def above_peak(setting: Setting) -> str:
    """Return why a utilisation may pass 100 %: what MFU counts and no machine need do, and faster units."""
    reasons = []
    least, counted = _least_flops(setting), setting.workload.training_flops
    if least < 0.999 * counted:
        reasons.append(
            f"counts every multiplication of a direct convolution, and the fastest known ones need "
            f"{least / counted:.0%} of the network's arithmetic"
        )
    if (filled := _least_filled(setting)) < 1:
        reasons.append(f"counts padding, up to {1 - filled:.0%} of the tokens, which software may skip")
    peak, unit = _fastest(setting)
    if peak > 1.001 * setting.peak_flops:
        reasons.append(
            f"takes a peak of {show(setting.peak_flops, 'FLOP/s')}, where {unit} units may reach "
            f"{show(peak, 'FLOP/s')}"
        )
    return "it may pass 100%, as MFU " + ", and ".join(reasons)


def _least_exchange(setting: Setting) -> Limit:
    """The time to sum the gradients over the narrowest cut, in the smallest format they are sent in whole.

    Embedding tables are left out, as their gradients may be sent by row; so are strategies within a node,
    which may copy over the host.
    """
    if setting.world_size == 1 or setting.strategy not in ("all-reduce", "parameter-server"):
        return Limit(0.0, ())
    parameters = sum(layer.parameters for layer in setting.workload.layers if layer.kind != "embedding")
    size = LEAST_GRADIENT_BYTES * parameters
    if setting.strategy == "parameter-server":
        # every node sends its sum to the servers, each of which takes in its share from every node
        cut = _node_cut(setting)
        time = size / cut.bandwidth * max(1.0, setting.nodes / setting.servers)
        over = f"{setting.servers} servers behind as much as {cut.words}"
    else:
        cuts = [cut for cut in _cuts(setting) if cut.groups > 1]
        time, cut = max(((_all_reduce_time(size, cut), cut) for cut in cuts), key=lambda pair: pair[0])
        over = cut.words
    return Limit(
        time,
        (
            f"each iteration sums {parameters / 1e6:.3g} M gradients, {show(size, 'B')} at "
            f"{LEAST_GRADIENT_BYTES} B each",
            f"over {over}, {show(cut.bandwidth, 'B/s')} in one direction, this takes {show(time, 's')} "
            f"at the least, unless gradients are compressed",
        ),
    )


def _fastest(setting: Setting) -> tuple[float, str]:
    """The peak that bounds a precision, and its number format."""
    peaks = [(setting.peak_flops, setting.peak_format)]
    if setting.precision != "tf32" and "fp32" in setting.accelerator.peak_flops:
        peaks.append((setting.accelerator.peak_flops["fp32"].value, "fp32"))
    peak, unit = max(peaks)
    return peak * _boost(setting.accelerator), unit


def _boost(accelerator: Accelerator) -> float:
    """How much above its stated peak an accelerator may compute for a while."""
    base, boost = accelerator.base_clock, accelerator.boost_clock
    if base is None or boost is None or accelerator.architecture.split()[0] not in BASE_CLOCKED:
        return 1.0
    return max(1.0, boost.value / base.value)


def peak_of(setting: Setting, per: str, format: str | None = None) -> Limit:
    """Return the arithmetic of the data sheet [FLOP/s], of one accelerator or of the job.

    Raises
    ------
    InputError : the accelerator has no peak for the number format
    """
    accelerator, n = setting.accelerator, setting.world_size if per == "job" else 1
    peak, unit = _fastest(setting)
    if format is not None:
        peaks = dict(accelerator.peak_flops.items())
        if format not in peaks:
            raise unknown_name(f"peak of {accelerator.id}", format, peaks)
        peak, unit = peaks[format].value * _boost(accelerator), format
    each = f"{n} x {accelerator.id} at {show(peak, 'FLOP/s')} ({unit}, dense)"
    return Limit(n * peak, (f"{each}: {show(n * peak, 'FLOP/s')}",))


def best_efficiency(baseline: int, world_size: int, scaling: str, claimed: float = 0.0) -> Limit:
    """Return the largest scaling efficiency of ``world_size`` accelerators against ``baseline``."""
    same = "the same batch" if scaling == "weak" else "its share of the batch"
    against = "alone" if baseline == 1 else f"among {baseline}"
    lines = [
        f"each of {world_size} accelerators computes {same} and communicates besides, so it is no faster "
        f"than {against}: at most 100%, and {SUPERLINEAR:.0%} with what measurements scatter"
    ]
    if claimed > 1:
        lines.append(
            "more than 100% says that the baseline was slow for another reason (other software, batch or "
            "input, a cold start): then throughputs are what to compare"
        )
    return Limit(SUPERLINEAR, tuple(lines))


class _Cut(NamedTuple):
    """Equal groups of ranks, each behind so much bandwidth one way."""

    groups: int
    members: int
    bandwidth: float
    adds: bool
    """Whether what lies between the groups can add what passes it."""
    words: str


def bus_bandwidth_limit(collective: str, setting: Setting) -> Limit:
    """Return the largest bus bandwidth of a collective over all accelerators of a job [B/s].

    The narrowest cut decides: each rank's own links, each node's adapters, each rack's uplinks.  Latency is
    left out, and every switch that can add is taken to do so.
    """
    n = setting.world_size
    found = [(_through(collective, n, cut), cut) for cut in _cuts(setting) if cut.groups > 1]
    if not found:
        return Limit(float("inf"), ("one rank sends nothing",))
    rate, cut = min(found, key=lambda pair: pair[0])
    lines = [f"{cut.words} carries {show(cut.bandwidth, 'B/s')} in one direction"]
    if abs(rate / cut.bandwidth - 1) > 1e-9:
        why = " and a switch that adds" if cut.adds else ""
        lines.append(
            f"{collective} over {cut.groups} such groups{why}: at most {show(rate, 'B/s')} as nccl-tests "
            f"counts bus bandwidth"
        )
    return Limit(rate, tuple(lines))


def _node_cut(setting: Setting) -> _Cut:
    between, cap = setting.inter_link, setting.node.network_bandwidth
    adapters = setting.nics * between.bandwidth.value
    if cap is not None and setting.scenario.nics is None and between.id == setting.node.inter_link:
        adapters = min(adapters, cap.value)
    words = f"each node's {setting.nics} x {between.id}"
    # InfiniBand switches may add (SHARP)
    return _Cut(setting.nodes, setting.accelerators_per_node, adapters, between.kind == "infiniband", words)


def _cuts(setting: Setting) -> list[_Cut]:
    n, nodes, asked, inside = setting.world_size, setting.nodes, setting.scenario, setting.intra_link
    node = _node_cut(setting)
    several, adapters, summing = nodes > 1, node.bandwidth, node.adds
    words = f"each rank's {inside.id}" + (" with its node's adapters" if several else "")
    own = inside.bandwidth.value + (adapters if several else 0.0)
    cuts = [_Cut(n, 1, own, adds(inside) or (several and summing), words), node]
    rack = asked.rack_nodes
    if rack is not None and nodes > rack:
        up = rack * adapters / asked.oversubscription
        words = f"each rack's uplink (1/{asked.oversubscription:g} of its {rack} nodes' adapters)"
        cuts.append(_Cut(-(-nodes // rack), rack * node.members, up, summing, words))
    return cuts


def _through(collective: str, group_size: int, cut: _Cut) -> float:
    """Bus bandwidth that a cut lets pass [B/s], from the least time of one byte."""
    if collective == "all-reduce":
        time = _all_reduce_time(1.0, cut)
    elif collective == "broadcast":
        time = float(broadcast_lower_bound(cut.groups, 1.0, 0.0, cut.bandwidth))
    elif collective == "all-to-all":  # every member of a group has a buffer of its own for the others
        time = cut.members * float(share_lower_bound(group_size / cut.members, 1.0, 0.0, cut.bandwidth))
    else:
        time = float(share_lower_bound(cut.groups, 1.0, 0.0, cut.bandwidth))
    return float(bus_bandwidth(collective, 1 / time, group_size))


def _all_reduce_time(message_bytes: float, cut: _Cut) -> float:
    """Least time of an all-reduce through a cut [s], latency left out."""
    bound = in_network_all_reduce_lower_bound if cut.adds else all_reduce_lower_bound
    return float(bound(cut.groups, message_bytes, 0.0, cut.bandwidth))


def origin_of(ratio: float, quantity: str, accelerator: Accelerator) -> str | None:
    """Say where a claim so many times its limit usually comes from; None where nothing is known of it."""
    devices = accelerator.board_devices
    if quantity not in ("bus_bandwidth", "scaling_efficiency", "speedup") and 1 < ratio <= devices:
        return (
            f"one {accelerator.id} is {accelerator.unit}: counted by boards it could be {devices} times this"
        )
    if not 1.9 <= ratio <= 2.1:
        return None
    if quantity == "bus_bandwidth":
        return "twice one direction: data sheets add both directions of a link, bus bandwidth counts one"
    if quantity in ("flops", "mfu") and accelerator.architecture.split()[0] in SPARSE:
        return (
            "twice the dense peak: the data sheet's figure with 2:4 structured sparsity, which holds "
            "for matrices half of whose entries are zero, not for training a dense network"
        )
    return None
