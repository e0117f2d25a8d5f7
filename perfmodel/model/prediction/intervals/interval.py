"""Prediction intervals, as wide as the errors on unseen sources under the same conditions."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from itertools import repeat
from operator import mul
from typing import TYPE_CHECKING, Any, NamedTuple

from perfmodel.core import ops
from perfmodel.core.units import per_cent
from perfmodel.hardware.machine_words import accelerator_words, link_words
from perfmodel.model.fitted.calibration import NORMAL_80, NORMAL_95, Calibration, Spread
from perfmodel.model.fitted.ledger_scales import (
    ANCHORED,
    DATA_PARALLEL,
    KNOWN,
    NEW,
    TOGETHER,
    Scale,
    left_open,
    reason,
    scale_of,
    wider_by_open,
)
from perfmodel.model.prediction.intervals.bound import NOT_KNOWN, Alone, cut_ends, interval_of
from perfmodel.model.prediction.intervals.widening import (
    AGAIN,
    IS_NEW,
    LEAST,
    OPEN,
    OWN,
    local_batch_of,
    software_of,
    strengths,
)
from perfmodel.model.prediction.limits import crossed_link
from perfmodel.model.prediction.result import NO_REPEATS, Interval
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.setting.sharing import predicts_tokens
from perfmodel.model.step.evaluate import Step
from perfmodel.model.step.layer_rates import conditions
from perfmodel.model.step.own_update import with_own_update
from perfmodel.workloads.catalogue import network_words

if TYPE_CHECKING:
    from perfmodel.model.fitted.own_effects import OwnEffects
    from perfmodel.model.transformers.uncertainty import Novelty

NOTICED = 0.05
"""Least addition of a condition to the logarithm of the scale to be reported as a reason."""
NOTED = 0.03
"""Least relative deviation of a profile to be reported."""


NOT_COMPUTING = (
    "input",
    "world size",
    "beyond world size",
    "communication",
    "several accelerators",
    "single process",
    "parameter server",
    "unseen link",
)
"""Conditions that affect waits and communication, not the computation of one accelerator."""
REASONS = {
    "unseen accelerator": "no measured run on {accelerator}",
    "unseen architecture": "no measured run on the {architecture} architecture",
    "unseen network": "no measured run of {workload}",
    "unseen software": "no measured run of {software}",
    "beyond batch": "measured were {low:g} to {high:g} samples an accelerator of {workload}",
    "beyond world size": "no measured run on more than {largest:g} accelerators",
    "host": "the host paces {host} of the step, and hosts differ",
    "detection": "work on boxes and regions is not in the layer table",
    "slow fp16": "{accelerator} has no fast fp16 arithmetic",
    "communication": "{communication} of the iteration {waits}",
    "single process": "one process drives all accelerators",
    "parameter server": "parameter servers queue",
    "unseen link": "no measured run over {link}",
    "input": "it waits for samples",
}
"""Reasons for a wide interval, by condition; other conditions are not reported."""
OR_LOST = "waits for other accelerators, or is the loss measured on your own runs, whose cause is not known"


def reasons(
    setting: Setting,
    result: dict[str, Any],
    spread: Spread,
    constants: Calibration,
    of_profile: float = 0.0,
    new: Novelty | None = None,
) -> list[str]:
    """Return, as text, the reasons for a wider interval with their factors, the largest first.

    They are followed by the deviation of a profile, and the novelty of a transformer.
    """
    measured = (
        [f"the profile's own numbers are {per_cent(of_profile, 0)} uncertain"] if of_profile > NOTED else []
    )
    if result.get(AGAIN):
        return measured
    widths = dict(zip(spread.weights, _widths(result, spread), strict=True))
    novel = scale_of(DATA_PARALLEL, NEW)
    if result[IS_NEW]:
        by_class = scale_by(result).factor / scale_by(result | {IS_NEW: 0.0}).factor
        widths[IS_NEW] = widths.get(IS_NEW, 0.0) + math.log(by_class)
    noticed = [name for name, width in widths.items() if width > NOTICED and name in REASONS]
    if constants.own is not None:
        noticed = [name for name in noticed if not _measured(name, setting, constants.own)]
    low, high = constants.reach.get(local_batch_of(setting), (0.0, 0.0))
    facts = {
        "accelerator": accelerator_words(setting.accelerator),
        "architecture": setting.accelerator.pool,
        "workload": network_words(setting.workload),
        "software": software_of(setting),
        "low": low,
        "high": high,
        "largest": constants.reach.get("world size", (1.0, 1.0))[1],
        "host": per_cent(result["host"], 0),
        "communication": per_cent(result["communication"], 0),
        "waits": OR_LOST if setting.measured_loss else "waits for other accelerators",
        "link": link_words(crossed_link(setting)),
    }
    weighted = [
        (math.exp(widths[name]), REASONS[name].format(**facts), novel if name == IS_NEW else None)
        for name in noticed
    ]
    opened = left_open(DATA_PARALLEL, result[OPEN], deviation(result, spread) * scale_by(result).factor)
    weighted += [(each.factor, each.words, Scale(each.factor, each.sources)) for each in opened]
    in_order = sorted(weighted, key=lambda each: -each[0])
    wide = [reason(words, factor, scale) for factor, words, scale in in_order if factor > 1 + NOTICED]
    if new is None:
        return wide + measured
    from perfmodel.model.transformers.uncertainty import why_wider

    return list(dict.fromkeys([*wide, *measured, *why_wider(new)]))


def _measured(reason: str, setting: Setting, own: OwnEffects) -> bool:
    """Return whether own runs cover a reason for a wide interval, or half of it."""
    kind = reason.removeprefix("unseen ")
    here = {
        "accelerator": setting.accelerator.id,
        "architecture": setting.accelerator.id,
        "network": setting.workload.id,
        "software": software_of(setting),
        "link": crossed_link(setting).id,
    }
    return kind in here and here[kind] in own.seen["accelerator" if kind == "architecture" else kind]


def scale_by(result: dict[str, Any], mode: str = "specs") -> Scale:
    """Return the ledger's scale: errors on new rows over those that the spread was learned from.

    Parameters
    ----------
    result, mode : as for ``factors``
    """
    if mode != "specs":
        return scale_of(DATA_PARALLEL, ANCHORED)
    if result[IS_NEW]:
        return scale_of(DATA_PARALLEL, NEW)
    together = result["several accelerators"] > 0
    classes = zip(scale_of(DATA_PARALLEL, TOGETHER), scale_of(DATA_PARALLEL, KNOWN), strict=True)
    chosen: Any = (ops.where(together, several, one) for several, one in classes)
    return Scale(*chosen)


class Factors(NamedTuple):
    """Errors of times up or down, as factors; numbers or arrays."""

    factor_80: Any
    """Factor with 80 % confidence."""
    factor_95: Any
    scale: Scale
    """Errors on new rows over those on development rows."""
    common: Any
    """Factor of the scale and of options left to their defaults on the interval, in log time."""


def factors(result: dict[str, Any], mode: str, constants: Calibration) -> Factors:
    """Return the errors of a time up or down, as factors; numbers or arrays.

    An anchor or profile can only narrow the interval from specs and own runs.

    Parameters
    ----------
    result : strength of each condition
    mode : of the prediction, a key of ``constants.spread``
    constants : with the learned spreads
    """
    spreads, own = constants.spread, constants.own
    if mode == "specs":
        return _factors(result, spreads[mode], own, scale_by(result))
    result = result | {OPEN: {}}
    measured = _factors(result, spreads[mode], None, scale_by(result, mode))
    if "specs" not in spreads:
        return measured
    near, far, *_ = _factors(result, spreads["specs"], own, scale_by(result))
    if not (again := result.get(AGAIN)):
        return measured._replace(
            factor_80=ops.minimum(measured.factor_80, near), factor_95=ops.minimum(measured.factor_95, far)
        )
    return measured._replace(factor_80=math.exp(NORMAL_80 * again), factor_95=math.exp(NORMAL_95 * again))


def alone_of(
    setting: Setting,
    alone: Any,
    result: dict[str, Any],
    mode: str,
    constants: Calibration,
    deviation: Any = 0.0,
) -> Alone:
    """Return the lower ends of one accelerator alone with its share of the work, numbers or arrays.

    A time from specs has the error of a prediction on one accelerator; a measured one has none.  Unknown for
    asynchronous workers, whose gradients may be discarded.

    Parameters
    ----------
    setting, result, mode, constants : of the iteration, as for ``factors``
    alone : time of the share on one accelerator [s]
    deviation : relative deviation of a profile's numbers
    """
    if setting.updates is not None:
        return NOT_KNOWN
    if setting.strategy != "parameter-server":
        alone = alone * (setting.world_size > 1)
    if setting.profile is not None:
        return Alone(*(alone * ops.exp(-quantile * deviation) for quantile in (NORMAL_80, NORMAL_95)))
    if mode != "specs":
        return Alone(alone, alone)
    of_one = result | dict.fromkeys(NOT_COMPUTING, 0.0)
    if constants.own is not None:
        of_one[OWN] = constants.own.removed_share(conditions(setting), 0.0, 0.0)
    near, far, *_ = factors(of_one, mode, constants)
    return Alone(alone / near, alone / far)


def _widths(result: dict[str, Any], spread: Spread) -> Iterator[Any]:
    """Return the addition of each learned weight to the logarithm of the scale, numbers or arrays."""
    return map(mul, spread.weights.values(), map(result.get, spread.weights, repeat(0.0)))


def deviation(result: dict[str, Any], spread: Spread) -> Any:
    """Return the standard deviation of the logarithmic error that an interval represents."""
    return spread.quantile_80 / NORMAL_80 * ops.exp(sum(_widths(result, spread)))


def _factors(result: dict[str, Any], spread: Spread, own: OwnEffects | None, scale: Scale) -> Factors:
    """Return the error factors by one spread, with own runs or options left open, and a ledger scale."""
    width, common = ops.exp(sum(_widths(result, spread))) * scale.factor, scale.factor
    expected = spread.quantile_80 / NORMAL_80 * width
    if own is not None:
        width = width * own.narrowing(result[OWN], result[LEAST], expected)
    else:
        wider = wider_by_open(DATA_PARALLEL, result[OPEN], expected)
        width, common = width * wider, common * wider
    return Factors(ops.exp(spread.quantile_80 * width), ops.exp(spread.quantile_95 * width), scale, common)


class Width(NamedTuple):
    """Intervals of iteration times with their components, numbers or arrays."""

    ends: dict[str, Any]
    """Ends of the intervals, as for ``cut_ends`` [s]."""
    strengths: dict[str, Any]
    mode: str
    scale: Scale
    common: Any
    """As in ``Factors``."""
    deviation: Any
    """Relative deviation of a profile's numbers."""
    least_time: Any
    """Physical lower bound [s]."""
    new: Novelty | None
    """Novelty of a transformer that predicts tokens."""


