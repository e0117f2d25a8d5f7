"""Conversion of an anchor measured on several accelerators to one on a single accelerator."""

from __future__ import annotations

import math

from perfmodel.core.errors import InputError, refusal
from perfmodel.core.root import bisect
from perfmodel.core.units import per_cent
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.fitted.calibration import Calibration
from perfmodel.model.fitted.ledger_scales import REPEAT
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction.verdict import placement
from perfmodel.model.setting.anchor import Repeat, parse_anchor
from perfmodel.model.setting.resolve import Setting, resolve
from perfmodel.model.step.evaluate import outcome

WIDEST = math.log(1e4)
"""Largest logarithm of measured over predicted time; beyond it the unit is wrong."""
UNIT = "iteration_time=1s@1"
"""A placeholder anchor, with which a scenario is resolved as anchored."""


def anchored_setting(
    scenario: Scenario,
    catalogue: Catalogue,
    constants: Calibration,
    run: str = "the anchor's run",
    is_spread: bool = False,
) -> Setting:
    """Return the setting of a scenario, with its anchor converted to one accelerator.

    A time on several accelerators contains their exchange of gradients over the links of the scenario: inside
    their machine, inside an NVLink domain, or over adapters.  The time on one accelerator is the one for
    which the prediction equals the measured time.  The prediction increases with it, so bisection solves for
    it.

    Accelerators up to a machine's number are in one machine, unless ``is_spread``; more fill machines as in
    the scenario, with its ``accelerators_per_node``.

    Parameters
    ----------
    scenario, catalogue, constants : of the job, with its anchor
    run : what warnings call the measured run
    is_spread : as of ``setting_of_ranks``

    Raises
    ------
    InputError : an impossible number of accelerators, or a time that no speed of one accelerator predicts,
        since the exchange alone takes longer
    """
    given = str(scenario.anchor)
    whole = resolve(_with_options(scenario, anchor=None), catalogue)
    if whole.layout is not None:
        return resolve(scenario, catalogue)
    anchor = parse_anchor(given)
    if anchor.options:
        raise refusal("anchor.copies", "anchor", given=given, known=tuple(anchor.options))
    if anchor.world_size == 1:
        return resolve(scenario, catalogue)
    whole = resolve(_with_options(scenario, anchor=UNIT), catalogue)
    try:
        one, many = (
            setting_of_ranks(scenario, whole, ranks, catalogue, is_spread) for ranks in (1, anchor.world_size)
        )
        measured = anchor.iteration_time(many.global_batch_size, many.workload.sequence_length)
        time = _time_on_one(measured, one, many, constants)
    except InputError as error:
        raise error.under("anchor", said=f"anchor {given!r}") from error
    setting = resolve(_with_options(scenario, anchor=_single_anchor(time)), catalogue)
    named = set(setting.defaults)
    is_same = (many.world_size, many.accelerators_per_node) == (whole.world_size, whole.accelerators_per_node)
    return setting._replace(
        repeat=Repeat(given, REPEAT * math.sqrt(2)) if is_same else None,
        defaults=(*setting.defaults, *(each for each in many.defaults if each not in named)),
        warnings=(*setting.warnings, *_remarks(run, setting, many, 1 - time / measured)),
    )


def setting_of_ranks(
    scenario: Scenario, whole: Setting, ranks: int, catalogue: Catalogue, is_spread: bool = False
) -> Setting:
    """Return the setting of ``ranks`` accelerators, each with the work of one in the whole job.

    Parameters
    ----------
    scenario, whole, catalogue : of the job, and its setting
    ranks : accelerators
    is_spread : whether few of a job on several machines are spread as it is, too, and not in one machine
    """
    options: dict[str, object] = {
        "anchor": UNIT,
        "global_batch_size": None,
        "local_batch_size": whole.local_batch_size,
        "world_size": ranks,
    }
    if ranks == 1:  # no other workers to wait for
        options |= {"k": None, "backups": None}
    held = scenario.accelerators_per_node
    if held is not None and is_spread and whole.nodes > 1:
        options["accelerators_per_node"] = min(held, ranks)
    elif ranks <= whole.node.accelerators:
        options["accelerators_per_node"] = None
    return resolve(_with_options(scenario, **options), catalogue)


def _time_on_one(measured: float, one: Setting, many: Setting, constants: Calibration) -> float:
    """Return the iteration time of one accelerator for which that of many equals the measured one [s]."""
    free = one._replace(scenario=_with_options(one.scenario, anchor=None))
    alone = float(outcome(free, constants).iteration_time)

    def misses(log_factor: float) -> float:
        started = _with_options(many.scenario, anchor=_single_anchor(alone * math.exp(log_factor)))
        return float(outcome(many._replace(scenario=started), constants).iteration_time) - measured

    low, high = -WIDEST, WIDEST
    if misses(low) > 0 or misses(high) < 0:
        raise refusal(
            "anchor.no_speed",
            "anchor",
            accelerator=many.accelerator.id,
            measured=measured,
            world_size=many.world_size,
        )
    _, high = bisect(lambda log_factor: misses(log_factor) <= 0, low, high)
    return alone * math.exp(high)


def _remarks(run: str, setting: Setting, many: Setting, rest: float) -> list[str]:
    """Return notes on the measured run: its own warnings, and its communication on several machines."""
    result = [f"{run}: {words}" for words in many.warnings if words not in setting.warnings]
    if many.nodes > 1:
        result.append(
            f"{run}, {placement(many)}: {per_cent(rest, 0)} of its time is predicted traffic and "
            "waiting, the rest sets the speed of one accelerator"
        )
    return result


def _single_anchor(time: float) -> str:
    """Return the text of an anchor of one accelerator, with a time in the allowed range."""
    return f"iteration_time={min(max(time, 1e-6), 1e7)!r}s@1"


def _with_options(scenario: Scenario, **options: object) -> Scenario:
    """Return a scenario with options replaced; None removes an option."""
    given = {name: getattr(scenario, name) for name in scenario.model_fields_set} | options
    kept = {name: value for name, value in given.items() if value is not None}
    return type(scenario).model_construct(**kept)
