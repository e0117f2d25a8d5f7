"""Read a user's own measured runs: a CSV file whose columns are options of a scenario and measured values."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

from perfmodel.core.errors import InputError, nearest, refusal, unknown_name
from perfmodel.core.problem import Words
from perfmodel.core.records.meant import meant_by
from perfmodel.core.records.options import Declared, declared
from perfmodel.core.units import parse
from perfmodel.evidence.accuracy.measured_table import Line, measured_table
from perfmodel.evidence.accuracy.scenarios import Refused, measured_time, scenario_of_run, with_options
from perfmodel.evidence.accuracy.training_rows import CHECKS, COLUMNS, Run, read_runs
from perfmodel.evidence.fitting.own_runs import OwnRun
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.machine_words import accelerator_words
from perfmodel.model.fitted.calibration import calibration
from perfmodel.model.options.scenario import OPTIONS, Scenario, field_of
from perfmodel.model.prediction.assemble import settled
from perfmodel.model.prediction.names import network_name
from perfmodel.model.setting.anchor import RANGES, Anchor
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.step.evaluate import outcome

_Stated = TypeVar("_Stated")
_T = TypeVar("_T")
NOT_OF_A_RUN = ("anchor", "profile", "calibration")
"""Options that are measurements themselves, and so no columns."""
LABELS = ("run_id", "source", "locator", "note", "year", "trust")
"""Columns that describe a run but are not options."""
MOST_NAMED = 5
"""Largest number of wrong lines that a message names."""
EXAMPLE = "workload, accelerator, world_size, local_batch_size, samples_per_second"
"""Columns of a table, as messages show them."""


def is_table_of_runs(text: str) -> bool:
    r"""Return whether a text begins with a header of which two columns or more are of measured runs.

    >>> is_table_of_runs("gpu,workload,step_time\nV100,vgg16,0.2"), is_table_of_runs("step 1, loss 2.3")
    (True, False)
    """
    header = next(csv.reader(text.lstrip("\ufeff").splitlines()[:1]), [])
    names = [column.strip() for column in header]
    return sum(bool(meant_by(name) or _option_of(name)) or name in COLUMNS for name in names) > 1


def read_own_runs(path: str, catalogue: Catalogue) -> list[OwnRun]:
    """Return the runs of a CSV file, of options as columns or in the schema of ``validation/README.md``.

    Raises
    ------
    InputError : the file cannot be read, has an unknown column, or lines that cannot be predicted; the
        message names each
    """

    def of_schema(run: Run) -> OwnRun:
        if (time := measured_time(run)) is None:
            raise Refused("no measured time")
        setting, _ = settled(scenario_of_run(run, catalogue), catalogue, calibration())
        return _own(run.run_id, setting, time)

    header, lines = measured_table(path)
    if _is_schema(header):
        return _each(path, "runs", [(run.run_id, run) for run in read_runs(path)], of_schema)
    return _each(
        path,
        "lines",
        _stated(path, header, lines),
        lambda row: _own(row.where, *_setting_and_time(row.given, catalogue)),
    )


def read_measured_runs(path: str, catalogue: Catalogue | None = None) -> list[Run]:
    """Return the runs of a user's table as measured runs, for a comparison with their predictions.

    Raises
    ------
    InputError : as for ``read_own_runs``; but lines of a file in the schema that cannot be predicted stay in
    """
    header, lines = measured_table(path)
    if _is_schema(header):
        return read_runs(path)
    known = Catalogue.of(catalogue)
    rows = _stated(path, header, lines)
    return _each(path, "lines", rows, lambda row: _measured(row, *_setting_and_time(row.given, known)))


class _Row(NamedTuple):
    """One line of a table whose columns are options."""

    where: str
    given: dict[str, str]
    """Cells of options and measured values, by name."""
    labels: dict[str, str]
    """Cells of the columns of ``LABELS``."""


def _is_schema(header: Sequence[str]) -> bool:
    """Whether a file is in the schema: whether it has one of its columns that is no option of a scenario."""
    return any(name in COLUMNS and name not in LABELS and not _option_of(name) for name in header)


def _option_of(column: str) -> str:
    """Return the name of a column's option or measured quantity; "" if it is neither."""
    name = field_of(column.lower().replace(" ", "_"))
    return name if name in (*OPTIONS, *RANGES) and name not in NOT_OF_A_RUN else ""


def _stated(path: str, header: Sequence[str], lines: Sequence[Line]) -> list[tuple[str, _Row]]:
    """Return place and cells of each line.

    Raises
    ------
    InputError : the file is empty, or has a wrong column
    """
    if not any(header):
        raise refusal("table.empty", example=EXAMPLE).under(path)
    if not lines:
        raise refusal("table.no_runs").under(path)
    names, result = dict(zip(header, _columns(path, header), strict=True)), []
    for line in lines:
        stated = {names[column]: cell for column, cell in line.published.items()}
        labels = {name: stated.pop(name) for name in LABELS if name in stated}
        result.append((f"line {line.place}", _Row(f"line {line.place}", stated, labels)))
    return result


def _each(
    path: str, noun: str, rows: Iterable[tuple[str, _Stated]], read: Callable[[_Stated], _T]
) -> list[_T]:
    """Return ``read`` of every row.

    Raises
    ------
    InputError : some rows cannot be read; the message names the first few
    """
    result, wrong = [], []
    for where, row in rows:
        try:
            result.append(read(row))
        except (Refused, InputError) as error:
            wrong.append(f"{where}: {error}")
    if wrong:
        more = f"; and {len(wrong) - MOST_NAMED} more {noun}" if len(wrong) > MOST_NAMED else ""
        raise InputError(f"{path}: " + f"\n{path}: ".join(wrong[:MOST_NAMED]) + more)
    return result


