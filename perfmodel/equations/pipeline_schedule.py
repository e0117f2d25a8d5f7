"""A step of a pipeline, pass by pass: who waits for whom.

Validity
--------
Sends between stages take no time.  A stage runs its passes in the order of its schedule
(``equations.pipeline_orders``), each as soon as the pass before has ended and what it needs is there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from perfmodel.core.choices import Schedule
from perfmodel.core.formula import formula
from perfmodel.core.ops import Real
from perfmodel.core.tracing.tracing import numeric
from perfmodel.equations.pipeline_lengths import lengths
from perfmodel.equations.pipeline_orders import (
    SCHEDULES,
    TWO_CHUNKS,
    Kind,
    Pass,
    kept_after,
    layers_of_chunks,
    passes_of,
    place_of,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

PLAYED_ROUNDS = 3
"""Of as many micro-batches as stages, that are played through."""
HEAD_SHARE: Mapping[Kind, float] = {"forward": 1 / 3, "inputs": 1 / 3, "weights": 1 / 3, "backward": 2 / 3}
"""Of the time of logits, loss and embeddings, by kind of a pass (assumed): a product's three are alike."""

Times = Mapping[Kind, Sequence[Sequence[Any]]]
"""Time of one micro-batch by kind of pass, stage and chunk [s]."""


def played(
    schedule: Schedule, times: Times, micro_batches: int, later: Callable[[Any, Any], Any] = max
) -> Iterator[tuple[int, Pass, Any, Any]]:
    """Yield the passes of a step: stage, pass, start and end [s].

    Those of a stage come in the order in which it runs them.

    Parameters
    ----------
    schedule : one of ``SCHEDULES``
    times : of one micro-batch, numbers or arrays of several cases [s]
    micro_batches : of a step
    later : the later of two times, of arrays element by element
    """
    stages, chunks = len(times["forward"]), len(times["forward"][0])
    orders = passes_of(schedule, stages, chunks, micro_batches)
    places = [
        [place_of(schedule, stage, chunk, stages, chunks) for chunk in range(chunks)]
        for stage in range(stages)
    ]
    last = places[0][0].last
    # when passes ended, by replica, chunk of the network and micro-batch; None: not yet run
    forward, back, own = (
        [[[None] * micro_batches for _ in range(last + 1)] for _ in range(2)] for _ in range(3)
    )
    tables = {"forward": forward, "inputs": back, "backward": back, "weights": own}
    free: list[Any] = [0.0] * stages
    done = [0] * stages
    left = sum(map(len, orders))

    def ready(stage: int, one: Pass) -> Any:
        """When what a pass needs is there [s]; None where it has not run yet."""
        replica, at, _ = places[stage][one.chunk]
        micro = one.micro_batch
        if one.kind == "forward":
            return forward[replica][at - 1][micro] if at else 0.0
        if one.kind == "weights":
            return back[replica][at][micro]
        return (back[replica][at + 1] if at < last else forward[replica][at])[micro]

    while left:
        before = left
        for stage, order in enumerate(orders):
            now, index = free[stage], done[stage]
            while index < len(order):
                together = order[index : index + 1 + order[index].overlaps]
                needs = [ready(stage, one) for one in together]
                if any(need is None for need in needs):
                    break
                start = reduce(later, needs, now)
                now = start
                for one in together:
                    now = now + times[one.kind][stage][one.chunk]
                for one in together:
                    replica, at, _ = places[stage][one.chunk]
                    tables[one.kind][replica][at][one.micro_batch] = now
                    yield stage, one, start, now
                index += len(together)
            left -= index - done[stage]
            free[stage], done[stage] = now, index
        if left == before:
            raise AssertionError(f"{schedule}: no stage can go on")


