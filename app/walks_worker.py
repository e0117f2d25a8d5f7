"""How an iteration depends on its inputs; it needs no page."""

from __future__ import annotations

from perfmodel.decide.sensitivity import sensitivity
from perfmodel.decide.sensitivity.sensitivity_tables import SensitivityReport, sensitivity_report
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.fitted.calibration import calibration
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.options.scenario import Scenario


def walked(scenario: Scenario, catalogue: Catalogue, conditions: Conditions) -> SensitivityReport:
    """Return everything there is to say of the sensitivity of a scenario.

    Raises
    ------
    InputError : a scenario that cannot be
    """
    return sensitivity_report(sensitivity(scenario, catalogue, None, conditions), catalogue, calibration())
