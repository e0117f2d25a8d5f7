"""Bubble of interleaved pipelines whose chunks are not equally long, by a recurrence over all passes.

If layers do not divide by stages and chunks, or the last chunk also has the logits, no stage is the slowest
all the time: each waits for longer chunks of others, and how long depends on the order of the passes.  No
closed form is known for that; this is the recurrence itself, evaluated once for a number of layers, stages
and chunks, in units of a layer's time.

Validity
--------
1F1B, interleaved, in the order of Narayanan et al. (2021), section 2.2; sends between stages take no time.
Layers are distributed as evenly as possible, with one more in the first chunks, as by the flags of
Megatron-Core.  Published recipes of 126 and 94 layers have one layer less in the first and the last chunk,
where the step is at most 0.7 % shorter or longer.  The recurrence is evaluated for 1 to 4 times as many
micro-batches as stages; each further round adds as much as the fourth, or more if that did for shorter
logits.  Between tabulated shares of the forward pass, times of the logits and of the embeddings, it is
interpolated linearly.  For random steps with unequal chunks, half of the errors are below 0.02 %, all below 1
%; first layers of another time count in the first chunk alone, and errors stay below 1.1 %.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from perfmodel.core.formula import formula
from perfmodel.core.ops import Real
from perfmodel.core.tracing.tracing import numeric
from perfmodel.equations.pipeline_lengths import lengths
from perfmodel.equations.pipeline_orders import Kind
from perfmodel.equations.pipeline_schedule import times_of_chunks

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

ROUNDS = 4
"""Number of rounds, each of as many micro-batches as stages, for which the recurrence is evaluated."""
SHARES = (0.2, 0.25, 1 / 3, 0.42, 0.5)
"""Tabulated shares of the forward pass in a layer's time: 1/4 with recomputation, 1/3 of products, 1/2 with
adapters on frozen weights."""
HEADS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
"""Tabulated ratios of the logits' time to a layer's."""
EMBEDDINGS = (0.0, 0.1, 0.3)
"""Tabulated ratios of the embeddings' time to a layer's."""
SHORTER = (-1.0, -0.5, 0.0)
"""The same where the first layers take less time than others: to the layers' of the first chunk."""
SHAPE = len(SHARES), len(HEADS), len(EMBEDDINGS)


