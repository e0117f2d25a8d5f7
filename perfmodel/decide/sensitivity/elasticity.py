"""Elasticities d ln T / d ln x by one backward pass, both sides of kinks, and a tornado chart."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from perfmodel.core.errors import InputError, refusal
from perfmodel.core.problem import Words
from perfmodel.core.tracing.gradients import Slope, leaves_of, slopes
from perfmodel.core.tracing.traced import leaf, plain
from perfmodel.decide.economics import at_the_price
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
"""Relative step of differences; its square is their error, and rounding over it: both about 1e-10."""
KINK = 1e-4
"""Difference of the two sides of an elasticity above which they are on different arms of a maximum."""
SWING = 0.25
"""Relative change of an input in the tornado chart."""


class Elasticity(NamedTuple):
    """Relative change of a result for a relative change of an input, at a point."""

    value: float
    """Mean of both sides."""
    below: float
    """Towards a smaller input."""
    above: float
    """Towards a larger input."""

    @property
    def is_kink(self) -> bool:
        """Whether the two sides are on different arms of a maximum: then ``value`` is that of neither."""
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
    """Iteration time with the input a quarter larger [s]."""


class Count(NamedTuple):
    """How time and cost depend on a whole number, from its half and its double where these are possible."""

    name: str
    value: int
    meaning: str
    time: Elasticity | None
    """Over a halving (below), over a doubling (above), and the mean."""
    cost: Elasticity | None


class Sensitivity(NamedTuple):
    """How time and cost of a scenario depend on its inputs."""

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
    conditions : prices and failures; by default the on-demand price, where it is known

    Raises
    ------
    InputError : as ``predict``; options of the price that exclude each other

    Examples
    --------
    One accelerator's time falls as its memory gets faster, and no link matters:

    >>> result = sensitivity({"workload": "resnet50"})
    >>> by_name = {row.name: row.time.value for row in result.rows}
    >>> by_name["memory_bandwidth"] < 0, "inter_link_bandwidth" in by_name
    (True, False)
    """
    catalogue = Catalogue.of(catalogue)
    case = case_of(scenario, catalogue, constants_of(constants), conditions or Conditions())
    here = _checked_derivatives(case)
    rows = [_row(here, each, value) for each, value in here.inputs()]
    rows.sort(key=lambda row: -max(abs(row.time.below), abs(row.time.above)))
    return Sensitivity(case, here.answer, rows, _counts(case, here.answer, catalogue))


def case_of(
    scenario: AnyScenario, catalogue: Catalogue, constants: Calibration, conditions: Conditions
) -> Case:
    """Return the case of a scenario, with its price.

    Raises
    ------
    InputError : as ``sensitivity``
    """
    setting, constants = settled(scenario, catalogue, constants)
    price = price_of(catalogue, setting.node.id, conditions)
    of_server = server_price_of(catalogue, setting.server_node.id, setting.node.id, price, conditions)
    server_accelerator = setting.server_node.accelerator
    idle_accelerator = catalogue.accelerator(server_accelerator) if server_accelerator else None
    here = at_the_price(conditions, price, catalogue)
    return Case(setting, constants, here, price, of_server, idle_accelerator)


def _checked_derivatives(case: Case) -> Derivatives:
    """Return the derivatives of a case.

    Raises
    ------
    InputError : numbers so large or small that the time overflows or is not positive
    """
    try:
        result = derivatives(case)
    except (FloatingPointError, OverflowError, ZeroDivisionError) as error:
        raise refusal("job.absurd", error=Words(error)) from error
    time = result.answer.iteration_time
    if not (math.isfinite(time) and time > 0):
        raise refusal("job.time", time=time)
    return result


class Derivatives(NamedTuple):
    """Time and cost of a case, with their derivatives from one backward pass."""

    case: Case
    answer: Answer
    numbers: dict[str, Any]
    """All numbers of the case, by their names in ``perfmodel.model.setting.leaves``."""
    acting: dict[str, Any]
    """Those on which the time or the cost depends."""
    slopes: tuple[list[Slope], ...]
    """Derivatives of the time, and of the cost if that is known."""

    def at(self, names: Names) -> tuple[list[float], bool]:
        """Return the elasticities of time and cost to some numbers together, and whether at a kink."""
        selected = [[each for each in some if each.name in names] for some in self.slopes]
        known = zip(selected, self.answer, strict=False)
        result = [float(sum(each.elasticity(value) for each in some)) for some, value in known]
        return result, any(each.is_at_kink for some in selected for each in some)

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
    """Return time and cost of a case with their derivatives with respect to every number."""
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
    """Return the elasticities of time and cost from the answers at a smaller, the same and a larger input."""
    up, down = math.log1p(STEP), math.log1p(-STEP)

    def of(get: Callable[[Answer], float]) -> Elasticity:
        below, middle, above = math.log(get(low)), math.log(get(here)), math.log(get(high))
        return Elasticity((above - below) / (up - down), (middle - below) / -down, (above - middle) / up)

    cost = (
        None if None in (low[1], here[1], high[1]) else of(lambda result: result.cost_per_sample or math.nan)
    )
    return of(lambda result: result.iteration_time), cost


