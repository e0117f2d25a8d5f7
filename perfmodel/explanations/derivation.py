"""The derivation of a prediction: recorded calls of one evaluation, linked by the values passed between them.

A formula's result that another formula was called with is the same object, so the calls themselves say how
they join; what no formula made is an input, and says where it comes from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from perfmodel.explanations.node import Node
from perfmodel.explanations.origins import Origins
from perfmodel.explanations.recorder import Call, recorded
from perfmodel.formula import FORMULAS
from perfmodel.sensitivity.case import Case
from perfmodel.step.evaluate import Outcome, Step, evaluate, outcome, start_of


class Derivation(NamedTuple):
    """A prediction, worked out."""

    iteration_time: Node
    terms: dict[str, Node]
    """By name; those that are zero are given as such."""
    step: Step | Outcome
    """What was evaluated, with the very numbers of the nodes."""
    made: dict[int, Node]
    """Every quantity by the identity of its number; ``step`` and the nodes keep them alive."""
    is_complete: bool
    """Whether every quantity is worked out by a formula or is an input whose origin is known."""


def derivation(case: Case) -> Derivation:
    """Return how the iteration time of a case is worked out.

    Parameters
    ----------
    case : a setting and constants
    """
    setting, constants = case.setting, case.constants
    start = start_of(setting, constants)  # of measured runs only what comes out is a part of this
    with recorded() as calls:
        step: Step | Outcome = (
            evaluate(setting, constants) if setting.layout is None else outcome(setting, constants, start)
        )
    origins = Origins(case, step)
    made = linked(calls, origins)
    terms = {name: made.get(id(time)) or origins.node(name, time) for name, time in step.terms.items()}
    whole = made[id(step.iteration_time)]
    is_complete = all(node.function is not None or origins.knows(node) for node in whole.walk())
    return Derivation(whole, terms, step, made, is_complete)


def linked(
    calls: Iterable[Call], origins: Origins, before: Mapping[int, Node] | None = None
) -> dict[int, Node]:
    """Return the quantities that formulas made, each by the identity of its number.

    Parameters
    ----------
    calls : in the order in which they returned; those that another formula made are a part of it
    origins : of the inputs
    before : quantities made earlier, which these calls may have been given
    """
    made = dict(before or {})
    for call in calls:
        if call.depth:
            continue
        inputs = {
            name: made.get(id(value)) or origins.node(name, value) for name, value in call.arguments.items()
        }
        function = FORMULAS[call.name].function
        for part in _parts(call.result):
            made[id(part)] = Node(
                origins.result_of(function), part, function, inputs, labels=origins.labels(call, part)
            )
    return made


def _parts(result: Any) -> list[Any]:
    """Return the numbers of a result that identity tells apart: small whole numbers are shared."""
    if isinstance(result, tuple):
        return [part for field in result for part in _parts(field)]
    return [result] if isinstance(result, (float, np.ndarray, np.floating)) else []