@numeric
@formula(cites=("qi2023", "qi2024", "deepseek2024v3"), symbolic=False)
def scheduled_micro_batches_kept(
    schedule: Real, pipeline_parallel: Real, virtual_stages: Real, accumulation_steps: Real
) -> Real:
    r"""Micro-batches whose activations the fullest stage keeps at most, by the order of its passes.

    .. math:: k(s, p, m) = \max_t \frac{f_t - w_t}{v}

    After t passes a stage has run f forward, and w that are the last to need activations: backward to
    weights, or backward in one piece.

    Parameters
    ----------
    schedule : s [1], index into ``SCHEDULES``
    pipeline_parallel : p [1]
    virtual_stages : v [1], chunks of a stage
    accumulation_steps : m [1], micro-batches

    Returns
    -------
    kept micro-batches [1]

    Examples
    --------
    Eight stages, 16 micro-batches, by ZB-H1, ZB-H2, ZB-V, V-half, V-min and DualPipe.

    >>> [scheduled_micro_batches_kept(s, 8, 2 if s in (4, 5, 6) else 1, 16) for s in range(2, 8)]
    [8.0, 15.0, 8.0, 5.0, 4.0, 9.0]
    """
    import numpy as np

    every = [
        np.asarray(each)
        for each in np.broadcast_arrays(schedule, pipeline_parallel, virtual_stages, accumulation_steps)
    ]
    shape = every[0].shape
    rows = np.rint(np.stack([each.ravel() for each in every], axis=1)).astype(int)
    kinds, which = np.unique(rows, axis=0, return_inverse=True)
    most = [max(kept_of_stages(SCHEDULES[index], *each)) for index, *each in kinds.tolist()]
    result = np.array(most)[which.reshape(-1)]
    return result.reshape(shape) if shape else float(result[0])


def kept_of_stages(schedule: Schedule, stages: int, chunks: int, micro_batches: int) -> list[float]:
    """Return the micro-batches whose activations each stage keeps at most, by the order of its passes.

    >>> kept_of_stages("zb-h1", 4, 1, 8)
    [4.0, 4.0, 4.0, 4.0]
    """
    parts = 2 if schedule in TWO_CHUNKS else chunks
    orders = passes_of(schedule, stages, parts, min(micro_batches, PLAYED_ROUNDS * stages))
    return [max(kept_after(order)) / (1 if schedule == "dualpipe" else parts) for order in orders]


def length(
    schedule: Schedule, times: Times, micro_batches: int, later: Callable[[Any, Any], Any] = max
) -> Any:
    """Return how long a step lasts [s].

    From the start of the first pass to the end of the last one.  ``zb-h2`` does not wait for the optimizer of
    other stages, so that its next step begins on a stage when the last one has ended there.

    Parameters
    ----------
    As of ``played``.

    >>> length("1f1b", {"forward": [[1.0]] * 4, "backward": [[2.0]] * 4}, 8)
    33.0
    >>> length("zb-h1", {kind: [[1.0]] * 4 for kind in ("forward", "inputs", "weights")}, 8)
    27.0
    """
    starts: dict[int, Any] = {}
    ends: dict[int, Any] = {}
    for stage, _, start, end in played(schedule, times, micro_batches, later):
        starts.setdefault(stage, start)
        ends[stage] = end
    longest: Any = 0.0
    for stage, end in ends.items():
        longest = later(longest, end - starts[stage] if schedule == "zb-h2" else end)
    return longest


def times_of_chunks(
    schedule: Schedule,
    layers: int,
    stages: int,
    chunks: int,
    layer: Mapping[Kind, Any],
    head: Any,
    embedding: Any = 0.0,
    end_slots: int = 0,
    leading: tuple[int, Mapping[Kind, Any]] = (0, {}),
) -> Times:
    """Return the times of every chunk, by kind of pass [s].

    Parameters
    ----------
    schedule, layers, stages, chunks : of the pipeline
    layer : of one layer, by kind [s]
    head : of logits and loss, which the last chunk of the network has [s]
    embedding : of embeddings, which the first chunk has [s]
    end_slots : as of ``layers_of_chunks``
    leading : number of first layers that take another time, and the time of one, by kind [s]
    """
    held = layers_of_chunks(layers, stages, chunks, schedule, end_slots)
    count, of_leading = leading
    before = list(accumulate(_in_order(held, schedule), initial=0))
    times: dict[Kind, list[list[Any]]] = {
        kind: [[count * each for count in of_stage] for of_stage in held] for kind, each in layer.items()
    }
    for stage in range(stages):
        for chunk in range(chunks):
            at = place_of(schedule, stage, chunk, stages, chunks)
            first = min(max(count - before[at.order], 0), held[stage][chunk])
            for kind in of_leading if first else ():
                times[kind][stage][chunk] = times[kind][stage][chunk] + first * (
                    of_leading[kind] - layer[kind]
                )
            ends = ([embedding] if at.order == 0 else []) + ([head] if at.order == at.last else [])
            for kind in layer:
                for end in ends:
                    times[kind][stage][chunk] = times[kind][stage][chunk] + HEAD_SHARE[kind] * end
    return times


