"""Crossovers: where one strategy overtakes another, a link stops being the bottleneck, or memory is full."""

from __future__ import annotations

from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from perfmodel.core.errors import InputError
from perfmodel.core.units import per_cent, plural, three_digits
from perfmodel.decide.sweeps import sweep
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.machine_words import link_words
from perfmodel.model.fitted.calibration import Calibration
from perfmodel.model.prediction.limits import crossed_link
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.step.terms import COMMUNICATION, COPIES, TERMS, names_of

WORKERS = tuple(range(2, 65))
"""Numbers of workers at which strategies are compared."""
MOST_BATCHES = 4096
"""Largest batch that is tried."""
LEAST_EFFICIENCY = (0.9, 0.5)
"""Scaling efficiencies whose crossing is reported."""
NEAR = 8
"""Largest factor between a job's own value of an option and a change that is reported."""
ADDED = tuple(name for name in names_of(*COPIES) if TERMS[name].bound == COMMUNICATION)
"""Terms of a data-parallel job that are due to communication."""


class Crossover(NamedTuple):
    """A crossover along an option."""

    words: str
    axis: str
    """Name of the varied option."""
    at: int | None
    """First value after the crossover; None if there is none."""
    faster_now: bool = False
    """Whether it says which other strategy is faster for the job as it is."""


def crossovers(setting: Setting, catalogue: Catalogue, constants: Calibration) -> list[Crossover]:
    """Return the crossovers along the number of accelerators and along the batch, other options unchanged.

    Only changes near the job: within a factor of ``NEAR`` of its own accelerators or batch.

    Parameters
    ----------
    setting : starting point
    catalogue, constants : as for ``predict``
    """
    if setting.measured_loss:
        return []  # how that loss changes with the number of accelerators is not known
    options = {name: getattr(setting.scenario, name) for name in setting.scenario.model_fields_set}
    options["accelerator"] = setting.accelerator.id
    if setting.scenario.node or setting.accelerator.usual_node:  # else nobody knows what joins several
        options["node"] = setting.node.id
    return [
        *_strategies(setting, options, catalogue, constants),
        *_compression(setting, constants),
        *_network(setting, options, catalogue, constants),
        *_batches(setting, options, catalogue, constants),
    ]


def _strategies(
    setting: Setting, fixed: dict[str, Any], catalogue: Catalogue, constants: Calibration
) -> list[Crossover]:
    """Return where a ring overtakes synchronous parameter servers, along the number of workers."""
    in_step = setting.updates is None and setting.strategy in ("all-reduce", "parameter-server")
    if not in_step or _is_fixed(setting):
        return []
    servers = setting.servers or 1
    dropped = ("strategy", "servers", "overlap", "algorithm", "global_batch_size", "world_size")
    options = {name: value for name, value in fixed.items() if name not in dropped}
    options["local_batch_size"] = int(setting.local_batch_size)
    columns = ["world_size", "iteration_time"]
    times = [
        _swept(catalogue, constants, columns, world_size=WORKERS, **plan, **options)
        for plan in ({"strategy": "all-reduce"}, {"strategy": "parameter-server", "servers": servers})
    ]
    if not all(times):
        return []
    ring, served = ({int(n): float(t) for n, t in zip(*(of[k] for k in of), strict=True)} for of in times)
    both = [n for n in WORKERS if n in ring and n in served]
    one = "one parameter server" if servers == 1 else f"{servers} parameter servers"
    leads = {n: _lead(served[n], ring[n]) for n in both}
    stretches = [list(some) for _, some in groupby(both, key=lambda n: _sign(leads[n]))]
    if len(stretches) < 2:
        return []  # the same one is ahead everywhere, or something else takes all the time
    own = setting.world_size
    by_ring = setting.strategy == "all-reduce"
    near = [
        {n: leads[n] for n in some}
        for some in stretches
        if own in some or _is_near(some[0], own) or _is_near(some[-1], own)
    ]
    lines = [
        Crossover(
            _stretch_words(one, some, own, both[-1] in some, by_ring),
            "world_size",
            min(some),
            _other_leads(some, own, by_ring),
        )
        for some in near
    ]
    return lines if len(lines) <= MOST_CROSSOVERS else [*lines[:MOST_CROSSOVERS], _NO_END]


