"""``perfmodel.enough``: how much of something suffices for a scaling efficiency."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from perfmodel.arguments import TEXT, Kind, expect
from perfmodel.sensitivity.until import USUAL_SHARE, Enough
from perfmodel.sensitivity.until import enough as least_of
from perfmodel.specs.keywords import scenario_from
from perfmodel.specs.scenario import AnyScenario
from perfmodel.units import number

if TYPE_CHECKING:
    from typing import Unpack

    from perfmodel.calibration import Calibration
    from perfmodel.specs.keywords import Options
    from perfmodel.specs.store import Catalogue


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
