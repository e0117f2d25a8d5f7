"""Collectives on their own, as a campaign."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from perfmodel.accuracy.campaign import Campaign, Command, Outcome, Reading, answered, cells_of
from perfmodel.accuracy.collective_compare import compare_collectives, naive_time
from perfmodel.accuracy.collective_rows import COLUMNS, Measurement, measurement_of
from perfmodel.accuracy.measured_table import Line
from perfmodel.collectives.place import Point
from perfmodel.planning.launch import command_line
from perfmodel.prediction.collective import collective
from perfmodel.prediction.collective_fabric import fabric_of
from perfmodel.specs.store import Catalogue


class _Fact(NamedTuple):
    what: str
    column: str
    value: Callable[[Point], Any]
    """None where the case has no such thing."""
    rule: str
    """Why, where the row is silent."""


FACTS = (
    _Fact("collective", "collective", lambda point: point.collective, ""),
    _Fact("library", "library", lambda point: "NCCL or RCCL", "no other library is modelled"),
    _Fact("year of the library", "year", lambda point: point.year, "the usual year"),
    _Fact(
        "accelerator",
        "accelerator",
        lambda point: point.accelerator.id if point.accelerator else "any of the link's time",
        "none is stated",
    ),
    _Fact("ranks", "world_size", lambda point: point.group_size, ""),
    _Fact("nodes", "nodes", lambda point: point.machines or point.nodes, ""),
    _Fact(
        "link inside the node",
        "intra_link",
        lambda point: point.link.id,
        "one rank in each node: to its host",
    ),
    _Fact(
        "link between nodes",
        "inter_link",
        lambda point: point.inter_link.id if point.inter_link else None,
        "",
    ),
    _Fact(
        "adapters of a node",
        "nics_per_node",
        lambda point: f"{point.nics:g}" if point.nodes > 1 else None,
        "1",
    ),
    _Fact("bytes", "size_bytes", lambda point: f"{point.message_bytes:.0f}", ""),
)
PASSED_OVER = ("protocol", "dtype")
"""Columns that say how it ran and that the prediction does not take: it chooses for itself."""


def outcomes(measured: Sequence[Measurement], catalogue: Catalogue) -> list[Outcome]:
    """Predict collectives by the shipped fit."""
    return [
        Outcome(
            None if math.isnan(row.measurement.time) else row.measurement.time,
            row.predicted_time,
            row.low_80,
            row.high_80,
            row.measurement.reason,
        )
        for row in compare_collectives(measured)
    ]


def _readings(line: Line, measured: Measurement, catalogue: Catalogue) -> list[Reading]:
    point = measured.point
    if point is None:
        return []
    result = []
    for fact in FACTS:
        stated, value = cells_of(line, (fact.column,)), fact.value(point)
        if value is None and stated:
            value = "not used: one link joins all ranks"
        if value is not None:
            result.append(Reading(fact.what, stated, str(value), "" if stated else fact.rule))
    stated = cells_of(line, ("algorithm",))
    way = collective(point.collective, "ring" if point.by_ring else "auto", point, point.message_bytes).way
    taken = "as the row says" if point.by_ring else "as the library would choose"
    if stated and not point.by_ring:
        taken = f"{taken}; of what rows state a ring alone is followed"
    result.append(Reading("algorithm", stated, way, taken))
    passed_over = ((column, line.cells.get(column)) for column in PASSED_OVER)
    return [*result, *(Reading(column, cell, "not used") for column, cell in passed_over if cell)]


def _terms(measured: Measurement, catalogue: Catalogue) -> dict[str, float]:
    point = measured.point
    assert point is not None
    answer = collective(point.collective, "ring" if point.by_ring else "auto", point, point.message_bytes)
    return {"lower_bound": answer.lower_bound, "nominal_ring": naive_time(point)}


def _command(line: Line, measured: Measurement, catalogue: Catalogue) -> Command | None:
    point = measured.point
    assert point is not None
    where: dict[str, Any] = {
        "accelerator": point.accelerator.id if point.accelerator else None,
        "intra_link": point.link.id,
        "inter_link": point.inter_link.id if point.inter_link else None,
        "nodes": point.machines or point.nodes,
        "nics": int(line.cells["nics_per_node"]) if line.cells.get("nics_per_node") else None,
    }
    # an accelerator brings its usual machine, which may be smaller than the one that was measured
    asked = [_asked(point, each, catalogue) for each in (where, where | {"accelerator": None})]
    return next((each for each in asked if each.answer), asked[0])


def _asked(point: Point, where: dict[str, Any], catalogue: Catalogue) -> Command:
    size, algorithm = point.message_bytes, "ring" if point.by_ring else "auto"
    options = {
        "collective": point.collective,
        "algorithm": None if algorithm == "auto" else algorithm,
        "ranks": point.group_size,
        "size": f"{size:.0f}B",
        **where,
    }

    def ask() -> float:
        fabric = fabric_of(point.group_size, catalogue, **where)
        return collective(point.collective, algorithm, fabric, size).time

    return answered(command_line("collective", options), ask)


CAMPAIGN = Campaign[Measurement](
    kind="collectives",
    table="collectives.csv",
    id_column="measurement_id",
    columns=COLUMNS,
    measures="time",
    unit="s",
    is_learned_from=True,
    read=measurement_of,
    predict=outcomes,
    readings=_readings,
    terms=_terms,
    command=_command,
)