def _in_order(held: Sequence[Sequence[int]], schedule: Schedule) -> list[int]:
    """Return the layers of chunks in the order of the network, from those by stage and chunk."""
    stages, chunks = len(held), len(held[0])
    by_order: dict[int, int] = {}
    for stage, of_stage in enumerate(held):
        for chunk, count in enumerate(of_stage):
            by_order[place_of(schedule, stage, chunk, stages, chunks).order] = count
    return [by_order[order] for order in sorted(by_order)]


@numeric
@formula(cites=("qi2023", "qi2024", "deepseek2024v3"), symbolic=False)
def schedule_bubble_time(
    schedule: Real,
    layers: Real,
    pipeline_parallel: Real,
    virtual_stages: Real,
    accumulation_steps: Real,
    layer_time: Real,
    forward_time: Real,
    weights_time: Real,
    head_time: Real,
    stage_time: Real,
    embedding_time: Real = 0.0,
    end_slots: Real = 0,
    leading_layers: Real = 0,
    leading_time: Real = 0.0,
    leading_forward_time: Real = 0.0,
    leading_weights_time: Real = 0.0,
) -> Real:
    r"""Time in which stages wait by a schedule that runs backward passes in two pieces.

    .. math:: t_b = T(s, l, p, v, m) - m\,t_s,\quad T = \max e,\quad e_{d,k,i} = \max\left(e_{\text{before}},
        e_{\text{needed}}\right) + t_{d,k},\quad t_{f,k} = l_k t_f + n_k (t_{n,f} - t_f),\quad
        t_{w,k} = l_k t_w + n_k (t_{n,w} - t_w),\quad
        t_{i,k} + t_{f,k} + t_{w,k} = l_k t_l + n_k (t_n - t_l),\quad \sum_k n_k = n,\quad
        t_{d,1} = l_1 t_d + \frac{t_e}{3},\quad t_{d,pv} = l_{pv} t_d + \frac{t_h}{3},\quad
        \sum_k l_k = l,\quad l_1 + z \approx l_k \approx l_{pv} + z

    Pass d (forward, backward to inputs, backward to weights) of micro-batch i through chunk k ends at e.  It
    starts when the pass before on its stage has ended, in the order of schedule s, and that whose result it
    needs.  After three rounds of p micro-batches each further one takes what it does in the third, or on the
    longest stage if that is more: within 1.1 % of steps played to their end.  The first n layers may take
    another time.

    Parameters
    ----------
    schedule : s [1], index into ``SCHEDULES``
    layers : l [1]
    pipeline_parallel : p [1]
    virtual_stages : v [1], chunks of a stage
    accumulation_steps : m [1], micro-batches
    layer_time : t_l [s], forward and backward of one layer
    forward_time : t_f [s], forward of one layer
    weights_time : t_w [s], backward to the weights of one layer
    head_time : t_h [s], of logits and loss
    stage_time : t_s [s], on the mean stage
    embedding_time : t_e [s], of embeddings
    end_slots : z [1], layers by which embeddings and logits each count when layers are divided among stages
    leading_layers : n [1], first layers that take another time
    leading_time : t_n [s], forward and backward of one of these
    leading_forward_time : t_{n,f} [s], forward of one of these
    leading_weights_time : t_{n,w} [s], backward to the weights of one of these

    Returns
    -------
    bubble [s], with the time by which stages are longer than the mean

    Examples
    --------
    Eight stages of a layer each, passes of 1, 1.2 and 0.8 s, 24 micro-batches: ZB-H1 waits 7 x 1.4 s, where
    1F1B would wait 7 x 3 s; ZB-H2 waits 7 x 0.6 s.

    >>> [round(schedule_bubble_time(s, 8, 8, 1, 24, 3.0, 1.0, 0.8, 0.0, 3.0), 6) for s in (2, 3)]
    [9.8, 4.2]
    """
    import numpy as np

    given = (
        schedule, layers, pipeline_parallel, virtual_stages, accumulation_steps, layer_time, forward_time,
        weights_time, head_time, stage_time, embedding_time, end_slots, leading_layers, leading_time,
        leading_forward_time, leading_weights_time,
    )  # fmt: skip
    every = [np.asarray(each, dtype=np.float64) for each in np.broadcast_arrays(*given)]
    shape = every[0].shape
    rows = np.stack([each.ravel() for each in every])
    result = np.zeros(rows.shape[1])
    kinds = np.rint(rows[[0, 1, 2, 3, 11, 12]]).astype(int)
    some = np.flatnonzero(kinds[2] > 1)
    alike, which = np.unique(kinds[:, some], axis=1, return_inverse=True)
    for place, kind in enumerate(alike.T):
        of_kind = some[which.reshape(-1) == place]
        name, held, stages, chunks, slots, leading = map(int, kind)
        columns = [*range(4, 11), *range(13, len(rows))]
        times = rows[columns][:, of_kind]
        result[of_kind] = _waits(name, held, stages, chunks, slots, leading, *times)
    return result.reshape(shape) if shape else float(result[0])


