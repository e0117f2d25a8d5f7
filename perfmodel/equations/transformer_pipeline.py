"""Stages of a pipeline, and the step that its micro-batches make.

Validity
--------
1F1B, interleaved or not, of stages that are alike but for their number of layers, the logits, and first
layers that take another time; micro-batches that are alike. Zero-bubble schedules are shorter than this.
"""

from __future__ import annotations

from perfmodel.core import ops
from perfmodel.core.formula import formula
from perfmodel.core.ops import Real


@formula(cites="narayanan2021")
def slowest_stage_time(
    layers: Real,
    pipeline_parallel: Real,
    layer_time: Real,
    head_time: Real,
    embedding_time: Real = 0.0,
    end_slots: Real = 0,
    leading_layers: Real = 0.0,
    leading_time: Real = 0.0,
) -> Real:
    r"""Time of a micro-batch on the slowest stage: the first, with embeddings, one in between, or the last.

    .. math:: t_s = \max\left(l_1 t_l + \min(n, l_1)\,d + t_e,\;
        \min(p - 2, 1) \left(l_2 t_l + \min(\max(n - l_1, 0), l_2)\,d\right),\;
        \min(\max(p - 3, 0), 1) \left(l_3 t_l + \min(\max(n - l_1 - l_2, 0), l_3)\,d\right),\;
        l_p t_l + \max(n - l + l_p, 0)\,d + t_h\right),\quad
        l_p = \left\lfloor \frac{l + 2 z}{p} \right\rfloor - z,\quad
        l_1 = \left\lceil \frac{l + 2 z}{p} \right\rceil - z,\quad
        l_k = \left\lfloor \frac{l + 2 z + p - k}{p} \right\rfloor,\quad d = t_n - t_l

    Where layers do not divide, the first stages hold one more.  The first n layers of the network, at most
    those of two stages, may take another time (else the third stage stands for those between).

    Parameters
    ----------
    layers : l [1]
    pipeline_parallel : p [1]
    layer_time : t_l [s], forward and backward of one layer
    head_time : t_h [s], of logits and loss
    embedding_time : t_e [s], of embeddings
    end_slots : z [1], layers by which embeddings and logits each count when layers are divided among stages
    leading_layers : n [1], first layers that take another time
    leading_time : t_n [s], forward and backward of one of these

    Returns
    -------
    stage_time [s]

    Examples
    --------
    Ten layers of 1 s on four stages, logits of half a second: three layers, or two and the logits.  Where
    both ends count as a layer, the stages hold 2, 3, 3 and 2.  If four layers take half as long, the third
    stage is the slowest.

    >>> slowest_stage_time(10, 4, 1.0, 0.5)
    3.0
    >>> slowest_stage_time(10, 4, 1.0, 1.5, 0.25, 1)
    3.5
    >>> slowest_stage_time(11, 4, 1.0, 0.5, 0.0, 0, 4.0, 0.5)
    3.0
    """
    places = layers + 2 * end_slots
    each = places / pipeline_parallel
    further = leading_time - layer_time
    of_first = ops.ceil(each) - end_slots
    of_second = ops.floor((places + pipeline_parallel - 2) / pipeline_parallel)
    of_third = ops.floor((places + pipeline_parallel - 3) / pipeline_parallel)
    of_last = ops.floor(each) - end_slots
    rest = ops.minimum(ops.maximum(leading_layers - of_first, 0), of_second)
    last_rest = ops.maximum(leading_layers - layers + of_last, 0)
    third_rest = ops.minimum(ops.maximum(leading_layers - of_first - of_second, 0), of_third)
    first = of_first * layer_time + ops.minimum(leading_layers, of_first) * further + embedding_time
    second = ops.minimum(pipeline_parallel - 2, 1) * (of_second * layer_time + rest * further)
    third = of_third * layer_time + third_rest * further
    third = ops.minimum(ops.maximum(pipeline_parallel - 3, 0), 1) * third
    last = of_last * layer_time + last_rest * further + head_time
    return ops.maximum(ops.maximum(first, last), ops.maximum(second, third))


@formula(cites="narayanan2021")
def pipelined_time(accumulation_steps: Real, stage_time: Real, bubble: Real) -> Real:
    r"""Time of all micro-batches of a step.

    .. math:: T = m\,t_s + t_b

    Parameters
    ----------
    accumulation_steps : m [1]
    stage_time : t_s [s], on the slowest stage
    bubble : t_b [s]

    Returns
    -------
    pipeline_time [s]

    Examples
    --------
    Eight micro-batches of 3 s, and a bubble of 4.5: 28.5 s, as a simulated schedule of four stages takes.

    >>> pipelined_time(8, 3.0, 4.5)
    28.5
    """
    return accumulation_steps * stage_time + bubble


@formula(cites="narayanan2021")
def stage_transfer_time(
    accumulation_steps: Real,
    pipeline_parallel: Real,
    virtual_stages: Real,
    communication_time: Real,
    exposed_fraction: Real,
) -> Real:
    r"""Time that sends between stages add to a step.

    .. math:: T_p = 2 t_c\left(\eta\,v\,m + p - 1\right)

    There and back.  While the pipeline fills and drains nothing hides them.

    Parameters
    ----------
    accumulation_steps : m [1]
    pipeline_parallel : p [1]
    virtual_stages : v [1]
    communication_time : t_c [s], of one send
    exposed_fraction : eta [1], of a send in between

    Returns
    -------
    exposed_communication_time [s]

    Examples
    --------
    Eight micro-batches, four stages, sends of 1 ms half of which show: 2 x (4 + 3) ms.

    >>> stage_transfer_time(8, 4, 1, 1e-3, 0.5)
    0.014
    """
    passes = exposed_fraction * virtual_stages * accumulation_steps
    return 2 * communication_time * (passes + pipeline_parallel - 1)


