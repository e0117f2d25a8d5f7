"""Measured rates of large matrix products, against those implied by the fit to whole iterations.

Nothing was learned from these rows: they check one part of the model alone.
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
    """The largest rate that a search over shapes found for one accelerator."""

    accelerator: str
    rows: int
    columns: int
    depth: int
    nominal: float
    """[FLOP/s], as the publisher states it."""
    measured: float
    """[FLOP/s]"""


@cache
def products() -> tuple[Product, ...]:
    """Return the measured products that come with the package."""
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
    """Return the rate of a product by itself, as the shipped fit has it [FLOP/s].

    Raises
    ------
    InputError : an accelerator nobody specified
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
    alone = Workload("product", "one matrix product", "custom", (layer,), sample="row")
    asked = Scenario(workload="resnet50", accelerator=product.accelerator, precision=PRECISION)
    setting = resolve(asked, catalogue)._replace(workload=alone)
    forward_time = computation(setting, product.rows, calibration()).forward_time
    return float(flops * product.rows / forward_time)


def compare_products() -> list[Outcome]:
    """Return what the model says of the time of one FLOP of each product on an accelerator with a spec."""
    catalogue, result = Catalogue.built_in(), []
    for product in products():
        try:
            result.append(Outcome(1 / product.measured, 1 / rate(product, catalogue), run=product))
        except InputError:
            continue  # an accelerator without a spec
    return result


def section() -> str:
    """Return the section of the report, as Markdown."""
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
