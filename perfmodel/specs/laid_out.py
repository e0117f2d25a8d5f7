"""A scenario that is one layout of several, whatever its degrees are."""

from typing import ClassVar, Literal

from perfmodel.specs.scenario import Scenario


class LaidOut(Scenario):
    """One layout of several of a transformer: the transformer model answers, of replicas alone as well."""

    answered_by: ClassVar[Literal["data-parallel", "transformer"] | None] = "transformer"


def laid_out(scenario: Scenario) -> LaidOut:
    """Return a scenario as one layout of several."""
    return LaidOut.model_construct(**scenario.model_dump(exclude_unset=True))
