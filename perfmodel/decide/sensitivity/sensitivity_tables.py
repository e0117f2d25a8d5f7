"""A sensitivity as nested tables: the answer of ``perfmodel sensitivity --json``."""

from collections.abc import Mapping
from typing import Any

from typing_extensions import TypedDict

from perfmodel.core.files.tables import Record as Row
from perfmodel.core.files.tables import Table, flat
from perfmodel.core.records.record import Record
from perfmodel.decide.prices import NodePrice, price_words
from perfmodel.decide.sensitivity.arms import choices
from perfmodel.decide.sensitivity.crossovers import crossovers
from perfmodel.decide.sensitivity.elasticity import Elasticity, Sensitivity, sums
from perfmodel.decide.sensitivity.levers import NO_INTERVAL
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.machine_words import accelerator_words, node_words
from perfmodel.model.fitted.calibration import Calibration
from perfmodel.model.prediction.limits import UNKNOWN_TERM
from perfmodel.model.prediction.memory import unfit
from perfmodel.model.setting.link_caveats import cap_note
from perfmodel.workloads.catalogue import network_words

MOST = 1e3
"""Largest elasticity; beyond it a side is a jump, at which the input crosses a threshold."""


class Sides(TypedDict):
    """The elasticity of time or cost on either side of an input's value."""

    elasticity: float | None
    """Percent for one percent more of the input [1]; null at a kink."""
    below: float | None
    """Towards a smaller input [1]; null at a jump."""
    above: float | None
    """Towards a larger input [1]; null at a jump."""


class CountSides(TypedDict):
    """The effect of halving and doubling a count on time or cost."""

    elasticity: float | None
    """Percent for one percent more of the count [1]."""
    value: float | None
    """The same as ``elasticity``."""
    below: float | None
    """Over a halving [1]."""
    above: float | None
    """Over a doubling [1]."""


class SensitivityCount(TypedDict):
    """A whole number on which the time depends."""

    name: str
    """Name of the count."""
    value: int
    """Its value in the job."""
    meaning: str
    """In words."""
    time: CountSides | None
    """Effect on the iteration time; null where unknown."""
    cost: CountSides | None
    """Effect on the cost of a sample; null where no price is known."""


class SensitivityMaximum(TypedDict):
    """A maximum or minimum in the model with its active arm."""

    of: str
    """The time or rate that it determines."""
    kind: str
    """``max`` or ``min``."""
    unit: str
    """Unit of the arms."""
    arms: dict[str, float | None]
    """Value of every arm; null for one that is never reached."""
    active: str
    """The active arm."""
    words: str
    """Which inputs have an effect, in words."""


class SensitivityCrossover(TypedDict):
    """A value of an option at which the best choice changes."""

    words: str
    """What changes, in words."""
    axis: str
    """Name of the varied option."""
    at: int | None
    """First value after the change; null if there is none."""
    faster_now: bool
    """Whether another strategy is faster for the job as it is, which the words say."""


class SensitivityReport(Record, Table):
    """Elasticities, counts, maxima and crossovers of a job; times in seconds, money in USD."""

    title: str
    """The job in one line."""
    model: str
    """The model that predicts it: data-parallel or transformer."""
    sample: str
    """Type of sample."""
    unfit: str | None
    """Message that the job does not fit into memory; null where it does."""
    iteration_time: float
    cost_per_1000_samples: float | None
    """[USD]; null where no price is known."""
    price: NodePrice | None
    """Price of one node; null where unknown."""
    price_words: str | None
    """The price in words; null where unknown."""
    inputs: list[dict[str, Any]]
    """For each input name, value, unit, meaning, dimension (exponents of base units), time and cost
    {elasticity (null at a kink), below, above}, iteration time at -25 % and at +25 %."""
    counts: list[SensitivityCount]
    """Whole numbers with the effects of halving and doubling them."""
    sums: dict[str, float | None]
    """Sum of elasticity times exponent over all inputs, by base unit: 1 for s, 0 for B, FLOP and J; null
    where messages are fused by a clock."""
    sums_together: list[str]
    """Base units whose inputs were changed together, as one of them is at a kink."""
    maxima: list[SensitivityMaximum]
    """Maxima and minima with their active arms."""
    crossovers: list[SensitivityCrossover]
    """Values of options at which the best choice changes."""
    notes: list[str]
    """Notes on the price, anchors and limits."""

    def records(self) -> list[Row]:
        """Return a row for each input."""
        return [flat(row) for row in self.inputs]

    def to_json(self) -> str:
        """Return what ``perfmodel sensitivity --json`` prints."""
        return self.model_dump_json()


