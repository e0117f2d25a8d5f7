"""The sensitivity analysis of a scenario, in a module that loads without Streamlit."""

from __future__ import annotations

from perfmodel.decide.sensitivity import sensitivity
from perfmodel.decide.sensitivity.sensitivity_tables import SensitivityReport, sensitivity_report
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.fitted.calibration import calibration
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.options.scenario import Scenario


def report_of(scenario: Scenario, catalogue: Catalogue, conditions: Conditions) -> SensitivityReport:
    """Return the sensitivity report of a scenario under conditions of price, power and failures.

    Raises
    ------
    InputError : the scenario cannot be predicted
    """
    return sensitivity_report(sensitivity(scenario, catalogue, None, conditions), catalogue, calibration())
