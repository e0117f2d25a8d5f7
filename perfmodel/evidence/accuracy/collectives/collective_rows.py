"""Read measured collectives from a CSV file; a row that cannot be predicted states the reason."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from perfmodel.core.errors import InputError
from perfmodel.core.records.names import word_of
from perfmodel.evidence.accuracy.ledger.held_out import learned_part
from perfmodel.evidence.accuracy.measured_table import UNSTATED_TRUST, Line, measured_lines, number, whole
from perfmodel.evidence.accuracy.scenarios import Refused, named
from perfmodel.evidence.traces.nccl_tests import COLLECTIVES
from perfmodel.hardware.accelerator import Accelerator
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.placement import adapters_used
from perfmodel.model.collectives.place import USUAL_YEAR, Point, check_mesh

COLUMNS = (
    "measurement_id",
    "source",
    "collective",
    "intra_link",
    "size_bytes",
    "time",
    "world_size",
    "nodes",
)


LIBRARIES = ("NCCL", "RCCL")
"""Libraries that the model describes; the name of a row's library contains one of them."""
_count = whole(1_000_000)
FIRST_YEAR, LAST_YEAR = 2015, 2100
"""Years that a row may state: NCCL's first release, and a bound."""


class Measurement(NamedTuple):
    """One measured collective."""

    run_id: str
    source: str
    accelerator: str
    time: float
    """Measured time [s]; not a number if the row does not state it."""
    point: Point | None
    reason: str | None
    """Why the row cannot be predicted; None if it can."""
    trust: str = UNSTATED_TRUST
    """Trust class: fits learn from A and B; a row of C may come from another machine than it states."""


def read_measurements(path: Path, catalogue: Catalogue, before: str | None = None) -> list[Measurement]:
    """Return the measured collectives of a CSV file; rows that cannot be predicted stay in, with the reason.

    Parameters
    ----------
    path : CSV file with at least the columns of ``COLUMNS``
    catalogue : hardware
    before : id of the measurement to stop before; None reads the file to its end

    Raises
    ------
    InputError : a file that cannot be read, a missing column, a cell that is not a positive number
    """
    return [measurement_of(line, catalogue) for line in measured_lines(path, COLUMNS, before)]


def measurement_of(line: Line, catalogue: Catalogue) -> Measurement:
    """Return the measurement of a row.

    Raises
    ------
    InputError : a cell that does not fit its column
    """
    point, reason = None, None
    try:
        point = _point(line, catalogue)
        time = _stated(line, "time")
    except Refused as error:
        point, reason = None, str(error)
        time = line.read("time", number()) or math.nan
    return Measurement(
        line.id("measurement_id"),
        line.source,
        line.text("accelerator"),
        time,
        point,
        reason,
        line.trust,
    )


def _point(line: Line, catalogue: Catalogue) -> Point:
    """Return the collective, fabric and message size that a row timed.

    Raises
    ------
    Refused : the model has no such collective, or the row states too little
    """
    row, typed, library = line.cells, line.text("collective"), line.text("library")
    collective = word_of(typed, COLLECTIVES, {name: key for key, name in COLLECTIVES.items()})
    if collective not in COLLECTIVES:
        raise Refused("unknown collective", collective) if collective else Refused("no collective")
    if library and not any(name in library for name in LIBRARIES):
        raise Refused("another library", library)
    size = _stated(line, "size_bytes")
    ranks, nodes = (int(_stated(line, column, _count)) for column in ("world_size", "nodes"))
    if ranks == 1:
        raise Refused("one rank")
    if ranks % nodes:
        raise Refused("ranks not spread evenly", f"{ranks} on {nodes} nodes")
    chip = _accelerator(row, catalogue)
    inside = row["intra_link"] or _link_to_nic(chip, ranks // nodes)
    link = catalogue.link(named("links", inside, catalogue))
    nics = line.read("nics_per_node", _count) or _usual_nics(chip, ranks // nodes, catalogue)
    groups = link.domains(nodes, ranks // nodes)
    adapters = nics * (nodes // groups)
    between = line.text("inter_link") if groups > 1 else ""
    if groups > 1 and not between:
        raise Refused("no link between nodes")
    point = Point(
        ranks,
        groups,
        link,
        catalogue.link(named("links", between, catalogue)) if between else None,
        adapters,
        chip,
        catalogue.link(chip.host_link) if chip is not None else None,
        COLLECTIVES[collective],
        size,
        _year(line),
        row.get("algorithm") == "ring",
        nodes,
    )
    try:
        check_mesh(point.link, ranks // nodes)
    except InputError as error:
        raise Refused("more ranks than the mesh joins", error.note()) from None
    return point


def _usual_nics(chip: Accelerator | None, held: int, catalogue: Catalogue) -> int:
    """Return the adapters that ``held`` accelerators of their usual machine use; by default 1."""
    usual = chip.usual_node if chip is not None else None
    return 1 if usual is None else adapters_used(catalogue.node(usual), held)


def _year(line: Line) -> int:
    year = line.read("year", _count) or USUAL_YEAR
    if not FIRST_YEAR <= year <= LAST_YEAR:
        raise Refused("no such year", str(year))
    return year


def _accelerator(row: dict[str, str], catalogue: Catalogue) -> Accelerator | None:
    """Return the accelerator that a row names, or None if the catalogue has none of that name."""
    try:
        return catalogue.accelerator(named("accelerators", row.get("accelerator", ""), catalogue))
    except Refused:
        return None


def _link_to_nic(chip: Accelerator | None, per_node: int) -> str:
    """Return the id of the host link by which the only rank of a node reaches the NIC.

    Raises
    ------
    Refused : a node has several ranks, so that the row should have stated the link between them
    """
    if per_node > 1:
        raise Refused("no link inside the node")
    return chip.host_link if chip is not None else "pcie3-x16"


def _stated(line: Line, column: str, check: Callable[[str], float] = number()) -> float:  # noqa: B008
    """Return a number of a row that the prediction needs.

    Raises
    ------
    Refused : the cell is blank
    InputError : the cell does not pass ``check``
    """
    if (value := line.read(column, check)) is None:
        raise Refused(f"no {column}")
    return value


@cache
def shipped_measurements() -> tuple[Measurement, ...]:
    """Return the shipped measured collectives that are not held out; the file is read once."""
    path, before = learned_part("collectives.csv")
    return tuple(read_measurements(path, Catalogue.built_in(), before))