def _row(here: Derivatives, which: Input, value: float) -> Row:
    """Return elasticities of time and cost to one input, and times with it a quarter smaller and larger."""
    time, cost = here.elasticity(which)
    low, high = (answer(which.scaled(here.case, factor)).iteration_time for factor in (1 - SWING, 1 + SWING))
    return Row(which.name, value, which.unit, which.meaning, which.dimension, time, cost, low, high)


BASE_UNITS = {"s": 1, "B": 0, "FLOP": 0, "J": 0}
"""Exponent of each base unit in an iteration time."""


class Sum(NamedTuple):
    """The elasticity of the iteration time to a change of a base unit."""

    total: float | None
    """The elasticity; None where messages are fused by a clock, which is no input."""
    is_together: bool
    """Whether all inputs in this unit were changed at once because one of them is at a kink."""


def sums(case: Case) -> dict[str, Sum]:
    """Return, for each base unit, the sum over all inputs of elasticity times the input's exponent in it.

    A change of the unit of time scales every input that is counted in it, and the iteration time: by Euler's
    theorem the sum is 1 for seconds, and 0 for bytes, FLOP and joules, which a time does not contain.  At a
    kink the elasticity of an input is not one number; there all inputs of the unit are changed together,
    which keeps them on the kink.
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
    "tensor_parallel": "accelerators that split every matrix product",
    "pipeline_parallel": "stages of layers",
    "virtual_stages": "chunks of layers on a stage",
    "context_parallel": "accelerators that split a sequence",
    "expert_parallel": "accelerators over which experts are distributed",
    "expert_tensor_parallel": "accelerators that split every product of an expert",
    "micro_batch_size": "samples of a replica in one pass",
}
"""Whole numbers of a scenario that its time depends on."""
OF_LAYOUT = (*DEGREES, "expert_tensor_parallel", "micro_batch_size")
"""Those that are varied at a constant batch of the whole step."""
PASSES = ("local_batch_size", "micro_batch_size", "global_batch_size", "accumulation_steps")
"""Options that determine the batch of a step."""


def _counts(case: Case, here: Answer, catalogue: Catalogue) -> list[Count]:
    """Return how time and cost depend on each whole number that has an effect."""
    own = case.constants.own
    if case.setting.measured or (own is not None and own.transformers):
        # runs say less of every other job, which no count is the cause of
        scenario = case.setting.scenario.model_copy(update={"anchor": None})
        known = case.constants._replace(own=own and own._replace(transformers=()))
        case = case._replace(setting=case.setting._replace(scenario=scenario, measured=()), constants=known)
        here = answer(case)
    setting = case.setting
    crosses = crosses_network(setting)
    has_layout, model = setting.layout is not None, setting.workload.architecture
    has_effect = {
        "world_size": True,
        "servers": setting.servers > 0,
        "nics": crosses,
        "connections": setting.inter_link.flow_bandwidth is not None and crosses,
        "accumulation_steps": setting.scenario.anchor is None,
        "sequence_length": setting.workload.sequence_length is not None and setting.scenario.anchor is None,
        "expert_parallel": has_layout and model is not None and model.experts > 0,
        "expert_tensor_parallel": has_layout and model is not None and model.experts > 0,
        "virtual_stages": setting.scenario.pipeline_parallel > 1,
    }
    has_effect |= dict.fromkeys(
        ("tensor_parallel", "pipeline_parallel", "context_parallel", "micro_batch_size"), has_layout
    )
    return [_count(case, here, name, catalogue) for name in COUNTS if has_effect[name]]


def _count(case: Case, here: Answer, name: str, catalogue: Catalogue) -> Count:
    """Return how time and cost depend on one whole number."""
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
    """Return the answer with another count; None where the scenario cannot have it."""
    changed: dict[str, Any] = {name: value}
    scenario = case.setting.scenario
    try:
        options = {key: getattr(scenario, key) for key in scenario.model_fields_set}
        if name in OF_LAYOUT:
            options = {key: value for key, value in options.items() if key not in PASSES}
            changed = {**_same_batch(case.setting), **changed}
        options |= changed
        # of one replica alone the same model answers
        scenario_type = Scenario if case.setting.layout is None else LaidOut
        setting, _ = settled(scenario_type(**options), catalogue, case.constants)
        return answer(case._replace(setting=setting))
    except InputError:
        return None


def _same_batch(setting: Setting) -> dict[str, Any]:
    """Return the options that keep the batch of a step when its layout changes."""
    return {"global_batch_size": setting.global_batch_size, "micro_batch_size": setting.local_batch_size}


def _over_doublings(
    half: Answer | None, here: Answer, double: Answer | None, get: Callable[[Answer], float | None]
) -> Elasticity | None:
    """Return the elasticities over a halving and a doubling; the same for both if one is impossible."""
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
