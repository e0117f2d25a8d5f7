"""The straggler term: the wait of an iteration for its slowest worker."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from perfmodel.core.errors import InputError
from perfmodel.core.tracing.tracing import given, remembered
from perfmodel.core.units import per_cent, show
from perfmodel.equations import slowest_worker
from perfmodel.equations.distribution import Distribution
from perfmodel.equations.exchange import queue_behind_wait
from perfmodel.model.fitted.calibration import Calibration
from perfmodel.model.setting.resolve import Setting


@remembered(maxsize=256)
def _parsed_law(spec: str) -> Distribution | None:
    """Return the distribution of a text, cached; None for ``none``."""
    from perfmodel.equations.distributions import parse_distribution

    if spec == "none":
        return None
    try:
        law = parse_distribution(spec)
    except InputError as error:
        raise error.under("jitter", said="") from None
    named = zip(law.law.parameters, law.values, strict=True) if law.values else ()
    return replace(law, values=tuple(given(value, f"jitter.{name}", "the scenario") for name, value in named))


def push_share(setting: Setting) -> float:
    """Return the share of an exchange with servers in which workers push [1].

    All of it if blocks return while the next are sent, else its first half.
    """
    share: float = given(1.0 if setting.framework.pipelined_servers else 0.5, "push_share", "the software")
    return share


ALIKE = Distribution("uniform", (1 - 1e-9, 1 + 1e-9))
"""Distribution of workers with equal times."""
NOTED = 0.03
"""Share of the iteration from which the wait for stragglers gets a note on its assumption: that of some
100 accelerators with the default jitter, so that small jobs have no note."""


def spread_note(
    setting: Setting, waiting_time: float, iteration_time: float, efficiency: float, calibration: Calibration
) -> str | None:
    """Return a note on the default jitter, its bound on efficiency, and its effect on the job.

    None if the wait is a small share of the iteration, or if the jitter is stated or measured.

    Parameters
    ----------
    setting : of the job
    waiting_time, iteration_time : wait for stragglers, and the whole iteration [s]
    efficiency : scaling efficiency, with that wait
    calibration : with the default jitter
    """
    share, law = waiting_time / iteration_time, usual_law(calibration, _loads(setting))
    if share < NOTED or law is None or setting.scenario.jitter is not None or setting.updates is not None:
        return None
    if setting.profile is not None and setting.profile.jitter is not None:
        return None
    n = setting.world_size
    allowed = 1 / slowest_worker.straggler_factor(law, n)
    spread = per_cent(calibration.spread_of_steps(_loads(setting)).jitter)
    without, here = iteration_time - waiting_time, f"{show(iteration_time, 's')} and {per_cent(efficiency)}"
    return (
        f"stragglers cap {n} GPUs at {per_cent(allowed, 0)} if ranks vary {spread} independently and stall "
        f"at times: without that (--jitter none) {show(without, 's')} and an efficiency of "
        f"{per_cent(efficiency / (1 - share))}, with it {here}"
    )


@remembered(maxsize=16)
def _stalling(jitter: float, probability: float, length: float) -> Distribution:
    """Return the distribution of a worker's time with a spread and stalls."""
    return Distribution("stalling", (1.0, jitter, probability, length))


@remembered(maxsize=16)
def _lognormal(jitter: float) -> Distribution:
    """Return the distribution of a worker's time with a spread alone."""
    return Distribution("lognormal", (1.0, jitter))


def usual_law(calibration: Calibration, loads: bool) -> Distribution | None:
    """Return the default distribution of a worker's time, apart from what all workers share.

    Parameters
    ----------
    calibration : with the learned spread
    loads : whether workers read samples
    """
    spread = calibration.spread_of_steps(loads)
    if not spread.jitter:
        return None
    if not spread.stall_probability:
        return _lognormal(spread.jitter)
    return _stalling(spread.jitter, spread.stall_probability, spread.stall_length)


def _loads(setting: Setting) -> bool:
    """Return whether the workers of a job read samples."""
    return setting.scenario.input == "real"


def law_of(setting: Setting, calibration: Calibration) -> Distribution | None:
    """Return the distribution of a worker's time, in any unit; None without jitter."""
    given = setting.scenario.jitter
    return usual_law(calibration, _loads(setting)) if given is None else _parsed_law(given)


def shared_slowdown(setting: Setting, busy_time: Any, calibration: Calibration) -> Any:
    """Return the time that all ranks of a job lose alike, compared with one accelerator alone [s].

    Parameters
    ----------
    setting : of the job
    busy_time : step of one accelerator alone [s], number or array
    calibration : with the learned slowdown
    """
    if setting.strategy not in ("all-reduce", "local-sgd"):  # an average every step is an all-reduce
        return 0.0
    slowdown = calibration.spread_of_steps(_loads(setting)).slowdown
    return busy_time * slowdown * (setting.world_size > 1)


def straggler_time(
    setting: Setting, busy_time: Any, exposed_communication_time: Any, calibration: Calibration
) -> Any:
    """Return the mean wait for the slowest of all workers [s], number or array.

    A ring starts with the last worker, so it hides nothing.  A parameter server receives pushes in sequence,
    and those of fast workers hide behind the wait for slow ones: the wait is the part that the exposed queue
    of the other workers does not cover.

    Parameters
    ----------
    setting : of the job
    busy_time : mean computation of one worker [s]
    exposed_communication_time : push and pull after overlap [s]
    calibration : with the default jitter
    """
    law = law_of(setting, calibration)
    if law is None:
        return 0.0
    n = setting.world_size
    wait = slowest_worker.straggler_time(busy_time, law, n)
    if setting.strategy == "parameter-server":
        workers = setting.nodes if setting.local_aggregation else n
        return queue_behind_wait(wait, push_share(setting), exposed_communication_time, workers)
    return wait
