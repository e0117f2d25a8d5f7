"""Options of ``perfmodel calibrate`` that name its inputs."""

from typing import Annotated, NamedTuple

from perfmodel.core.records.options import OptionInfo
from perfmodel.core.records.record import Within

_Steps = Annotated[int, Within(ge=0, le=1_000_000)]


class Sources(NamedTuple):
    """What to learn from: traces or times of one job, or else measured runs of many.

    Parameters
    ----------
    traces : Profiler's file, or a folder of ranks.
    times : Iteration times of one accelerator in seconds, one a line.
    skip : [1] Marked steps to leave out first.
    data : CSV of measured runs of your own, by which the shipped fit is updated.
    collectives : Output of nccl-tests on your own machines, which tells of their network; say of which job.
    refit : Whether everything is fitted again, to the runs of --data or else those that come along.
    """

    traces: Annotated[tuple[str, ...], OptionInfo(name="trace", file=True)] = ()
    times: Annotated[str | None, OptionInfo(file=True)] = None
    skip: _Steps = 0
    data: Annotated[str | None, OptionInfo(file=True)] = None
    collectives: Annotated[tuple[str, ...], OptionInfo(file=True)] = ()
    refit: bool = False