def sensitivity_report(
    result: Sensitivity, catalogue: Catalogue, constants: Calibration
) -> SensitivityReport:
    """Return a sensitivity as plain tables."""
    case, setting = result.case, result.case.setting
    totals = sums(case)
    model = "data-parallel" if setting.layout is None else "transformer"
    cost = result.answer.cost_per_sample
    price: Any = case.price._asdict() if case.price else None
    counts: Any = [
        {
            "name": count.name,
            "value": count.value,
            "meaning": count.meaning,
            "time": count.time and count.time._asdict() | {"elasticity": count.time.value},
            "cost": count.cost and count.cost._asdict() | {"elasticity": count.cost.value},
        }
        for count in result.counts
    ]
    maxima: Any = []
    turns: Any = []
    if setting.layout is None:
        maxima = [choice._asdict() for choice in choices(case)]
        turns = [turn._asdict() for turn in crossovers(setting, catalogue, constants)]
    return SensitivityReport.model_construct(
        title=(
            f"{network_words(setting.workload)} on {setting.world_size} x "
            f"{accelerator_words(setting.accelerator)}, {setting.precision}, "
            f"batch {setting.local_batch_size} each, {setting.scenario.strategy}, {model} model"
        ),
        model=model,
        sample=setting.workload.sample,
        unfit=unfit(setting, case.constants),
        iteration_time=result.answer.iteration_time,
        cost_per_1000_samples=None if cost is None else 1000 * cost,
        price=price,
        price_words=price_words(case.price) if case.price else None,
        inputs=[
            {
                "name": row.name,
                "value": row.value,
                "unit": row.unit,
                "meaning": price_words(case.price) if row.name == "price" and case.price else row.meaning,
                "dimension": row.dimension,
                "time": _sides(row.time),
                "cost": _sides(row.cost) if row.cost else None,
                "at_-25%": row.low,
                "at_+25%": row.high,
            }
            for row in result.rows
        ],
        counts=counts,
        sums={unit: each.total for unit, each in totals.items()},
        sums_together=[unit for unit, each in totals.items() if each.is_together],
        maxima=maxima,
        crossovers=turns,
        notes=_notes(result),
    )


def sides_words(sides: Mapping[str, Any] | None) -> str:
    """Return the elasticity of time or cost in words; both sides where they differ.

    >>> sides_words({"elasticity": None, "below": -0.5, "above": None}), sides_words(None)
    ('-0.500 | jumps', '-')
    """
    if sides is None:
        return "-"
    if sides["elasticity"] is not None:
        return f"{sides['elasticity']:+.3f}"
    return " | ".join(
        "jumps" if sides[side] is None else f"{sides[side]:+.3f}" for side in ("below", "above")
    )


def _sides(value_and_sides: Elasticity) -> Sides:
    """Return both sides of an elasticity; None for a jump."""

    def known(value: float) -> float | None:
        return value if abs(value) < MOST else None

    return {
        "elasticity": None if value_and_sides.is_kink else value_and_sides.value,
        "below": known(value_and_sides.below),
        "above": known(value_and_sides.above),
    }


def _notes(result: Sensitivity) -> list[str]:
    """Return notes on the price, anchors and limits of a sensitivity."""
    setting = result.case.setting
    lines = [NO_INTERVAL, *setting.workload.notes]
    if result.case.price is None:
        lines.append(
            f"no known price of {node_words(setting.node)}: give --price, USD per hour of one node, for its "
            "cost"
        )
    if setting.measured:
        lines.append("anchored: the measured run stays as it is; counts are varied from specs alone")
    elif setting.scenario.anchor is not None:
        lines.append("anchored: the measurement holds for this batch, which is not varied")
    if setting.measured_loss:
        lines.append(
            f"loss measured on your own runs: {UNKNOWN_TERM}, nor how it changes with the accelerators"
        )
    cap = cap_note(setting.node, setting.inter_link, setting.nics, setting.scenario.network_cap)
    if cap is not None and setting.domains > 1:
        lines.append(cap)
    if setting.overlap == "fused":
        lines.append("gradients fused by time: messages merge anew as inputs change, by jumps")
    return lines
