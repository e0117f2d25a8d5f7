"""Elasticities d ln T / d ln x by one backward pass, both sides of kinks, and a tornado."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from perfmodel.core.errors import InputError, refusal
from perfmodel.core.problem import Words
from perfmodel.core.tracing.gradients import Slope, leaves_of, slopes
from perfmodel.core.tracing.traced import leaf, plain
from perfmodel.decide.prices import price_of, server_price_of
from perfmodel.decide.sensitivity.case import Answer, Case, Names, answer, with_numbers
from perfmodel.decide.sensitivity.inputs import Input, inputs_of
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.fitted.calibration import Calibration, constants_of
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.options.laid_out import LaidOut
from perfmodel.model.options.layout import DEGREES
from perfmodel.model.options.scenario import AnyScenario, Scenario
from perfmodel.model.prediction.assemble import settled
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.setting.sharing import has_layouts
from perfmodel.model.step.fabric import crosses_network

STEP = 1e-5
"""Relative; the error of the difference is its square, and rounding over it: both about 1e-10."""
KINK = 1e-4
"""Sides of an elasticity that differ by more lie on two arms of a maximum."""
SWING = 0.25
"""Of the tornado."""


class Elasticity(NamedTuple):
    """Elasticity at a point: percent of the answer for each percent of the input."""

    value: float
    """Between the two sides."""
    below: float
    """Towards a smaller input."""
    above: float
    """Towards a larger one."""

    @property
    def is_kink(self) -> bool:
        """Whether the two sides lie on different arms: then ``value`` is neither."""
        return abs(self.above - self.below) > KINK


class Row(NamedTuple):
    """How time and cost depend on one input."""

    name: str
    value: float
    unit: str
    meaning: str
    dimension: dict[str, int]
    time: Elasticity
    cost: Elasticity | None
    low: float
    """Iteration time with the input a quarter smaller [s]."""
    high: float
    """With it a quarter larger [s]."""


class Count(NamedTuple):
    """How time and cost depend on a whole number: at its half and its double, where these are possible."""

    name: str
    value: int
    meaning: str
    time: Elasticity | None
    """Over a halving (below), a doubling (above) and both."""
    cost: Elasticity | None


class Sensitivity(NamedTuple):
    """Everything one scenario depends on."""

    case: Case
    answer: Answer
    rows: list[Row]
    """The strongest first."""
    counts: list[Count]


def sensitivity(
    scenario: AnyScenario,
    catalogue: Catalogue | None = None,
    constants: Calibration | None = None,
    conditions: Conditions | None = None,
) -> Sensitivity:
    """Return the elasticities of iteration time and cost to every input of a scenario.

    Parameters
    ----------
    scenario, catalogue, constants : as for ``predict``
    conditions : prices and failures; a known on-demand price is taken where none is given

    Raises
    ------
    InputError : as ``predict``; options of the price that exclude each other

    Examples
    --------
    One accelerator's time falls as its memory gets faster, and no link matters:

    >>> found = sensitivity({"workload": "resnet50"})
    >>> by_name = {row.name: row.time.value for row in found.rows}
    >>> by_name["memory_bandwidth"] < 0, "inter_link_bandwidth" in by_name
    (True, False)
    """
    catalogue = Catalogue.of(catalogue)
    case = case_of(scenario, catalogue, constants_of(constants), conditions or Conditions())
    here = _answered(case)
    rows = [_row(here, each, value) for each, value in here.inputs()]
    rows.sort(key=lambda row: -max(abs(row.time.below), abs(row.time.above)))
    return Sensitivity(case, here.answer, rows, _counts(case, here.answer, catalogue))


def case_of(
    scenario: AnyScenario, catalogue: Catalogue, constants: Calibration, conditions: Conditions
) -> Case:
    """Return the case a scenario means.

    Raises
    ------
    InputError : as ``sensitivity``
    """
    setting, constants = settled(scenario, catalogue, constants)
    price = price_of(catalogue, setting.node.id, conditions)
    of_server = server_price_of(catalogue, setting.server_node.id, setting.node.id, price, conditions)
    held = setting.server_node.accelerator
    waiting = catalogue.accelerator(held) if held else None
    return Case(setting, constants, conditions, price, of_server, waiting)


def _answered(case: Case) -> Derivatives:
    try:
        result = derivatives(case)
    except (FloatingPointError, OverflowError, ZeroDivisionError) as error:
        raise refusal("job.absurd", error=Words(error)) from error
    time = result.answer.iteration_time
    if not (math.isfinite(time) and time > 0):
        raise refusal("job.time", time=time)
    return result


class Derivatives(NamedTuple):
    """What one backward pass says of a case."""

    case: Case
    answer: Answer
    numbers: dict[str, Any]
    """All that there are, by their names in ``perfmodel.model.setting.leaves``."""
    acting: dict[str, Any]
    """Those of them that the time or the cost is worked out from."""
    slopes: tuple[list[Slope], ...]
    """Of the time, and of the cost if that is known."""

    def at(self, names: Names) -> tuple[list[float], bool]:
        """Return the percent of time and cost for each percent of some numbers, and whether at a kink."""
        of = [[each for each in some if each.name in names] for some in self.slopes]
        known = zip(of, self.answer, strict=False)
        result = [float(sum(each.elasticity(value) for each in some)) for some, value in known]
        return result, any(each.is_at_kink for some in of for each in some)

    def inputs(self, inner: bool = False) -> list[tuple[Input, float]]:
        """Return the inputs with their values; with ``inner`` the model's own constants too."""
        return list(inputs_of(self.case, self.numbers, self.acting, inner))

    def elasticity(self, which: Input) -> tuple[Elasticity, Elasticity | None]:
        """Return the elasticities of time and cost to one input; both sides at a kink."""
        case = self.case
        values, is_at_kink = self.at(which.names(case.setting))
        if is_at_kink or case.setting.overlap == "fused":  # messages merge anew, by jumps
            return _between(*(answer(which.scaled(case, 1 + side * STEP)) for side in (-1, 0, 1)))
        time, *cost = [Elasticity(value, value, value) for value in values]
        return time, cost[0] if cost else None


