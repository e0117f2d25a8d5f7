"""The table of a comparison: inputs that differ, quantities with their differences, and the verdict."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict

from perfmodel.core.errors import refusal
from perfmodel.core.files.tables import Cell, Record, Table, aligned
from perfmodel.core.units import UNITS, show, without_rounding
from perfmodel.decide.comparison.case import Case
from perfmodel.decide.comparison.choice import choose
from perfmodel.decide.comparison.comparison_card import card_of_comparison
from perfmodel.decide.comparison.comparison_verdict import notes, verdict
from perfmodel.decide.comparison.standing import Standing
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.options.risk import USUAL_CONFIDENCE
from perfmodel.model.prediction.answer_card import Card
from perfmodel.model.prediction.result import Ratio

SAMPLES = 1e6
"""Samples over which costs are compared: they do not depend on the batch."""
SHOWN = (
    "iteration_time",
    "samples_per_second",
    "scaling_efficiency",
    "memory_bytes",
    "cost_per_million_samples",
)
"""Quantities of the repr."""
_FOLLOWING = ("nodes", "global_batch_size")
"""Entries of a scenario that follow from other entries."""


class Row(BaseModel):
    """One quantity of every case; None where a case does not have it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    quantity: str
    """Its name, as in the vocabulary."""
    unit: str
    """Unit of values and differences."""
    values: list[float | None]
    """Value of each case, in order."""
    differences: list[float | None]
    """Each value less the first case's; null of the first."""
    relative: list[float | None]
    """Each value over the first case's, less 1; null of the first."""


class Input(BaseModel):
    """An option that differs between the cases."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    option: str
    """Its name in a scenario."""
    values: list[Cell]
    """Value of each case, in order."""


class Against(BaseModel):
    """The speed of a case compared with the first."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    """Name of the case."""
    ratio: Ratio | None
    """How many times as fast it is; null of the first, and where the work differs."""
    model: str | None = None
    """The model that predicted it."""
    defaults: list[str] = []
    """Options that it leaves open, with the defaults taken."""


class Comparison(BaseModel, Table):
    """Predictions compared with the first of them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    names: list[str]
    """Names of the cases, in order."""
    card: Card
    """The answer in short: what to take, how much faster it is, how sure that is, and why."""
    taken: str | None
    """Name of the case to take; null where a price or a measurement has to decide."""
    inputs: list[Input]
    """Options that differ between the cases."""
    rows: list[Row]
    """A row for each quantity."""
    cases: list[Against]
    """Speed of each case compared with the first."""
    verdict: str
    """In a sentence: which is faster, or cheaper."""
    notes: list[str]
    """Notes on differing batches, models, networks, software and prices."""
    scenarios: list[dict[str, Cell]]
    """Scenario of each case, with defaults filled in."""

    def records(self) -> list[Record]:
        """Return a row for each quantity: the values, then differences and ratios from the second case on."""
        return [self._record(row) for row in self.rows]

    def _record(self, row: Row) -> Record:
        """Return a row as a record: values, then differences and relative changes by case."""
        record: Record = {"quantity": row.quantity, "unit": row.unit}
        record |= dict(zip(self.names, row.values, strict=True))
        changes = zip(self.names[1:], row.differences[1:], row.relative[1:], strict=True)
        for name, difference, relative in changes:
            record |= {f"{name} difference": difference, f"{name} relative": relative}
        return record

    def to_json(self) -> str:
        """Return what ``perfmodel compare --json`` prints."""
        return json.dumps(self.model_dump(mode="json"))

    def __repr__(self) -> str:
        cells = [
            (row.quantity.replace("_", " "), *(_shown(value, row.unit) for value in row.values))
            for row in self.rows
            if row.quantity in SHOWN
        ]
        return aligned(f"Comparison: {self.card.advice}", ("", *self.names), cells)

    __str__ = __repr__


def _shown(value: float | None, unit: str) -> str:
    """Return a value with its unit; a dash for None."""
    if value is None:
        return "-"
    return show(value, unit) if unit in UNITS else f"{value:.4g} {unit}"


def compare(cases: Sequence[Case], confidence: float = USUAL_CONFIDENCE) -> Comparison:
    """Compare predictions with the first of them.

    Parameters
    ----------
    confidence : how sure to be that a recommended case fits, and that one is faster or cheaper

    Raises
    ------
    InputError : fewer than two cases, or two of one name

    Examples
    --------
    Twice the accelerators, the same batch on each:

    >>> from perfmodel.decide.comparison import case_of
    >>> from perfmodel.model.options.scenario import Scenario
    >>> one, two = (case_of(f"{n} GPUs", Scenario(gpus=n)) for n in (8, 16))
    >>> comparison = compare([one, two])
    >>> [entry.option for entry in comparison.inputs]
    ['world_size']
    >>> comparison.card.advice.startswith("Take 16 GPUs for speed: it is 1.9")
    True
    """
    names = [case.name for case in cases]
    if len(cases) < 2:
        raise refusal("compare.too_few", "scenarios")
    for name in names:
        if names.count(name) > 1:
            raise refusal("compare.twice", "names", name=name)
    standing = Standing(cases, confidence)
    choice = choose(standing)
    return Comparison(
        names=names,
        card=card_of_comparison(standing, choice),
        taken=choice.taken and choice.taken.name,
        inputs=_inputs(cases),
        rows=_rows(cases),
        cases=[
            Against(
                name=case.name,
                ratio=standing.to_first(case),
                model=case.prediction.model,
                defaults=list(case.prediction.defaults),
            )
            for case in cases
        ],
        verdict=verdict(standing),
        notes=notes(standing),
        scenarios=[case.prediction.scenario for case in cases],
    )


