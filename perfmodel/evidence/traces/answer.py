"""The answers of ``trace summary`` and ``trace diff``."""

import json
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, NotRequired

from typing_extensions import TypedDict

from perfmodel.core.files.tables import Record, Report, Table


class DeviceTotals(TypedDict):
    """Times of a device over the whole file, or after the skipped steps."""

    span: float
    """Time from the start of the first kernel to the end of the last [s]."""
    compute_time: float
    """Time in which a kernel ran that is not a collective [s]."""
    communication_time: float
    """Time in which a collective ran [s]."""
    overlap_time: float
    """Time in which both ran [s]."""


class DeviceCollective(TypedDict):
    """Collectives of one kind, size, algorithm and protocol on one device."""

    collective: str
    """Type of the collective, such as all-reduce."""
    message_bytes: float | None
    """Full buffer on one rank [B]; null if the file does not state it."""
    dtype: str | None
    """Number format of the buffer; null if the file does not state it."""
    group_size: int | None
    """Number of ranks; null if the file does not state it."""
    algorithm: str | None
    """Algorithm, as NCCL or RCCL names it; null if the kernel's name does not contain it."""
    protocol: str | None
    """Protocol, as NCCL or RCCL names it; null if the kernel's name does not contain it."""
    count: int
    """Number of such collectives."""
    time: float
    """Median time, including the wait for the last peer [s]."""
    least_time: float
    """Shortest time [s]."""
    total_time: float
    """Sum of the times [s]."""
    overlap_time: float
    """Part of the total time that is hidden by computation [s]."""
    bus_bandwidth: float | None
    """Bus bandwidth at the median time, as nccl-tests defines it [B/s]; null if size or ranks are unknown."""


class DeviceHeld(TypedDict):
    """Memory that the allocator of a device held."""

    peak: float
    """Largest amount allocated [B]."""
    peak_time: float
    """Time of the peak, from the start of the file [s]."""
    peak_reserved: float | None
    """Largest amount reserved from the driver [B]; null if the file does not state it."""
    peak_by_category: dict[str, float] | None
    """Memory at the peak: held before the trace began, allocated in forward pass, backward pass and update
    [B]."""
    curve: list[tuple[float, float]]
    """Time [s] and bytes [B]: the maximum in each of a number of time windows."""
    relative: bool
    """Whether the file has only changes, so that all amounts exclude what was held when it began."""
    whole: bool
    """False if the file has more events than are kept."""


class DeviceSummary(TypedDict):
    """Times, memory and collectives of one device."""

    file: str
    """File of the trace."""
    device: int
    """Number of the device on its machine."""
    accelerator: str | None
    """Name of the accelerator, from the file or the request; null if neither has it."""
    rank: int | None
    """Rank in the job; null if the file does not state it."""
    world_size: int | None
    """Accelerators in the job; null if the file does not state it."""
    steps: int
    """Number of marked steps, without skipped ones; 0 if none are marked."""
    iteration_time: float | None
    """Median time of the marked steps [s]; null if none are marked."""
    totals: DeviceTotals
    """Times of the whole file, or after the skipped steps."""
    per_step: dict[str, float] | None
    """Parts of a marked step by name, which sum to its time [s]; null if none are marked."""
    passes: dict[str, float] | None
    """Times of forward pass, backward pass and update of a step [s]; null if no steps are marked."""
    iteration_times: list[float]
    """Time of each marked step [s]."""
    iteration_time_cv: float | None
    """Standard deviation of the steps' times over their mean [1]; null for fewer than two steps."""
    collectives: list[DeviceCollective]
    """A row for each type, size, algorithm and protocol, by descending total time."""
    utilisation: float
    """Share of the time in which a kernel ran [1]."""
    shares: dict[str, float] | None
    """Share of the time by type of work [1]; null if the file has only kernels."""
    sm_efficiency: float | None
    """Mean share of the multiprocessors that had a block [1]; null if the file does not state it."""
    achieved_occupancy: float | None
    """Active threads over the most that a multiprocessor can hold [1]; null if unknown."""
    peak_memory: float | None
    """Largest amount of memory allocated [B]; null if the file does not state it."""
    memory: DeviceHeld | None
    """Memory over time; null if the file has none."""
    verdict: str | None
    """What a step spends most time on or waits for, in a few words."""
    notes: list[str]
    """Caveats on the trace."""


class RankCollective(TypedDict):
    """One collective that all ranks recorded."""

    index: int
    """Position among the collectives of the first rank."""
    collective: str
    """Type of the collective, such as all-reduce."""
    message_bytes: float | None
    """Full buffer on one rank [B]; null if the file does not state it."""
    wire_time: float
    """Shortest time over ranks, which is that of the transfer [s]."""
    waiting_time: dict[str, float]
    """Rank -> time that it waited for the last rank [s]."""


