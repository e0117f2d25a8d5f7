"""Whether compressing gradients pays: bytes, coding, the collective that is left, break-even bandwidth."""

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
    """One way to compress, beside an all-reduce of the whole gradient."""

    scheme: str
    """Its name, with its setting."""
    collective: str
    """What is left: an all-reduce where compressed values can be added, else an all-gather."""
    sent_bytes: float
    """Contributed by one rank [B]."""
    ratio: float
    """Of the gradient in fp32 over that."""
    encode_time: float
    """On the accelerator [s]."""
    communication_time: float
    decode_time: float
    """On the accelerator, of all that arrives [s]."""
    time: float
    """Of all three: coding hides behind nothing [s]."""
    low_80: float
    """Lower end of the 80 % interval, which is that of the collectives alone [s]."""
    high_80: float
    """By the interval of the collectives alone [s]."""
    saves: float
    """Of the dense exchange's time [s]; negative where it takes longer."""
    break_even_bandwidth: float
    """Of a ring's port, below which it pays [B/s]; 0 where it moves more than the dense exchange."""
    break_even_density: float | None
    """Density below which gathering moves less than an all-reduce; None but for the largest elements."""
    error_feedback: bool
    """Whether what is not sent is added to the next gradient."""
    variance_bound: float | None
    """Of what rounding adds, over the squared norm of the gradient; None where no bound is known."""
    convergence: str
    """Published effect on accuracy."""
    source: str
    """Key of ``references.toml``."""


@dataclass(frozen=True, repr=False)
class CompressedExchanges(Rows):
    """Several ways to compress the gradients of one job."""

    workload: str | None
    """None where the gradient's size was given."""
    accelerator: str
    """What each rank is."""
    group_size: int
    nodes: int
    gradient_bytes: float
    """In fp32 [B]."""
    dense_time: float
    """Of an all-reduce of them, hidden behind nothing [s]."""
    dense_low_80: float
    """Lower end of its 80 % interval [s]."""
    dense_high_80: float
    """Upper end of its 80 % interval [s]."""
    dense_bandwidth: float
    """What its busiest port carries, as a ring's [B/s]."""
    rows: tuple[CompressedExchange, ...]
    assumed: tuple[str, ...]
    """What nobody published or measured, and the answer takes all the same."""
    notes: tuple[str, ...]
    """What limits the answer."""

    @property
    def headline(self) -> str:
        """What is exchanged, and how long it takes without compression."""
        where = f"{self.nodes} nodes" if self.nodes > 1 else "one node"
        ranks = f"{self.group_size} x {self.accelerator} on {where}"
        dense = f"{show(self.dense_time, 's')} by all-reduce in fp32"
        return f"{show(self.gradient_bytes, 'B')} of gradients, {ranks}: {dense}"

    def __repr__(self) -> str:
        rows = [
            (row.scheme, row.collective, show(row.sent_bytes, "B"), show(row.time, "s"), f"{row.ratio:.1f}")
            for row in self.rows
        ]
        return aligned(self.headline, ("scheme", "collective", "sent", "time", "smaller"), rows, left=2)


def compressed_exchanges(
    schemes: Sequence[Scheme], asked: Scenario, catalogue: Catalogue, gradient_bytes: float | None = None
) -> CompressedExchanges:
    """Return each way to compress the gradients of a job, beside exchanging them whole.

    Parameters
    ----------
    schemes : to try
    asked : the job: network, accelerators, machines and links
    catalogue : hardware to look in
    gradient_bytes : of a gradient in place of the network's [B], taken as one square matrix

    Raises
    ------
    InputError : an unknown name, or options that do not go together
    """
    setting = resolve(asked, catalogue)
    fabric = _fabric(setting, asked, catalogue)
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


def _fabric(setting: Setting, asked: Scenario, catalogue: Catalogue) -> Point:
    return fabric_of(
        setting.world_size,
        catalogue,
        accelerator=setting.accelerator.id,
        node=asked.node,
        intra_link=asked.intra_link,
        inter_link=asked.inter_link or (setting.inter_link.id if setting.nodes > 1 else None),
        nodes=setting.nodes,
        nics=asked.nics,
        rack_nodes=asked.rack_nodes,
        oversubscription=asked.oversubscription if asked.rack_nodes else None,
        placement=asked.placement if asked.rack_nodes else None,
    )


