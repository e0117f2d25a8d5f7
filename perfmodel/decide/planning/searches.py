"""Search over every plan that a goal allows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from perfmodel.decide.planning.at_prices import Priced
from perfmodel.decide.planning.candidates import candidates
from perfmodel.decide.planning.goal import Goal
from perfmodel.decide.planning.layouts import Fastest
from perfmodel.decide.planning.machines import machines_of
from perfmodel.decide.planning.results import SearchResult
from perfmodel.decide.planning.within import paid
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.fitted.calibration import Calibration, constants_of
from perfmodel.model.input.data import fed_with
from perfmodel.model.options.conditions import LARGEST
from perfmodel.workloads.recipes.epochs_to_target import EpochsFit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Table = dict[str, NDArray[Any]]


def search(
    goal: Goal,
    catalogue: Catalogue | None = None,
    constants: Calibration | None = None,
    known: Fastest | None = None,
) -> SearchResult:
    """Predict every plan that a goal allows, and return them with the chosen one.

    Parameters
    ----------
    goal : the run, its limits and the machines that may be hired
    catalogue, constants : as for ``predict``; by default the built-in ones
    known : as ``SearchResult.known`` of a search that differs in machines, sizes, precision, batch and limits

    Raises
    ------
    InputError : the goal names something unknown or impossible; nothing fits

    Examples
    --------
    Ninety epochs of ResNet-50 within a day: no plan of the front costs less than the cheapest.

    >>> result = search(Goal(epochs=90, deadline=86400.0, accelerators=("v100-sxm2-16gb",), max_gpus=32))
    >>> result.cheapest["run_time"] < 86400
    True
    >>> result.cheapest["cost"] == min(row["cost"] for row in result.front if row["meets_deadline"])
    True
    """
    catalogue, constants = Catalogue.of(catalogue), constants_of(constants)
    goal = goal.by_id(catalogue)
    goal.check()
    goal = goal.completed()
    data = (goal.options.get(name) for name in ("dataset", "dataset_samples", "sample_bytes"))
    network = fed_with(goal.network(), *data)
    fit = goal.fit()
    goal = goal.with_failures(network)
    machines = machines_of(goal, catalogue)
    priced = Priced.of(machines, goal, catalogue)
    known = {} if known is None else known
    possible = candidates(goal, priced, network, fit, catalogue, constants, known)
    table = possible.table
    if fit is not None and (chosen := goal.chosen_recipe()) is not None and chosen.optimizer is not None:
        table = _of_published_batches(table, goal, fit, possible.left_out)
    return SearchResult(
        goal,
        priced.machines,
        table,
        possible.left_out,
        fit,
        catalogue,
        constants,
        possible.layouts,
        possible.wasted,
        known,
    )


def _of_published_batches(table: Table, goal: Goal, fit: EpochsFit, left_out: dict[str, int]) -> Table:
    """Return the plans whose batch a recipe was published with, if one of them meets the limits; else all.

    An optimizer for large batches brings nothing with small ones, for which it was not published.
    """
    batch = table["global_batch_size"]
    shown = (fit.smallest_batch_size <= batch) & (batch <= fit.largest_batch_size)
    in_time = table["run_time"] <= (LARGEST if goal.deadline is None else goal.deadline)
    in_budget = paid(table) <= (LARGEST if goal.budget is None else goal.budget)  # not of an unknown price
    if not (shown & in_time & in_budget).any() or shown.all():
        return table
    left_out[f"a batch {fit.outside}, while others meet the limits"] = int((~shown).sum())
    return {name: column[shown] for name, column in table.items()}