class RankSummary(TypedDict):
    """Times of one rank over the whole file, and whether it is a straggler."""

    rank: str
    """Rank number, or device or file if that is unknown."""
    compute_time: float
    """Time of computation [s]."""
    overlap_time: float
    """Time of simultaneous computation and communication [s]."""
    transfer_time: float
    """Time of transfers, without waiting [s]."""
    waiting_time: float
    """Time waiting for other ranks [s]."""
    last_in: int
    """Number of collectives in which this rank was the last."""
    waited_for: float
    """Time that the other ranks waited for this one, their mean [s]."""
    straggler: bool
    """Whether that is more than a fair share."""


class MarkedRange(TypedDict):
    """All ranges of one name that the program marked."""

    file: str
    """File of the trace."""
    name: str
    """Name of the ranges, without numbers at its end."""
    occurrences: int
    """Number of ranges."""
    host_time: float
    """Time on the host; nested ranges count in both [s]."""
    device_time: float | None
    """Time of the kernels launched in them [s]; null if unknown."""


class TraceChange(TypedDict):
    """A change that would shorten the step."""

    change: str
    """The change in words."""
    saves: float
    """Time saved in one step; for a larger batch, in as many samples as a step has now [s]."""
    basis: str
    """How the number was computed."""
    option: str | None
    """Option of a prediction that describes the change; null if there is none."""
    low_80: float | None
    """Lower end of the 80 % interval of a predicted saving [s]; null where it is counted."""
    high_80: float | None
    """Upper end [s]."""


class TimedMessage(TypedDict):
    """A message size that nccl-tests timed."""

    message_bytes: float
    """Full buffer on one rank [B]."""
    time: float
    """Time of the collective [s]."""
    algorithm_bandwidth: float
    """Algorithm bandwidth, as nccl-tests prints it [B/s]."""
    bus_bandwidth: float
    """Bus bandwidth, as nccl-tests prints it [B/s]."""


class TimedMessages(TypedDict):
    """Times in one output of nccl-tests."""

    file: str
    """File of the output."""
    group_size: int | None
    """Number of ranks; null if the file does not state it."""
    collective: str | None
    """Type of the collective; null if the file does not state it."""
    rows: list[TimedMessage]
    """A row for each message size."""


class TraceAnswer(TypedDict):
    """Summary of profilers' traces of a job."""

    devices: list[DeviceSummary]
    """Summary of each device."""
    collectives: list[RankCollective]
    """Collectives that all ranks recorded; empty for a single rank."""
    ranks: list[RankSummary]
    """Summary of each rank; empty for a single rank."""
    ranges: list[MarkedRange]
    """Ranges that the program marked, by descending time on the device."""
    recommendations: list[TraceChange]
    """Changes that would shorten the step, the largest saving first; empty if no steps are marked."""
    nccl_tests: NotRequired[list[TimedMessages]]
    """Times of messages, if the files include outputs of nccl-tests."""


NESTED = ("collectives", "memory")
"""Tables of a device that do not fit into a row of CSV."""


class TraceSummary(Report, Table):
    """Summary of profilers' traces of a job."""

    in_json: ClassVar[Any] = TraceAnswer
    """The type of its JSON."""

    def records(self) -> list[Record]:
        """Return a row for each device."""
        devices = self["devices"]
        return [{name: value for name, value in each.items() if name not in NESTED} for each in devices]

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """Return the pydantic schema that validates the summary as its JSON."""
        from pydantic_core import core_schema

        return core_schema.no_info_after_validator_function(cls, handler.generate_schema(cls.in_json))


@dataclass(frozen=True)
class PartOfStep:
    """A part of a step in two traces, mean over devices."""

    part: str
    """Name of the part, or iteration_time for the whole step."""
    first: float
    """Time in the first trace [s]."""
    second: float
    """Time in the second trace [s]."""
    difference: float
    """Second minus first time [s]."""
    ratio: float | None
    """Second over first time [1]; None if the first is 0."""


@dataclass(frozen=True)
class TraceDifference(Table):
    """Comparison of two traces, one row for each part of a step."""

    parts: list[PartOfStep]
    """The parts; the whole step first."""

    def records(self) -> list[Record]:
        """Return a row for each part."""
        return [asdict(part) for part in self.parts]

    def to_json(self) -> str:
        """Return what ``perfmodel trace diff --json`` prints."""
        return json.dumps(asdict(self), allow_nan=False)
