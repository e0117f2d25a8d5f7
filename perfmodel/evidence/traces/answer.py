"""What ``trace summary`` and ``trace diff`` answer."""

import json
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, NotRequired

from typing_extensions import TypedDict

from perfmodel.core.files.tables import Record, Report, Table


class DeviceTotals(TypedDict):
    """What a device did over the whole file, or after the steps that are left out."""

    span: float
    """From the first kernel's start to the last one's end [s]."""
    compute_time: float
    """In which a kernel ran that is no collective [s]."""
    communication_time: float
    """In which a collective ran [s]."""
    overlap_time: float
    """In which both did [s]."""


class DeviceCollective(TypedDict):
    """Collectives of one kind, size, algorithm and protocol on one device."""

    collective: str
    """What the ranks do."""
    message_bytes: float | None
    """Full buffer on one rank [B]; null where the file does not say."""
    dtype: str | None
    """Number format of the buffer; null where the file does not say."""
    group_size: int | None
    """Ranks taking part; null where the file does not say."""
    algorithm: str | None
    """As NCCL or RCCL names it; null where the kernel's name does not say."""
    protocol: str | None
    """As NCCL or RCCL names it; null where the kernel's name does not say."""
    count: int
    """How many there were."""
    time: float
    """Median, the wait for the last peer included [s]."""
    least_time: float
    """The shortest [s]."""
    total_time: float
    """Of all of them [s]."""
    overlap_time: float
    """Of it behind computation [s]."""
    bus_bandwidth: float | None
    """By the median time, as nccl-tests defines it [B/s]; null where size or ranks are unknown."""


class DeviceHeld(TypedDict):
    """What the allocator of a device held."""

    peak: float
    """Largest amount allocated [B]."""
    peak_time: float
    """When that was, from the start of the file [s]."""
    peak_reserved: float | None
    """Largest amount taken from the driver [B]; null where the file does not say."""
    peak_by_category: dict[str, float] | None
    """Held before the trace began, allocated in the forward pass, backward pass and update [B]."""
    curve: list[tuple[float, float]]
    """Time [s] and bytes [B], the largest of each of some stretches of time."""
    relative: bool
    """Whether the file has changes alone, so that all is on top of what was held when it began."""
    whole: bool
    """False where the file has more events than are kept."""


class DeviceSummary(TypedDict):
    """What one device did."""

    file: str
    """That says so."""
    device: int
    """Its number on its machine."""
    accelerator: str | None
    """Its name, as the file has it or as was asked; null where neither says."""
    rank: int | None
    """In the job; null where the file does not say."""
    world_size: int | None
    """Accelerators in the job; null where the file does not say."""
    steps: int
    """Marked steps that are looked at; 0 where none are marked."""
    iteration_time: float | None
    """Median of the marked steps [s]; null where none are marked."""
    totals: DeviceTotals
    """Of the whole file, or after the steps that are left out."""
    per_step: dict[str, float] | None
    """Parts of a marked step by name, which sum to it [s]; null where none are marked."""
    passes: dict[str, float] | None
    """Forward pass, backward pass and update between first and last mark [s]; null where none are marked."""
    iteration_times: list[float]
    """Of each marked step [s]."""
    iteration_time_cv: float | None
    """Standard deviation of the steps over their mean [1]; null of fewer than two."""
    collectives: list[DeviceCollective]
    """A row for each kind, size, algorithm and protocol, the longest in all first."""
    utilisation: float
    """Share of the time in which a kernel ran [1]."""
    shares: dict[str, float] | None
    """Of the time by kind of work [1]; null where the file has kernels alone."""
    sm_efficiency: float | None
    """Mean share of the multiprocessors that had a block [1]; null where the file does not say."""
    achieved_occupancy: float | None
    """Share of the threads a multiprocessor can hold that were active [1]; null where unknown."""
    peak_memory: float | None
    """Largest amount of memory allocated [B]; null where the file does not say."""
    memory: DeviceHeld | None
    """Memory over time; null where the file has none."""
    verdict: str | None
    """What a step waits for, in a word or two."""
    notes: list[str]
    """What to know of the trace."""


