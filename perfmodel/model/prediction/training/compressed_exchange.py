"""The saving by compression of gradients: bytes, coding time, collective, break-even bandwidth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from perfmodel.core.files.tables import Rows, aligned
from perfmodel.core.units import show
from perfmodel.equations.bandwidths import bus_bandwidth
from perfmodel.equations.compression import (
    break_even_bandwidth,
    break_even_density,
)
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.collectives.place import Point
from perfmodel.model.fitted.calibration import Calibration, calibration
from perfmodel.model.options.compression import Scheme
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction.collectives.collective import collective
from perfmodel.model.prediction.collectives.collective_fabric import fabric_of
from perfmodel.model.prediction.names import accelerator_name
from perfmodel.model.setting.resolve import Setting, resolve
from perfmodel.model.step.communication import message_times
from perfmodel.model.step.compressed import gathered_time
from perfmodel.model.step.compression import (
    ASSUMED,
    VALUE_BYTES,
    Gradient,
    coded,
    coding_time,
    gradient_of,
    square_gradient,
)
from perfmodel.model.step.parts import fabric_of as step_fabric


@dataclass(frozen=True)
class CompressedExchange:
    """One compression scheme, compared with an all-reduce of the whole gradient."""

    scheme: str
    """Name of the scheme, with its parameter."""
    collective: str
    """The collective: an all-reduce if compressed values can be summed, else an all-gather."""
    sent_bytes: float
    """Bytes that one rank contributes."""
    ratio: float
    """Bytes of the gradient in fp32 over ``sent_bytes``."""
    encode_time: float
    """Time to encode on the accelerator [s]."""
    communication_time: float
    decode_time: float
    """Time to decode all received gradients on the accelerator [s]."""
    time: float
    """Sum of the three times, without overlap [s]."""
    low_80: float
    """Lower end of the 80 % interval, due to the collectives only [s]."""
    high_80: float
    """Upper end of the 80 % interval, due to the collectives only [s]."""
    saves: float
    """Saving over the dense exchange [s]; negative if it takes longer."""
    break_even_bandwidth: float
    """Bandwidth of a ring's port below which it saves time [B/s]; 0 if it sends more than dense gradients."""
    break_even_density: float | None
    """Density below which an all-gather sends less than an all-reduce; None except for top-k."""
    error_feedback: bool
    """Whether the compression error is added to the next gradient."""
    variance_bound: float | None
    """Bound on the variance that quantization adds, over the gradient's squared norm; None if unknown."""
    convergence: str
    """Published effect on accuracy."""
    source: str
    """Key of ``references.toml``."""


@dataclass(frozen=True, repr=False)
class CompressedExchanges(Rows):
    """Several compression schemes for the gradients of one job."""

    workload: str | None
    """Network; None if the gradient's size was given."""
    accelerator: str
    """Accelerator of each rank."""
    group_size: int
    nodes: int
    gradient_bytes: float
    """Size of the gradients in fp32 [B]."""
    dense_time: float
    """Time of their all-reduce, without overlap [s]."""
    dense_low_80: float
    """Lower end of its 80 % interval [s]."""
    dense_high_80: float
    """Upper end of its 80 % interval [s]."""
    dense_bandwidth: float
    """Bandwidth of its busiest port, as in a ring [B/s]."""
    rows: tuple[CompressedExchange, ...]
    assumed: tuple[str, ...]
    """Assumptions that are neither published nor measured."""
    notes: tuple[str, ...]
    """Notes on the answer."""

    @property
    def headline(self) -> str:
        """The gradients, and the time of their exchange without compression."""
        where = f"{self.nodes} nodes" if self.nodes > 1 else "one node"
        ranks = f"{self.group_size} x {accelerator_name(self.accelerator)} on {where}"
        dense = f"{show(self.dense_time, 's')} by all-reduce in fp32"
        return f"{show(self.gradient_bytes, 'B')} of gradients, {ranks}: {dense}"

    def __repr__(self) -> str:
        rows = [
            (row.scheme, row.collective, show(row.sent_bytes, "B"), show(row.time, "s"), f"{row.ratio:.1f}")
            for row in self.rows
        ]
        return aligned(self.headline, ("scheme", "collective", "sent", "time", "smaller"), rows, left=2)


