"""From a goal to every plan it leaves open."""

from __future__ import annotations

from perfmodel.calibration import Calibration, constants_of
from perfmodel.planning.candidates import candidates
from perfmodel.planning.goal import Goal
from perfmodel.planning.machines import machines_of
from perfmodel.planning.results import SearchResult
from perfmodel.specs.store import Catalogue
from perfmodel.workloads import workload
from perfmodel.workloads.data import fed_with


def search(
    goal: Goal, catalogue: Catalogue | None = None, constants: Calibration | None = None
) -> SearchResult:
    """Try every plan a goal leaves open.

    Parameters
    ----------
    goal : the run, its limits and what may be hired
    catalogue, constants : as for ``predict``; by default the built-in ones

    Raises
    ------
    InputError : the goal names something unknown or impossible; nothing fits

    Examples
    --------
    Ninety epochs of ResNet-50 within a day: no plan of the front costs less than the cheapest.

    >>> found = search(Goal(epochs=90, deadline=86400.0, accelerators=("v100-sxm2-16gb",), max_gpus=32))
    >>> found.cheapest["run_time"] < 86400
    True
    >>> found.cheapest["cost"] == min(row["cost"] for row in found.front if row["meets_deadline"])
    True
    """
    catalogue, constants = Catalogue.of(catalogue), constants_of(constants)
    goal = goal.by_id(catalogue)
    goal.check()
    goal = goal.completed()
    data = (goal.options.get(name) for name in ("dataset", "dataset_samples", "sample_bytes"))
    network = fed_with(workload(goal.workload, goal.options.get("sequence_length")), *data)
    fit = goal.fit()
    goal = goal.with_failures(network)
    machines = machines_of(goal, catalogue)
    every = candidates(goal, machines, network, fit, catalogue, constants)
    return SearchResult(
        goal, tuple(machines), every.table, every.left_out, fit, catalogue, constants, every.layouts
    )
