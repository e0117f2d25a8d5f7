"""Scenarios that fix which model answers: the transformer model or the data-parallel model."""

from typing import ClassVar, Literal

from perfmodel.model.options.scenario import Scenario


class LaidOut(Scenario):
    """A layout of a transformer, answered by the transformer model even if all its degrees are 1."""

    answered_by: ClassVar[Literal["data-parallel", "transformer"] | None] = "transformer"


class DataParallel(Scenario):
    """A data-parallel job, answered by the data-parallel model even if the network predicts tokens."""

    answered_by: ClassVar[Literal["data-parallel", "transformer"] | None] = "data-parallel"


def laid_out(scenario: Scenario) -> LaidOut:
    """Return a scenario that the transformer model answers, with the same options."""
    return LaidOut.model_construct(**scenario.model_dump(exclude_unset=True))
