"""Words of empty fields that depend on what other fields say."""

from __future__ import annotations

from app import names, session_hardware
from app.options import Option
from app.state import newest
from perfmodel.model.setting.resolve import DEFAULT_ACCELERATOR


def of_machine(known: dict[str, Option]) -> dict[str, Option]:
    """Return options with what an empty field for the accelerator means: the machine's, or the default.

    Parameters
    ----------
    known : options of a page, by name
    """
    option, machine = known.get("accelerator"), known.get("node")
    if option is None or machine is None or DEFAULT_ACCELERATOR not in option.usual:
        return known
    catalogue, id = session_hardware.catalogue(), newest(machine)
    own = catalogue.node(id).accelerator if id in machine.choices else None
    called = names.called(own or DEFAULT_ACCELERATOR, catalogue)
    usual = f"the machine's: {called}" if own else f"{called} (default)"
    return {**known, "accelerator": option._replace(usual=usual)}