def _columns(path: str, header: Sequence[str]) -> list[str]:
    """Return the name of each column's option, measured quantity or label.

    Raises
    ------
    InputError : a column is there twice or unknown, or no column has a measured quantity
    """
    names: list[str] = []
    for column in header:
        name = _option_of(column) or field_of(column.lower().replace(" ", "_"))
        if name in names:
            raise refusal("table.column_twice", column=column).under(path)
        names.append(name)
    if unknown := [column for column, name in zip(header, names, strict=True) if not _is_known(name)]:
        raise _unknown_columns(unknown).under("line 1").under(path)
    if not set(names) & set(RANGES):
        raise refusal("table.no_column_of", known=tuple(RANGES), example=EXAMPLE).under(path)
    return names


def _is_known(name: str) -> bool:
    """Return whether a column's name is that of an option, a measured quantity or a label."""
    return bool(_option_of(name)) or name in LABELS


def _unknown_columns(columns: Sequence[str]) -> InputError:
    """Return the error that names every unknown column, with what it means here or near ones."""
    known = [name for name in (*OPTIONS, *RANGES) if _option_of(name)]
    meant = {column: meant_by(column) for column in columns}
    if len(columns) == 1 and meant[columns[0]] is None:
        return unknown_name("column", columns[0], known)
    said = [f"{column[:60]!r} (here {_near(name, column, known)})" for column, name in meant.items()]
    return refusal("table.unknown_columns", columns=Words(", ".join(said)))


def _near(meant: str | None, column: str, known: Sequence[str]) -> str:
    return meant or " or ".join(nearest(column, known)) or "none is like it"


def _setting_and_time(given: dict[str, str], catalogue: Catalogue) -> tuple[Setting, float, str]:
    """Return the setting of a line, its measured iteration time [s], and the quantity that was measured.

    Raises
    ------
    InputError : the line lacks a network, an accelerator or one measured quantity, or an option does not fit
    """
    measured = [name for name in RANGES if name in given]
    if len(measured) != 1:
        raise refusal("table.no_result", known=tuple(RANGES), measured=" and ".join(measured) or "none")
    if "workload" not in given:
        raise refusal("table.no_workload")
    if "accelerator" not in given and "node" not in given:
        raise refusal("table.no_accelerator")
    (quantity,) = measured
    value = parse(given.pop(quantity), "s" if quantity == "iteration_time" else "1/s")
    least, most = RANGES[quantity]
    if not least <= value <= most:
        raise refusal("table.range", quantity=quantity, value=value, least=least, most=most)
    options: dict[str, Any] = {
        declared(Scenario)[name].name.replace("-", "_"): _read(declared(Scenario)[name], cell)
        for name, cell in given.items()
    }
    setting, _ = settled(Scenario(**options), catalogue, calibration())
    anchor = Anchor(quantity, value, setting.world_size)
    time = anchor.iteration_time(setting.global_batch_size, setting.workload.sequence_length)
    return setting, float(time), quantity


SAME_FIELDS = (
    *("nics", "nodes", "accelerators_per_node", "world_size", "servers"),
    *("precision", "local_batch_size", "accumulation_steps", "overlap"),
)
"""Fields that a run and a setting have in common."""
ID_FIELDS = ("workload", "accelerator", "node", "intra_link", "inter_link")
"""Fields of a setting of which a run has the id."""


def _measured(row: _Row, setting: Setting, time: float, quantity: str) -> Run:
    """Return the measured run of a line, with the setting's values for all that the line leaves open."""
    _own(row.where, setting, time, quantity)
    stated: dict[str, Any] = {}
    for column, cell in row.labels.items():
        try:
            stated[column] = CHECKS.get(column, str)(cell)
        except ValueError as error:
            raise refusal("table.cell_of", column=column, cell=cell[:60], error=str(error)) from None
    scenario = with_options(setting.scenario, framework=setting.software)
    taken = {name: getattr(setting, name) for name in SAME_FIELDS}
    taken |= {name: getattr(setting, name).id for name in ID_FIELDS}
    run = Run(
        **taken,
        run_id=row.where,
        framework=setting.software,
        sequence_length=setting.workload.sequence_length,
        strategy=setting.strategy if setting.world_size > 1 else "single",
        input=scenario.input or "",
        iteration_time=time,
        options=json.dumps(scenario.model_dump(exclude_unset=True)),
    )
    return run._replace(**stated)


def _own(where: str, setting: Setting, time: float, quantity: str = "") -> OwnRun:
    """Return the own run of a line; InputError if the setting cannot be evaluated."""
    outcome(setting, calibration())  # reports errors that only an evaluation finds, such as a wrong jitter
    several = f"{setting.world_size} x " if setting.world_size > 1 else ""
    machines = f"{several}{accelerator_words(setting.accelerator)}"
    name = f"{network_name(setting.workload.id)} on {machines}, batch {setting.local_batch_size}"
    return OwnRun(where, name, setting, time, quantity=quantity)


def _read(one: Declared, cell: str) -> object:
    """Return the value of an option's cell, or its text if that is no number; the scenario validates it."""
    if one.type is bool and cell.lower() in ("true", "yes", "1", "false", "no", "0"):
        return cell.lower() in ("true", "yes", "1")
    try:
        return int(cell) if one.type is int else float(cell) if one.type is float else cell
    except ValueError:
        return cell
