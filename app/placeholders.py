"""Words of empty fields that depend on what other fields say."""

from __future__ import annotations

from app import names, session_hardware
from app.options import Option
from app.state import newest
from perfmodel.core.units import show
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.setting.resolve import DEFAULT_ACCELERATOR


def of_machine(known: dict[str, Option]) -> dict[str, Option]:
    """Return options with what an empty field means that follows from the machine.

    That is its accelerator, or the default one, and the memory of its host.

    Parameters
    ----------
    known : options of a page, by name
    """
    option, machine = known.get("accelerator"), known.get("node")
    if option is None or machine is None or DEFAULT_ACCELERATOR not in option.usual:
        return known
    catalogue, id = session_hardware.catalogue(), newest(machine)
    id = id if id in machine.choices else None
    own = catalogue.node(id).accelerator if id else None
    called = names.called(own or DEFAULT_ACCELERATOR, catalogue)
    usual = f"the machine's: {called}" if own else f"{called} (default)"
    host, chosen = known.get("host-memory"), newest(option)
    if host is not None:
        card = chosen if chosen in option.choices else DEFAULT_ACCELERATOR
        known = {**known, host.name: host._replace(usual=_host_memory(id, card, catalogue))}
    return {**known, "accelerator": option._replace(usual=usual)}


def _host_memory(node: str | None, accelerator: str, catalogue: Catalogue) -> str:
    """Return what is known of the host's memory of a machine, by default the accelerator's usual one."""
    id = node or catalogue.accelerator(accelerator).usual_node
    size = catalogue.node(id).host_memory_bytes if id else None
    return "not known, e.g. 128GB" if size is None else f"the machine's: {show(size.value, 'B')}"
