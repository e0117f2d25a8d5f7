"""Functions that make the report of an answer when the user downloads it, which is outside the session."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from app import session_hardware
from app.options import MONEY, values
from perfmodel.core.records.options import Described
from perfmodel.interfaces.command import Context
from perfmodel.interfaces.register import command
from perfmodel.interfaces.reports.page import Page
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.options.risk import PLANNING_CONFIDENCE
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import Prediction
from perfmodel.model.prediction.scaling import Scaling

if TYPE_CHECKING:
    from perfmodel.decide.comparison import Comparison
    from perfmodel.decide.quote import Checked, Quote
    from perfmodel.decide.sensitivity.sensitivity_tables import SensitivityReport
    from perfmodel.interfaces.api.layouts import Layouts

Making = Callable[[], Page]


def of_prediction(
    prediction: Prediction,
    command: str,
    picked: Mapping[str, Any],
    reached: dict[str, Any] | None = None,
    costs: Mapping[str, Any] | None = None,
    confidence: float = PLANNING_CONFIDENCE,
) -> Making:
    """Return a function that makes the report of a prediction.

    Parameters
    ----------
    prediction : of the job
    command : shell command that repeats it
    picked : chosen options, for prices, power and failures
    reached, costs, confidence : as of ``page_of_prediction``
    """
    catalogue, conditions = session_hardware.catalogue(), Conditions(**values(picked, MONEY))

    def page() -> Page:
        from perfmodel.interfaces.reports.predicted import page_of_prediction

        return page_of_prediction(prediction, command, catalogue, conditions, reached, costs, confidence)

    return page


def of_command(name: str, answer: Any, request: Described, line: str) -> Making:
    """Return a function that makes the report that a command writes of its answer.

    Parameters
    ----------
    name : of the command
    answer, request : of the page
    line : shell command that repeats it
    """
    context, page = Context(session_hardware.catalogue(), typed=line), command(name).writes["report"].page
    assert page is not None
    return partial(page, answer, request, context)


def of_comparison(result: Comparison, command: str, conditions: Sequence[Conditions]) -> Making:
    """Return a function that makes the report of a comparison; parameters as of ``page_of_comparison``."""
    catalogue = session_hardware.catalogue()

    def page() -> Page:
        from perfmodel.interfaces.reports.compared import page_of_comparison

        return page_of_comparison(result, command, catalogue, conditions)

    return page


def of_quote(quote: Quote, checked: Sequence[Checked], command: str) -> Making:
    """Return a function that makes the report of a checked quote."""

    def page() -> Page:
        from perfmodel.interfaces.reports.quoted import page_of_quote

        return page_of_quote(quote, checked, command)

    return page


def of_layouts(answer: Layouts, command: str, conditions: Conditions) -> Making:
    """Return a function that makes the report of a search for layouts."""
    catalogue = session_hardware.catalogue()

    def page() -> Page:
        from perfmodel.interfaces.reports.layouts import page_of_layouts

        return page_of_layouts(answer, command, catalogue, conditions=conditions)

    return page


def of_scaling(scaling: Scaling, command: str) -> Making:
    """Return a function that makes the report of one job on several numbers of accelerators."""
    catalogue = session_hardware.catalogue()

    def page() -> Page:
        from perfmodel.interfaces.reports.scaled import page_of_scaling

        return page_of_scaling(scaling, command, catalogue)

    return page


def of_sensitivity(
    report: SensitivityReport, scenario: Scenario, command: str, conditions: Conditions
) -> Making:
    """Return a function that makes the report of a sensitivity analysis."""
    catalogue = session_hardware.catalogue()

    def page() -> Page:
        from perfmodel.interfaces.reports.sensitive import page_of_sensitivity

        return page_of_sensitivity(report, scenario, command, catalogue, conditions)

    return page
