"""Every plan that a goal allows, as one table: data-parallel copies and layouts, predicted and priced."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from perfmodel.core.candidates import TooManyCandidates
from perfmodel.core.errors import ErrorNote, InputError, refusal
from perfmodel.core.problem import Words
from perfmodel.core.units import show
from perfmodel.decide.failures import goodput_of
from perfmodel.decide.planning.at_prices import WASTED, Priced, at_every_price
from perfmodel.decide.planning.between import MOST, between
from perfmodel.decide.planning.copies import tables_of_copies
from perfmodel.decide.planning.goal import Goal
from perfmodel.decide.planning.layouts import Fastest, jobs_of, tables_of_layouts
from perfmodel.decide.planning.machines import Machine
from perfmodel.decide.planning.valued import samples_of
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.fitted.calibration import Calibration
from perfmodel.model.prediction.limits import replicas_alone
from perfmodel.model.setting.sharing import predicts_tokens
from perfmodel.model.step.terms import TERMS
from perfmodel.workloads.recipes.epochs_to_target import EpochsFit
from perfmodel.workloads.workload import Workload

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Table = dict[str, NDArray[Any]]


class Candidates(NamedTuple):
    """Every possible plan, and the reasons why others were left out."""

    table: Table
    """A row for each plan that fits in memory."""
    left_out: dict[str, int]
    """Number of impossible plans, by reason."""
    layouts: int
    """Layouts that were tried; for each machine, size and precision the fastest that fits is a plan."""
    wasted: Table
    """Plans at reserved prices whose terms cost more than their runs do by the hour."""


def candidates(
    goal: Goal,
    priced: Priced,
    network: Workload,
    fit: EpochsFit | None,
    catalogue: Catalogue,
    constants: Calibration,
    known: Fastest,
) -> Candidates:
    """Return every plan that a goal allows: data-parallel copies, and layouts of a transformer.

    Parameters
    ----------
    goal, priced : what to cross
    network, fit : of the goal's workload
    catalogue, constants : as for ``predict``
    known : as for ``tables_of_layouts``

    Raises
    ------
    InputError : no plan is possible: the refusal of every candidate, or the most frequent reason
    """
    # raises for an invalid run or conditions before anything is predicted
    samples_of(goal, network, fit, 1.0)
    for conditions in {id(each): each for each in priced.conditions}.values():
        goodput_of(1.0, 0.0, conditions, None, 1.0)
    machines = priced.machines[: len(set(priced.base))]
    left_out: Counter[str] = Counter()
    tables, layouts = [], 0
    as_copies, under_layouts = goal.by_model(network)
    jobs = jobs_of(under_layouts, machines) if under_layouts else []
    if as_copies:
        tables += tables_of_copies(as_copies, machines, network, catalogue, constants, left_out)
    if under_layouts:
        table, layouts = tables_of_layouts(
            under_layouts, machines, jobs, network, catalogue, constants, left_out, known
        )
        tables += table
        under_layouts = under_layouts if table else None
    if not sum(len(table["machine"]) for table in tables):
        raise _none_left(goal, network, left_out)
    of_run = (goal, priced, network, fit, catalogue)
    result, wasted = at_every_price(_joined(tables), *of_run)
    tried, most = set(jobs), MOST
    while under_layouts and (
        more := priced.predicted(between(goal, priced.machines, result, priced.tried(tried), most))
    ):
        tried.update(more)
        most -= len(more)
        try:
            table, timed = tables_of_layouts(
                under_layouts, machines, more, network, catalogue, constants, left_out, known
            )
        except TooManyCandidates as error:  # the plans tried so far are an answer
            left_out[f"a count next to the best, beyond {error.most:,} candidates in all"] += len(more)
            break
        layouts += timed
        if table:
            tables += table
            result, wasted = at_every_price(_joined(tables), *of_run)
    if len(wasted["machine"]):
        left_out[WASTED] = len(wasted["machine"])
    able = _within_power(result, priced.machines, goal.power_limit, left_out)
    return Candidates(able, left_out, layouts, wasted)


def _joined(tables: Sequence[Table]) -> Table:
    """Return several tables as one; a missing column is 0 for a time and None for anything else."""
    names = dict.fromkeys(name for table in tables for name in table)

    def column(table: Table, name: str) -> NDArray[Any]:
        if name in table:
            return table[name]
        return np.full(len(table["machine"]), 0.0 if name in TERMS else None)

    return {name: np.concatenate([column(table, name) for table in tables]) for name in names}


def _within_power(
    table: Table, machines: Sequence[Machine], most: float | None, left_out: Counter[str]
) -> Table:
    """Return the plans whose rated power is within a limit [W]; the others are counted in ``left_out``."""
    if most is None:
        return table
    able = table["power"] <= most  # not where the power is unknown
    unknown = np.isnan(table["power"])
    if unknown.all():
        names = ", ".join(dict.fromkeys(machines[i].accelerator for i in table["machine"].tolist()))
        raise refusal("power_limit.unknown", most=show(most, "W"), names=names)
    if not able.any():
        least = show(float(np.nanmin(table["power"])), "W")
        raise refusal("power_limit.too_low", most=show(most, "W"), least=least)
    for reason, unable in (
        ("an unknown power (--power-limit)", unknown),
        (f"a power over {show(most, 'W')} (--power-limit)", table["power"] > most),
    ):
        if unable.any():
            left_out[reason] = int(unable.sum())
    return {name: column[able] for name, column in table.items()}


def _none_left(goal: Goal, network: Workload, left_out: Counter[str]) -> InputError:
    """Return why no plan is left: the refusal itself where one and the same refuses every candidate."""
    if not left_out:
        precision_option = f" with --precision {','.join(goal.precisions)}" if goal.precisions else ""
        said = f"none of these machines can train {goal.workload}{precision_option}"
        return refusal("plan.none_left", said=Words(said))
    reason, count = max(left_out.items(), key=lambda item: item[1])
    if isinstance(reason, ErrorNote) and len(left_out) == 1:
        return reason.error
    alone = None if predicts_tokens(network) else replicas_alone(network)
    why = f"{reason}; {alone}" if alone else reason
    said = f"no plan is left of {sum(left_out.values()):,}; {count:,} of them: {why}"
    return refusal("plan.none_left", said=Words(said))