class _Sent(NamedTuple):
    """One collective: its time as in a training step, between what measured ones lie between [s]."""

    time: float
    low: float
    high: float


def _sent(name: str, setting: Setting, fabric: Point, message_bytes: float) -> _Sent:
    """Return how long a collective takes in a step of a setting.

    Parameters
    ----------
    name : all-reduce or all-gather
    setting : whose step it is
    fabric : the same ranks, of whose measured collectives the interval is
    message_bytes : of all ranks together for an all-gather [B]
    """
    on, sizes = step_fabric(setting, calibration()), np.array([message_bytes])
    times = message_times(setting, sizes, on) if name == "all-reduce" else gathered_time(setting, sizes, on)
    time = float(times[0])
    measured = collective(name, "auto", fabric, message_bytes)
    if measured.interval is None or not measured.time:
        return _Sent(time, time, time)
    ends = (measured.interval.low_80 / measured.time, measured.interval.high_80 / measured.time)
    return _Sent(time, time * ends[0], time * ends[1])


def _exchange(
    scheme: Scheme, gradient: Gradient, setting: Setting, fabric: Point, dense: _Sent
) -> CompressedExchange:
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
        break_even_bandwidth=_turn(scheme, gradient, setting, calibration()),
        break_even_density=float(break_even_density(ranks)) if scheme.name == "topk" else None,
        error_feedback=kind.error_feedback,
        variance_bound=result.variance,
        convergence=kind.convergence,
        source=kind.source,
    )


def _turn(scheme: Scheme, gradient: Gradient, setting: Setting, constants: Calibration) -> float:
    """Bandwidth of a port up to which compressing pays [B/s]; 0 where it moves more."""
    ranks, gathers = setting.world_size, scheme.kind.collective == "all-gather"
    result = coded(scheme, gradient, ranks, setting.software_year)
    port_bytes = result.bytes * ((ranks - 1) if gathers else 2 * (ranks - 1) / ranks)
    coding = (coding_time(work, setting, constants) for work in (result.encode, result.decode))
    return float(
        break_even_bandwidth(ranks, setting.format.gradient_bytes * gradient.elements, port_bytes, *coding)
    )


def turn_words(setting: Setting, scheme: Scheme, constants: Calibration) -> str:
    """Say up to which bandwidth of a port compressing the gradients of a job pays."""
    turn = _turn(scheme, gradient_of(setting.workload), setting, constants)
    if not turn:
        return f"{scheme} never pays: {_moves_more(scheme.kind.collective, setting.world_size)}"
    return f"{scheme} pays below {show(turn, 'B/s')} a port"


def _moves_more(collective: str, ranks: int) -> str:
    if collective == "all-gather":
        return f"gathering {ranks} ranks' moves more than an all-reduce of everything"
    return "it moves no less than the gradients as they are"


def exchange_words(row: CompressedExchange, ranks: int, bandwidth: float) -> str:
    """Say whether a way to compress pays, and where the turn is.

    Parameters
    ----------
    row : one way
    ranks : that exchange
    bandwidth : what a port carries of the dense exchange [B/s]
    """
    if not row.break_even_bandwidth:
        return f"never pays: {_moves_more(row.collective, ranks)}"
    turn = (
        f"pays below {show(row.break_even_bandwidth, 'B/s')} a port, which carries {show(bandwidth, 'B/s')}"
    )
    verdict = "saves" if row.saves > 0 else "costs"
    return f"{verdict} {show(abs(row.saves), 's')}; {turn}"


def details(row: CompressedExchange) -> list[str]:
    """Return what else is to be said of a way to compress."""
    lines: list[str] = [f"published effect: {row.convergence}"]
    if row.error_feedback:
        lines.append("needs what was left out added to the next gradient")
    if row.variance_bound is not None:
        lines.append(f"variance up to {1 + row.variance_bound:.3g} times a gradient's squared norm")
    if row.break_even_density is not None:
        lines.append(f"moves less than an all-reduce below a density of {row.break_even_density:.2g}")
    return lines
