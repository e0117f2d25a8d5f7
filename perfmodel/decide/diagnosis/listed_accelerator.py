"""Which accelerators a listing names, and whether they contradict the machines that are stated."""

from __future__ import annotations

from perfmodel.core.errors import InputError
from perfmodel.evidence.traces.nccl_tests import Timings
from perfmodel.hardware.accelerator import Accelerator
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.machine_words import accelerator_words
from perfmodel.model.options.scenario import Scenario

OF_MACHINES = (
    "accelerator",
    "node",
    "intra_link",
    "inter_link",
    "nics",
    "connections",
    "network_cap",
    "transport",
    "rack_nodes",
    "oversubscription",
    "placement",
    "torus_dimensions",
)
"""Options of a job that say where its collectives run."""
MACHINES = {"accelerator", "node", "intra_link"}
"""Of these, one says what the machines are."""


def named_accelerator(timings: Timings, catalogue: Catalogue) -> Accelerator | None:
    """Return the accelerator that a listing names; None where it names none that is known."""
    try:
        return catalogue.accelerator(timings.accelerator) if timings.accelerator else None
    except InputError:
        return None


def stated_accelerator(accelerator: str | None, node: str | None, catalogue: Catalogue) -> Accelerator | None:
    """Return the accelerator that options state, by itself or by its machine; None of unknown ones."""
    try:
        id = accelerator or (catalogue.node(node).accelerator if node else None)
        return catalogue.accelerator(id) if id else None
    except InputError:
        return None


def contradicts(stated: Accelerator | None, timings: Timings, catalogue: Catalogue) -> bool:
    """Return whether a listing names a known accelerator that is another than the stated one."""
    named = named_accelerator(timings, catalogue)
    if named is None or stated is None:
        return False
    return stated.id not in (named.id, *catalogue.others("accelerators", str(timings.accelerator)))


def of_accelerators(timings: Timings, scenario: Scenario, named: Accelerator | None) -> str:
    """Return what a listing says of its accelerators, and which machine is taken by that."""
    if timings.accelerator is None:
        return ""
    is_taken = named is not None and not MACHINES & scenario.model_fields_set
    taken = f", taken as --accelerator {named.id}" if named is not None and is_taken else ""
    return f", of {timings.accelerator}{taken}"


def mismatch_of(
    timings: Timings, scenario: Scenario, named: Accelerator | None, catalogue: Catalogue
) -> str | None:
    """Return that a listing names other accelerators than the stated ones, and which options to leave out."""
    given = {name: getattr(scenario, name) for name in OF_MACHINES if name in scenario.model_fields_set}
    accelerator, node = given.get("accelerator"), given.get("node")
    stated = stated_accelerator(accelerator, node, catalogue)
    if stated is None or named is None or not contradicts(stated, timings, catalogue):
        return None
    of_node = stated_accelerator(None, node, catalogue)
    is_its_machine = of_node is not None and not contradicts(of_node, timings, catalogue)
    out = [name for name in given if name == "accelerator" or (name in MACHINES and not is_its_machine)]
    options = " and ".join(f"--{name.replace('_', '-')}" for name in out)
    right = f", or give --node {named.usual_node}" if out == ["node"] and named.usual_node else ""
    words = f"the listing is of {timings.accelerator}, not of {accelerator_words(stated)}"
    return f"{words} as given: leave out {options}{right}"
