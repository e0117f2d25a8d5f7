"""From a checked request to the JSON of its answer, which is what ``--json`` of the command prints."""

from collections.abc import Mapping
from typing import Any

import orjson

from perfmodel.api.predict import predicted
from perfmodel.errors import unknown_name
from perfmodel.prediction import Prediction
from perfmodel.service.requests import PredictRequest, conditions_of
from perfmodel.specs.record import Record
from perfmodel.specs.store import Catalogue


class PredictAnswer(Prediction):
    """A prediction, and what was asked beside it."""

    time_to_target: dict[str, Any] | None = None
    """Target, recipe, epochs and time [s], where it was asked for."""
    time_to_loss: dict[str, Any] | None = None
    """Time to a loss [s] of every strategy, where it was asked for."""
    economics: dict[str, Any] | None = None
    """Time [s], cost [USD], energy [kWh] and carbon [g], where they were asked for."""


def predict(request: PredictRequest, catalogue: Catalogue) -> bytes:
    """Answer ``/v1/predict``."""
    return encoded(predict_table(request, catalogue))


def predict_table(request: PredictRequest, catalogue: Catalogue) -> Mapping[str, Any]:
    """Return a prediction as a table."""
    answer = predicted(
        request.scenario(),
        catalogue,
        target=request.time_to_target,
        recipe=request.recipe,
        tokens=request.tokens,
        loss=request.time_to_loss,
        conditions=conditions_of(request.conditions),
    )
    if request.fields is None:
        return answer.prediction.table() | answer.extras
    for name in request.fields:
        if name not in PredictAnswer.model_fields:
            raise unknown_name("field", name, PredictAnswer.model_fields)
    asked = dict.fromkeys(request.fields)
    return {name: answer.extras.get(name, getattr(answer.prediction, name, None)) for name in asked}


def encoded(table: Any) -> bytes:
    """Return a table as JSON; what is no number, or endless, is null."""
    return orjson.dumps(table, default=_plain, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS)


def _plain(value: Any) -> Any:
    if isinstance(value, Record):
        return value._values()
    if isinstance(value, tuple):
        return list(value)
    raise TypeError(f"{type(value).__name__} is no JSON")
