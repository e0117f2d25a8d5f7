"""Predictions side by side: what changed in the question, and what that changed in the answer."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from perfmodel.economics import Conditions, economics
from perfmodel.errors import InputError
from perfmodel.prediction import Prediction, predict
from perfmodel.specs.scenario import LARGEST_WORLD_SIZE, Scenario
from perfmodel.specs.store import Catalogue
from perfmodel.units import show

SAME = 5e-4
"""Relative difference below which two predictions are called equal."""
LARGEST = 1e18
"""No figure of a prediction is larger, in SI."""
SAMPLES = 1e6
"""Over which costs are told: they do not depend on the batch."""
_FOLLOWING = ("nodes", "global_batch_size")
"""Entries of a scenario that follow from the others."""


class Case(NamedTuple):
    """One prediction, by the name it goes by in the comparison."""

    name: str
    prediction: Prediction
    economics: dict[str, Any] | None
    """As ``perfmodel.economics.economics`` returns it; None where it could not be told."""


class Row(BaseModel):
    """One quantity of every case; None where a case does not have it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    quantity: str
    unit: str
    values: list[float | None]
    differences: list[float | None]
    """Less the first case's."""
    relative: list[float | None]
    """Over the first case's, less 1."""


class Input(BaseModel):
    """An option that is not the same in all cases."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    option: str
    values: list[Any]


class Comparison(BaseModel):
    """Cases against the first of them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    names: list[str]
    inputs: list[Input]
    rows: list[Row]
    verdict: str
    notes: list[str]


def case_of(
    name: str, scenario: Scenario, catalogue: Catalogue | None = None, conditions: Conditions | None = None
) -> Case:
    """Return a scenario's prediction with its costs.

    Raises
    ------
    InputError : as ``predict`` and ``economics``, with the case's name before it
    """
    catalogue = catalogue or Catalogue.built_in()
    try:
        prediction = predict(scenario, catalogue)
        return Case(name, prediction, economics(prediction, conditions or Conditions(), catalogue))
    except InputError as error:
        raise InputError(f"{name}: {error}") from None


def saved_case(path: Path, catalogue: Catalogue | None = None, conditions: Conditions | None = None) -> Case:
    """Return the prediction that ``perfmodel predict --json`` printed into a file, with its costs today.

    Raises
    ------
    InputError : a file that cannot be read, or is something else
    """
    wanted = "expected the output of perfmodel predict --json"
    try:
        table = json.loads(path.read_text("utf-8"), parse_constant=_refuse)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path}: cannot be read: {getattr(error, 'strerror', None) or 'not text'}"
        ) from None
    except (ValueError, RecursionError):
        raise InputError(f"{path}: not JSON; {wanted}") from None
    if not isinstance(table, dict):
        raise InputError(f"{path}: a list or a value; {wanted}")
    table = {key: value for key, value in table.items() if key in Prediction.model_fields}
    try:
        prediction = Prediction.model_construct(**vars(_Saved.model_validate(table)))
        asked = {key: value for key, value in prediction.scenario.items() if key in Scenario.model_fields}
        Scenario.model_validate(asked)
        _Asked.model_validate(prediction.scenario)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in first["loc"])
        key = key if error.title == _Saved.__name__ else f"scenario.{key}"
        problem = "the key is missing" if first["type"] == "missing" else first["msg"]
        raise InputError(f"{path}: {key}: {problem}; {wanted}") from None
    if told := _incredible(prediction):
        raise InputError(f"{path}: {told}; {wanted}")
    try:
        money = economics(prediction, conditions or Conditions(), catalogue or Catalogue.built_in())
    except InputError:  # made with specs that are not at hand now
        money = None
    return Case(path.name, prediction, money)


def _refuse(constant: str) -> float:
    raise ValueError(constant)


class _Saved(Prediction):
    """A prediction that somebody else may have written, so every key is checked."""

    model_config = ConfigDict(defer_build=False)


class _Asked(BaseModel):
    """What of a saved scenario must have been filled in; the model's own type checks the rest."""

    workload: str
    accelerator: str
    node: str
    world_size: int
    nodes: Annotated[int, Field(ge=1, le=LARGEST_WORLD_SIZE)]
    servers: int | None
    global_batch_size: int


