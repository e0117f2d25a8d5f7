"""Stages of a pipeline, and the step that its micro-batches make.

Validity
--------
1F1B, interleaved or not, of stages that are alike but for their number of layers and the logits;
micro-batches that are alike. Zero-bubble schedules are shorter than this.
"""

from __future__ import annotations

from perfmodel.core import ops
from perfmodel.core.formula import formula
from perfmodel.core.ops import Real


@formula(cites="narayanan2021")
def slowest_stage_time(layers: Real, pipeline_parallel: Real, layer_time: Real, head_time: Real) -> Real:
    r"""Time of a micro-batch on the slowest stage: one with the most layers, or the last, with the logits.

    .. math:: t_s = \max\left(\left\lceil \frac{l}{p} \right\rceil t_l,\;
        \left\lfloor \frac{l}{p} \right\rfloor t_l + t_h\right)

    Where layers do not divide, the last stage is given fewer.

    Parameters
    ----------
    layers : l [1]
    pipeline_parallel : p [1]
    layer_time : t_l [s], forward and backward of one layer
    head_time : t_h [s], of logits and loss

    Returns
    -------
    stage_time [s]

    Examples
    --------
    Ten layers of 1 s on four stages, logits of half a second: three layers, or two and the logits.

    >>> slowest_stage_time(10, 4, 1.0, 0.5)
    3.0
    """
    each = layers / pipeline_parallel
    return ops.maximum(ops.ceil(each) * layer_time, ops.floor(each) * layer_time + head_time)


@formula(cites="narayanan2021")
def stage_with_tower_time(layers: Real, pipeline_parallel: Real, layer_time: Real, tower_time: Real) -> Real:
    r"""Time of a micro-batch on the first stage, which also encodes images.

    .. math:: t_s = \left\lceil \frac{l}{p} \right\rceil t_l + t_v

    The first stage has as many layers as any other, and the encoder of images with its projector in addition.

    Parameters
    ----------
    layers : l [1]
    pipeline_parallel : p [1]
    layer_time : t_l [s], forward and backward of one layer
    tower_time : t_v [s], of all images of the micro-batch

    Returns
    -------
    stage_time [s]

    Examples
    --------
    Ten layers of 1 s on four stages, images of half a second: three layers and the images.

    >>> stage_with_tower_time(10, 4, 1.0, 0.5)
    3.5
    """
    return ops.ceil(layers / pipeline_parallel) * layer_time + tower_time


@formula(cites="narayanan2021")
def bubble_time(pipeline_parallel: Real, virtual_stages: Real, stage_time: Real) -> Real:
    r"""Time in which a pipeline fills and drains.

    .. math:: t_b = \frac{p - 1}{v}\,t_s

    One forward, one backward (1F1B); with v chunks of layers on each stage the pipeline fills v times as
    soon (Narayanan et al. 2021, section 2.2).  GPipe's bubble is that of v = 1.

    Parameters
    ----------
    pipeline_parallel : p [1]
    virtual_stages : v [1]
    stage_time : t_s [s], forward and backward of a micro-batch on one stage, the mean

    Returns
    -------
    bubble [s]

    Examples
    --------
    Four stages of 3 s in two chunks each.

    >>> bubble_time(4, 2, 3.0)
    4.5
    """
    return (pipeline_parallel - 1) / virtual_stages * stage_time


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
