"""Measured runs on one accelerator as one long table of layers, and their time with its derivatives.

The equations are those of ``step.computation``; here they are evaluated for all rows at once, together
with the derivative of every row's logarithmic time by every learned number.  A test holds the two equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from perfmodel.efficiency import KINDS, Conditions, Effects
from perfmodel.fitting.parameters import Parameters
from perfmodel.resolve import Setting
from perfmodel.specs.workload import Workload
from perfmodel.step.computation import Demand, Service, arithmetic, conditions, demand, service
from perfmodel.step.layers import LayerTable, layer_table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_PRODUCT = KINDS.index("product")
_COMPONENTS = Effects._fields


class _Distinct(NamedTuple):
    """A network's distinct layer passes: many layers are alike, and are timed once."""

    table: LayerTable
    times: Array
    """How often each occurs."""


@lru_cache(maxsize=512)
def _distinct(workload: Workload) -> _Distinct:
    table = layer_table(workload)
    columns = [np.asarray(column, dtype=np.float64) for column in table[:-2]]
    _, first, count = np.unique(np.stack(columns), axis=1, return_index=True, return_counts=True)
    kept: dict[str, Any] = {name: getattr(table, name)[first] for name in table._fields[:-2]}
    return _Distinct(table._replace(**kept), count.astype(np.float64))


class Design:
    """Rows as arrays: those over passes lie end to end, those over rows have shape (rows,)."""

    def __init__(self, settings: Sequence[Setting]) -> None:
        """Take the setting of every row."""
        tables, demands, services, counts, found = [], [], [], [], []
        for setting in settings:
            distinct = _distinct(setting.workload)
            tables.append(distinct.table)
            counts.append(distinct.times)
            demands.append(demand(setting, distinct.table, float(setting.local_batch_size)))
            services.append(service(distinct.table, arithmetic(setting)))
            found.append(conditions(setting))
        self.rows = len(settings)
        self.conditions: list[Conditions] = found
        lengths = [len(count) for count in counts]
        self.starts = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.intp)
        self.row = np.repeat(np.arange(self.rows), lengths)
        self.count = np.concatenate(counts)

        def passes(source: Sequence[LayerTable | Demand | Service], field: str) -> NDArray[np.float64]:
            return np.concatenate([getattr(item, field) for item in source])

        self.product_time = (
            passes(demands, "flops") / passes(services, "peak_flops") * passes(services, "penalty")
        )
        bandwidths = [setting.accelerator.memory_bandwidth.value for setting in settings]
        self.traffic_time = passes(demands, "bytes") / np.repeat(bandwidths, lengths)
        self.work = passes(demands, "work")
        self.depth, self.columns = passes(tables, "depth"), passes(tables, "columns")
        self.units = passes(services, "units").astype(np.intp)
        self.matrix = passes(services, "on_matrix_units").astype(np.intp)
        self.transposed = passes(services, "transposed").astype(np.float64)
        self.product = passes(tables, "product").astype(np.intp)
        self.traffic = passes(tables, "traffic").astype(np.intp)
        self.light = passes(tables, "light").astype(np.float64)
        self.elementwise = passes(tables, "elementwise").astype(np.float64)

        updates = np.array([float(setting.states.update_bytes > 0) for setting in settings])
        self.kernels = np.array([table.all_kernels for table in tables])
        self.tensors = np.array([table.tensors for table in tables]) * updates
        self.update_time = np.array([asked.update_time for asked in demands])
        self.steps = np.array([float(setting.accumulation_steps) for setting in settings])

    def parameters(self) -> Parameters:
        """What these rows can speak of."""
        return Parameters(
            {on.architecture for on in self.conditions}, {on.workload for on in self.conditions}
        )

    def bind(self, parameters: Parameters) -> Bound:
        """Return the rows with every pass's and row's learned numbers looked up."""
        return Bound(self, parameters)


