"""A measured run in the table of data-parallel training, whose model answers, whatever the network."""

from typing import ClassVar, Literal

from perfmodel.specs.scenario import Scenario


class DataParallelRun(Scenario):
    """A run of a network that predicts tokens, of which the data-parallel model learned."""

    answered_by: ClassVar[Literal["data-parallel", "transformer"] | None] = "data-parallel"
