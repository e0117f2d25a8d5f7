"""Read what ``perfmodel predict --json`` printed, and check every value of it."""

import math
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field, ValidationError

from perfmodel.core.choices import LARGEST_WORLD_SIZE
from perfmodel.core.errors import InputError, refusal
from perfmodel.core.files.reading import LARGEST_OPTIONS, read_json
from perfmodel.core.records.mistakes import refused
from perfmodel.decide.comparison.case import Case
from perfmodel.decide.economics import economics
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import Prediction
from perfmodel.model.prediction.card import with_card
from perfmodel.model.step.terms import TERMS

LARGEST = 1e18
"""Larger than any number of a prediction, in SI."""


def saved_case(path: Path, catalogue: Catalogue | None = None, conditions: Conditions | None = None) -> Case:
    """Return a prediction saved by ``perfmodel predict --json`` as a case, with its costs at today's prices.

    Raises
    ------
    InputError : a file that cannot be read, or that holds something else
    """
    output = "the output of perfmodel predict --json"
    expected = f"expected {output}"
    table = read_json(path, LARGEST_OPTIONS, output, _refuse)
    if not isinstance(table, dict):
        raise refusal("compare.not_saved", wanted=expected).under(path)
    table = {key: value for key, value in table.items() if key in Prediction.model_fields}
    try:
        fields = vars(_Saved.model_validate(table))
        prediction = with_card({name: value for name, value in fields.items() if name != "card"})
    except ValidationError as error:
        raise refused(error, _Saved).under(path, after=f"; {expected}") from None
    try:
        options: dict[str, Any] = {
            key: value for key, value in prediction.scenario.items() if key in Scenario.model_fields
        }
        Scenario(**options)
        _SavedScenario.model_validate(prediction.scenario)
    except ValidationError as error:
        raise refused(error, _SavedScenario).under("scenario").under(path, after=f"; {expected}") from None
    except InputError as error:
        raise error.under("scenario").under(path, after=f"; {expected}") from None
    if report := _incredible(prediction):
        raise refusal("compare.incredible", report=report, wanted=expected).under(path)
    try:
        money = economics(prediction, conditions or Conditions(), Catalogue.of(catalogue))
    except InputError:  # it was made with specs that are not available now
        money = None
    return Case(path.name, prediction, money, None, catalogue, conditions or Conditions())


def _refuse(constant: str) -> float:
    """Raise a ValueError for NaN and infinities, which JSON does not have."""
    raise ValueError(constant)


class _Saved(Prediction):
    """A prediction read from a file: every key is checked."""

    scenario: dict[str, Any]  # type: ignore[assignment]  # an older answer lacks newer options


class _SavedScenario(BaseModel):
    """Options that a saved scenario must have; ``Scenario`` checks the others."""

    workload: str
    accelerator: str
    node: str
    world_size: int
    nodes: Annotated[int, Field(ge=1, le=LARGEST_WORLD_SIZE)]
    servers: int | None
    global_batch_size: int


def _incredible(answer: Prediction) -> str | None:
    """Return a message on the first number that no prediction can have; None where all are valid."""
    unknown = [name for name in answer.terms if name not in TERMS]
    if unknown:
        return f"terms.{unknown[0]}: no term of an iteration"
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
