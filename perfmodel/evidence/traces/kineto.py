"""Read Chrome traces of the PyTorch Profiler (Kineto), of old and new versions, NVIDIA and AMD."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from perfmodel.core.errors import refusal
from perfmodel.evidence.traces.activity import Spans
from perfmodel.evidence.traces.allocations import Allocations
from perfmodel.evidence.traces.collective_names import (
    ELEMENT_BYTES,
    algorithm_of,
    is_collective,
    kind_of,
    protocol_of,
)
from perfmodel.evidence.traces.device_trace import Activity, Collective, DeviceTrace, intervals, union
from perfmodel.evidence.traces.json_stream import read_events
from perfmodel.evidence.traces.marked_ranges import Ranges
from perfmodel.evidence.traces.products import formats_of, samples_of, weights_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

MICROSECOND = 1e-6
KERNELS = ("kernel",)
COPIES = ("gpu_memcpy", "memcpy")
FILLS = ("gpu_memset", "memset")
ANNOTATIONS = ("user_annotation", "gpu_user_annotation")
STEP = "ProfilerStep#"
LOADER = "DataLoader"
WITHOUT_WORKERS = "_SingleProcessDataLoaderIter"
LAUNCHES = ("cuda_runtime", "runtime", "cuda_driver", "hip_runtime")
OPERATORS = ("cpu_op", "operator")
OPTIMIZER = "Optimizer.step"
BACKWARD = "autograd::engine::evaluate_function"
MARK = "perfmodel "
"""Prefix of the names in timelines that perfmodel wrote."""
PASSES = ("forward", "backward", "update")
HEADER = ("deviceProperties", "distributedInfo", "with_stack")
"""Top-level entries of a trace that are read in addition to its events."""
MOST_DEVICES = 1024


class _Device:
    """Collects the kernels and copies of one device."""

    def __init__(self) -> None:
        self.launched: list[int] = []
        """Correlation id of each kernel in ``compute``; -1 if the profiler states none."""
        self.compute: list[tuple[float, float]] = []
        self.predicted: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
        """Kernels of timelines that perfmodel wrote, by pass."""
        self.copies: list[tuple[float, float]] = []
        self.collectives: list[Collective] = []
        self.pageable: list[tuple[float, float, float]] = []
        self.kernels = array("d")
        """Start, end, blocks per multiprocessor and occupancy of each kernel."""


class _Marks:
    """Collects the steps, waits for samples and terms that one process of the host marked."""

    def __init__(self) -> None:
        self.steps: list[tuple[float, float]] = []
        self.waits: list[tuple[float, float]] = []
        self.terms: dict[str, float] = {}
        self.loads_itself = False


def _marks_of(device: int, marks: dict[int | None, _Marks]) -> _Marks:
    """Return the marks of the device's own process if a file has several processes; else all marks."""
    if len(marks) > 1 and device in marks:
        return marks[device]
    result = _Marks()
    for one in marks.values():
        result.steps += one.steps
        result.waits += one.waits
        result.terms |= one.terms
        result.loads_itself |= one.loads_itself
    return result


