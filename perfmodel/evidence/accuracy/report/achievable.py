"""Measured rates of large matrix products, compared with the rates that the fit to whole iterations implies.

No fit learns from these rows: they check one part of the model on its own.
"""

from __future__ import annotations

from functools import cache
from typing import Final, NamedTuple

from perfmodel.core.errors import InputError
from perfmodel.core.files.resources import folder
from perfmodel.core.files.templating import render
from perfmodel.evidence.accuracy.campaign import Outcome
from perfmodel.evidence.accuracy.measured_table import records
from perfmodel.evidence.accuracy.report.error_statistics import errors
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.fitted.calibration import calibration
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.setting.resolve import resolve
from perfmodel.model.step.computation import computation
from perfmodel.workloads.workload import Layer, Workload

PRECISION: Final = "bf16"


class Product(NamedTuple):
    """The highest rate of a matrix product on one accelerator that a search over shapes reached."""

    accelerator: str
    rows: int
    columns: int
    depth: int
    nominal: float
    """Peak rate that the publisher states [FLOP/s]."""
    measured: float
    """Measured rate [FLOP/s]."""


@cache
def products() -> tuple[Product, ...]:
    """Return the shipped measured products in ``PRECISION``."""
    rows = records(folder("validation") / "measured" / "achievable_peaks.csv")
    return tuple(
        Product(
            row["accelerator"],
            *map(int, row["shape_m_n_k"].split("x")),
            *(float(row[name]) for name in ("nominal_flops", "measured_flops")),
        )
        for row in rows
        if row["precision"] == PRECISION
    )


def rate(product: Product, catalogue: Catalogue) -> float:
    """Return the rate of a stand-alone matrix product by the shipped fit [FLOP/s].

    Raises
    ------
    InputError : the catalogue has no such accelerator
    """
    flops = 2.0 * product.columns * product.depth
    layer = Layer(
        "product",
        "linear",
        tensors=(product.columns * product.depth,),
        forward_flops=flops,
        forward_elements=float(product.columns + product.depth),
        gemm_rows=1.0,
        gemm_columns=float(product.columns),
        gemm_depth=float(product.depth),
    )
    one_product = Workload("product", "one matrix product", "custom", (layer,), sample="row")
    scenario = Scenario(workload="resnet50", accelerator=product.accelerator, precision=PRECISION)
    setting = resolve(scenario, catalogue)._replace(workload=one_product)
    forward_time = computation(setting, product.rows, calibration()).forward_time
    return float(flops * product.rows / forward_time)


def compare_products() -> list[Outcome]:
    """Return measured and predicted time per FLOP [s] of each product on an accelerator with a spec."""
    catalogue, result = Catalogue.built_in(), []
    for product in products():
        try:
            result.append(Outcome(1 / product.measured, 1 / rate(product, catalogue), run=product))
        except InputError:
            continue  # an accelerator without a spec
    return result


def section() -> str:
    """Return the report's section on matrix products as Markdown."""
    answers, seen = compare_products(), calibration().seen["accelerator"]
    result = errors([each.error for each in answers if each.error is not None])
    return render(
        "achievable.md.j2",
        precision=PRECISION,
        known=[name for name in dict.fromkeys(each.run.accelerator for each in answers) if name in seen],
        errors=result,
        answers=answers,
        products=products(),
    )
