"""One prediction of a comparison, with its name and its costs."""

from __future__ import annotations

from typing import Any, NamedTuple

from perfmodel.economics import economics
from perfmodel.errors import InputError
from perfmodel.prediction import Prediction, predict
from perfmodel.specs.conditions import Conditions
from perfmodel.specs.scenario import AnyScenario
from perfmodel.specs.store import Catalogue


class Case(NamedTuple):
    """One prediction, by the name it goes by in the comparison."""

    name: str
    prediction: Prediction
    economics: dict[str, Any] | None
    """As ``perfmodel.economics.economics`` returns it; None where it could not be worked out."""

    @property
    def rate(self) -> float:
        """Samples per second of the whole job."""
        return self.prediction.samples_per_second

    @property
    def cost(self) -> float | None:
        """Of one sample [$]; None where no price is known."""
        if self.economics is None:
            return None
        cost: float | None = self.economics["per_iteration"]["cost"]
        return None if cost is None else cost / self.prediction.scenario["global_batch_size"]


def case_of(
    name: str, scenario: AnyScenario, catalogue: Catalogue | None = None, conditions: Conditions | None = None
) -> Case:
    """Return a scenario's prediction with its costs.

    Raises
    ------
    InputError : as ``predict`` and ``economics``, with the case's name before it
    """
    catalogue = Catalogue.of(catalogue)
    try:
        prediction = predict(scenario, catalogue)
        return Case(name, prediction, economics(prediction, conditions or Conditions(), catalogue))
    except InputError as error:
        raise InputError(f"{name}: {error}") from None
