"""The plans of a search: the front, the chosen and the rejected ones, and machines without a price."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from perfmodel.core.units import counted
from perfmodel.decide.failures import machines_of_job
from perfmodel.decide.planning.front import best_of, front
from perfmodel.decide.planning.goal import Goal, options_of
from perfmodel.decide.planning.layouts import Fastest
from perfmodel.decide.planning.machines import Machine
from perfmodel.decide.planning.rejected import Rejected, rejected_plans
from perfmodel.decide.planning.startable import instead, startable, startable_front
from perfmodel.decide.planning.within import SETTINGS, likely, paid, payment, surest_first
from perfmodel.decide.prices import Price
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.machine_words import node_words
from perfmodel.model.fitted.calibration import Calibration
from perfmodel.model.options.scenario import scenario_of
from perfmodel.model.prediction import Prediction, predict
from perfmodel.model.prediction.intervals.ratio import ratio_between
from perfmodel.model.prediction.memory_odds import CERTAIN
from perfmodel.workloads.recipes.epochs_to_target import EpochsFit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Table = dict[str, NDArray[Any]]

Row = dict[str, Any]


@dataclass(frozen=True, eq=False)
class SearchResult:
    """The result of a search.  A plan is a row: its columns by name, None where a value is unknown."""

    goal: Goal
    machines: tuple[Machine, ...]
    """The machines that were tried; ``machine`` of a row is an index into them."""
    candidates: Table
    """Columns by name: the choices of each plan and its results.  Run times [s], cost [$], energy [kWh],
    carbon [g]; not a number where unknown."""
    left_out: dict[str, int]
    """Number of plans that are not candidates, by reason."""
    fit: EpochsFit | None
    """How epochs to the target grow with the batch; None where the epochs were given."""
    catalogue: Catalogue | None = None
    """Catalogue of the search, as for ``predict``."""
    constants: Calibration | None = None
    """Calibration of the search, as for ``predict``."""
    layouts: int = 0
    """Layouts that were tried; of each machine, size and precision only the fastest is a candidate."""
    wasted: Table | None = None
    """Plans at reserved prices whose terms cost more than their runs do by the hour; not candidates."""
    known: Fastest | None = None
    """The fastest layouts of its machines, for searches that differ in machines, sizes, batch and limits."""

    def __len__(self) -> int:
        """Return the number of candidates, including those without a price."""
        return len(self.candidates["run_time"])

    def row(self, index: int) -> Row:
        """Return one candidate by its columns, with machine, price, risks and limits met."""
        row: Row = {name: _plain(column[index]) for name, column in self.candidates.items()}
        machine = self.machines[row.pop("machine")]
        price, goal = machine.price, self.goal
        if row["strategy"] != "all-reduce":
            row["algorithm"] = None
        has_servers = row["strategy"] == "parameter-server"
        if not has_servers:
            row["servers"] = None
        row["server_node"] = (goal.server_node or machine.node) if has_servers else None
        for part in ("iteration_time_high_80", "memory_known"):
            row.pop(part, None)
        row["also"] = list(row.get("also") or ())
        row = dict.fromkeys(("framework", "layout", "mfu", "mfu_nominal", "memory_capacity")) | row
        cost, tokens = row["cost"], row["sequence_length"]
        odds = {"fits_probability": row.pop("fits_probability")}
        odds |= {end: row.pop(f"memory_{end}") for end in ("low_80", "high_80")}
        return {
            "name": machine.name,
            "machines": self._machines_words(row, machine),
            "accelerator_name": machine.accelerator_name,
            "node": machine.node,
            "instance": machine.instance,
            "provider": machine.provider,
            "accelerator": machine.accelerator,
            **row,
            "tokens_per_second": tokens and row["samples_per_second"] * tokens,
            "usd_per_hour": price.usd_per_hour if price else None,
            "price_basis": price.basis if price else None,
            "price_region": price.region if price else None,
            "price_date": price.date if price else None,
            "price_source": price.source if price else None,
            "meets_deadline": None
            if goal.deadline is None
            else (row["run_time"] or math.inf) <= goal.deadline,
            "within_budget": None if goal.budget is None or cost is None else payment(row) <= goal.budget,
            "memory": odds,
            "within_published": self.fit.within_range(row["global_batch_size"]) if self.fit else None,
        }

    def _machines_words(self, row: Row, machine: Machine) -> str:
        """Return the machines of a plan as people call them, with its parameter servers."""
        words = machine.words(row["nodes"], row["world_size"])
        if not row["servers"]:
            return words
        where = ""
        if row["server_node"] != machine.node:
            where = f" on {node_words(Catalogue.of(self.catalogue).node(row['server_node']))}"
        return f"{words} with {counted(row['servers'], 'parameter server')}{where}"

    @cached_property
    def _ranked(self) -> Table:
        """The candidates, with what must be paid as their cost: at a reserved price the whole term."""
        return self.candidates | {"cost": paid(self.candidates)}

    @cached_property
    def front_rows(self) -> NDArray[np.intp]:
        """Indices of ``front``."""
        table = self._ranked
        limits = [self._in_time(table["run_time"]), self._in_budget(table["cost"])]
        return startable_front(table, limits)

    @property
    def front(self) -> list[Row]:
        """The Pareto front of time and of what must be paid, the fastest first.

        A plan that NCCL cannot run is replaced by one that it can run, if that takes at most 1 % more of
        both.
        """
        return [self.row(int(index)) for index in self.front_rows]

    @property
    def energy_front(self) -> list[Row]:
        """The Pareto front of time and energy, the fastest first; plans without a price included."""
        table = self.candidates
        indices = front(table["run_time"], table["energy"], table["cost"])
        return [self.row(int(index)) for index in indices]

    @cached_property
    def cheapest_row(self) -> int | None:
        """Index of ``cheapest``."""
        able = self._in_time(self.candidates["run_time"][self.front_rows])
        return int(self.front_rows[able][-1]) if able.any() else None

    @property
    def cheapest(self) -> Row | None:
        """The cheapest plan predicted to meet the deadline, or of all without one; None where none is."""
        return self._row_or_none(self.cheapest_row)

    @cached_property
    def fastest_row(self) -> int | None:
        """Index of ``fastest``."""
        able = self._in_budget(self._ranked["cost"][self.front_rows])
        return int(self.front_rows[able][0]) if able.any() else None

    @property
    def fastest(self) -> Row | None:
        """The fastest plan predicted to keep the budget, or of all with a known price; None where none is."""
        return self._row_or_none(self.fastest_row)

    def row_at(self, confidence: float, fits: float = 0.0) -> int | None:
        """Return the index of the best plan within all limits with a probability; None where none is.

        It is the cheapest by what must be paid, or the fastest where only a budget is given.

        Parameters
        ----------
        confidence : least probability of fitting into memory and keeping within all limits
        fits : least probability of fitting into memory
        """
        table, limits = self._ranked, self.goal.limits._replace(confidence=confidence)
        time, cost = table["run_time"], table["cost"]
        able = likely(table, limits) & (table["fits_probability"] >= fits)
        rows = np.flatnonzero(able & np.isfinite(cost) & np.isfinite(time))
        if not len(rows):
            return None
        first, second = (cost, time) if self.by_cost else (time, cost)
        return instead(table, best_of(rows, first, second, table["energy"]), startable(table), [able])

    @cached_property
    def chosen_row(self) -> int | None:
        """Index of ``chosen``."""
        return self.row_at(self.goal.confidence)

    @property
    def chosen(self) -> Row | None:
        """The cheapest plan within all limits with the probability asked for; None where none is.

        With a budget and no deadline it is the fastest.
        """
        return self._row_or_none(self.chosen_row)

    @property
    def surely_fitting(self) -> Row | None:
        """What would be chosen of the plans that all but certainly fit into memory; None where none does."""
        return self._row_or_none(self.row_at(self.goal.confidence, CERTAIN))

    @cached_property
    def surest_row(self) -> int | None:
        """Index of ``surest``."""
        table, limits = self.candidates, self.goal.limits
        time, cost = table["run_time"], table["cost"]
        rows = np.flatnonzero(np.isfinite(cost) & np.isfinite(time))
        if not len(rows) or (self.met and not limits.words):
            return None
        first, owed = surest_first(table, limits), self._ranked["cost"]
        if np.isfinite(first[rows]).any():
            rows = rows[np.isfinite(first[rows])]
        else:  # no interval was learned
            first = time if self.by_cost else owed
        best = best_of(rows, first, owed, table["energy"])
        return instead(table, best, startable(table), [])

    @property
    def surest(self) -> Row | None:
        """The plan that most probably fits and is within all limits; None where no plan has a price.

        Also None where there are no limits and one is chosen.

        Of plans without any interval it is the fastest, or the cheapest where only a budget is given.
        """
        return self._row_or_none(self.surest_row)

    @property
    def in_question(self) -> Row | None:
        """The plan that the answer is about: the chosen one, else the surest."""
        return self._row_or_none(self._row_in_question)

    @cached_property
    def in_short(self) -> dict[str, Any]:
        """The plans that marks refer to, as the answer has them."""
        return {"chosen": self.chosen, "surest": self.surest, "goal": self.goal.limits._asdict()}

    @property
    def _row_in_question(self) -> int | None:
        return self.surest_row if self.chosen_row is None else self.chosen_row

    @property
    def price_in_question(self) -> Price | None:
        """The price of one machine of the plan in question; None without a plan of known price."""
        row = self._row_in_question
        return None if row is None else self.machines[int(self.candidates["machine"][row])].price

    @property
    def by_confidence(self) -> dict[float, Row | None]:
        """How sure to be -> the plan chosen then, of those tried: usual settings, and the one asked for."""
        settings = sorted({*SETTINGS, self.goal.confidence})
        return {confidence: self._row_or_none(self.row_at(confidence)) for confidence in settings}

    @property
    def by_cost(self) -> bool:
        """Whether the cheapest plan is wanted: always, except with a budget and no deadline."""
        return self.goal.limits.by_cost

    @property
    def met(self) -> bool:
        """Whether a plan of known price meets every limit with the probability asked for: one is chosen."""
        return self.chosen_row is not None

    @cached_property
    def rejected(self) -> list[Row]:
        """The best plan of every machine but that in question, with ``reason`` and ``why`` in words.

        Also ``ratio``: its speed over that of the plan in question, with its interval.
        """
        chosen = self._row_in_question
        if chosen is None:
            return []
        rivals: list[Rejected] = rejected_plans(self._ranked, chosen, self.goal.limits)
        best = self.row(chosen)
        prediction_of_best, name = self.predicted(best), best["machines"]
        result = []
        for one in rivals:
            row = self.row(one.row)
            ratio = ratio_between(self.predicted(row), prediction_of_best, name)
            result.append(row | {"reason": one.reason, "why": one.text, "ratio": ratio.model_dump()})
        return result

    def options_of(self, row: Row) -> dict[str, Any]:
        """Return the scenario options of a plan."""
        return options_of(row, self.goal.workload, self.goal.options)

    def predicted(self, row: Row) -> Prediction:
        """Return the prediction of one iteration of a plan."""
        return predict(scenario_of(self.options_of(row)), self.catalogue, self.constants)

    @property
    def unpriced(self) -> list[Row]:
        """The machines without a price: number of candidates, the best of them, and the price worth paying.

        The best likely meets the deadline with the fewest node hours, or is the fastest where none does;
        ``worth_usd_per_hour`` is the price of a node at which it costs as much as the chosen plan.
        """
        chosen, report = self.chosen, []
        in_time = likely(self.candidates, self.goal.limits._replace(budget=None))
        for i, machine in enumerate(self.machines):
            rows = np.flatnonzero(self.candidates["machine"] == i)
            if machine.price is not None or not len(rows):
                continue
            time = self.candidates["run_time"][rows]
            hours = time * machines_of_job(self.candidates["nodes"], self.candidates["servers"])[rows] / 3600
            able = in_time[rows] if self.by_cost else np.ones(len(rows), dtype=bool)
            best = int(np.argmin(np.where(able, hours, np.inf)) if able.any() else np.argmin(time))
            worth = payment(chosen) / float(hours[best]) if chosen and able[best] else None
            report.append(
                {
                    "name": machine.name,
                    "machine": machine.typed,
                    "node": machine.node,
                    "candidates": len(rows),
                    "best": self.row(int(rows[best])),
                    "worth_usd_per_hour": worth,
                }
            )
        return report

    @property
    def impossible(self) -> list[str]:
        """Names of the machines without a candidate; ``left_out`` has the reasons."""
        able = {self.machines[i][:2] for i in np.unique(self.candidates["machine"]).tolist()}
        return [machine.name for machine in self.machines if machine[:2] not in able]

    def prices(self) -> list[Row]:
        """Return the price of every machine tried, with provider, basis, region, date and source."""
        return [
            {
                "name": machine.name,
                "node": machine.node,
                "provider": machine.provider,
                **machine.price._asdict(),
            }
            for machine in self.machines
            if machine.price is not None
        ]

    def _in_time(self, time: Any) -> Any:
        """Return which run times [s] meet the deadline; all without one."""
        return time <= (math.inf if self.goal.deadline is None else self.goal.deadline)

    def _in_budget(self, cost: Any) -> Any:
        """Return which costs [$] are within the budget; all without one."""
        return cost <= (math.inf if self.goal.budget is None else self.goal.budget)

    def _row_or_none(self, index: int | None) -> Row | None:
        """Return the row of an index; None for None."""
        return None if index is None else self.row(index)


def _plain(value: Any) -> Any:
    """Return a number as Python's; None where it is not finite."""
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and not math.isfinite(value) else value
