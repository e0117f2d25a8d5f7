"""A plan's request for machines that one has: what more of them, others or a faster network would add."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from perfmodel.core.errors import refusal
from perfmodel.core.records.options import declared
from perfmodel.decide.planning.fleets import Fleets
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.options.keywords import RunOptions
from perfmodel.model.options.run import Run

OWN = ("have", "buy", "hour_value", "adapter_prices", "switch_prices", "switch_ports")
"""Options of a plan's request that are of fleets alone."""


def fleets_of(options: Mapping[str, Any], conditions: Conditions | None, catalogue: Catalogue) -> Fleets:
    """Return what the options of a plan's request ask of a fleet.

    Parameters
    ----------
    options : that were given, ``have`` among them
    conditions : prices, power and failures; None where none were given

    Raises
    ------
    InputError : options that a fleet leaves no choice of; as ``perfmodel.fleets``
    """
    from perfmodel.interfaces.api.fleets import fleets

    one_of_each = {
        field: one.name.replace("-", "_") for field, one in declared(Run).items() if field not in _OF_SEVERAL
    }
    known = {*inspect.signature(fleets).parameters, *RunOptions.__annotations__}
    asked: dict[str, Any] = {}
    for name, value in options.items():
        if value is None or value == ():
            continue
        one = one_of_each.get(name, name)
        if one not in known:
            raise refusal("fleet.goes_without", name, "have")
        if one != name and len(value) > 1:
            raise refusal("fleet.give_one", name, "have", count=len(value))
        asked[one] = value[0] if one != name else value
    return fleets(**asked, conditions=conditions, catalogue=catalogue)


_OF_SEVERAL = ("prices", "purchase_prices")
"""Options of a run that are by machine, of fleets too."""


def refuse_without_fleet(options: Mapping[str, Any]) -> None:
    """Refuse what goes with a fleet, without one.

    Raises
    ------
    InputError : such an option
    """
    for name in OWN:
        if options.get(name) not in (None, ()):
            raise refusal("fleet.say_have", name, "have")