def _inputs(cases: Sequence[Case]) -> list[Input]:
    """Return the options that differ, without those that follow from others.

    The global batch size counts as an option where all cases are of strong scaling.
    """
    scenarios = [case.prediction.scenario for case in cases]
    options = dict.fromkeys(key for scenario in scenarios for key in scenario)
    result = _conditions(cases)
    for option in options:
        values = [scenario.get(option) for scenario in scenarios]
        if any(value != values[0] for value in values):
            result.append(Input(option=option, values=values))
    independent = [entry for entry in result if entry.option not in _FOLLOWING]
    strong = {case.prediction.scaling for case in cases} == {"strong"}
    return [entry for entry in result if strong and entry.option == "global_batch_size"] + independent


def _conditions(cases: Sequence[Case]) -> list[Input]:
    """Return the prices and other conditions that differ."""
    values = {name: [getattr(case.conditions, name) for case in cases] for name in Conditions.model_fields}
    return [Input(option=name, values=each) for name, each in values.items() if len(set(each)) > 1]


def _rows(cases: Sequence[Case]) -> list[Row]:
    """Return a row for each quantity that is not zero or unknown in all cases."""
    columns = [_quantities(case) for case in cases]
    rows = []
    for quantity, unit in dict.fromkeys(key for column in columns for key in column):
        values = [column.get((quantity, unit)) for column in columns]
        if any(values):
            rows.append(_row(quantity, unit, values))
    return rows


def _row(quantity: str, unit: str, values: list[float | None]) -> Row:
    """Return a row with differences and relative changes from the first value."""
    base = values[0]
    differences = [None if value is None or base is None else value - base for value in values]
    relative = [None if value is None or not base else value / base - 1 for value in values]
    return Row(
        quantity=quantity,
        unit=unit,
        values=values,
        differences=[None, *differences[1:]],
        relative=[None, *relative[1:]],
    )


def _quantities(case: Case) -> dict[tuple[str, str], float | None]:
    """Return the compared quantities of a case, by name and unit, in the order of the table."""
    answer = case.prediction
    rows: dict[tuple[str, str], float | None] = {("iteration_time", "s"): answer.iteration_time}
    rows |= {
        (name, "s"): without_rounding(time, answer.iteration_time) for name, time in answer.terms.items()
    }
    rows |= {
        ("samples_per_second", "1/s"): answer.samples_per_second,
        ("tokens_per_second", "1/s"): answer.tokens_per_second,
        ("speedup", "1"): answer.speedup,
        ("scaling_efficiency", "1"): answer.scaling_efficiency,
        ("communication_time", "s"): answer.communication_time,
        ("epoch_time", "s"): answer.epoch_time,
        ("time_to_target", "s"): case.reached["time"] if case.reached else None,
        ("cost_to_target", "USD"): case.cost_to_target,
        ("mfu", "1"): answer.mfu,
        ("mfu_nominal", "1"): answer.mfu_nominal,
        ("memory_bytes", "B"): answer.memory.bytes,
    }
    if case.economics is not None:
        price, run, losses = (case.economics[key] for key in ("price", "run", "reliability"))
        rows["price_per_hour", "USD/h"] = _per_hour(
            answer.scenario["nodes"], price, case.economics["servers"]
        )
        rows["goodput", "1"] = case.goodput if losses else None
        for amount, unit in (("cost", "USD"), ("energy", "kWh"), ("carbon", "g")):
            rows[f"{amount}_per_million_samples", unit] = _scaled(case.of_a_sample(amount), SAMPLES)
        if run:
            rows |= {
                ("run_time", "s"): run["time"],
                ("run_cost", "USD"): run["cost"],
                ("run_energy", "kWh"): run["energy"],
                ("run_carbon", "g"): run["carbon"],
            }
    return rows


def _per_hour(nodes: int, price: dict[str, Any] | None, servers: dict[str, Any] | None) -> float | None:
    """Return the price of all machines of a job [$/h]; None where one is unknown."""
    if price is None or (servers and servers["price"] is None):
        return None
    of_servers = servers["count"] * servers["price"]["usd_per_hour"] if servers else 0.0
    return float(nodes * price["usd_per_hour"] + of_servers)


def _scaled(value: float | None, factor: float) -> float | None:
    """Return a value times a factor; None for None."""
    return None if value is None else value * factor
