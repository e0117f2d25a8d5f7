"""How money, energy and failures follow from an iteration time: the formulas ``perfmodel.economics`` ran."""

from __future__ import annotations

from perfmodel.economics import Span, Spending, spending
from perfmodel.explanations.derivation import Derivation, linked
from perfmodel.explanations.node import Node
from perfmodel.explanations.origins import Origins
from perfmodel.explanations.recorder import Call, recorded
from perfmodel.prediction.result import Prediction
from perfmodel.prices import price_words
from perfmodel.sensitivity.case import Case
from perfmodel.specs.conditions import Conditions
from perfmodel.specs.store import Catalogue


def costs(
    case: Case, result: Derivation, prediction: Prediction, conditions: Conditions, catalogue: Catalogue
) -> tuple[Spending, dict[str, Node], list[Call]]:
    """Return what a prediction comes to, how every amount of it is worked out, and the formulas that ran.

    Parameters
    ----------
    case : what was predicted
    result : its derivation
    prediction : the same, whose times become those of the derivation
    conditions, catalogue : as for ``perfmodel.economics.economics``

    Raises
    ------
    InputError : as ``perfmodel.economics.economics``
    """
    own = {"iteration_time": result.step.iteration_time, "terms": result.step.terms}
    with recorded() as calls:
        spent = spending(prediction.model_copy(update=own), conditions, catalogue)
    prices = dict.fromkeys(price for price in (spent.price, spent.server_price) if price)
    notes = {"machine_price": "; ".join(map(price_words, prices))}
    made = linked(calls, Origins(case, result.step, notes), result.made)
    nodes = {name: made[id(value)] for name, (value, _) in amounts(spent).items() if id(value) in made}
    return spent, nodes, calls


def amounts(spent: Spending) -> dict[str, tuple[float, str]]:
    """Return every amount that is known, in SI, with its unit."""
    result = _amounts("iteration", spent.iteration)
    if spent.rates.failure_interval is not None:
        result |= {
            "failure_interval": (spent.rates.failure_interval, "s"),
            "checkpoint_interval": (spent.rates.checkpoint_interval, "s"),
            "goodput": (spent.rates.goodput, "1"),
        }
    if spent.run:
        result |= {"time_of_run": (spent.run.time, "s")} | _amounts("run", spent.run)
        result |= {"failures_of_run": (spent.failures, "1")}
    return {name: (value, unit) for name, (value, unit) in result.items() if value is not None}


def _amounts(span: str, of: Span) -> dict[str, tuple[float | None, str]]:
    return {
        f"cost_of_{span}": (of.cost, "$"),
        f"energy_of_{span}": (of.energy, "J"),
        f"carbon_of_{span}": (of.carbon, "g"),
    }
