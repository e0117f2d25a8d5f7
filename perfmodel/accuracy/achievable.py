"""Measured rates of large matrix products, against those implied by the fit to whole iterations.

Nothing was learned from these rows: they check one part of the model alone.
"""

from __future__ import annotations

from functools import cache
from statistics import fmean, median
from typing import Final, NamedTuple

from perfmodel.accuracy.measured_table import records
from perfmodel.calibration import calibration
from perfmodel.errors import InputError
from perfmodel.resolve import resolve
from perfmodel.resources import folder
from perfmodel.specs.scenario import Scenario
from perfmodel.specs.store import Catalogue
from perfmodel.specs.workload import Layer, Workload
from perfmodel.step.computation import computation
from perfmodel.templating import render

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


class Answer(NamedTuple):
    """A product, and the rate that the model gives it."""

    product: Product
    predicted: float
    """[FLOP/s]"""

    @property
    def error(self) -> float:
        """Signed error of the time, positive where the model is too slow."""
        return self.product.measured / self.predicted - 1


def _shape(text: str) -> tuple[int, int, int]:
    rows, columns, depth = map(int, text.split("x"))
    return rows, columns, depth


@cache
def products() -> tuple[Product, ...]:
    """Return the measured products that come with the package."""
    rows = records(folder("validation") / "measured" / "achievable_peaks.csv")
    return tuple(
        Product(
            row["accelerator"],
            *_shape(row["shape_m_n_k"]),
            float(row["nominal_flops"]),
            float(row["measured_flops"]),
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


def compare_products() -> list[Answer]:
    """Return what the model says of each product on an accelerator with a spec, in order."""
    catalogue, result = Catalogue.built_in(), []
    for product in products():
        try:
            result.append(Answer(product, rate(product, catalogue)))
        except InputError:
            continue  # an accelerator without a spec
    return result


def section() -> str:
    """Return the section of the report, as Markdown."""
    answers = compare_products()
    seen = calibration().seen["accelerator"]
    wrong = [abs(each.error) for each in answers]
    return render(
        "achievable.md.j2",
        precision=PRECISION,
        known=[name for name in dict.fromkeys(each.product.accelerator for each in answers) if name in seen],
        mean=fmean(wrong),
        median=median(wrong),
        answers=answers,
        products=products(),
    )