def mode_of(setting: Setting) -> str:
    """Return the key of ``Calibration.spread``: ``anchored`` with an anchor or profile, else ``specs``."""
    return "anchored" if setting.scenario.anchor or setting.profile else "specs"


def width_of(
    setting: Setting, step: Step, link: Any, least_time: Any, constants: Calibration
) -> Width | None:
    """Return the intervals of iteration times, numbers or arrays; None without learned spreads.

    Parameters
    ----------
    setting, step, constants : of the iteration
    link : result of ``unseen_link``
    least_time : physical lower bound [s]
    """
    mode, time = mode_of(setting), step.iteration_time
    if mode not in constants.spread:
        return None
    result = strengths(setting, step.work, step.terms, link, constants)
    near, far, scale, common = factors(result, mode, constants)
    new = _new_to_transformers(setting, mode, constants)
    if new is not None:
        near = ops.maximum(near, math.exp(NORMAL_80 * new.spread))
        far = ops.maximum(far, math.exp(NORMAL_95 * new.spread))
    of_profile: Any = 0.0
    if setting.profile is not None:
        from perfmodel.model.step.profile_noise import noise, noisy

        of_profile = noise(setting, setting.profile, step.terms)
        near, far = noisy(near, NORMAL_80, of_profile), noisy(far, NORMAL_95, of_profile)
    ends = scale.ends(time, near, far)
    own = with_own_update(setting, step.work).alone(setting.accumulation_steps)
    alone = alone_of(setting, own, result, mode, constants, of_profile)
    ends = cut_ends(ends, time, least_time, alone)
    return Width(ends, result, mode, scale, common, of_profile, least_time, new)


def _new_to_transformers(setting: Setting, mode: str, constants: Calibration) -> Novelty | None:
    """Return the novelty of a data-parallel job whose network predicts tokens; None for other networks.

    None as well with an anchor, a profile or own runs.
    """
    model = setting.workload.architecture
    if model is None or mode != "specs" or constants.own is not None or not predicts_tokens(setting.workload):
        return None
    from perfmodel.model.transformers.uncertainty import novelty

    return novelty(model, setting.accelerator.id, setting.software)


def interval(setting: Setting, width: Width, constants: Calibration) -> Interval:
    """Return the interval of one job's iteration time, with the reasons for its width."""
    spread, result = constants.spread[width.mode], width.strengths
    if width.mode != "specs" or constants.own is not None:
        result = result | {OPEN: {}}  # measurements cover them
    return interval_of(
        width.ends,
        width.least_time,
        no_95=NO_REPEATS if result.get(AGAIN) else width.scale.no_95,
        wider_because=partial(reasons, setting, result, spread, constants, width.deviation, width.new),
        sources=None if result.get(AGAIN) else int(width.scale.sources),
        scale=1.0 if result.get(AGAIN) else float(width.common),
    )