def _waits(
    schedule: int,
    layers: int,
    stages: int,
    chunks: int,
    end_slots: int,
    leading: int,
    micro_batches: Array,
    layer: Array,
    forward: Array,
    weights: Array,
    head: Array,
    mean: Array,
    embedding: Array,
    leading_layer: Array,
    leading_forward: Array,
    leading_weights: Array,
) -> Array:
    """Return the waits of steps that differ in times and in micro-batches alone, shape (steps,)."""
    import numpy as np

    name = SCHEDULES[schedule]
    chunks = 2 if name in TWO_CHUNKS else chunks
    parts = _kinds_of(name, layer, forward, weights)
    of_leading = _kinds_of(name, leading_layer, leading_forward, leading_weights) if leading else {}
    most = PLAYED_ROUNDS * stages
    longer = np.flatnonzero(micro_batches > most)
    # steps that are not played to their end are played for a round less too
    both = np.concatenate([np.arange(len(micro_batches)), longer])
    of_both, first = ({kind: each[both] for kind, each in of.items()} for of in (parts, of_leading))
    ends = head[both], embedding[both], end_slots
    times = times_of_chunks(name, layers, stages, chunks, of_both, *ends, (leading, first))
    batches = np.minimum(micro_batches, most)[both]
    batches[len(micro_batches) :] -= stages
    played_through = lengths(name, times, batches)
    whole, before = np.split(played_through, [len(micro_batches)])
    last_round = whole[longer] - before
    last_round = np.maximum(last_round, stages * _longest_stage(name, times)[longer])
    whole[longer] += (micro_batches - most)[longer] / stages * last_round
    return np.maximum(whole - micro_batches * mean, 0.0)


def _kinds_of(schedule: Schedule, layer: Array, forward: Array, weights: Array) -> dict[Kind, Array]:
    """Return the time of a layer by kind of pass [s]."""
    kinds: dict[Kind, Array] = {"forward": forward, "inputs": layer - forward - weights, "weights": weights}
    return {**kinds, "backward": layer - forward} if schedule == "dualpipe" else kinds


def _longest_stage(schedule: Schedule, times: Times) -> Array:
    """Return what one micro-batch takes on the longest stage, all of its passes [s]."""
    import numpy as np

    kinds: tuple[Kind, ...] = (
        ("forward", "backward") if schedule == "dualpipe" else ("forward", "inputs", "weights")
    )
    each = [sum(map(sum, of_stage)) for of_stage in zip(*(times[kind] for kind in kinds), strict=True)]
    # of the two copies of the network each runs half of the micro-batches
    return np.max(each, axis=0) / (2 if schedule == "dualpipe" else 1)
