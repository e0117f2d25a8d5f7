"""The inputs of a prediction, and the numbers of ``perfmodel.model.setting.leaves`` that each multiplies.

``inputs.csv`` lists them.  The first numbers add up to the input's value, the others change with them;
``{accelerator}`` and the like are replaced by the id of a setting's, and a star matches the rest of a name.
Inputs of the inner model are constants, used for dimensional analysis only.  A number that a term of the
iteration contains directly is an input under its own name.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from perfmodel.core.vocabulary import QUANTITIES
from perfmodel.decide.sensitivity.case import Case, Names
from perfmodel.hardware.link import Link
from perfmodel.model.setting.leaves import OF_TERMS
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.setting.sharing import has_layouts
from perfmodel.model.step.communication import uses_library
from perfmodel.model.step.fabric import crosses_network
from perfmodel.model.step.input_wait import SAMPLE_ELEMENT_BYTES, decode_rate
from perfmodel.model.step.inside import crosses_sockets

LINKS = ("intra_link", "inter_link", "host_link", "socket_link", "server_link")
SPECS = ("accelerator", "node", "server_node", "workload", *LINKS)
DIMENSIONS: dict[str, dict[str, int]] = {
    "s": {"s": 1},
    "B": {"B": 1},
    "FLOP": {"FLOP": 1},
    "B/s": {"B": 1, "s": -1},
    "FLOP/s": {"FLOP": 1, "s": -1},
    "FLOP/J": {"FLOP": 1, "J": -1},
    "W": {"J": 1, "s": -1},
    "1/s": {"s": -1},
    "samples/s": {"s": -1},
}
"""Exponents of the base units s, B, FLOP and J in each unit; pure numbers have none."""
ORDINARY_UNITS = ("fp32", "fp16-vector")
"""Formats of ordinary arithmetic units, whose peak is that of all other work too."""


class Input(NamedTuple):
    """An input: a row of ``inputs.csv``."""

    name: str
    unit: str
    model: str
    """Model that has it: ``data-parallel``, ``layer-table`` (networks given as a table of layers),
    ``transformer``, ``any`` or ``inner``."""
    lever: str
    """Who may change it: ``hardware`` is bought, ``job`` is set, ``software`` is improved; else empty."""
    numbers: str
    others: str
    meaning: str

    @property
    def dimension(self) -> dict[str, int]:
        """Exponents of the base units; empty for a pure number."""
        return DIMENSIONS.get(self.unit, {})

    def names(self, setting: Setting) -> Names:
        """Return the names of the numbers that a factor on this input multiplies."""
        return _names(f"{self.numbers} {self.others}", setting)

    def scaled(self, case: Case, factor: float) -> Case:
        """Return a case with this input multiplied by a factor."""
        return case._replace(factors=(*case.factors, (self.names(case.setting), factor)))

    def value(self, setting: Setting, *numbers: Mapping[str, Any]) -> float:
        """Return the value of this input, from the first of several tables of numbers that has it."""
        if self.name in VALUES:
            return float(VALUES[self.name](setting))
        names = _names(self.numbers, setting)
        sums = ([value for name, value in table.items() if name in names] for table in numbers)
        return float(sum(map(np.sum, next(filter(None, sums)))))


def _names(patterns: str, setting: Setting) -> Names:
    """Return patterns of numbers with the ids of a setting's hardware filled in."""
    ids = {place: spec.id for place in SPECS if (spec := getattr(setting, place)) is not None}
    of_format = f"{setting.accelerator.id}.peak_flops."
    peak = of_format + setting.peak_format
    ordinary = peak if has_vector_peak(setting) else of_format + "fp32"
    ids |= {"peak": peak, "ordinary": ordinary, "storage": setting.storage, "precision": setting.precision}
    return Names(patterns.format_map({"socket_link": "-", **ids}).split())


with Path(__file__).with_suffix(".csv").open(encoding="utf-8", newline="") as file:
    INPUTS = [Input(**row) for row in csv.DictReader(file)]


def used_links(setting: Setting) -> dict[str, Link]:
    """Return the links that the job uses, by place; of two places with the same link only one."""
    result: dict[str, Link] = {}
    if setting.world_size > 1 and setting.strategy != "parameter-server-local":
        result["intra_link"] = setting.intra_link
    if crosses_network(setting):
        result["inter_link"] = setting.inter_link
    is_fed = setting.scenario.input == "real" or setting.strategy == "parameter-server-local"
    by_host = is_fed or setting.intra_link.kind in ("pcie", "nvlink")
    if by_host and setting.host_link.id not in [link.id for link in result.values()]:
        result["host_link"] = setting.host_link
    if setting.world_size > 1 and setting.socket_link is not None and crosses_sockets(setting):
        result["socket_link"] = setting.socket_link
    if setting.strategy == "parameter-server" and setting.server_link.id not in [
        link.id for link in result.values()
    ]:
        result["server_link"] = setting.server_link
    return result


