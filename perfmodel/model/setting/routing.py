"""Options that say how tokens are routed to experts: what they come to, and where they change nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from perfmodel.model.options.layout import Layout
    from perfmodel.model.options.scenario import Scenario
    from perfmodel.workloads.architecture import Architecture

USUAL = {"routing_nodes": None, "expert_imbalance": 1.0, "capacity_factor": None}
"""Options of routing -> their values without effect."""
BALANCED = (
    "experts are taken as equally loaded, as in most published runs; routing of real text may cost up to "
    "some 40 %: --expert-imbalance"
)
"""Megatron-Bridge's recipes balance by force, DeepSeek-AI (2024) by a bias; the cost is assumed."""


def usual_expert_tensor(whole_experts: bool, model: Architecture, tensor_parallel: Any) -> Any:
    """Return the ranks that share each expert's products if a job does not state it; 1 without experts.

    Parameters
    ----------
    whole_experts : whether the software leaves experts whole
    model, tensor_parallel : the network, and the ranks that share other products
    """
    return 1 if whole_experts or not model.experts else tensor_parallel


def expert_load(scenario: Scenario) -> Any:
    """Return the tokens of the fullest rank's experts over the mean: the capacity, or the imbalance."""
    capacity = scenario.capacity_factor
    return scenario.expert_imbalance if capacity is None else capacity


def routing_remarks(
    scenario: Scenario, model: Architecture | None, layout: Layout | None = None
) -> Iterator[str]:
    """Yield warnings of options of routing that change nothing, and of what is assumed without them.

    Parameters
    ----------
    scenario : the job
    model, layout : of a transformer with a layout; None for others
    """
    given = [name for name, usual in USUAL.items() if getattr(scenario, name) != usual]
    if model is None or layout is None or not model.experts:
        reason = "without experts" if model is None or not model.experts else "without a layout"
        yield from (f"{_option(name)} changes nothing {reason}" for name in given)
        return
    if "routing_nodes" in given and layout.expert_parallel == 1:
        yield "--routing-nodes changes nothing without --expert-parallel of 2 or more"
    if "capacity_factor" in given and "expert_imbalance" in given:
        yield "--expert-imbalance changes nothing where every expert takes as many tokens (--capacity-factor)"
    if not {"capacity_factor", "expert_imbalance"} & {*given} and layout.expert_parallel > 1:
        yield BALANCED


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"