def derivatives(case: Case) -> Derivatives:
    """Return the time and the cost of a case with their derivatives by every number."""
    numbers: dict[str, Any] = {}

    def noted(value: Any, name: str, source: str) -> Any:
        numbers[name] = value
        return leaf(value, name, source)

    with with_numbers(case, noted) as traced:
        result = answer(traced)
    known = [each for each in result if each is not None]
    acting = {each.leaf.name: each.value for of in known for each in leaves_of(of) if each.leaf}
    return Derivatives(case, Answer(*map(plain, result)), numbers, acting, tuple(map(slopes, known)))


def _between(low: Answer, here: Answer, high: Answer) -> tuple[Elasticity, Elasticity | None]:
    up, down = math.log1p(STEP), math.log1p(-STEP)

    def of(get: Callable[[Answer], float]) -> Elasticity:
        below, middle, above = math.log(get(low)), math.log(get(here)), math.log(get(high))
        return Elasticity((above - below) / (up - down), (middle - below) / -down, (above - middle) / up)

    cost = (
        None if None in (low[1], here[1], high[1]) else of(lambda result: result.cost_per_sample or math.nan)
    )
    return of(lambda result: result.iteration_time), cost


def _row(here: Derivatives, which: Input, value: float) -> Row:
    time, cost = here.elasticity(which)
    low, high = (answer(which.scaled(here.case, factor)).iteration_time for factor in (1 - SWING, 1 + SWING))
    return Row(which.name, value, which.unit, which.meaning, which.dimension, time, cost, low, high)


BASE_UNITS = {"s": 1, "B": 0, "FLOP": 0, "J": 0}
"""Exponents of each base unit in an iteration time."""


class Sum(NamedTuple):
    """What a change of one base unit does to the iteration time."""

    total: float | None
    """Percent for each percent; None where messages are fused by a clock, which is no input."""
    is_together: bool
    """Whether all inputs in this unit were changed at once, as one of them lies on a kink."""


def sums(case: Case) -> dict[str, Sum]:
    """Return, for each base unit, the sum over all inputs of elasticity times the input's exponent in it.

    A change of the unit of time scales every input that is counted in it, and the iteration time: by Euler's
    theorem the sum is 1 for seconds, and 0 for bytes, FLOP and joules, which a time does not hold.  Where an
    input lies on a kink its elasticity is not one number, but the time still changes smoothly if all inputs
    of the unit change together, which keeps them on the kink: that change is returned there.
    """
    if has_layouts(case.setting.workload):
        return {}  # its constants are learned with units of their own, and are no inputs here
    here = derivatives(case)
    inputs = [which for which, _ in here.inputs(inner=True)]
    result = [(which.dimension, here.elasticity(which)[0]) for which in inputs]
    totals = {}
    for unit in BASE_UNITS:
        parts = [(dimension[unit], each) for dimension, each in result if dimension.get(unit)]
        at_kink = any(each.is_kink for _, each in parts)
        if case.setting.overlap == "fused":
            totals[unit] = Sum(None, False)
        elif at_kink:
            totals[unit] = Sum(_together(case, unit, inputs), True)
        else:
            totals[unit] = Sum(sum(exponent * each.value for exponent, each in parts), False)
    return totals


