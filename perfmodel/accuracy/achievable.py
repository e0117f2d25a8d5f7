"""Large matrix products as measured by themselves, beside what the fit to whole iterations says of them.

Nothing was learned from these rows: they check one part of the model alone.
"""

from __future__ import annotations

import csv
from functools import cache
from statistics import fmean, median
from textwrap import fill
from typing import NamedTuple

from perfmodel.calibration import calibration
from perfmodel.errors import InputError
from perfmodel.resolve import resolve
from perfmodel.resources import folder
from perfmodel.specs.scenario import Scenario
from perfmodel.specs.store import Catalogue
from perfmodel.specs.workload import Layer, Workload
from perfmodel.step.computation import computation

PRECISION = "bf16"
WIDTH = 110


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
    with (folder("validation") / "measured" / "achievable_peaks.csv").open(
        newline="", encoding="utf-8"
    ) as file:
        return tuple(
            Product(
                row["accelerator"],
                *_shape(row["shape_m_n_k"]),
                float(row["nominal_flops"]),
                float(row["measured_flops"]),
            )
            for row in csv.DictReader(file)
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
    catalogue, found = Catalogue.built_in(), []
    for product in products():
        try:
            found.append(Answer(product, rate(product, catalogue)))
        except InputError:
            continue  # an accelerator without a spec
    return found


def section() -> list[str]:
    """Return the section of the report, as lines of Markdown."""
    answers = compare_products()
    seen = calibration().seen["accelerator"]
    wrong = [abs(each.error) for each in answers]
    known = ", ".join(name for name in dict.fromkeys(e.product.accelerator for e in answers) if name in seen)
    told = f"""
        The largest rate that a search over shapes found, in {PRECISION}, and that of the same product in
        the model, whose efficiencies were learned from whole iterations and from none of these rows. A
        search finds the best of thousands of shapes, and networks do not choose theirs, so the model
        ought to be slower; it is about twice as slow. What iterations lose around their products (copies
        between layouts, epilogues, clocks that fall under load) has in part become the efficiency of
        products. Code that avoids it, as submissions to MLPerf do, is faster than the model says. Of
        these accelerators runs were learned from on {known or "none"}. Error of the time: mean
        {fmean(wrong):.1%}, median {median(wrong):.1%}, n {len(wrong)} of {len(products())}; the others
        have no spec. `measured/layer_times.csv` is no such check: it states no accelerator.
        """
    lines = [
        "## Matrix products by themselves",
        "",
        fill(" ".join(told.split()), WIDTH),
        "",
        "| accelerator | rows x columns x depth | nominal TFLOP/s | measured | model | error of the time |",
        "| --- | --- | --: | --: | --: | --: |",
    ]
    for product, predicted in answers:
        shape = f"{product.rows} x {product.columns} x {product.depth}"
        error = product.measured / predicted - 1
        rates = [f"{value / 1e12:.0f}" for value in (product.nominal, product.measured, predicted)]
        lines.append(f"| {product.accelerator} | {shape} | {' | '.join(rates)} | {error:+.1%} |")
    return [*lines, ""]
