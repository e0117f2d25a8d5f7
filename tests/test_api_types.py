"""The answers of ``import perfmodel`` are typed: no attribute of any is ``Any``, nor is a parameter."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator
from typing import Any, TypeVar, Unpack, get_args, get_origin, get_type_hints

import numpy as np
import pytest
from pydantic import BaseModel

import perfmodel
from perfmodel.decide.planning import SearchResult
from perfmodel.equations.distribution import Distribution
from perfmodel.evidence.fitting.out_of_sample import OutOfSample
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.fitted.calibration import Calibration
from perfmodel.model.options import keywords
from perfmodel.model.prediction.training.sgd_error_bound import ErrorCurves
from perfmodel.model.transformers.job import Case

FUNCTIONS = (
    "predict",
    "scale",
    "sweep",
    "plan",
    "compare",
    "collective",
    "stragglers",
    "servers",
    "adaptive_synchrony",
    "explain",
    "layouts",
    "learning_rate",
    "downpour",
    "enough",
    "fleets",
    "compression",
    "model_parallel",
    "validate",
    "calibrate",
    "write_report",
)
NAMES = vars(keywords) | {
    "Unpack": Unpack,
    "Calibration": Calibration,
    "Catalogue": Catalogue,
    "ErrorCurves": ErrorCurves,
    "NDArray": np.ndarray,
    "Constants": object,
}
"""Names of annotations that modules import for type checkers alone."""
WORKED_OUT_FROM = {SearchResult, OutOfSample, Calibration, Case | None, Distribution}
"""What an answer was made from, which it keeps at hand."""
UNTYPED = {"Prediction.scenario"}
"""A mapping of options, as a ``Scenario`` takes it back."""


def hints(thing: object) -> dict[str, Any]:
    return get_type_hints(thing, localns=NAMES)


def attributes(cls: type) -> Iterator[tuple[str, Any]]:
    """Yield the fields and the public properties of a class of answers, with their types."""
    if dataclasses.is_dataclass(cls) or issubclass(cls, (BaseModel, tuple)):
        for name, kind in hints(cls).items():
            if not name.startswith(("_", "model_")):
                yield f"{cls.__name__}.{name}", kind
    for name, member in inspect.getmembers(cls):
        getter = getattr(member, "fget", None) or getattr(member, "func", None)
        if getter is not None and not name.startswith(("_", "model_")):
            yield f"{cls.__name__}.{name}", hints(getter).get("return", Any)


def leaks(name: str, kind: Any, seen: set[type]) -> Iterator[str]:
    """Yield where ``Any`` stands in a type, and in the attributes of the package's classes in it."""
    if kind is Any:
        yield name
    elif isinstance(kind, TypeVar):
        yield from leaks(name, kind.__bound__ or Any, seen) if kind.__name__ != "AnyRow" else ()
    elif get_origin(kind) is not None or get_args(kind):
        for part in (get_origin(kind), *get_args(kind)):
            if isinstance(part, type) or get_args(part) or part is Any:
                yield from leaks(name, part, seen)
    elif isinstance(kind, type) and kind.__module__.startswith("perfmodel.") and kind not in seen:
        seen.add(kind)
        for attribute, its in attributes(kind):
            if its not in WORKED_OUT_FROM and attribute not in UNTYPED:
                yield from leaks(attribute, its, seen)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_answer_has_an_untyped_attribute(name):
    function = getattr(perfmodel, name)
    assert not set(leaks(name, hints(function)["return"], set()))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_parameter_is_typed_and_described(name):
    function = getattr(perfmodel, name)
    parameters = inspect.signature(function).parameters
    types, words = hints(function), inspect.getdoc(function) or ""
    assert set(parameters) <= set(types)
    assert not [each for each in parameters if types[each] is Any]
    _, _, section = words.partition("Parameters\n----------\n")
    lines = section.partition("\n\n")[0]
    described = {
        each for line in lines.splitlines() if " : " in line for each in line.split(" : ")[0].split(", ")
    }
    assert set(parameters) == described


def test_the_walk_finds_what_is_not_typed():
    @dataclasses.dataclass
    class Loose:
        table: dict[str, Any]

    Loose.__module__ = "perfmodel.loose"
    assert list(leaks("loose", list[Loose], set())) == ["Loose.table"]
