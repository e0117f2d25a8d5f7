"""Measured runs on one accelerator as one table of layer passes; their times and derivatives for the fit.

The times are those of ``model.step.computation``, by the same functions and formulas, for all rows at once.
This module adds the derivatives of every row's logarithmic time by every learned number.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

import numpy as np

from perfmodel.core.arrays import Array, Places
from perfmodel.equations.host_pace import (
    device_time,
    host_time,
    launches_time,
    once_an_iteration,
    update_on_device,
)
from perfmodel.equations.iteration import alone_time
from perfmodel.equations.layer_pass import paced_time
from perfmodel.evidence.fitting.parameters import Parameters
from perfmodel.model.fitted.effect_inputs import EffectInputs
from perfmodel.model.fitted.efficiency import KINDS, Effects, Efficiency
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.step.layer_rates import (
    Demand,
    Service,
    arithmetic,
    busy_times,
    conditions,
    demand,
    rates,
    service,
)
from perfmodel.model.step.layers import TOTALS, LayerTable, layer_table
from perfmodel.workloads.workload import Workload

_PRODUCT = KINDS.index("product")
_COMPONENTS = Effects._fields


class _Distinct(NamedTuple):
    """The distinct layer passes of a network: equal ones are timed once."""

    table: LayerTable
    times: Array
    """Number of occurrences of each."""


@lru_cache(maxsize=512)
def _distinct(workload: Workload) -> _Distinct:
    """Return the distinct layer passes of a network."""
    table = layer_table(workload)
    columns = [np.asarray(column, dtype=np.float64) for column in table[:-TOTALS]]
    _, first, count = np.unique(np.stack(columns), axis=1, return_index=True, return_counts=True)
    kept: dict[str, Any] = {name: getattr(table, name)[first] for name in table._fields[:-TOTALS]}
    return _Distinct(table._replace(**kept), count.astype(np.float64))


_Columns = TypeVar("_Columns", LayerTable, Demand, Service)


def _end_to_end(each: Sequence[_Columns]) -> _Columns:
    """Join tables: columns of shape (passes,) one after another, single numbers to shape (tables,)."""
    joined: Any = type(each[0])
    columns: list[tuple[Any, ...]] = list(zip(*each, strict=True))
    return joined(*(np.concatenate([np.atleast_1d(part) for part in column]) for column in columns))  # type: ignore[no-any-return]


class Design:
    """Measured rows as arrays.

    Arrays over layer passes hold those of all rows one after another; arrays over rows have shape (rows,).
    """

    def __init__(self, settings: Sequence[Setting]) -> None:
        """Make the arrays from the setting of every row."""
        each = [_distinct(setting.workload) for setting in settings]
        rows = list(zip(settings, (distinct.table for distinct in each), strict=True))
        self.rows = len(settings)
        self.conditions: list[EffectInputs] = [conditions(setting) for setting in settings]
        lengths = [len(distinct.times) for distinct in each]
        self.starts = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.intp)
        self.row = np.repeat(np.arange(self.rows), lengths)
        self.count = np.concatenate([distinct.times for distinct in each])
        self.table = _end_to_end([table for _, table in rows])
        self.demand = _end_to_end([demand(of, table, float(of.local_batch_size)) for of, table in rows])
        self.service = _end_to_end([service(table, arithmetic(of)) for of, table in rows])
        bandwidths = [setting.accelerator.memory_bandwidth.value for setting in settings]
        self.memory_bandwidth = np.repeat(bandwidths, lengths)
        updates = np.array([float(setting.optimizer != "none") for setting in settings])
        self.updated_tensors = self.table.tensors * updates
        self.steps = np.array([float(setting.accumulation_steps) for setting in settings])
        self.parameters = p = Parameters(
            {on.architecture for on in self.conditions}, {on.workload for on in self.conditions}
        )
        """The numbers that these rows determine."""
        self.slowdown = p.slowdown[self.service.units, self.table.product]
        self.is_product = self.slowdown >= 0
        self.traffic = p.traffic[self.table.traffic]
        self.half = p.half[:, self.service.on_matrix_units.view(np.int8)]
        self.sizes = np.stack([self.demand.work, self.table.depth, self.table.columns])
        self.effects = [
            (
                effect.number,
                _COMPONENTS.index(effect.component),
                self._strength(effect.condition, effect.level),
            )
            for effect in p.effects
        ]

    def _strength(self, condition: str, level: str | None) -> Array:
        """Return an effect's strength on each row: the condition's value, or 1 if that equals ``level``."""
        values = [getattr(on, condition) for on in self.conditions]
        return np.array([float(v if level is None else v == level) for v in values])

    def _effects(self, learned: Efficiency) -> Array:
        """Return the effects on every row, shape (effects, rows)."""
        of = {on: learned.effects(on) for on in set(self.conditions)}
        return np.array([of[on] for on in self.conditions]).T

    def evaluate(self, numbers: Array) -> tuple[Array, Array]:
        """Return ln(time [s]), shape (rows,), and its derivatives, shape (rows, parameters).

        Parameters
        ----------
        numbers : learned numbers as the fit has them, shape (parameters,)
        """
        d, p, row = self, self.parameters, self.row
        table, matrix, learned = d.table, d.service.on_matrix_units, p.efficiency(numbers)

        def by_row(values: Array) -> Array:
            sums: Array = np.add.reduceat(values, d.starts)
            return sums

        effects: Any = self._effects(learned)[:, row]
        at: Any = rates(table, d.service, d.memory_bandwidth, learned, Effects(*effects))
        products, traffic = busy_times(d.demand, at)
        busy = paced_time(products, traffic)
        floor, dispatch, overhead = learned.kernel_floor, learned.dispatch_time, learned.iteration_overhead
        products_launched = table.all_product_kernels
        launches = launches_time(table.all_kernels, floor, products_launched, learned.product_set_up)
        passes = by_row(busy * d.count) + launches
        update_kernels = learned.optimizer_kernels * d.updated_tensors
        update = update_on_device(d.demand.update_time, at.update[d.starts], update_kernels, floor)
        on_accelerator = device_time(d.steps, passes, update)
        on_host = host_time(d.steps, table.all_kernels, update_kernels, dispatch)
        paced = paced_time(on_accelerator, on_host)
        stretch, effect = paced / on_accelerator, at.effect[d.starts]
        log_time = np.log(
            alone_time(
                d.steps,
                passes * stretch * effect,
                update * effect,
                once_an_iteration(overhead, update, stretch, effect),
            )
        )
        whole, kernels = paced + overhead, d.steps * table.all_kernels + update_kernels
        ratios = np.exp(numbers[self.half]) / self.sizes
        transposed = learned.channels_first * d.service.transposed
        update_traffic = update - update_kernels * floor
        of_accelerator, of_host = on_accelerator / paced / whole, on_host / paced / whole
        each = of_accelerator * d.steps
        by_product, by_traffic = (
            part * part / np.maximum(busy, 1e-15) * d.count for part in (products, traffic)
        )
        width = len(p.names)

        def scatter(index: Places, values: Array) -> Array:
            sums = np.bincount(row * width + index, values * each[row], d.rows * width)
            return sums.reshape(d.rows, width).astype(np.float64)

        slopes = scatter(np.where(self.is_product, self.slowdown, 0), by_product * self.is_product)
        slopes += scatter(self.traffic, by_traffic)
        for index, ratio in zip(self.half, ratios, strict=True):
            slopes += scatter(index, by_product * ratio / (1 + ratio))
        slopes[:, p.traffic[_PRODUCT]] += of_accelerator * update_traffic
        slopes[:, p.channels_first] += each * by_row(by_traffic * transposed / (1 + transposed))
        slopes[:, p.kernel_floor] += of_accelerator * kernels * floor
        slopes[:, p.product_set_up] += each * products_launched * learned.product_set_up
        slopes[:, p.dispatch_time] += of_host * on_host
        slopes[:, p.iteration_overhead] += overhead / whole
        slopes[:, p.optimizer_kernels] += (of_accelerator * floor + of_host * dispatch) * update_kernels
        of_components = (
            each * by_row(by_product * ~matrix),
            each * by_row(by_product * matrix),
            each * by_row(by_traffic) + of_accelerator * update_traffic,
            each * by_row(by_traffic * table.elementwise),
            each * by_row(by_product * table.light),
            np.ones(d.rows),
        )
        for number, component, strength in self.effects:
            slopes[:, number] = of_components[component] * strength
        return log_time, slopes
