"""Explain one prediction: record its formulas, work it out again, and hold one to the other."""

from __future__ import annotations

from perfmodel.calibration import Calibration, calibration
from perfmodel.economics import economics
from perfmodel.explain import assembly
from perfmodel.explain.derivation import Derivation, derivation
from perfmodel.explain.equations import Explanation, equations_of, title_of
from perfmodel.explain.money import amounts, costs
from perfmodel.explain.node import given, worked
from perfmodel.explain.recorder import recorded
from perfmodel.explain.sources import cited
from perfmodel.explain.turns import turns_of
from perfmodel.formula import FORMULAS
from perfmodel.prediction import Prediction, predict
from perfmodel.prices import Conditions
from perfmodel.sensitivity.elasticity import case_of
from perfmodel.specs.scenario import Scenario
from perfmodel.specs.store import Catalogue

TOLERANCE = 1e-9
"""Relative; the derivation and the prediction do the same sums in another order."""


def explain(
    scenario: Scenario,
    catalogue: Catalogue | None = None,
    constants: Calibration | None = None,
    conditions: Conditions | None = None,
) -> Explanation:
    """Return the equations of a prediction with its numbers, each before it is needed.

    Parameters
    ----------
    scenario, catalogue, constants : as for ``predict``
    conditions : prices, power and failures, where costs are to be explained too

    Raises
    ------
    InputError : as ``predict``; with conditions, as ``perfmodel.economics.economics``

    Examples
    --------
    >>> found = explain(Scenario(world_size=8))
    >>> abs(sum(found["terms"].values()) / found["iteration_time"] - 1) < 1e-12
    True
    >>> found["equations"][-1]["formula"]
    'assembly.iteration_time'
    """
    catalogue = catalogue or Catalogue.built_in()
    constants = constants or calibration()
    with recorded() as calls:
        prediction = predict(scenario, catalogue, constants)
        told = None if conditions is None else economics(prediction, conditions, catalogue)
    case = case_of(scenario, catalogue, constants, conditions or Conditions(price=1.0))
    found = _held_to(derivation(case), prediction)
    money = costs(case, found, told) if told else {}
    ran = list(dict.fromkeys(call.name for call in calls))
    keys = dict.fromkeys(key for name in ran for key in FORMULAS[name].cites)
    return {
        "title": title_of(prediction),
        "iteration_time": prediction.iteration_time,
        "terms": dict(prediction.terms),
        "costs": {name: {"value": value, "unit": unit} for name, (value, unit) in amounts(told).items()}
        if told
        else {},
        "assumed": told["assumed"] if told else [],
        "unknown": told["unknown"] if told else [],
        "equations": equations_of(found, money),
        "turns": turns_of(case, found),
        "complete": found.is_exact,
        "recorded": ran,
        "sources": {key: cited(key) for key in keys},
    }


def _held_to(found: Derivation, prediction: Prediction) -> Derivation:
    """The derivation with each term that it does not bring to the predicted time given as predicted."""
    told = {
        name: found.terms[name]
        if abs(float(found.terms[name].value) - time) <= TOLERANCE * prediction.iteration_time
        else given(name, time, "as predicted; its steps are not worked out here")
        for name, time in prediction.terms.items()
    }
    if told == found.terms:
        return found
    return Derivation(worked("iteration_time", assembly.iteration_time, **told), told, False)
