"""``perfmodel.enough``: how much of something suffices for a scaling efficiency."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from perfmodel.core.records.arguments import TEXT, Kind, expect
from perfmodel.core.units import number
from perfmodel.decide.sensitivity.until import USUAL_SHARE, Enough
from perfmodel.decide.sensitivity.until import enough as least_of
from perfmodel.model.options.keywords import scenario_from
from perfmodel.model.options.scenario import AnyScenario

if TYPE_CHECKING:
    from typing import Unpack

    from perfmodel.hardware.catalogue.store import Catalogue
    from perfmodel.model.fitted.calibration import Calibration
    from perfmodel.model.options.keywords import Options


_VALUES = Kind("a list of numbers or names of links", lambda value: isinstance(value, list | tuple))


def enough(
    vary: str,
    scenario: AnyScenario | None = None,
    *,
    until: float | str = USUAL_SHARE,
    values: Sequence[int | str] | None = None,
    catalogue: Catalogue | None = None,
    constants: Calibration | None = None,
    **options: Unpack[Options],
) -> Enough:
    """Return how much of something a job takes for a share of linear scaling: servers, adapters, a network.

    Parameters
    ----------
    vary : ``servers``, ``inter-link``, ``nics`` or ``gpus``
    scenario : what is asked, or a mapping of its options
    until : the scaling efficiency, e.g. 0.95 or ``"95%"``
    values : to try, numbers or links; by default those that ``perfmodel sensitivity --vary`` tries
    catalogue, constants : as for ``predict``
    options : of the scenario, over what it says

    Raises
    ------
    InputError : as ``predict``; what the job does not have; no value that can be predicted

    Examples
    --------
    >>> answer = enough("servers", workload="vgg16", gpus=32, strategy="parameter-server", until="90%")
    >>> answer.answer, [row.reaches for row in answer.tried[:3]]
    (3, [False, False, True])
    """
    expect(TEXT, vary=vary)
    expect(_VALUES.or_none, values=values)
    share = number(until) if isinstance(until, str) else until
    return least_of(scenario_from(scenario, options), vary, share, values, catalogue, constants)
