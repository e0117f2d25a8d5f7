"""Defaults of loading real samples; imports the modules of feeds only for real input."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from perfmodel.hardware.accelerator import Accelerator
    from perfmodel.hardware.node import Node
    from perfmodel.model.input.feed import Feed
    from perfmodel.model.options.scenario import Scenario
    from perfmodel.model.setting.profile import Profile
    from perfmodel.workloads.workload import Workload

Take = Callable[[str, Any, Any], Any]
"""Takes an option, its stated value and its default; returns the value that applies."""
DEFAULT_STORAGE = "local-ssd"
DEFAULT_LOADER_WORKERS = 4
"""Loader workers of each accelerator if the machine's cores are unknown."""


def loader_workers(
    scenario: Scenario, node: Node, per_node: int, profile: Profile | None, take: Take, warnings: list[str]
) -> int:
    """Return the number of decoding workers of a host, at most its cores; 0 without prefetching.

    With a profile that measured input, its workers are not limited by the cores of the node.
    """
    if scenario.input == "synthetic":
        if "input" not in scenario.model_fields_set:
            take("input", None, "synthetic")
        return 0
    if scenario.prefetch_depth == 0:
        return 0
    usual = node.cores or DEFAULT_LOADER_WORKERS * per_node
    workers: int = take("loader-workers", scenario.loader_workers, usual)
    measured = profile is not None and profile.measures_input
    if not node.cores or workers <= node.cores or measured:
        return workers
    warnings.append(f"{workers} loader workers decode no faster than the {node.cores} cores of {node.id}")
    return node.cores


def storage_of(scenario: Scenario, take: Take) -> str:
    """Return the storage of samples; an empty string for synthetic ones."""
    if scenario.input == "synthetic":
        return ""
    stored: str = take("storage", scenario.storage, DEFAULT_STORAGE)
    return stored


def feed(
    scenario: Scenario, workload: Workload, node: Node, accelerator: Accelerator, warnings: list[str]
) -> Feed | None:
    """Return the feed of real samples; None for synthetic ones.

    Raises
    ------
    InputError : as for ``feed_of``
    """
    if scenario.input == "synthetic":
        return None
    from perfmodel.model.input.feed import feed_of

    return feed_of(scenario, workload, node, accelerator, scenario.storage or DEFAULT_STORAGE, warnings)
