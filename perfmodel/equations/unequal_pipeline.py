"""Bubble of a 1F1B pipeline whose stages are not equally long, in closed form.

A step takes as long as its longest chain of passes that wait for each other.  Such a chain goes down to some
stage and up again; it may run further forward passes on the way down and further backward passes on the way
up, and go round the later stages while the pipeline fills or drains.

Validity
--------
1F1B with one chunk of layers on a stage; sends between stages take no time.  Equal to the recurrence of
``equations.pipeline_schedule`` for any times of the stages, forward and backward, and any number of
micro-batches (to rounding, in tests on random pipelines).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfmodel.core.formula import formula
from perfmodel.core.ops import Real
from perfmodel.core.tracing.tracing import numeric
from perfmodel.equations.pipeline_schedule import HEAD_SHARE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


def one_forward_one_backward_time(forward: Array, backward: Array, micro_batches: Array) -> Array:
    """Return the time of steps by 1F1B [s], shape (steps,).

    Parameters
    ----------
    forward, backward : times of one micro-batch on every stage, shape (steps, stages) [s]
    micro_batches : of each step, shape (steps,)

    >>> import numpy as np
    >>> one_forward_one_backward_time(np.array([[1.0, 5, 1]]), np.array([[5.0, 1, 1]]), np.array([2.0]))
    array([22.])
    """
    import numpy as np

    stages = forward.shape[-1]
    behind = np.arange(stages - 1, -1.0, -1.0)
    further = micro_batches[:, None] - 1
    down, up = np.cumsum(forward, axis=-1), np.cumsum(backward, axis=-1)
    longest_down, longest_up = (np.maximum.accumulate(each, axis=-1) for each in (forward, backward))
    round_trip = down + up
    early = np.minimum(behind, further)
    chains = round_trip + np.maximum(
        early * longest_down + further * longest_up, further * longest_down + early * longest_up
    )
    filled, drained = (
        np.maximum.accumulate((round_trip + behind * longest)[:, ::-1], axis=-1)[:, ::-1]
        for longest in (longest_down, longest_up)
    )
    in_turn = filled - (up - backward) + drained - (down - forward)
    in_turn = in_turn + (further - 1 - behind) * (forward + backward)
    in_turn = np.where(further > behind, in_turn, 0.0)
    return np.asarray(np.maximum(chains, in_turn).max(axis=-1))


@numeric
@formula(cites="narayanan2021", symbolic=False)
def unequal_bubble_time(
    layers: Real,
    pipeline_parallel: Real,
    accumulation_steps: Real,
    layer_time: Real,
    forward_time: Real,
    head_time: Real,
    embedding_time: Real,
    stage_time: Real,
    end_slots: Real = 0,
    leading_layers: Real = 0,
    leading_time: Real = 0.0,
    leading_forward_time: Real = 0.0,
) -> Real:
    r"""Time that the slowest stage of a 1F1B pipeline waits in a step, by its longest chain of passes.

    .. math:: t_b = T(l, p, m, z) - m\,t_s,\quad
        T = \max_j \max\left(K_j,\; A_j + E_j + (m - 1 - p + j)\,t_j\right),\quad
        K_j = R_j + \max\left(u_j f_j^* + (m - 1)\,b_j^*,\; (m - 1) f_j^* + u_j b_j^*\right),\quad
        A_j = \max_{k \ge j} \left(R_k + (p - 1 - k) f_k^*\right) - \sum_{i < j} b_i,\quad
        E_j = \max_{k \ge j} \left(R_k + (p - 1 - k)\,b_k^*\right) - \sum_{i < j} f_i,\quad
        R_j = \sum_{i \le j} t_i,\quad f_j^* = \max_{i \le j} f_i,\quad b_j^* = \max_{i \le j} b_i,\quad
        u_j = \min(p - 1 - j,\; m - 1),\quad
        f_i = l_i t_f + n_i (t_{n,f} - t_f) + \frac{t_{h,i} + t_{e,i}}{3},\quad
        t_i = f_i + b_i = l_i t_l + n_i (t_n - t_l) + t_{h,i} + t_{e,i},\quad \sum_i n_i = n

    Stages j count from 0.  K is a chain with m - 1 further passes in one direction at most; A fills the
    pipeline up to the first backward pass on stage j, E drains it from the last forward pass there, and
    between them stage j runs a forward and a backward pass in turn (where m is more than p - j).  The first
    stage also has embeddings, the last one logits and loss, and the first n layers may take another time.

    Parameters
    ----------
    layers : l [1]
    pipeline_parallel : p [1]
    accumulation_steps : m [1], micro-batches
    layer_time : t_l [s], forward and backward of one layer
    forward_time : t_f [s], forward of one layer
    head_time : t_h [s], of logits and loss
    embedding_time : t_e [s], of embeddings
    stage_time : t_s [s], on the slowest stage
    end_slots : z [1], layers by which embeddings and logits each count when layers are divided among stages
    leading_layers : n [1], first layers that take another time
    leading_time : t_n [s], forward and backward of one of these
    leading_forward_time : t_{n,f} [s], forward of one of these

    Returns
    -------
    bubble [s]

    Examples
    --------
    Ten layers of 3 s on four stages (3, 3, 2, 2), eight micro-batches: the second stage, of 9 s, waits for
    the 9 + 6 + 6 s of the others, less the 2 x 3 s by which both later ones are shorter.  Equal stages wait
    p - 1 stage times.

    >>> unequal_bubble_time(10, 4, 8, 3.0, 1.0, 0.0, 0.0, 9.0)
    15.0
    >>> unequal_bubble_time(8, 4, 8, 3.0, 1.0, 0.0, 0.0, 6.0)
    18.0
    """
    import numpy as np

    given = (
        layers, pipeline_parallel, accumulation_steps, layer_time, forward_time, head_time, embedding_time,
        stage_time, end_slots, leading_layers, leading_time, leading_forward_time,
    )  # fmt: skip
    if all(isinstance(each, (int, float)) for each in given):  # one step, without the cost of sorting steps
        if given[1] <= 1:
            return 0.0
        held, stages, *others = (np.array([each], dtype=np.float64) for each in given)
        return float(_waits(int(stages[0]), held, *others)[0])
    every = [np.asarray(each, dtype=np.float64) for each in np.broadcast_arrays(*given)]
    shape, result = every[0].shape, np.zeros(every[0].size)
    rows = np.stack([each.ravel() for each in every])
    for stages in np.unique(rows[1][rows[1] > 1]):
        some = np.flatnonzero(rows[1] == stages)
        held, _, *others = rows[:, some]
        result[some] = _waits(int(stages), held, *others)
    return result.reshape(shape) if shape else float(result[0])


def _waits(
    stages: int,
    layers: Array,
    steps: Array,
    layer: Array,
    forward: Array,
    head: Array,
    embedding: Array,
    slowest: Array,
    slots: Array,
    leading: Array,
    leading_layer: Array,
    leading_forward: Array,
) -> Array:
    """Return the wait of the slowest stage in each step [s], of pipelines of as many stages."""
    import numpy as np

    counts = _layers_of_stages(layers, stages, slots)
    passes = [counts * each[:, None] for each in (forward, layer - forward)]
    if leading.any():
        before = np.cumsum(counts, axis=-1) - counts
        first = np.clip(leading[:, None] - before, 0, counts)
        further = leading_forward - forward, leading_layer - leading_forward - layer + forward
        passes = [each + first * more[:, None] for each, more in zip(passes, further, strict=True)]
    for times, share in zip(passes, (HEAD_SHARE["forward"], HEAD_SHARE["backward"]), strict=True):
        times[:, 0] += share * embedding
        times[:, -1] += share * head
    whole = one_forward_one_backward_time(passes[0], passes[1], steps)
    return np.asarray(np.maximum(whole - steps * slowest, 0.0))


def _layers_of_stages(layers: Array, stages: int, slots: Array) -> Array:
    """Return the layers of every stage, shape (steps, stages), the first stages one more than the others."""
    import numpy as np

    places = layers + 2 * slots
    counts = (places // stages)[:, None] + (np.arange(stages) < (places % stages)[:, None])
    counts[:, 0] -= slots
    counts[:, -1] -= slots
    return np.asarray(counts)