@lru_cache(maxsize=4096)
def _last_two(
    layers: int, stages: int, chunks: int, rounds: int, end_slots: int, shorter: int
) -> tuple[Array, Array]:
    """Return the times of steps of one round less and of all, in units of a layer's, ``SHAPE`` each."""
    import numpy as np

    first = -(-(layers + 2 * end_slots) // (stages * chunks)) - end_slots
    of_first = tuple(each * first for each in SHORTER) if shorter else EMBEDDINGS
    knots = np.meshgrid(SHARES, HEADS, of_first, indexing="ij")
    shares, heads, embeddings = (np.tile(each.ravel(), 2) for each in knots)
    batches = np.repeat([max(rounds - 1, 1) * stages, rounds * stages], len(shares) // 2)
    layer: dict[Kind, Array] = {"forward": shares, "backward": 1 - shares}
    times = times_of_chunks("interleaved", layers, stages, chunks, layer, heads, embeddings, end_slots)
    before, whole = np.split(lengths("interleaved", times, batches), 2)
    return before.reshape(SHAPE), whole.reshape(SHAPE)


def _lengths(layers: int, stages: int, chunks: int, rounds: int, end_slots: int, shorter: int) -> Array:
    """Return the time of a step in units of a layer's forward and backward time, shape ``SHAPE``."""
    return _last_two(layers, stages, chunks, rounds, end_slots, shorter)[1]


@lru_cache(maxsize=4096)
def _lengthening(layers: int, stages: int, chunks: int, rounds: int, end_slots: int, shorter: int) -> Array:
    """Return the time that one more round adds to the step, in the units and shape of ``_lengths``.

    Successive rounds add more time, until all stages wait for the slowest ones.  With longer logits that
    happens in later rounds, but a round finally adds at least as much: so the last evaluated round is assumed
    to add at least what it adds with any shorter logits or embeddings.
    """
    import numpy as np

    before, whole = _last_two(layers, stages, chunks, min(rounds + 1, ROUNDS), end_slots, shorter)
    if rounds < ROUNDS:
        return whole - before
    longest = np.maximum.accumulate(whole - before, axis=1)
    return np.asarray(np.maximum.accumulate(longest, axis=2))


def _between(points: tuple[float, ...], at: Array) -> tuple[Any, Array]:
    """Return the index of the point below each value, and the fraction of the distance to the next point."""
    import numpy as np

    knots = np.asarray(points)
    below = np.clip(np.searchsorted(knots, at, side="right") - 1, 0, len(knots) - 2)
    return below, (at - knots[below]) / (knots[below + 1] - knots[below])


def _of_steps(
    table: Callable[..., Array], kinds: Sequence[Array], relative: Sequence[Array], shorter: int
) -> Array:
    """Return the interpolated value of a table for each step.

    Parameters
    ----------
    table : function from layers, stages, chunks, rounds, slots of the ends and ``shorter`` to a table of
        ``SHAPE``
    kinds : layers, stages, chunks, rounds and slots of the ends of each step
    relative : share of the forward pass in a layer's time; times of the logits, and of the embeddings, over
        a layer's
    shorter : 1 where the time of the embeddings is negative, and over that of the first chunk's layers
    """
    import numpy as np

    columns = [np.rint(column).astype(np.int64) for column in kinds]
    key = np.zeros(len(relative[0]), np.int64)
    for column in columns:
        key = key * (int(column.max()) + 1) + column
    _, first, which = np.unique(key, return_index=True, return_inverse=True)
    tables = np.stack([table(*(int(column[row]) for column in columns), shorter) for row in first])
    knots = SHARES, HEADS, SHORTER if shorter else EMBEDDINGS
    axes = [_between(*each) for each in zip(knots, relative, strict=True)]
    which, result = which.reshape(-1), np.zeros(len(key))
    for corner in itertools.product((0, 1), repeat=len(axes)):
        weight: Any = 1.0
        for beyond, (_, fraction) in zip(corner, axes, strict=True):
            weight = weight * (fraction if beyond else 1 - fraction)
        at = (below + beyond for beyond, (below, _) in zip(corner, axes, strict=True))
        result += weight * tables[(which, *at)]
    return result


@numeric
@formula(cites="narayanan2021", symbolic=False)
def interleaved_bubble_time(
    layers: Real,
    pipeline_parallel: Real,
    virtual_stages: Real,
    accumulation_steps: Real,
    layer_time: Real,
    forward_time: Real,
    head_time: Real,
    stage_time: Real,
    embedding_time: Real = 0.0,
    end_slots: Real = 0,
    leading_layers: Real = 0,
    leading_time: Real = 0.0,
) -> Real:
    r"""Bubble of an interleaved pipeline: filling, draining, and waiting for longer chunks.

    .. math:: t_b = T(l, p, v, m) - m\,t_s,\quad T = \max e,\quad e_{d,k,i} = \max\left(e_{\text{before}},
        e_{\text{needed}}\right) + t_{d,k},\quad t_{f,k} = l_k t_f,\quad t_{b,k} = l_k (t_l - t_f),\quad
        t_{f,1} = l_1 t_f + \frac{t_e'}{3},\quad t_{f,pv} = l_{pv} t_f + \frac{t_h}{3},\quad
        t_{b,1} = l_1 (t_l - t_f) + \frac{2 t_e'}{3},\quad t_e' = t_e + \min(n, l_1)\,(t_n - t_l),\quad
        t_{b,pv} = l_{pv} (t_l - t_f) + \frac{2 t_h}{3},\quad \sum_k l_k = l,\quad
        l_1 + z \approx l_k \approx l_{pv} + z

    Pass d (forward or backward) of micro-batch i through chunk k ends at e.  It starts when the previous pass
    of its stage has ended, and the pass whose result it needs: that of the same micro-batch through the
    previous chunk or, backward, through the next one.  A chunk takes the time of its layers, the first one
    also that of the embeddings, the last one that of the logits.  For equal chunks the bubble is (p - 1) / v
    times a stage's time.  Those of the first n layers that are in the first chunk may take another time.

    Parameters
    ----------
    layers : l [1]
    pipeline_parallel : p [1]
    virtual_stages : v [1]
    accumulation_steps : m [1], micro-batches
    layer_time : t_l [s], forward and backward of one layer
    forward_time : t_f [s], forward of one layer
    head_time : t_h [s], of logits and loss
    stage_time : t_s [s], on the slowest stage
    embedding_time : t_e [s], of embeddings
    end_slots : z [1], layers by which embeddings and logits each count when layers are divided among stages
    leading_layers : n [1], first layers that take another time
    leading_time : t_n [s], forward and backward of one of these

    Returns
    -------
    bubble [s]

    Examples
    --------
    126 layers of 1 s on 16 stages of 7 chunks, 16 micro-batches: 14 chunks have two layers, stages with one
    wait for them; were chunks equal, it would be (p - 1) / v stage times, 16.875 s.  128 layers in 8 chunks a
    stage are equal.

    >>> round(interleaved_bubble_time(126, 16, 7, 16, 1.0, 1 / 3, 0.0, 8.0), 6)
    28.0
    >>> round(interleaved_bubble_time(128, 16, 8, 16, 1.0, 1 / 3, 0.0, 8.0), 6)
    15.0
    """
    import numpy as np

    given = (
        layers, pipeline_parallel, virtual_stages, accumulation_steps, layer_time, forward_time, head_time,
        stage_time, embedding_time, end_slots, leading_layers, leading_time,
    )  # fmt: skip
    every = [np.asarray(each, dtype=np.float64) for each in np.broadcast_arrays(*given)]
    shape, result = every[0].shape, np.zeros(every[0].size)
    every = [each.ravel() for each in every]
    waits = (every[1] > 1) & (every[2] > 1)
    if waits.any():
        result[waits] = _waits(*(each[waits] for each in every))
    return result.reshape(shape) if shape else float(result[0])


def _waits(
    layers: Array,
    stages: Array,
    chunks: Array,
    steps: Array,
    layer: Array,
    forward: Array,
    head: Array,
    slowest: Array,
    embedding: Array,
    slots: Array,
    leading: Array,
    leading_layer: Array,
) -> Array:
    """Return the wait of the slowest stage in each step [s]."""
    import numpy as np

    rounds = np.maximum(steps / stages, 1.0)
    below = np.clip(np.floor(rounds), 1, ROUNDS)
    first = np.ceil((layers + 2 * slots) / (stages * chunks)) - slots
    further = np.minimum(leading, first) * (leading_layer - layer)
    at = embedding / layer + np.where(leading > 0, further / layer, 0.0)
    share = np.clip(forward / layer, SHARES[0], SHARES[-1])
    kinds = layers, stages, chunks, below, slots
    lengths = np.zeros(len(at))
    for shorter in (0, 1):
        some = at < 0 if shorter else at >= 0
        if not some.any():
            continue
        of_first = np.maximum(at / np.maximum(first, 1.0), -1.0) if shorter else at
        relative = [each[some] for each in (share, head / layer, of_first)]
        of_some = _of_steps(_lengths, [each[some] for each in kinds], relative, shorter)
        more = (rounds != below)[some]  # the others need no further rounds
        if more.any():
            of_more = [each[some][more] for each in kinds], [each[more] for each in relative]
            of_some[more] += (rounds - below)[some][more] * _of_steps(_lengthening, *of_more, shorter)
        lengths[some] = of_some
    return np.asarray(np.maximum(lengths * layer - rounds * stages * slowest, 0.0))
