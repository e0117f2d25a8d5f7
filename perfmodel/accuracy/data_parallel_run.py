"""A measured run in the table of data-parallel training, whose model answers, whatever the network."""

from typing import ClassVar

from perfmodel.specs.scenario import Scenario


class DataParallelRun(Scenario):
    """A run of a network that predicts tokens, of which the data-parallel model learned."""

    is_data_parallel_run: ClassVar[bool] = True