def _stretch_words(
    servers: str, leads: dict[int, float], own: int, is_last: bool, by_ring: bool = True
) -> str:
    """Return how all-reduce compares over a stretch of numbers of workers, and whether the job's is there.

    Parameters
    ----------
    servers : name of the parameter servers
    leads : number of workers -> lead of all-reduce, all of one sign
    own : the job's number of workers
    is_last : whether no more workers were tried
    by_ring : whether the job takes all-reduce, not the servers

    Examples
    --------
    >>> _stretch_words("2 parameter servers", {2: -0.012, 3: -0.02}, 3, False, False)
    "all-reduce is slower than 2 parameter servers by 1.2 to 2 % with 2 to 3 workers, this job's 3 among them"

    Where the strategy that the job does not take is faster for it, that comes first.

    >>> _stretch_words("2 parameter servers", {2: -0.012, 3: -0.02}, 3, False)
    'for this job 2 parameter servers are 2 % faster than all-reduce; 1.2 to 2 % with 2 to 3 workers'
    """
    first, *_, last = [*leads, *leads]
    workers = f"{first} to {last} workers" if last != first else f"{first} workers"
    most = ", the most tried" if is_last else ""
    here = f", this job's {own} among them" if own in leads and last != first else ""
    compared = _AHEAD[_sign(leads[first])].format(servers)
    shares = sorted(leads.values(), key=abs)
    ends = " to ".join(dict.fromkeys(map(_two_digits, (shares[0], shares[-1]))))
    if _other_leads(leads, own, by_ring):
        are = "is" if servers.startswith("one ") else "are"
        ahead = (
            f"{servers} {are} {{}} faster than all-reduce"
            if by_ring
            else f"all-reduce is {{}} faster than {servers}"
        )
        stretch = f"; {ends} % with {workers}{most}" if len(leads) > 1 else ""
        return f"for this job {ahead.format(f'{_two_digits(leads[own])} %')}{stretch}"
    amount = f" by {ends} %" if any(leads.values()) else ""
    return f"{compared}{amount} with {workers}{most}{here}"


def _other_leads(leads: dict[int, float], own: int, by_ring: bool) -> bool:
    """Return whether the strategy that the job does not take is faster for it; as of ``_stretch_words``."""
    lead = leads.get(own, 0.0)
    return (-lead if by_ring else lead) > 0


def _two_digits(lead: float) -> str:
    """Return the size of a lead in percent, without the unit."""
    return three_digits(float(f"{100 * abs(lead):.2g}"))


def _compression(setting: Setting, constants: Calibration) -> list[Crossover]:
    """Return the bandwidth of a port below which compressing gradients pays."""
    if setting.compression is None or setting.world_size == 1:
        return []
    from perfmodel.model.prediction.training.compressed_exchange import turn_words

    return [Crossover(turn_words(setting, setting.compression, constants), "compression", None)]


_AHEAD = {
    1: "all-reduce is faster than {}",
    -1: "all-reduce is slower than {}",
    0: "all-reduce is as fast as {}",
}
MOST_CROSSOVERS = 6
_NO_END = Crossover("and so on: they are close", "world_size", None)


def _lead(other: float, own: float) -> float:
    """Return by what share the job with the time ``own`` is faster; 0 where they agree to a millionth."""
    difference = other / own - 1
    return 0.0 if abs(difference) < 1e-6 else difference


def _sign(lead: float) -> int:
    """Return 1, -1 or 0: who leads."""
    return (lead > 0) - (lead < 0)


def _swept(
    catalogue: Catalogue, constants: Calibration, columns: list[str], **options: Any
) -> dict[str, Any]:
    """Return the table of a sweep; empty where none of its scenarios can be predicted."""
    try:
        return dict(sweep(catalogue=catalogue, constants=constants, columns=columns, **options).table())
    except InputError:
        return {}


