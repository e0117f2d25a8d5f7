"""Pages to hand on: what makes each answer's, outside the session, once somebody asks for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from app import session_hardware
from app.options import MONEY, values
from perfmodel.comparison import Comparison
from perfmodel.prediction import Prediction
from perfmodel.quote import Checked, Quote
from perfmodel.reports.page import Page
from perfmodel.specs.conditions import Conditions

Making = Callable[[], Page]


def of_prediction(
    prediction: Prediction,
    command: str,
    picked: Mapping[str, Any],
    reached: dict[str, Any] | None = None,
    costs: Mapping[str, Any] | None = None,
) -> Making:
    """Return what makes the page of a prediction.

    Parameters
    ----------
    command : what repeats it, in a shell
    picked : options chosen, of which those of money count
    reached, costs : as of ``page_of_prediction``
    """
    catalogue, conditions = session_hardware.catalogue(), Conditions(**values(picked, MONEY))

    def page() -> Page:
        from perfmodel.reports.predicted import page_of_prediction

        return page_of_prediction(prediction, command, catalogue, conditions, reached, costs)

    return page


def of_comparison(result: Comparison, command: str, picked: Mapping[str, Any]) -> Making:
    """Return what makes the page of a comparison, as ``of_prediction``."""
    catalogue, conditions = session_hardware.catalogue(), Conditions(**values(picked, MONEY))

    def page() -> Page:
        from perfmodel.reports.compared import page_of_comparison

        return page_of_comparison(result, command, catalogue, conditions)

    return page


def of_quote(quote: Quote, checked: Sequence[Checked], command: str) -> Making:
    """Return what makes the page of a quote's check."""

    def page() -> Page:
        from perfmodel.reports.quoted import page_of_quote

        return page_of_quote(quote, checked, command)

    return page
