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
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.fitted.calibration import Calibration
from perfmodel.model.prediction.memory import unfit
from perfmodel.model.setting.link_caveats import cap_note

MOST = 1e3
"""An elasticity beyond it is a jump: the input moves a threshold."""


class Sides(TypedDict):
    """The elasticity of time or cost on either side of an input's value."""

    elasticity: float | None
    """Percent for one percent more of the input [1]; null at a kink."""
    below: float | None
    """Where the input is less [1]; null at a jump."""
    above: float | None
    """Where the input is more [1]; null at a jump."""


class CountSides(TypedDict):
    """What a halving and a doubling of a count do to time or cost."""

    elasticity: float | None
    """Percent for one percent more of the count [1]."""
    value: float | None
    """The same."""
    below: float | None
    """Over a halving [1]."""
    above: float | None
    """Over a doubling [1]."""


class SensitivityCount(TypedDict):
    """One whole number that the time depends on."""

    name: str
    """Of the count."""
    value: int
    """In the job."""
    meaning: str
    """In words."""
    time: CountSides | None
    """Of an iteration; null where that is not known."""
    cost: CountSides | None
    """Of a sample; null where no price is known."""


class SensitivityMaximum(TypedDict):
    """A maximum or minimum in the model, and which arm counts."""

    of: str
    """What it is the time or the rate of."""
    kind: str
    """``max`` or ``min``."""
    unit: str
    """Of the arms."""
    arms: dict[str, float | None]
    """Every arm; null for one that is never reached."""
    active: str
    """The arm that counts."""
    words: str
    """What follows for the inputs."""


class SensitivityCrossover(TypedDict):
    """Where the answer changes."""

    words: str
    """What changes."""
    axis: str
    """The option that is varied."""
    at: int | None
    """Its first value after the change; null if there is none."""


class SensitivityReport(Record, Table):
    """Times in seconds, money in USD; elasticities are percent for each percent."""

    title: str
    """The job in a line."""
    model: str
    """Which model answers: data-parallel or transformer."""
    sample: str
    """What a sample is."""
    unfit: str | None
    """That the job does not fit into memory; null where it does."""
    iteration_time: float
    cost_per_1000_samples: float | None
    """[USD]; null where no price is known."""
    price: NodePrice | None
    """Of one node; null where none is known."""
    price_words: str | None
    """The price in words; null where none is known."""
    inputs: list[dict[str, Any]]
    """name, value, unit, meaning, dimension (exponents of base units), time and cost {elasticity (null at a
    kink), below, above}, iteration time at -25 % and at +25 %."""
    counts: list[SensitivityCount]
    """Whole numbers that it depends on, over a halving and a doubling."""
    sums: dict[str, float | None]
    """Elasticities times the inputs' exponents in each base unit, added up: 1 for s, 0 for B, FLOP and J;
    null where messages are fused by a clock."""
    sums_together: list[str]
    """Base units whose inputs were changed all at once, as one of them lies on a kink."""
    maxima: list[SensitivityMaximum]
    """Which arm of each maximum counts."""
    crossovers: list[SensitivityCrossover]
    """Where the answer changes."""
    notes: list[str]
    """What to know of it."""

    def records(self) -> list[Row]:
        """Return a row for each input."""
        return [flat(row) for row in self.inputs]

    def to_json(self) -> str:
        """Return what ``perfmodel sensitivity --json`` prints."""
        return self.model_dump_json()


def sensitivity_report(
    result: Sensitivity, catalogue: Catalogue, constants: Calibration
) -> SensitivityReport:
    """Return everything there is to say of a sensitivity, in plain tables."""
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
            f"{setting.workload.id} on {setting.world_size} x {setting.accelerator.id}, {setting.precision}, "
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


def sides_words(of: Mapping[str, Any] | None) -> str:
    """Return ``time`` or ``cost`` of an input in words; both sides where they differ.

    >>> sides_words({"elasticity": None, "below": -0.5, "above": None}), sides_words(None)
    ('-0.500 | jumps', '-')
    """
    if of is None:
        return "-"
    if of["elasticity"] is not None:
        return f"{of['elasticity']:+.3f}"
    return " | ".join("jumps" if of[side] is None else f"{of[side]:+.3f}" for side in ("below", "above"))


def _sides(of: Elasticity) -> Sides:
    def known(value: float) -> float | None:
        return value if abs(value) < MOST else None

    return {
        "elasticity": None if of.is_kink else of.value,
        "below": known(of.below),
        "above": known(of.above),
    }


def _notes(result: Sensitivity) -> list[str]:
    setting = result.case.setting
    lines = list(setting.workload.notes)
    if result.case.price is None:
        lines.append(
            f"no known price of {setting.node.id}: give --price, USD per hour of one node, for its cost"
        )
    if setting.measured:
        lines.append("anchored: the measured run stays as it is; counts are varied from specs alone")
    elif setting.scenario.anchor is not None:
        lines.append("anchored: the measurement holds for this batch, which is not varied")
    cap = cap_note(setting.node, setting.inter_link, setting.nics, setting.scenario.network_cap)
    if cap is not None and setting.domains > 1:
        lines.append(cap)
    if setting.overlap == "fused":
        lines.append("gradients fused by time: messages merge anew as inputs change, by jumps")
    return lines
