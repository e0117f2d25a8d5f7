"""Scenarios that say themselves which model answers: one layout of several, and data parallelism."""

from typing import ClassVar, Literal

from perfmodel.model.options.scenario import Scenario


class LaidOut(Scenario):
    """One layout of several of a transformer: the transformer model answers, of replicas alone as well."""

    answered_by: ClassVar[Literal["data-parallel", "transformer"] | None] = "transformer"


class DataParallel(Scenario):
    """A data-parallel job: the data-parallel model answers, of networks that predict tokens as well."""

    answered_by: ClassVar[Literal["data-parallel", "transformer"] | None] = "data-parallel"


def laid_out(scenario: Scenario) -> LaidOut:
    """Return a scenario as one layout of several."""
    return LaidOut.model_construct(**scenario.model_dump(exclude_unset=True))