def _incredible(answer: Prediction) -> str | None:
    """Say which number no prediction holds; None where all are sound."""
    missing = [name for name in TERMS if name not in answer.terms]
    if missing:
        return f"terms.{missing[0]}: the key is missing"
    numbers = {f"terms.{name}": time for name, time in answer.terms.items()}
    numbers |= {name: value for name, value in vars(answer).items() if isinstance(value, float)}
    numbers["memory.bytes"] = answer.memory.bytes
    for name, number in numbers.items():
        if not 0 <= number <= LARGEST:
            return f"{name}: expected a number from 0 to {LARGEST:g}"
    for name in ("iteration_time", "samples_per_second", "speedup", "scaling_efficiency"):
        if not numbers[name] > 0:
            return f"{name}: expected a number above 0"
    times = vars(answer.interval).values() if answer.interval else ()
    if not all(0 < time <= LARGEST for time in times if isinstance(time, float)):
        return "interval: expected times above 0"
    if not math.isclose(sum(answer.terms.values()), answer.iteration_time, rel_tol=1e-3):
        return "terms: they do not sum to iteration_time"
    return None


TERMS = {
    "forward_time": "forward",
    "backward_time": "backward",
    "launch_overhead_time": "launch overhead",
    "update_time": "update",
    "exposed_communication_time": "exposed communication",
    "input_time": "waiting for input",
    "straggler_time": "waiting for stragglers",
}


def compare(cases: Sequence[Case]) -> Comparison:
    """Set predictions beside the first of them.

    Raises
    ------
    InputError : fewer than two cases, or two of one name

    Examples
    --------
    Twice the accelerators, the same batch on each:

    >>> one, two = (case_of(f"{n} GPUs", Scenario(world_size=n)) for n in (8, 16))
    >>> found = compare([one, two])
    >>> [entry.option for entry in found.inputs]
    ['world_size']
    >>> found.verdict.startswith("16 GPUs is 1.9")
    True
    """
    names = [case.name for case in cases]
    if len(cases) < 2:
        raise InputError("give at least two scenarios, or one and --set key=value, to compare")
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{name}: given twice; each case needs a name of its own")
    return Comparison(
        names=names,
        inputs=_inputs(cases),
        rows=_rows(cases),
        verdict=_verdict(cases),
        notes=_notes(cases),
    )


def _inputs(cases: Sequence[Case]) -> list[Input]:
    asked = [case.prediction.scenario for case in cases]
    options = dict.fromkeys(key for scenario in asked for key in scenario)
    found = []
    for option in options:
        values = [scenario.get(option) for scenario in asked]
        if any(value != values[0] for value in values):
            found.append(Input(option=option, values=values))
    said = [entry for entry in found if entry.option not in _FOLLOWING]
    strong = {case.prediction.scaling for case in cases} == {"strong"}
    return [entry for entry in found if strong and entry.option == "global_batch_size"] + said


def _rows(cases: Sequence[Case]) -> list[Row]:
    columns = [_quantities(case) for case in cases]
    rows = []
    for quantity, unit in dict.fromkeys(key for column in columns for key in column):
        values = [column.get((quantity, unit)) for column in columns]
        if any(values):
            rows.append(_row(quantity, unit, values))
    return rows


def _row(quantity: str, unit: str, values: list[float | None]) -> Row:
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
    """Every quantity worth comparing, with its unit, in the order it is shown."""
    answer = case.prediction
    rows: dict[tuple[str, str], float | None] = {("iteration_time", "s"): answer.iteration_time}
    rows |= {(name, "s"): time for name, time in answer.terms.items()}
    rows |= {
        ("samples_per_second", "1/s"): answer.samples_per_second,
        ("tokens_per_second", "1/s"): answer.tokens_per_second,
        ("speedup", "1"): answer.speedup,
        ("scaling_efficiency", "1"): answer.scaling_efficiency,
        ("communication_time", "s"): answer.communication_time,
        ("epoch_time", "s"): answer.epoch_time,
        ("mfu", "1"): answer.mfu,
        ("memory_bytes", "B"): answer.memory.bytes,
    }
    if case.economics is not None:
        price, one, run = (case.economics[key] for key in ("price", "per_iteration", "run"))
        machines = answer.scenario["nodes"] + (answer.scenario["servers"] or 0)
        rows["price_per_hour", "USD/h"] = price["usd_per_hour"] * machines if price else None
        per = SAMPLES / answer.scenario["global_batch_size"]
        rows["cost_per_million_samples", "USD"] = _scaled(one["cost"], per)
        rows["energy_per_million_samples", "kWh"] = _scaled(one["energy"], per)
        rows["carbon_per_million_samples", "g"] = _scaled(one["carbon"], per)
        if run:
            rows |= {
                ("run_time", "s"): run["time"],
                ("run_cost", "USD"): run["cost"],
                ("run_energy", "kWh"): run["energy"],
                ("run_carbon", "g"): run["carbon"],
            }
    return rows