def _is_fixed(setting: Setting) -> bool:
    """Return whether the options hold for one number of accelerators only."""
    return setting.profile is not None


def _network(
    setting: Setting, fixed: dict[str, Any], catalogue: Catalogue, constants: Calibration
) -> list[Crossover]:
    """Return where the scaling efficiency falls below each of ``LEAST_EFFICIENCY``."""
    if setting.world_size == 1 or setting.strategy in (
        "data-parallel-single-process",
        "parameter-server-local",
    ):
        return []
    options = {
        name: value for name, value in fixed.items() if name not in ("global_batch_size", "world_size")
    }
    options["local_batch_size"] = int(setting.local_batch_size)
    counts = tuple(2**k for k in range(15))
    result = _swept(catalogue, constants, ["world_size", "scaling_efficiency"], world_size=counts, **options)
    lines: list[Crossover] = []
    rows = list(zip(*(each.tolist() for each in result.values()), strict=True))
    for least in LEAST_EFFICIENCY:
        below = next((i for i, (_, efficiency) in enumerate(rows) if efficiency < least), 0)
        if below and _is_near(rows[below][0], setting.world_size):
            last, first = rows[below - 1][0], rows[below][0]
            between = f"between {last:,} and {first:,} accelerators"
            words = f"weak scaling falls below {per_cent(least, 0)} of linear {between}"
            lines.append(Crossover(words, "world_size", first))
    return lines


def _batches(
    setting: Setting, fixed: dict[str, Any], catalogue: Catalogue, constants: Calibration
) -> list[Crossover]:
    """Return the batches above which communication no longer limits, and at which memory is full."""
    if setting.scenario.anchor is not None or setting.profile is not None:
        return []  # a measurement holds for the batch it was made with
    options = {n: v for n, v in fixed.items() if n not in ("global_batch_size", "local_batch_size")}
    columns = ["local_batch_size", "iteration_time", "forward_time", "backward_time"]
    columns += [*ADDED, "fits", "largest_local_batch_size"]
    first = _swept(catalogue, constants, columns, local_batch_size=[1], **options)
    if not first:
        return []
    largest = int(first["largest_local_batch_size"][0])
    if largest < 1:
        return [Crossover("not even a batch of 1 fits", "local_batch_size", None)]
    lines = []
    if setting.world_size > 1 or setting.servers:
        most = min(largest, MOST_BATCHES)
        batches = tuple(range(1, most + 1))
        result = _swept(catalogue, constants, columns, local_batch_size=batches, **options)
        lines += _free_of_the_network(setting, result)
    own = int(setting.local_batch_size)
    if own > largest or _is_near(largest, own):
        unit = f"{plural(setting.workload.sample, largest)} per GPU"
        lines.append(
            Crossover(f"more than {largest:,} {unit} do not fit into memory", "local_batch_size", largest + 1)
        )
    return lines


def _free_of_the_network(setting: Setting, result: dict[str, Any]) -> list[Crossover]:
    """Return the batches above which communication no longer limits, or is under 5 % of a step."""
    link = crossed_link(setting)
    exposed = np.sum([result[name] for name in ADDED], axis=0)
    busy = np.asarray(result["forward_time"]) + np.asarray(result["backward_time"])
    batches = np.asarray(result["local_batch_size"])
    lines = []
    unit = f"{plural(setting.workload.sample, 2)} per GPU"
    for is_free, words in (
        (exposed <= busy, f"{link_words(link)} stops being the bottleneck at"),
        (
            exposed <= 0.05 * np.asarray(result["iteration_time"]),
            "communication takes under 5 % of an iteration from",
        ),
    ):
        bound = np.flatnonzero(~is_free)
        if len(bound) and bound[-1] + 1 < len(batches):
            at = int(batches[bound[-1] + 1])
            if _is_near(at, int(setting.local_batch_size)):
                lines.append(Crossover(f"{words} {at:,} {unit}", "local_batch_size", at))
    return lines


def _is_near(value: int, own: int) -> bool:
    """Return whether a value is within a factor of ``NEAR`` of the job's own."""
    return own <= NEAR * value and value <= NEAR * own
