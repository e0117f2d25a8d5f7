"""How an iteration depends on its inputs; it needs no page."""

from __future__ import annotations

from perfmodel.calibration import calibration
from perfmodel.sensitivity import sensitivity
from perfmodel.sensitivity.report import SensitivityReport, sensitivity_report
from perfmodel.specs.conditions import Conditions
from perfmodel.specs.scenario import Scenario
from perfmodel.specs.store import Catalogue


def walked(scenario: Scenario, catalogue: Catalogue, conditions: Conditions) -> SensitivityReport:
    """Return everything there is to say of the sensitivity of a scenario.

    Raises
    ------
    InputError : a scenario that cannot be
    """
    return sensitivity_report(sensitivity(scenario, catalogue, None, conditions), catalogue, calibration())