def has_vector_peak(setting: Setting) -> bool:
    """Return whether work outside the matrix units has a peak of its own."""
    return setting.peak_format not in ORDINARY_UNITS and "fp32" in setting.accelerator.peak_flops


def _latency(place: str) -> Callable[[Setting], float]:
    """Return a function from a setting to the latency of its link at a place [s]."""

    def value(setting: Setting) -> float:
        link = getattr(setting, place)
        bulk = None if uses_library(setting) else link.bulk_hop_latency
        return float((bulk or link.hop_latency).value)

    return value


def _several(case: Case) -> bool:
    """Return whether a case has several accelerators."""
    return bool(case.setting.world_size > 1)


def _reads(case: Case) -> bool:
    """Return whether a case reads real samples."""
    return case.setting.scenario.input == "real"


def _is_staged(case: Case) -> bool:
    """Return whether accelerators exchange through host memory."""
    setting = case.setting
    return _several(case) and not setting.accelerator.peer_access and setting.intra_link.kind == "pcie"


def _crosses(place: str) -> Callable[[Case], bool]:
    """Return a function that tells whether a case uses the link at a place."""
    return lambda case: place in used_links(case.setting)


OF_LINKS = {
    f"{place}_{what}": place for place in LINKS for what in ("bandwidth", "hop_latency", "flow_bandwidth")
}
VALUES: dict[str, Callable[[Setting], float]] = {
    "peak_flops": lambda setting: setting.peak_flops,
    "product_inefficiency": lambda _: 1.0,
    "traffic_inefficiency": lambda _: 1.0,
    "sample_bytes": lambda setting: setting.workload.input_elements * SAMPLE_ELEMENT_BYTES,
    **{f"{place}_hop_latency": _latency(place) for place in LINKS},
}
"""Functions of a setting for values that are not a sum of numbers."""
IDLE = ("tdp", "node_network_bandwidth", "staged_fraction", "price", *OF_LINKS)
"""Inputs that are listed even without effect; others only where time or cost depends on them."""
MEASURED_LOSS = "measured_loss_time"
"""A term's own number that nobody may change."""
WHEN: dict[str, Callable[[Case], bool]] = {
    "vector_peak_flops": lambda case: has_vector_peak(case.setting),
    "node_network_bandwidth": _several,
    "local_batch_size": lambda case: not case.setting.scenario.anchor,
    "tcp_ceiling": lambda case: any(link.passes_kernel for link in used_links(case.setting).values()),
    "staged_fraction": _is_staged,
    "contention": lambda case: _several(case) and case.setting.strategy == "all-reduce",
    "jitter": _several,
    "sample_bytes": lambda case: _several(case) or _reads(case),
    "decode_rate": lambda case: math.isfinite(decode_rate(case.setting, case.constants)),
    **{name: _crosses(place) for name, place in OF_LINKS.items()},
}
"""Conditions on a case for an input to be listed."""


def inputs_of(
    case: Case, numbers: Mapping[str, Any], acting: Mapping[str, Any], inner: bool = False
) -> Iterator[tuple[Input, float]]:
    """Yield the inputs of a case with their values; with ``inner`` the model's own constants too.

    Parameters
    ----------
    case : whose inputs are listed
    numbers : all numbers, by their names in ``perfmodel.model.setting.leaves``
    acting : those on which its time or its cost depends
    """
    setting = case.setting
    models = {"any", "data-parallel" if setting.layout is None else "transformer", *(("inner",) * inner)}
    if not has_layouts(setting.workload):
        models.add("layer-table")
    for each in INPUTS:
        names = each.names(setting)
        own = any(name in names for name in acting)
        is_listed = own or (each.name in IDLE and any(name in names for name in numbers))
        if each.model in models and is_listed and (each.name not in WHEN or WHEN[each.name](case)):
            yield each, each.value(setting, acting, numbers)
    for name, value in acting.items():
        if name.startswith(OF_TERMS):
            word = name.removeprefix(OF_TERMS)
            lever = "" if word == MEASURED_LOSS else "software"
            yield (
                Input(word, QUANTITIES[word].unit, "any", lever, name, "", QUANTITIES[word].meaning),
                float(value),
            )
