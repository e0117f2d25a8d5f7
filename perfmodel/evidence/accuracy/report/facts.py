"""By how much stating an option narrows an interval: the change of predictions if it is left to its default.

Each published job is predicted as it was run, and with one option left to its default, as by a user who does
not know its value.  The logarithm of the ratio of both times is an error that stating the option removes;
measured times are not used.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from perfmodel.core.errors import InputError
from perfmodel.evidence.accuracy import training_campaign
from perfmodel.evidence.accuracy.campaign import Campaign
from perfmodel.evidence.accuracy.ledger.held_out import learned_part
from perfmodel.evidence.accuracy.measured_table import Line, measured_lines
from perfmodel.evidence.accuracy.scenarios import Refused, scenario_of_run
from perfmodel.evidence.accuracy.transformers import transformer_campaign
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.software import parts
from perfmodel.model.fitted.ledger_scales import DATA_PARALLEL, TRANSFORMERS, YEAR
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import predict
from perfmodel.model.prediction.open_options import OPTIONS

MOST, SEED = 20, 20261126
"""Largest number of jobs that are drawn from each source, and the seed."""


class _Kind(NamedTuple):
    """A kind of jobs: its campaign, the scenario of a row, and the options that are left open in turn."""

    campaign: Campaign[Any]
    scenario: Callable[[Line, Any, Catalogue], Scenario | None]
    options: tuple[str, ...]


KINDS = {
    TRANSFORMERS: _Kind(
        transformer_campaign.CAMPAIGN, transformer_campaign.nearest_scenario, (*OPTIONS, YEAR)
    ),
    DATA_PARALLEL: _Kind(
        training_campaign.CAMPAIGN,
        lambda line, run, catalogue: scenario_of_run(run, catalogue),
        ("framework", YEAR),
    ),
}


def without(options: dict[str, Any], option: str) -> dict[str, Any] | None:
    """Return the options of a job without one of them; None if the job does not state it.

    >>> without({"framework": "nemo@2024"}, "framework year"), without({"gpus": 8}, "framework")
    ({'framework': 'nemo'}, None)
    """
    if option != YEAR:
        return {name: each for name, each in options.items() if name != option} if option in options else None
    name, year = parts(options.get("framework", ""))
    return options | {"framework": name} if year else None


def _time(options: dict[str, Any], catalogue: Catalogue) -> float:
    return predict(Scenario.model_construct(**options), catalogue).iteration_time


def shifts(kind: str) -> Iterator[tuple[str, str, float]]:
    """Yield option, source and ln(time without the option / time with it) of published jobs.

    Held-out rows and jobs that no command describes are skipped.

    Parameters
    ----------
    kind : a key of ``KINDS``
    """
    campaign, scenario, options = KINDS[kind]
    catalogue, by_source = Catalogue.built_in(), defaultdict(list)
    for line in measured_lines(campaign.path, campaign.columns, learned_part(campaign.table)[1]):
        by_source[line.cells["source"]].append(line)
    for source, lines in by_source.items():
        for line in random.Random(SEED).sample(lines, min(MOST, len(lines))):
            try:
                job = scenario(line, campaign.read(line, catalogue), catalogue)
                stated = job and job.model_dump(exclude_unset=True)
                time = _time(stated, catalogue) if stated else None
            except (Refused, InputError):
                continue
            for option in options:
                if stated and time and (fewer := without(stated, option)) is not None:
                    yield option, source, math.log(_time(fewer, catalogue) / time)


def facts(kind: str) -> dict[str, dict[str, Any]]:
    """Return by option the standard deviation of the error that stating it removes, and its sources.

    It is the root of the mean over sources of the mean square of ``shifts``.
    """
    squares: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for option, source, shift in shifts(kind):
        squares[option][source].append(shift**2)
    result = {}
    for option, of in squares.items():
        mean = sum(sum(each) / len(each) for each in of.values()) / len(of)
        result[option] = {"deviation": float(f"{math.sqrt(mean):.3g}"), "sources": sorted(of)}
    return result