def _scaled(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor


def _verdict(cases: Sequence[Case]) -> str:
    """One line: which is faster, by how much, and at what cost."""
    first, *others = cases
    if not _same_work(cases):
        told = ", ".join(f"{case.name} {show(case.prediction.iteration_time, 's')}" for case in cases)
        return f"different work, so only the iterations can be compared: {told}"
    if len(others) == 1:
        return _against(first, others[0]) + _money(first, others[0])
    fastest = max(cases, key=_rate)
    others_told = [f"{case.name} {_rate(case) / _rate(fastest):.1%}" for case in cases if case is not fastest]
    line = f"fastest: {fastest.name}; of its speed reach {', '.join(others_told)}"
    priced = [(cost, case.name) for case in cases if (cost := _cost(case)) is not None]
    return f"{line}; cheapest per sample: {min(priced)[1]}" if len(priced) > 1 else line


def _against(first: Case, other: Case) -> str:
    ratio = _rate(other) / _rate(first)
    unit = f"{first.prediction.sample}s/s"
    rates = f"{_rate(other):,.4g} against {_rate(first):,.4g} {unit}"
    if max(_rate(first), _rate(other)) >= 1e4:
        rates = f"{_rate(other):,.0f} against {_rate(first):,.0f} {unit}"
    if abs(ratio - 1) < SAME:
        return f"{other.name} is as fast as {first.name}: {rates}"
    faster = f"{ratio:.3g} times as fast as" if ratio > 1 else f"slower, at {ratio:.3g} of the speed of"
    return f"{other.name} is {faster} {first.name}: {rates}{_doubt(first, other)}"


def _doubt(first: Case, other: Case) -> str:
    """Whether the 80 % intervals leave the order open, each taken on its own."""
    one, two = first.prediction.interval, other.prediction.interval
    if one is None or two is None:
        return ""
    low_1, high_1 = (_rate(first) * first.prediction.iteration_time / t for t in (one.high_80, one.low_80))
    low_2, high_2 = (_rate(other) * other.prediction.iteration_time / t for t in (two.high_80, two.low_80))
    return " (80 % intervals overlap)" if low_1 <= high_2 and low_2 <= high_1 else ""


def _money(first: Case, other: Case) -> str:
    base, cost = _cost(first), _cost(other)
    if base is None or cost is None:
        return ""
    if abs(cost / base - 1) < SAME:
        return ", at the same cost per sample"
    return f", at {cost / base:.3g} times the cost per sample"


def _rate(case: Case) -> float:
    return case.prediction.samples_per_second


def _cost(case: Case) -> float | None:
    if case.economics is None:
        return None
    cost: float | None = case.economics["per_iteration"]["cost"]
    return None if cost is None else cost / float(case.prediction.scenario["global_batch_size"])


def _same_work(cases: Sequence[Case]) -> bool:
    asked = [(c.prediction.scenario["workload"], c.prediction.scenario.get("sequence_length")) for c in cases]
    return all(work == asked[0] for work in asked)


def _notes(cases: Sequence[Case]) -> list[str]:
    notes = []
    batches = {case.prediction.scenario["global_batch_size"] for case in cases}
    if len(batches) > 1:
        sizes = " and ".join(f"{case.prediction.scenario['global_batch_size']:,}" for case in cases)
        notes.append(f"an iteration takes {sizes} samples: a larger batch may need more epochs")
    notes += [
        f"{case.name} does not fit its accelerators' memory"
        for case in cases
        if not case.prediction.memory.fits
    ]
    if len({case.prediction.scaling for case in cases}) > 1:
        notes.append("speed-up and efficiency are of weak scaling in some and of strong scaling in others")
    unpriced = [case.name for case in cases if _cost(case) is None]
    if unpriced:
        whose = "any of them" if len(unpriced) == len(cases) else ", ".join(unpriced)
        notes.append(f"no price is known for {whose}: give --price, USD per hour of one node")
    notes += [f"{case.name}: {price}" for case in cases if (price := _price(case))]
    assumed = dict.fromkeys(line for case in cases if case.economics for line in case.economics["assumed"])
    return notes + ([f"assumed: {'; '.join(assumed)}"] if assumed else [])


def _price(case: Case) -> str | None:
    """Where a known price comes from."""
    price = case.economics and case.economics["price"]
    if not price:
        return None
    each = f"{price['usd_per_hour']:,.4g} USD/h for each node"
    if price["basis"] != "on demand":
        return f"{each}, {'as given' if price['basis'] == 'given' else 'from its purchase'}"
    where = f"{price['region']}, {price['date']}, source {price['source']}"
    return f"{each}: {price['instance']} on demand, {where}"