class Bound:
    """Rows, and the numbers that act on each."""

    def __init__(self, design: Design, parameters: Parameters) -> None:
        """Look the numbers up."""
        self.design, self.parameters = design, parameters
        self.slowdown = parameters.slowdown[design.units, design.product]
        self.is_product = self.slowdown >= 0
        self.traffic = parameters.traffic[design.traffic]
        self.half = parameters.half[:, design.matrix]
        self.effects = [
            (
                effect.number,
                _COMPONENTS.index(effect.component),
                self._strength(effect.condition, effect.level),
            )
            for effect in parameters.effects
        ]

    def _strength(self, condition: str, level: str | None) -> Array:
        values = [getattr(on, condition) for on in self.design.conditions]
        return np.array([float(v if level is None else v == level) for v in values])

    def _components(self, numbers: Array) -> Array:
        """Logarithms of ``Effects``, shape (components, rows)."""
        total = np.zeros((len(_COMPONENTS), self.design.rows))
        for index, component, strength in self.effects:
            total[component] += numbers[index] * strength
        return total

    def log_time(self, numbers: Array) -> Array:
        """Logarithm of every row's iteration time, shape (rows,)."""
        return self.evaluate(numbers, derivatives=False)[0]

    def evaluate(self, numbers: Array, derivatives: bool = True) -> tuple[Array, Array]:
        """Return the logarithmic times, shape (rows,), and their derivatives, shape (rows, parameters)."""
        d, p, row = self.design, self.parameters, self.design.row
        on_vector, on_matrix, on_traffic, on_elementwise, on_light, on_total = self._components(numbers)

        def by_row(values: Array) -> Array:
            sums: Array = np.add.reduceat(values, d.starts)
            return sums

        ratios = np.exp(numbers[self.half]) / np.stack([d.work, d.depth, d.columns])
        unit_effect = np.where(d.matrix == 1, on_matrix[row], on_vector[row])
        slow = np.where(self.is_product, numbers[self.slowdown], 0.0) + unit_effect + d.light * on_light[row]
        products = d.product_time * np.exp(slow) * (1 + ratios).prod(axis=0)
        transposed = np.exp(numbers[p.channels_first]) * d.transposed
        moved = numbers[self.traffic] + on_traffic[row] + d.elementwise * on_elementwise[row]
        traffic = d.traffic_time * np.exp(moved) * (1 + transposed)
        busy = np.sqrt(products * products + traffic * traffic) + 1e-15

        floor, dispatch = np.exp(numbers[p.kernel_floor]), np.exp(numbers[p.dispatch_time])
        update_kernels = np.exp(numbers[p.optimizer_kernels]) * d.tensors
        update = d.update_time * np.exp(numbers[p.traffic[_PRODUCT]] + on_traffic)
        kernels = d.steps * d.kernels + update_kernels
        on_accelerator = d.steps * by_row(busy * d.count) + update + kernels * floor
        on_host = kernels * dispatch
        paced = np.hypot(on_accelerator, on_host)
        overhead = np.exp(numbers[p.iteration_overhead])
        whole = paced + overhead
        log_time = np.log(whole) + on_total
        if not derivatives:
            return log_time, np.empty((0, 0))

        of_accelerator, of_host = on_accelerator / paced / whole, on_host / paced / whole
        each = of_accelerator * d.steps
        by_product, by_traffic = products * products / busy * d.count, traffic * traffic / busy * d.count
        width = len(p.names)

        def scatter(index: NDArray[np.intp], values: Array) -> Array:
            sums = np.bincount(row * width + index, values * each[row], d.rows * width)
            return sums.reshape(d.rows, width).astype(np.float64)

        slopes = scatter(np.where(self.is_product, self.slowdown, 0), by_product * self.is_product)
        slopes += scatter(self.traffic, by_traffic)
        for index, ratio in zip(self.half, ratios, strict=True):
            slopes += scatter(index, by_product * ratio / (1 + ratio))
        slopes[:, p.traffic[_PRODUCT]] += of_accelerator * update
        slopes[:, p.channels_first] += each * by_row(by_traffic * transposed / (1 + transposed))
        slopes[:, p.kernel_floor] += of_accelerator * kernels * floor
        slopes[:, p.dispatch_time] += of_host * on_host
        slopes[:, p.iteration_overhead] += overhead / whole
        slopes[:, p.optimizer_kernels] += (of_accelerator * floor + of_host * dispatch) * update_kernels
        of_components = (
            each * by_row(by_product * (d.matrix == 0)),
            each * by_row(by_product * d.matrix),
            each * by_row(by_traffic) + of_accelerator * update,
            each * by_row(by_traffic * d.elementwise),
            each * by_row(by_product * d.light),
            np.ones(d.rows),
        )
        for number, component, strength in self.effects:
            slopes[:, number] = of_components[component] * strength
        return log_time, slopes