class RankCollective(TypedDict):
    """One collective that all ranks have."""

    index: int
    """Its place among those of the first rank."""
    collective: str
    """What the ranks do."""
    message_bytes: float | None
    """Full buffer on one rank [B]; null where the file does not say."""
    wire_time: float
    """The least time over ranks: that of the transfer [s]."""
    waiting_time: dict[str, float]
    """By rank, what it waited for the last of them [s]."""


class RankSummary(TypedDict):
    """What one rank did, and whether it is waited for; times of the whole file."""

    rank: str
    """Its number, or its device or file where that is not known."""
    compute_time: float
    """[s]"""
    overlap_time: float
    """Of computation and communication [s]."""
    transfer_time: float
    """Of messages, without waiting [s]."""
    waiting_time: float
    """For other ranks [s]."""
    last_in: int
    """Messages that the others waited for this rank in."""
    waited_for: float
    """Mean over the others of what they waited for it [s]."""
    straggler: bool
    """Whether that is more than a fair share."""


class MarkedRange(TypedDict):
    """All ranges of one name that the program marked."""

    file: str
    """That has them."""
    name: str
    """Numbers at its end left out."""
    occurrences: int
    """How many there were."""
    host_time: float
    """On the host, ranges within ranges counted in both [s]."""
    device_time: float | None
    """Of the kernels that were launched in it [s]; null where unknown."""


class TraceChange(TypedDict):
    """A change that would shorten the step."""

    change: str
    """In words."""
    saves: float
    """Of one step; of a larger batch, of as many samples as a step has now [s]."""
    basis: str
    """What the number rests on."""
    option: str | None
    """The option of a prediction that asks for it; null where none does."""


class TimedMessage(TypedDict):
    """A message size that nccl-tests timed."""

    message_bytes: float
    """Full buffer on one rank [B]."""
    time: float
    """Of the collective [s]."""
    algorithm_bandwidth: float
    """As nccl-tests prints it [B/s]."""
    bus_bandwidth: float
    """As nccl-tests prints it [B/s]."""


class TimedMessages(TypedDict):
    """What one file of nccl-tests says."""

    file: str
    """That says it."""
    group_size: int | None
    """Ranks that took part; null where the file does not say."""
    collective: str | None
    """What they did; null where the file does not say."""
    rows: list[TimedMessage]
    """A row for each size."""


class TraceAnswer(TypedDict):
    """What profilers saw of a job."""

    devices: list[DeviceSummary]
    """What each device did."""
    collectives: list[RankCollective]
    """Each collective that all ranks have; empty of one rank."""
    ranks: list[RankSummary]
    """What each rank did; empty of one rank."""
    ranges: list[MarkedRange]
    """Ranges that the program marked, the longest on the device first."""
    recommendations: list[TraceChange]
    """What would shorten the step, the most first; empty where no steps are marked."""
    nccl_tests: NotRequired[list[TimedMessages]]
    """Times of messages, where files of nccl-tests were sent."""


NESTED = ("collectives", "memory")
"""Tables of a device, which a row of CSV has no place for."""


class TraceSummary(Report, Table):
    """What profilers saw of a job."""

    in_json: ClassVar[Any] = TraceAnswer
    """The type of its JSON."""

    def records(self) -> list[Record]:
        """Return a row for each device."""
        devices = self["devices"]
        return [{name: value for name, value in each.items() if name not in NESTED} for each in devices]

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """Check it as its JSON."""
        from pydantic_core import core_schema

        return core_schema.no_info_after_validator_function(cls, handler.generate_schema(cls.in_json))


@dataclass(frozen=True)
class PartOfStep:
    """A part of a step in two traces, the mean over devices."""

    part: str
    """Of the step, or iteration_time, the whole."""
    first: float
    """In the first trace [s]."""
    second: float
    """In the second [s]."""
    difference: float
    """Second less first [s]."""
    ratio: float | None
    """Second over first [1]; None where the first has none."""


@dataclass(frozen=True)
class TraceDifference(Table):
    """Two traces side by side, a step's part by part."""

    parts: list[PartOfStep]
    """The whole step first."""

    def records(self) -> list[Record]:
        """Return a row for each part."""
        return [asdict(part) for part in self.parts]

    def to_json(self) -> str:
        """Return what ``perfmodel trace diff --json`` prints."""
        return json.dumps(asdict(self), allow_nan=False)
