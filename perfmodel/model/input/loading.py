"""What loads real samples where a scenario leaves it open; synthetic ones import nothing more for it."""

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
"""Takes an option, what was said of it, and its default, and returns which holds."""
DEFAULT_STORAGE = "local-ssd"
DEFAULT_LOADER_WORKERS = 4
"""Of each accelerator, where nobody knows the processor."""


def loader_workers(
    scenario: Scenario, node: Node, per_node: int, profile: Profile | None, take: Take, warnings: list[str]
) -> int:
    """Return how many workers of a host decode: no more than its cores; 0 where nothing is fetched ahead.

    A profile that measured waiting knows its workers on its own machine, whatever that had of cores.
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
    """Return where samples lie; nothing of synthetic ones."""
    if scenario.input == "synthetic":
        return ""
    stored: str = take("storage", scenario.storage, DEFAULT_STORAGE)
    return stored


def feed(
    scenario: Scenario, workload: Workload, node: Node, accelerator: Accelerator, warnings: list[str]
) -> Feed | None:
    """Return how samples reach the accelerators; None of synthetic ones.

    Raises
    ------
    InputError : as ``feed_of``
    """
    if scenario.input == "synthetic":
        return None
    from perfmodel.model.input.feed import feed_of

    return feed_of(scenario, workload, node, accelerator, scenario.storage or DEFAULT_STORAGE, warnings)
