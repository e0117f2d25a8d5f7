"""Read a user's own measured runs: a CSV whose columns are options of a scenario, and what was measured."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from perfmodel.accuracy.runs import COLUMNS, NOT_STATED, OPTIONAL, UNSTATED_TRUST, Run, read_runs
from perfmodel.accuracy.scenarios import Refused, measured_time, scenario_of_run, with_options
from perfmodel.anchor import RANGES, Anchor
from perfmodel.calibration import calibration
from perfmodel.errors import InputError, unknown_name
from perfmodel.fitting.own_runs import OwnRun
from perfmodel.prediction.assemble import settled
from perfmodel.reading import read_table
from perfmodel.resolve import Setting
from perfmodel.specs.options import Declared, declared
from perfmodel.specs.scenario import OPTIONS, Scenario, field_of
from perfmodel.specs.store import Catalogue
from perfmodel.step.evaluate import outcome
from perfmodel.units import parse

_T = TypeVar("_T")
NOT_OF_A_RUN = ("anchor", "profile", "calibration")
"""Options that hold measurements themselves."""
PASSED_OVER = ("run_id", "source", "locator", "note", "year", "trust")
"""Columns that people keep beside a run."""
MOST_NAMED = 5
"""Wrong lines that are named at once."""
EXAMPLE = "workload, accelerator, world_size, local_batch_size, samples_per_second"


def read_own_runs(path: str, catalogue: Catalogue) -> list[OwnRun]:
    """Return the runs of a file: of a few columns, or in the schema of ``validation/README.md``.

    Raises
    ------
    InputError : a file that cannot be read, a column nobody knows, lines that cannot be; each is named
    """
    header, rows = _table(path)
    if _is_schema(header):
        return _of_schema(path, catalogue)
    return _each(path, header, rows, lambda line: _own(line.where, *_settled(line.given, catalogue)))


def read_measured_runs(path: str, catalogue: Catalogue | None = None) -> list[Run]:
    """Return the same runs, to be predicted and compared.

    Raises
    ------
    InputError : as of ``read_own_runs``, but for lines in the schema that cannot be predicted: those stay in
    """
    header, rows = _table(path)
    if _is_schema(header):
        return read_runs(path)
    known = Catalogue.of(catalogue)
    return _each(path, header, rows, lambda line: _measured(line, *_settled(line.given, known)))


class _Line(NamedTuple):
    """One line of a table of few columns."""

    where: str
    given: dict[str, str]
    """Options of a scenario, and what was measured."""
    labels: dict[str, str]
    """Of ``PASSED_OVER``."""


def _is_schema(header: Sequence[str]) -> bool:
    """Whether a file is in the schema: it has a column that no option of a scenario is called."""
    return any(name in COLUMNS and name not in PASSED_OVER and not _means(name) for name in header)


def _means(column: str) -> str:
    """The option, or the measured quantity, of a column; empty where it is neither."""
    name = field_of(column.lower().replace(" ", "_"))
    return name if name in (*OPTIONS, *RANGES) and name not in NOT_OF_A_RUN else ""


def _each(
    path: str, header: Sequence[str], rows: Sequence[tuple[int, list[str]]], read: Callable[[_Line], _T]
) -> list[_T]:
    """What ``read`` makes of every line, or an error that names those it cannot read."""
    if not any(header):
        raise InputError(f"{path}: line 1: empty; expected a line of column names, e.g. {EXAMPLE}")
    names = _columns(path, header)
    runs, wrong = [], []
    for line, cells in rows:
        try:
            if len(cells) != len(header):
                raise InputError(f"{len(cells)} cells; the header has {len(header)}")
            stated = {name: cell for name, cell in zip(names, cells, strict=True) if cell}
            labels = {name: stated.pop(name) for name in PASSED_OVER if name in stated}
            runs.append(read(_Line(f"line {line}", stated, labels)))
        except InputError as error:
            wrong.append(f"line {line}: {error}")
    if not runs and not wrong:
        raise InputError(f"{path}: no runs below the header line")
    _name_wrong(path, wrong, "lines")
    return runs


def _name_wrong(path: str, wrong: Sequence[str], noun: str) -> None:
    """Raise an error that names the first few of wrong lines, if there are any."""
    if wrong:
        more = f"; and {len(wrong) - MOST_NAMED} more {noun}" if len(wrong) > MOST_NAMED else ""
        raise InputError(f"{path}: " + f"\n{path}: ".join(wrong[:MOST_NAMED]) + more)


def _table(path: str) -> tuple[list[str], list[tuple[int, list[str]]]]:
    try:
        with read_table(path) as file:
            reader = csv.reader(file, strict=True)
            header = [name.strip() for name in next(reader, [])]
            rows = [(reader.line_num, [cell.strip() for cell in cells]) for cells in reader if any(cells)]
    except csv.Error as error:
        raise InputError(f"{path}: line {reader.line_num}: not CSV: {error}") from None
    return header, rows


def _columns(path: str, header: Sequence[str]) -> list[str]:
    """The option, the measured quantity, or the label of a run, of each column."""
    names: list[str] = []
    for column in header:
        name = _means(column) or field_of(column.lower().replace(" ", "_"))
        if name in names:
            raise InputError(f"{path}: line 1: column {column} is there twice")
        if not _means(column) and name not in PASSED_OVER:
            known = [name for name in (*OPTIONS, *RANGES) if _means(name)]
            raise InputError(f"{path}: line 1: {unknown_name('column', column, known)}")
        names.append(name)
    if not set(names) & set(RANGES):
        raise InputError(f"{path}: line 1: no column {', '.join(RANGES)}; e.g. {EXAMPLE}")
    return names


def _settled(given: dict[str, str], catalogue: Catalogue) -> tuple[Setting, float]:
    """Return the setting of a line, and its measured iteration time [s]."""
    measured = [name for name in RANGES if name in given]
    if len(measured) != 1:
        raise InputError(f"expected one of {', '.join(RANGES)}, not {' and '.join(measured) or 'none'}")
    if "workload" not in given:
        raise InputError("no workload")
    if "accelerator" not in given and "node" not in given:
        raise InputError("no accelerator or node")
    (quantity,) = measured
    value = parse(given.pop(quantity), "s" if quantity == "iteration_time" else "1/s")
    least, most = RANGES[quantity]
    if not least <= value <= most:
        raise InputError(f"{quantity} {value:g}; expected {least:g} to {most:g}, in SI units")
    options: dict[str, Any] = {
        declared(Scenario)[name].name.replace("-", "_"): _read(declared(Scenario)[name], cell)
        for name, cell in given.items()
    }
    setting, _ = settled(Scenario(**options), catalogue, calibration())
    anchor = Anchor(quantity, value, setting.world_size)
    return setting, float(anchor.iteration_time(setting.global_batch_size, setting.workload.sequence_length))


def _measured(line: _Line, setting: Setting, time: float) -> Run:
    """The run of a line, by what was taken for all that it leaves open."""
    _own(line.where, setting, time)
    stated = {}
    for column, cell in line.labels.items():
        field, check = (COLUMNS | OPTIONAL)[column]
        try:
            stated[field] = check(cell)
        except ValueError as error:
            raise InputError(f"column {column}: {cell[:60]!r}; expected {error}") from None
    scenario = with_options(setting.scenario, framework=setting.software)
    run = Run(
        run_id=line.where,
        source=NOT_STATED,
        locator="",
        framework=setting.software,
        workload=setting.workload.id,
        sequence_length=setting.workload.sequence_length,
        accelerator=setting.accelerator.id,
        node=setting.node.id,
        intra_link=setting.intra_link.id,
        inter_link=setting.inter_link.id,
        nics=setting.nics,
        nodes=setting.nodes,
        accelerators_per_node=setting.accelerators_per_node,
        world_size=setting.world_size,
        precision=setting.precision,
        local_batch_size=setting.local_batch_size,
        accumulation_steps=setting.accumulation_steps,
        strategy=setting.strategy if setting.world_size > 1 else "single",
        servers=setting.servers,
        overlap=setting.overlap,
        input=scenario.input or "",
        samples_per_second=None,
        iteration_time=time,
        trust=UNSTATED_TRUST,
        options=json.dumps(scenario.model_dump(exclude_unset=True)),
    )
    return run._replace(**stated)


def _own(where: str, setting: Setting, time: float) -> OwnRun:
    outcome(setting, calibration())  # what cannot be evaluated, as a jitter's law, is the line's mistake
    several = f"{setting.world_size} x " if setting.world_size > 1 else ""
    name = f"{setting.workload.id} on {several}{setting.accelerator.id}, batch {setting.local_batch_size}"
    return OwnRun(where, name, setting, time)


def _read(one: Declared, cell: str) -> object:
    """What a cell means for an option, of which the scenario then says whether it fits."""
    if one.type is bool and cell.lower() in ("true", "yes", "1", "false", "no", "0"):
        return cell.lower() in ("true", "yes", "1")
    try:
        return int(cell) if one.type is int else float(cell) if one.type is float else cell
    except ValueError:
        return cell


def _of_schema(path: str, catalogue: Catalogue) -> list[OwnRun]:
    runs, wrong = [], []
    for run in read_runs(path):
        try:
            time = measured_time(run)
            if time is None:
                raise Refused("no measured time")
            setting, _ = settled(scenario_of_run(run, catalogue), catalogue, calibration())
            runs.append(_own(run.run_id, setting, time))
        except (Refused, InputError) as error:
            wrong.append(f"{run.run_id}: {error}")
    _name_wrong(path, wrong, "runs")
    return runs
