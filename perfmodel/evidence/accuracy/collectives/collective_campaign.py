"""The campaign of stand-alone collectives: how each measured row was read and predicted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from perfmodel.core.command_line import command_line
from perfmodel.evidence.accuracy.campaign import Campaign, Command, Details, run_command
from perfmodel.evidence.accuracy.collectives.collective_compare import Row, compare_collectives
from perfmodel.evidence.accuracy.collectives.collective_rows import COLUMNS, Measurement, measurement_of
from perfmodel.evidence.accuracy.measured_table import Line
from perfmodel.evidence.accuracy.readings import Reading, cells_of, read_facts
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.collectives.place import Point
from perfmodel.model.prediction.collectives.collective import collective
from perfmodel.model.prediction.collectives.collective_fabric import fabric_of

WORDS: dict[str, Callable[[Point], Any]] = {
    "library": lambda point: "NCCL or RCCL",
    "accelerator": lambda point: point.accelerator.id if point.accelerator else "any of the link's time",
    "nodes": lambda point: point.machines or point.nodes,
}
"""Facts of ``readings.csv`` that are not attributes of a point, and how each is computed from one."""
UNUSED_COLUMNS = ("protocol", "dtype")
"""Columns on how the collective ran that the prediction does not use: it chooses for itself."""


def _details(line: Line, measured: Measurement, outcome: Row, catalogue: Catalogue) -> Details:
    point = measured.point
    if point is None:
        return Details()
    readings = read_facts("collectives", line, point, WORDS, "not used: one link joins all ranks")
    stated = cells_of(line, ("algorithm",))
    answer = collective(point.collective, "ring" if point.by_ring else "auto", point, point.message_bytes)
    taken = "as the row says" if point.by_ring else "as the library would choose"
    if stated and not point.by_ring:
        taken = f"{taken}; of what rows state a ring alone is followed"
    readings.append(Reading("algorithm", stated, answer.way, taken))
    readings += [
        Reading(column, cell, "not used") for column in UNUSED_COLUMNS if (cell := line.text(column))
    ]
    fabric: dict[str, Any] = {
        "accelerator": point.accelerator.id if point.accelerator else None,
        "intra_link": point.link.id,
        "inter_link": point.inter_link.id if point.inter_link else None,
        "nodes": point.machines or point.nodes,
        "nics": int(nics) if (nics := line.text("nics_per_node")) else None,
    }
    # an accelerator brings its usual machine, which may be smaller than the one that was measured
    commands = [_command(point, each, catalogue) for each in (fabric, fabric | {"accelerator": None})]
    command = next((each for each in commands if each.answer), commands[0])
    return Details(
        readings, {"lower_bound": answer.lower_bound, "nominal_ring": outcome.naive or 0.0}, command
    )


def _command(point: Point, fabric: dict[str, Any], catalogue: Catalogue) -> Command:
    """Return the command ``perfmodel collective`` that comes nearest to a measured point, and its answer.

    Parameters
    ----------
    point : collective, group and message size
    fabric : options of the command that describe links, nodes and NICs
    catalogue : hardware
    """
    size, algorithm = point.message_bytes, "ring" if point.by_ring else "auto"
    options = {
        "collective": point.collective,
        "algorithm": None if algorithm == "auto" else algorithm,
        "ranks": point.group_size,
        "size": f"{size:.0f}B",
        **fabric,
    }

    def time() -> float:
        joined = fabric_of(point.group_size, catalogue, **fabric)
        return collective(point.collective, algorithm, joined, size).time

    return run_command(command_line("collective", options), time)


CAMPAIGN = Campaign[Measurement](
    kind="collectives",
    table="collectives.csv",
    id_column="measurement_id",
    columns=COLUMNS,
    measures="time",
    unit="s",
    is_learned_from=True,
    read=measurement_of,
    predict=lambda measured, catalogue: compare_collectives(measured),
    details=_details,
)
