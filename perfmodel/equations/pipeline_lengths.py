"""Lengths of many steps of one pipeline at once: the recurrence of ``equations.pipeline_schedule`` on arrays.

Validity
--------
As of ``equations.pipeline_schedule``; the results are the same to the last digit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from perfmodel.core.choices import Schedule
from perfmodel.equations.pipeline_orders import Kind, passes_of, place_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

SHORTER_BY_LEAVING_OUT: tuple[Schedule, ...] = ("1f1b", "interleaved", "zb-h1", "zb-h2")
"""Schedules whose order for fewer micro-batches is that for more with the passes of the others left out."""


def lengths(
    schedule: Schedule, times: Mapping[Kind, Sequence[Sequence[Array]]], micro_batches: Array
) -> Array:
    """Return how long each of many steps lasts [s], as ``length``, shape (steps,).

    Parameters
    ----------
    schedule : one of ``SCHEDULES``
    times : as of ``played``, of every step, shape (steps,) each [s]
    micro_batches : of every step

    >>> import numpy as np
    >>> times = {kind: [[np.ones(2)]] * 4 for kind in ("forward", "inputs", "weights")}
    >>> lengths("zb-h1", times, np.array([4, 8]))
    array([15., 27.])
    """
    import numpy as np

    result = np.zeros(len(micro_batches))
    if schedule in SHORTER_BY_LEAVING_OUT:
        order = np.argsort(-micro_batches, kind="stable")
        groups = [order] if len(order) else []
    else:
        groups = [np.flatnonzero(micro_batches == each) for each in np.unique(micro_batches)]
    for rows in groups:
        of_rows = {
            kind: [[each[rows] for each in of_stage] for of_stage in table] for kind, table in times.items()
        }
        result[rows] = _lengths_together(schedule, of_rows, np.rint(micro_batches[rows]).astype(int))
    return result


def _lengths_together(
    schedule: Schedule, times: Mapping[Kind, Sequence[Sequence[Array]]], micro_batches: NDArray[np.int64]
) -> Array:
    """Return how long steps last, those of most micro-batches first; the others leave out the last passes."""
    import numpy as np

    stages, chunks, most = len(times["forward"]), len(times["forward"][0]), int(micro_batches[0])
    # of a micro-batch only the first steps run passes, as many as have it
    having = [int(each) for each in np.searchsorted(-micro_batches, -np.arange(most), side="left")]
    orders = passes_of(schedule, stages, chunks, most)
    places = [
        [place_of(schedule, stage, chunk, stages, chunks) for chunk in range(chunks)]
        for stage in range(stages)
    ]
    last = places[0][0].last
    free = [np.zeros(len(micro_batches)) for _ in range(stages)]
    starts: list[Any] = [None] * stages
    start_of_all: list[Any] = [0.0] * most
    forward, back = ([[[None] * most for _ in range(last + 1)] for _ in range(2)] for _ in range(2))
    programs = []
    for stage, order in enumerate(orders):
        program = []
        for one in order:
            replica, at, _ = places[stage][one.chunk]
            needed: list[Any]
            sent: Any
            if one.kind == "forward":
                needed, sent = (forward[replica][at - 1] if at else start_of_all), forward[replica][at]
            elif one.kind == "weights":
                needed, sent = start_of_all, None  # it follows its own pass to inputs on this stage
            else:
                needed = back[replica][at + 1] if at < last else forward[replica][at]
                sent = back[replica][at]
            program.append((one.micro_batch, needed, sent, times[one.kind][stage][one.chunk], one.overlaps))
        programs.append(program)
    done = [0] * stages
    left = sum(map(len, programs))
    while left:
        before = left
        for stage, program in enumerate(programs):
            now, index, count = free[stage], done[stage], len(programs[stage])
            while index < count:
                micro, needed, sent, time, overlaps = program[index]
                need = needed[micro]
                if need is None:
                    break
                active = now[: having[micro]]
                if overlaps:
                    micro_2, needed_2, sent_2, time_2, _ = program[index + 1]
                    need_2 = needed_2[micro_2]
                    if need_2 is None:
                        break
                    np.maximum(active, need, out=active)
                    np.maximum(active, need_2, out=active)
                    if starts[stage] is None:
                        starts[stage] = now.copy()
                    active += time
                    active += time_2
                    sent[micro] = sent_2[micro_2] = active.copy()
                    index += 2
                    continue
                if needed is not start_of_all:
                    np.maximum(active, need[: len(active)], out=active)
                if starts[stage] is None:
                    starts[stage] = now.copy()
                active += time[: len(active)]
                if sent is not None:
                    sent[micro] = active.copy()
                index += 1
            left -= index - done[stage]
            done[stage] = index
        if left == before:
            raise AssertionError(f"{schedule}: no stage can go on")
    ends = [end - start for end, start in zip(free, starts, strict=True)] if schedule == "zb-h2" else free
    return np.asarray(np.max(ends, axis=0))
