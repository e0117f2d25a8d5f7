"""Explain one prediction: its formulas with the numbers of its evaluation."""

from __future__ import annotations

from typing import Unpack

from perfmodel.core.formula import FORMULAS
from perfmodel.decide.economics import economics
from perfmodel.decide.explanations.derivation import derivation
from perfmodel.decide.explanations.equations import Cost, equations_of
from perfmodel.decide.explanations.exact_crossovers import crossovers_of
from perfmodel.decide.explanations.money import costs
from perfmodel.decide.explanations.node import Node
from perfmodel.decide.explanations.sources import cited
from perfmodel.decide.explanations.write import Explanation
from perfmodel.decide.sensitivity.elasticity import case_of
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.fitted.calibration import Calibration, constants_of
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.options.keywords import SizedOptions, scenario_from
from perfmodel.model.options.scenario import AnyScenario
from perfmodel.model.prediction import predict
from perfmodel.model.prediction.intervals.own_runs import remark
from perfmodel.model.prediction.memory import unfit

UNITS = {
    "cost": "$",
    "energy": "J",
    "carbon": "g",
    "time": "s",
    "failure_interval": "s",
    "checkpoint_interval": "s",
    "goodput": "1",
    "failures": "1",
}
"""Unit of each amount that costs are explained by."""


def explain(
    scenario: AnyScenario | None = None,
    catalogue: Catalogue | None = None,
    constants: Calibration | None = None,
    conditions: Conditions | None = None,
    **options: Unpack[SizedOptions],
) -> Explanation:
    """Return the equations of a prediction with its numbers; each follows the equations it needs.

    Parameters
    ----------
    scenario, catalogue, constants : as for ``predict``
    conditions : prices, power and failures, where costs are to be explained too
    options : of the scenario; they override its own

    Raises
    ------
    InputError : as ``predict``; with conditions, as ``perfmodel.decide.economics.economics``

    Examples
    --------
    >>> explanation = explain(workload="resnet50", gpus=8)
    >>> abs(sum(explanation.terms.values()) / explanation.iteration_time - 1) < 1e-12
    True
    >>> explanation.equations[-1].formula
    'iteration.iteration_time'
    """
    scenario = scenario_from(scenario, options)
    conditions = None if conditions is None else Conditions.model_validate(conditions)
    catalogue = Catalogue.of(catalogue)
    constants = constants_of(constants)
    prediction = predict(scenario, catalogue, constants)
    case = case_of(scenario, catalogue, constants, conditions or Conditions(price=1.0))
    result = derivation(case)
    formulas = dict(result.trace.ran)
    money: dict[str, Node] = {}
    assumed: list[str] = []
    unknown: list[str] = []
    if conditions is not None:
        amounts, money, cost_trace = costs(case, result, prediction, conditions, catalogue)
        formulas |= cost_trace.ran
        reported = economics(prediction, conditions, catalogue, amounts)
        assumed, unknown = reported["assumed"], reported["unknown"]
    own = case.constants.own
    of_own_runs = [] if own is None else [remark(case.setting, own)]
    lacking = unfit(case.setting, case.constants)
    keys = dict.fromkeys(key for name in formulas for key in FORMULAS[name].cites)
    return Explanation(
        title=prediction.headline,
        model=prediction.model,
        iteration_time=prediction.iteration_time,
        terms=dict(prediction.terms),
        memory=prediction.memory.rows,
        costs={
            name: Cost(value=float(node.value), unit=UNITS[name.partition("_of_")[0]])
            for name, node in money.items()
        },
        assumed=assumed,
        unknown=unknown,
        notes=[
            *([lacking] if lacking else []),
            *of_own_runs,
            *case.setting.workload.notes,
        ],
        equations=equations_of(result, money),
        turns=crossovers_of(case, result),
        complete=not result.gaps,
        recorded=list(formulas),
        sources={key: cited(key) for key in keys},
    )