def compressed_exchanges(
    schemes: Sequence[Scheme], scenario: Scenario, catalogue: Catalogue, gradient_bytes: float | None = None
) -> CompressedExchanges:
    """Return each compression scheme for the gradients of a job, compared with the dense exchange.

    Parameters
    ----------
    schemes : to try
    scenario : the job: network, accelerators, machines and links
    catalogue : of hardware
    gradient_bytes : size of a gradient instead of the network's [B], taken as one square matrix

    Raises
    ------
    InputError : an unknown name, or options that do not go together
    """
    setting = resolve(scenario, catalogue)
    fabric = _fabric(setting, scenario, catalogue)
    gradient = gradient_of(setting.workload) if gradient_bytes is None else square_gradient(gradient_bytes)
    size = VALUE_BYTES * gradient.elements
    dense = _sent("all-reduce", setting, fabric, size)
    return CompressedExchanges(
        workload=setting.workload.id if gradient_bytes is None else None,
        accelerator=setting.accelerator.id,
        group_size=setting.world_size,
        nodes=setting.nodes,
        gradient_bytes=size,
        dense_time=dense.time,
        dense_low_80=dense.low,
        dense_high_80=dense.high,
        dense_bandwidth=float(bus_bandwidth("all-reduce", size / dense.time, setting.world_size)),
        rows=tuple(_exchange(scheme, gradient, setting, fabric, dense) for scheme in schemes),
        assumed=ASSUMED,
        notes=fabric.notes,
    )


def _fabric(setting: Setting, scenario: Scenario, catalogue: Catalogue) -> Point:
    """Return the fabric of a job's ranks for collectives."""
    return fabric_of(
        setting.world_size,
        catalogue,
        accelerator=setting.accelerator.id,
        node=scenario.node,
        intra_link=scenario.intra_link,
        inter_link=scenario.inter_link or (setting.inter_link.id if setting.nodes > 1 else None),
        transport=scenario.transport,
        nodes=setting.nodes,
        nics=scenario.nics,
        connections=scenario.connections,
        network_cap=scenario.network_cap,
        rack_nodes=scenario.rack_nodes,
        oversubscription=scenario.oversubscription if scenario.rack_nodes else None,
        placement=scenario.placement if scenario.rack_nodes else None,
    )


class _Sent(NamedTuple):
    """Time of one collective in a training step, with its 80 % interval [s]."""

    time: float
    low: float
    high: float


def _sent(name: str, setting: Setting, fabric: Point, message_bytes: float) -> _Sent:
    """Return the time and interval of a collective in a step of a setting.

    Parameters
    ----------
    name : all-reduce or all-gather
    setting : of the job
    fabric : of the same ranks, for the interval
    message_bytes : of all ranks together for an all-gather [B]
    """
    step_links, sizes = step_fabric(setting, calibration()), np.array([message_bytes])
    times = (
        message_times(setting, sizes, step_links)
        if name == "all-reduce"
        else gathered_time(setting, sizes, step_links)
    )
    time = float(times[0])
    measured = collective(name, "auto", fabric, message_bytes)
    if measured.interval is None or not measured.time:
        return _Sent(time, time, time)
    ends = (measured.interval.low_80 / measured.time, measured.interval.high_80 / measured.time)
    return _Sent(time, time * ends[0], time * ends[1])