@formula(cites="rajbhandari2020")
def sharded_traffic_time(
    gather_time: Real, scatter_time: Real, passes: Real, gathers: Real, start_time: Real
) -> Real:
    r"""Time of all gathers of parameters and scatters of gradients of a step.

    .. math:: T = k\left(g\,t_g + t_s + A\right)

    ZeRO 1 gathers and scatters once in a step (k = g = 1); ZeRO 2 scatters the gradients of each of k
    micro-batches and gathers once (g = 1/k); ZeRO 3 for each forward and each backward pass (g = 2) of
    k micro-batches, layer by layer, each with a start of its own.

    Parameters
    ----------
    gather_time : t_g [s], of all parameters of a rank
    scatter_time : t_s [s], of all gradients
    passes : k [1], times that this happens in a step
    gathers : g [1], in each
    start_time : A [s], of what goes layer by layer

    Returns
    -------
    communication_time [s]

    Examples
    --------
    Two micro-batches of ZeRO 3: two gathers of 1 s and a scatter of 2 s each.

    >>> sharded_traffic_time(1.0, 2.0, 2, 2, 0.0)
    8.0
    """
    return passes * (gathers * gather_time + scatter_time + start_time)


@formula(cites="micikevicius2018")
def sharded_update_time(
    own_parameters: Real, update_bytes_per_parameter: Real, elementwise_bandwidth: Real
) -> Real:
    r"""Time of the optimizer on what a rank keeps of the states.

    .. math:: t_u = \frac{\Psi_o\,u}{B}

    Parameters
    ----------
    own_parameters : Psi_o [1], whose states the rank keeps
    update_bytes_per_parameter : u [B]
    elementwise_bandwidth : B [B/s]

    Returns
    -------
    update_time [s]

    Examples
    --------
    >>> sharded_update_time(1e9, 30, 1e12)
    0.03
    """
    return own_parameters * update_bytes_per_parameter / elementwise_bandwidth


@formula(cites=())
def growth_time(step_time: Real, growth: Real, nodes: Real) -> Real:
    r"""Extra time of a step on many nodes, which wait for the slowest of them.

    .. math:: T_g = T\,c \log_2 N

    Parameters
    ----------
    step_time : T [s], of all other terms
    growth : c [1], for each doubling of nodes
    nodes : N [1]

    Returns
    -------
    straggler_time [s]

    Examples
    --------
    >>> growth_time(10.0, 0.004, 8)  # three doublings
    0.12
    """
    return step_time * growth * ops.log2(nodes)


@formula(cites=(), symbolic=False)
def time_of_parts(**parts: Real) -> Real:
    r"""Sum of the times of parts of a step that follow each other.

    .. math:: t = \sum_i t_i

    Parameters
    ----------
    parts : t_i [s], by name

    Returns
    -------
    time [s]

    Examples
    --------
    >>> time_of_parts(forward=4, backward=7)  # 4 + 7
    11
    """
    return sum(parts.values())


@formula(cites="narayanan2021")
def stage_layers_time(
    accumulation_steps: Real, layers: Real, pipeline_parallel: Real, layer_time: Real
) -> Real:
    r"""Time in a step of one part of every layer, on a stage with its share of the layers.

    .. math:: t = m \frac{l}{p}\,t_l

    Parameters
    ----------
    accumulation_steps : m [1], micro-batches
    layers : l [1]
    pipeline_parallel : p [1]
    layer_time : t_l [s], of one micro-batch

    Returns
    -------
    time [s]

    Examples
    --------
    Four micro-batches, ten layers on five stages, half a second each: 4 x 2 x 0.5.

    >>> stage_layers_time(4, 10, 5, 0.5)
    4.0
    """
    return accumulation_steps * layers / pipeline_parallel * layer_time


@formula(cites=())
def time_of_others(layers: Real, leading_layers: Real, layer_time: Real, leading_time: Real) -> Real:
    r"""Time of a layer after the first ones, from that of the mean layer.

    .. math:: t = \frac{l\,t_l - n\,t_n}{l - n}

    Parameters
    ----------
    layers : l [1]
    leading_layers : n [1], first layers that take another time
    layer_time : t_l [s], of the mean layer
    leading_time : t_n [s], of one of the first layers

    Returns
    -------
    layer_time [s]

    Examples
    --------
    Of ten layers that take 1 s on average two take half of it: (10 - 1) / 8.

    >>> time_of_others(10, 2, 1.0, 0.5)
    1.125
    """
    return (layers * layer_time - leading_layers * leading_time) / (layers - leading_layers)


@formula(cites="narayanan2021")
def mean_stage_time(layers: Real, pipeline_parallel: Real, layer_time: Real, head_time: Real) -> Real:
    r"""Time of a micro-batch on a stage, were all of them equal.

    .. math:: t_s = \frac{l\,t_l + t_h}{p}

    Parameters
    ----------
    layers : l [1]
    pipeline_parallel : p [1]
    layer_time : t_l [s], forward and backward of one layer
    head_time : t_h [s], of embeddings, logits and loss

    Returns
    -------
    stage_time [s]

    Examples
    --------
    Ten layers of 1 s and logits of 2 s on four stages: 12 / 4.

    >>> mean_stage_time(10, 4, 1.0, 2.0)
    3.0
    """
    return (layers * layer_time + head_time) / pipeline_parallel