def read_kineto(path: Path, progress: Callable[[int], None] | None = None) -> list[DeviceTrace]:
    """Return the trace of each device in a file.

    Parameters
    ----------
    path : of the file, plain or gzip-compressed
    progress : function called with the position in the file [B]

    Raises
    ------
    InputError : the file is not a trace, or has no kernel
    """
    header: dict[str, Any] = {}
    devices: defaultdict[int, _Device] = defaultdict(_Device)
    marks: defaultdict[int | None, _Marks] = defaultdict(_Marks)
    launches: dict[int, float] = {}
    backwards: list[tuple[float, float]] = []
    updates: list[tuple[float, float]] = []
    moved: defaultdict[int, Spans] = defaultdict(Spans)
    memories_held: defaultdict[int, Allocations] = defaultdict(Allocations)
    runtime, cpu, ranges = Spans(), Spans(), Ranges()
    peak, stacks = 0.0, False
    kernels: set[str] = set()
    samples: set[int | None] = set()
    weights: set[int | None] = set()
    for event in read_events(path, header, HEADER, progress):
        name, category = _text(event.get("name")), _text(event.get("cat")).lower()
        if name == "[memory]":
            peak = max(peak, _memory(event))
            _allocate(event, memories_held)
            continue
        stacks = stacks or category == "python_function"
        span = _span(event)
        if span is None:
            continue
        if category in LAUNCHES:
            runtime.add(span)
        elif category in (*COPIES, *FILLS):
            number = _device_number(event)
            if number is not None and number < MOST_DEVICES:
                moved[number].add(span)
        elif category in OPERATORS:
            cpu.add(span)
            samples.add(samples_of(name, _arguments(event)))
            weights.add(weights_of(name, _arguments(event)))
        elif category in ANNOTATIONS:
            long = span[1] - span[0]
            on_host = category == "user_annotation"
            ranges.add(ranges.name(name), *((long, None, 1) if on_host else (0.0, long)))
        if category in KERNELS:
            kernels.add(name)
            device = _device(event, devices, path)
            device.kernels.extend((*span, *_filled(event)))
            if is_collective(name):
                device.collectives.append(_collective(event, name, span))
            else:
                device.compute.append(span)
                device.launched.append(_correlation(event))
                phase = _arguments(event).get(MARK + "pass")
                if isinstance(phase, str):
                    device.predicted[phase].append(span)
        elif category in LAUNCHES and "aunch" in name:
            launches[_correlation(event)] = span[0]
        elif name.startswith(OPTIMIZER):
            updates.append(span)
        elif name.startswith(BACKWARD) or (category in OPERATORS and "Backward" in name):
            backwards.append(span)
        elif category in COPIES:
            if "htod" in name.lower().replace(" ", "") or "hosttodevice" in name.lower().replace(" ", ""):
                _device(event, devices, path).copies.append(span)
                if "pageable" in name.lower():
                    size = _whole_of(_arguments(event).get("bytes"), 10**15) or 0
                    _device(event, devices, path).pageable.append((*span, float(size)))
        elif name.startswith(STEP) and category != "gpu_user_annotation" and span[1] > span[0]:
            marks[_whole(event.get("pid"))].steps.append(span)
        elif LOADER in name and "__next__" in name:
            own_marks = marks[_whole(event.get("pid"))]
            own_marks.waits.append(span)
            own_marks.loads_itself |= WITHOUT_WORKERS in name
        elif name.startswith(MARK):
            terms = marks[_whole(event.get("pid"))].terms
            term = name.removeprefix(MARK)
            terms[term] = terms.get(term, 0.0) + span[1] - span[0]
    if not devices:
        raise refusal("trace.no_kernel").under(path)
    info = header.get("distributedInfo")
    info = info if isinstance(info, dict) else {}
    names, memories = _names(header), _memories(header)
    calls, operators, marked = runtime.united(), cpu.united(), ranges.listed()
    in_backwards, in_updates = union(intervals(backwards)), union(intervals(updates))
    with_stack = bool(header.get("with_stack")) or stacks
    formats, taken = formats_of(kernels), samples - {None}
    return [
        DeviceTrace(
            str(path),
            number,
            names.get(number),
            _whole(info.get("rank")),
            _whole(info.get("world_size")),
            intervals(device.compute),
            intervals((c.start, c.start + c.duration) for c in device.collectives),
            intervals(device.copies),
            tuple(sorted(device.collectives, key=lambda c: c.start)),
            intervals(own.steps),
            intervals(own.waits),
            peak or None,
            with_stack,
            _passes(device, launches, intervals(backwards), intervals(updates)),
            tuple(own.terms.items()),
            memories.get(number),
            own.loads_itself,
            None
            if device.predicted
            else Activity(
                moved[number].united(),
                calls,
                operators,
                np.array(device.kernels).reshape(-1, 4),
                np.array(device.pageable).reshape(-1, 3),
                marked,
                memories_held[number].memory(in_backwards, in_updates),
            ),
            formats,
            frozenset(size for size in weights if size),
            taken.pop() if len(taken) == 1 else None,
        )
        for number, device in sorted(devices.items())
        for own in (_marks_of(number, marks),)
    ]


def _correlation(event: dict[str, Any]) -> int:
    """Return the id that links a kernel to its launch, -1 if there is none."""
    result = _whole(_arguments(event).get("correlation"))
    return -1 if result is None else result


def _passes(
    device: _Device, launches: dict[int, float], backwards: Array, updates: Array
) -> tuple[tuple[str, Array], ...]:
    """Return computing kernels by the pass that launched them; empty if launches were not traced."""
    if device.predicted:
        return tuple(
            (name, intervals(device.predicted.get(name, ()))) for name in PASSES if name in device.predicted
        )
    if not launches or not len(backwards):
        return ()
    spans = np.array(device.compute).reshape(-1, 2)
    at = np.array([launches.get(number, np.nan) for number in device.launched])
    known = ~np.isnan(at)
    in_update = known & _inside(at, union(updates))
    in_backward = known & ~in_update & _inside(at, union(backwards))
    masks = (known & ~in_update & ~in_backward, in_backward, in_update)
    return tuple(
        (name, intervals(map(tuple, spans[mask].tolist()))) for name, mask in zip(PASSES, masks, strict=True)
    )


