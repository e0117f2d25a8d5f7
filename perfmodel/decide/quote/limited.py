"""The probability that comparable measured runs leave a claim."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from perfmodel.decide.quote.comparable import reaches
from perfmodel.decide.quote.evidence import Near
from perfmodel.decide.quote.reached import ReachedBy
from perfmodel.equations.succession import next_success_probability


class LimitedBy(BaseModel):
    """Comparable measured runs, some of which did not reach a claim, and the probability they leave it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    runs: int
    """Number of comparable runs."""
    reached: int
    """How many of them did as well as claimed, for each accelerator."""
    most: float
    """Largest probability that they leave, by the rule of succession: (reached + 1) / (runs + 2)."""


def limited_by(
    probability: float | None,
    measured: Sequence[Near],
    reached_by: ReachedBy | None,
    claimed: float,
    higher_is_better: bool,
) -> LimitedBy | None:
    """Return the runs that limit the probability of a claim; None where none do.

    Comparable runs limit it where one of them did not reach the claim.

    Parameters
    ----------
    probability : by the model or the most similar run
    measured : the similar runs that the answer lists
    reached_by : a run that did as well; it counts if the quote allows its software, listed or not
    claimed, higher_is_better : the claimed value, and whether larger ones are better
    """
    alike = [near for near in measured if not near.differs]
    counted = {near.id: reaches(near.value, claimed, higher_is_better) for near in alike}
    if reached_by is not None and reached_by.is_allowed:
        counted[reached_by.id] = True
    runs, reached = len(counted), sum(counted.values())
    most = float(next_success_probability(reached, runs))
    if probability is None or reached == runs or probability <= most:
        return None
    return LimitedBy(runs=runs, reached=reached, most=most)
