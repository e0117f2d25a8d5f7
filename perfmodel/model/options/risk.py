"""How sure a recommendation has to be: the risk setting that commands share."""

from typing import Annotated, Final

from perfmodel.core.records.options import Described, OptionInfo
from perfmodel.core.records.record import Within

USUAL_CONFIDENCE: Final = 0.8
"""Default probability of keeping within limits, of fitting into memory, and of an order that decides."""
PLANNING_CONFIDENCE: Final = 0.9
"""Default probability of reaching the throughput to plan with: that of the end of an 80 % interval."""


class Risk(Described):
    """How sure a recommendation has to be.

    Parameters
    ----------
    confidence : [1] How sure to be of what is recommended, e.g. 0.5, 0.8 or 0.95: what has more risk is not
        recommended.
    """

    confidence: Annotated[
        Annotated[float, Within(ge=0.5, le=0.99)], OptionInfo(label="How sure to be, e.g. 80 %")
    ] = USUAL_CONFIDENCE