def _inside(times: Array, spans: Array) -> NDArray[np.bool_]:
    """Return which times lie in one of the disjoint, sorted intervals."""
    if not len(spans):
        return np.zeros(len(times), dtype=bool)
    index = np.searchsorted(spans[:, 0], times, side="right") - 1
    inside: NDArray[np.bool_] = (index >= 0) & (times <= spans[np.maximum(index, 0), 1])
    return inside


def _span(event: dict[str, Any]) -> tuple[float, float] | None:
    """Return start and end of an event [s]; None if it has no valid duration."""
    start, duration = event.get("ts"), event.get("dur")
    try:
        first, long = float(start), float(duration)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):  # OverflowError: an integer of some hundred digits
        return None
    if not (abs(first) < 1e18 and 0 <= long < 1e15):
        return None
    return first * MICROSECOND, (first + long) * MICROSECOND


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _arguments(event: dict[str, Any]) -> dict[str, Any]:
    result = event.get("args")
    return result if isinstance(result, dict) else {}


def _device(event: dict[str, Any], devices: dict[int, _Device], path: Path) -> _Device:
    """Return the device of an event; InputError if it has none, or if there are too many."""
    number = _device_number(event)
    if number is None:
        raise refusal("trace.no_device").under(path)
    if number not in devices and len(devices) == MOST_DEVICES:
        raise refusal("trace.devices", most_devices=MOST_DEVICES).under(path)
    return devices[number]


def _device_number(event: dict[str, Any]) -> int | None:
    number = _whole(_arguments(event).get("device"))
    return _whole(event.get("pid")) if number is None else number


def _whole(value: Any) -> int | None:
    return _whole_of(value, 10**9)


def _whole_of(value: Any, limit: int) -> int | None:
    """Return a value if it is a whole number from 0 to below ``limit``, else None."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < limit else None


def _names(header: dict[str, Any]) -> dict[int, str]:
    """Return the names of the devices by number."""
    properties = header.get("deviceProperties")
    result = {}
    for entry in properties if isinstance(properties, list) else []:
        if (
            isinstance(entry, dict)
            and _whole(entry.get("id")) is not None
            and isinstance(entry.get("name"), str)
        ):
            result[entry["id"]] = entry["name"]
    return result


def _memories(header: dict[str, Any]) -> dict[int, float]:
    """Return the memory of the devices by number [B]."""
    properties = header.get("deviceProperties")
    result = {}
    for entry in properties if isinstance(properties, list) else []:
        size = _whole_of(entry.get("totalGlobalMem"), 10**15) if isinstance(entry, dict) else None
        if size and _whole(entry.get("id")) is not None:
            result[entry["id"]] = float(size)
    return result


def _filled(event: dict[str, Any]) -> tuple[float, float]:
    """Return blocks per multiprocessor and occupancy [1] of a kernel; NaN if the file does not state them."""
    arguments = _arguments(event)
    blocks = _share(arguments.get("blocks per SM"), 1e12)
    occupancy = _share(arguments.get("est. achieved occupancy %"), 100)
    return blocks, occupancy / 100


def _share(value: Any, most: float) -> float:
    """Return a value if it is a number from 0 to ``most``, else NaN."""
    known = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= most
    return float(value) if known else np.nan


def _allocate(event: dict[str, Any], devices: dict[int, Allocations]) -> None:
    """Add an event of an allocator to those of its device; events of the host are ignored."""
    arguments = _arguments(event)
    number, time = _whole(arguments.get("Device Id")), event.get("ts")
    if arguments.get("Device Type") != 1 or number is None or number >= MOST_DEVICES:
        return
    if isinstance(time, (int, float)) and abs(time) < 1e18:
        devices[number].add(time * MICROSECOND, arguments)


def _memory(event: dict[str, Any]) -> float:
    """Return the bytes that a device's allocator holds after an event; 0 if the event does not state them."""
    arguments = _arguments(event)
    held = arguments.get("Total Allocated")
    on_device = arguments.get("Device Type") == 1
    return float(held) if on_device and isinstance(held, (int, float)) and 0 <= held < 1e15 else 0.0


def _collective(event: dict[str, Any], name: str, span: tuple[float, float]) -> Collective:
    """Return the collective of a kernel event, with the arguments that the profiler recorded."""
    arguments = _arguments(event)
    dtype = arguments.get("dtype")
    dtype = dtype.lower() if isinstance(dtype, str) else None
    counts = [_whole(arguments.get(key)) or 0 for key in ("In msg nelems", "Out msg nelems")]
    size = ELEMENT_BYTES.get(dtype or "", 0) * max(counts)
    collective = arguments.get("Collective name")
    return Collective(
        kind_of(collective if isinstance(collective, str) and collective else name),
        span[0],
        span[1] - span[0],
        float(size) or None,
        dtype,
        _whole(arguments.get("Group size")),
        algorithm_of(name),
        protocol_of(name),
    )
