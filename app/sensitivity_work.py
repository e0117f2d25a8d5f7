"""The sensitivity analysis of a scenario as bounded ``Work``."""

from __future__ import annotations

from app.bounded import Work
from app.sensitivity_worker import report_of
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.options.scenario import Scenario


def work(scenario: Scenario, catalogue: Catalogue, conditions: Conditions) -> Work:
    """Return the analysis as ``Work``: some hundred predictions, or thousands for networks of many layers."""
    return Work(
        call=report_of,
        arguments=(scenario, catalogue, conditions),
        noun="sensitivity",
        doing="Changing every input, and looking where the answer turns",
        less="choose a network of fewer layers, or another overlap",
    )
