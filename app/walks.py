"""How an iteration depends on its inputs, value by value, as a bounded piece of work."""

from __future__ import annotations

from app.bounded import Work
from app.walks_worker import walked
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.options.scenario import Scenario


def work(scenario: Scenario, catalogue: Catalogue, conditions: Conditions) -> Work:
    """Return the work: some hundred predictions, or some thousand where networks have many layers."""
    return Work(
        call=walked,
        arguments=(scenario, catalogue, conditions),
        noun="sensitivity",
        doing="Changing every input, and looking where the answer turns",
        less="choose a network of fewer layers, or another overlap",
    )