def _exchange(
    scheme: Scheme, gradient: Gradient, setting: Setting, fabric: Point, dense: _Sent
) -> CompressedExchange:
    """Return the exchange of a gradient by one compression scheme."""
    kind, ranks = scheme.kind, setting.world_size
    result, constants = coded(scheme, gradient, ranks, setting.software_year), calibration()
    gathers = kind.collective == "all-gather"
    sent = [
        # of all ranks together for an all-gather
        _sent(kind.collective, setting, fabric, size * (ranks if gathers else 1))
        for size in result.messages
        if size
    ]
    encode, decode = (coding_time(work, setting, constants) for work in (result.encode, result.decode))
    wire = sum(one.time for one in sent)
    low, high = sum(one.low for one in sent), sum(one.high for one in sent)
    time = float(encode + wire + decode)
    size = VALUE_BYTES * gradient.elements
    return CompressedExchange(
        scheme=str(scheme),
        collective=kind.collective,
        sent_bytes=result.bytes,
        ratio=size / result.bytes,
        encode_time=encode,
        communication_time=wire,
        decode_time=decode,
        time=time,
        low_80=encode + low + decode,
        high_80=encode + high + decode,
        saves=dense.time - time,
        break_even_bandwidth=_break_even(scheme, gradient, setting, calibration()),
        break_even_density=float(break_even_density(ranks)) if scheme.name == "topk" else None,
        error_feedback=kind.error_feedback,
        variance_bound=result.variance,
        convergence=kind.convergence,
        source=kind.source,
    )


def _break_even(scheme: Scheme, gradient: Gradient, setting: Setting, constants: Calibration) -> float:
    """Return the bandwidth of a port up to which compression saves time [B/s]; 0 if it sends more."""
    ranks, gathers = setting.world_size, scheme.kind.collective == "all-gather"
    result = coded(scheme, gradient, ranks, setting.software_year)
    port_bytes = result.bytes * ((ranks - 1) if gathers else 2 * (ranks - 1) / ranks)
    coding = (coding_time(work, setting, constants) for work in (result.encode, result.decode))
    return float(
        break_even_bandwidth(ranks, setting.format.gradient_bytes * gradient.elements, port_bytes, *coding)
    )


def turn_words(setting: Setting, scheme: Scheme, constants: Calibration) -> str:
    """Return a note on the bandwidth of a port up to which compression saves time."""
    break_even = _break_even(scheme, gradient_of(setting.workload), setting, constants)
    if not break_even:
        return f"{scheme} never pays: {_moves_more(scheme.kind.collective, setting.world_size)}"
    return f"{scheme} pays below {show(break_even, 'B/s')} a port"


def _moves_more(collective: str, ranks: int) -> str:
    """Return the reason why compressed gradients are not smaller than an all-reduce."""
    if collective == "all-gather":
        return f"gathering from {ranks} ranks sends more than an all-reduce of everything"
    return "it sends no less than the uncompressed gradients"


def exchange_words(row: CompressedExchange, ranks: int, bandwidth: float) -> str:
    """Return a note whether compression saves time, and on its break-even bandwidth.

    Parameters
    ----------
    row : one compression scheme
    ranks : number of ranks
    bandwidth : of a port in the dense exchange [B/s]
    """
    if not row.break_even_bandwidth:
        return f"never pays: {_moves_more(row.collective, ranks)}"
    break_even = (
        f"pays below {show(row.break_even_bandwidth, 'B/s')} a port, which carries {show(bandwidth, 'B/s')}"
    )
    verdict = "saves" if row.saves > 0 else "costs"
    return f"{verdict} {show(abs(row.saves), 's')}; {break_even}"


def details(row: CompressedExchange) -> list[str]:
    """Return notes on a compression scheme: accuracy, error feedback, variance, density."""
    lines: list[str] = [f"published effect: {row.convergence}"]
    if row.error_feedback:
        lines.append("needs the compression error added to the next gradient")
    if row.variance_bound is not None:
        lines.append(f"variance up to {1 + row.variance_bound:.3g} times a gradient's squared norm")
    if row.break_even_density is not None:
        lines.append(f"moves less than an all-reduce below a density of {row.break_even_density:.2g}")
    return lines