def _together(case: Case, unit: str, inputs: list[Input]) -> float:
    """Return the elasticity to all inputs of a unit, scaled as a change of that unit scales them."""

    def at(step: float) -> Answer:
        changed = case
        for each in inputs:
            changed = each.scaled(changed, (1 + step) ** each.dimension.get(unit, 0))
        return answer(changed)

    return _between(at(-STEP), at(0.0), at(STEP))[0].value


COUNTS = {
    "world_size": "accelerators in the job",
    "servers": "parameter servers",
    "nics": "network adapters of a node",
    "connections": "TCP connections between two machines",
    "accumulation_steps": "micro-batches of an iteration",
    "sequence_length": "tokens of a sequence",
    "tensor_parallel": "accelerators that share every product",
    "pipeline_parallel": "stages of layers",
    "virtual_stages": "chunks of layers on a stage",
    "context_parallel": "accelerators that share a sequence",
    "expert_parallel": "accelerators that experts are dealt out to",
    "micro_batch_size": "samples of a replica and pass",
}
"""Whole numbers of a scenario that change what its time is made of."""
OF_LAYOUT = (*DEGREES, "micro_batch_size")
"""Those that are varied with the batch of the whole step as it is."""
PASSES = ("local_batch_size", "micro_batch_size", "global_batch_size", "accumulation_steps")


def _counts(case: Case, here: Answer, catalogue: Catalogue) -> list[Count]:
    own = case.constants.own
    if case.setting.measured or (own is not None and own.transformers):
        # runs say less of every other job, which no count is the cause of
        asked = case.setting.scenario.model_copy(update={"anchor": None})
        known = case.constants._replace(own=own and own._replace(transformers=()))
        case = case._replace(setting=case.setting._replace(scenario=asked, measured=()), constants=known)
        here = answer(case)
    setting = case.setting
    between = crosses_network(setting)
    shared, model = setting.layout is not None, setting.workload.architecture
    matter = {
        "world_size": True,
        "servers": setting.servers > 0,
        "nics": between,
        "connections": setting.inter_link.flow_bandwidth is not None and between,
        "accumulation_steps": setting.scenario.anchor is None,
        "sequence_length": setting.workload.sequence_length is not None and setting.scenario.anchor is None,
        "expert_parallel": shared and model is not None and model.experts > 0,
        "virtual_stages": setting.scenario.pipeline_parallel > 1,
    }
    matter |= dict.fromkeys(
        ("tensor_parallel", "pipeline_parallel", "context_parallel", "micro_batch_size"), shared
    )
    return [_count(case, here, name, catalogue) for name in COUNTS if matter[name]]


def _count(case: Case, here: Answer, name: str, catalogue: Catalogue) -> Count:
    of: Any = case.setting.workload if name == "sequence_length" else case.setting
    of = of if hasattr(of, name) else of.layout
    value: int = getattr(of, name)
    half = _with_count(case, name, value // 2, catalogue) if value % 2 == 0 else None
    double = _with_count(case, name, 2 * value, catalogue)
    return Count(
        name,
        value,
        COUNTS[name],
        _over_doublings(half, here, double, lambda result: result.iteration_time),
        _over_doublings(half, here, double, lambda result: result.cost_per_sample),
    )


def _with_count(case: Case, name: str, value: int, catalogue: Catalogue) -> Answer | None:
    """The answer with another count; None where the scenario cannot have it."""
    changed: dict[str, Any] = {name: value}
    scenario = case.setting.scenario
    try:
        asked = {key: getattr(scenario, key) for key in scenario.model_fields_set}
        if name in OF_LAYOUT:
            asked = {key: value for key, value in asked.items() if key not in PASSES}
            changed = {**_same_batch(case.setting), **changed}
        asked |= changed
        # of one replica alone the same model answers
        kind = Scenario if case.setting.layout is None else LaidOut
        setting, _ = settled(kind(**asked), catalogue, case.constants)
        return answer(case._replace(setting=setting))
    except InputError:
        return None


def _same_batch(setting: Setting) -> dict[str, Any]:
    """The options that keep the batch of a step where its layout changes."""
    return {"global_batch_size": setting.global_batch_size, "micro_batch_size": setting.local_batch_size}


def _over_doublings(
    half: Answer | None, here: Answer, double: Answer | None, get: Callable[[Answer], float | None]
) -> Elasticity | None:
    """Elasticities over a halving and a doubling; where one of them cannot be, the other stands for it."""
    middle = get(here)
    low, high = (get(side) if side is not None else None for side in (half, double))
    if middle is None or (low is None and high is None):
        return None
    slopes = [
        math.log(after / before) / math.log(2)
        for before, after in ((low, middle), (middle, high))
        if before is not None and after is not None
    ]
    return Elasticity(sum(slopes) / len(slopes), slopes[0], slopes[-1])
