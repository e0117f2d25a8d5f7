"""What the ranks of a transformer's replica send each other, and what their replicas do.

Validity
--------
Ranks of a group that come at the same time. What a stack hides is its own constant.
"""

from __future__ import annotations

from perfmodel.core import ops
from perfmodel.core.formula import formula
from perfmodel.core.ops import Real


@formula(cites="narayanan2021")
def activation_message_bytes(tokens: Real, hidden_size: Real) -> Real:
    r"""Bytes of the activations between two layers.

    .. math:: S = 2\,T\,h

    The message of tensor parallelism's all-reduces, two forward and two backward, and what a pipeline sends.

    Parameters
    ----------
    tokens : T [tokens], of one rank
    hidden_size : h [1]

    Returns
    -------
    message_bytes [B]

    Examples
    --------
    >>> activation_message_bytes(2048, 4096) / 2**20
    16.0
    """
    return 2 * tokens * hidden_size


@formula(cites="liu2023")
def context_message_bytes(local_batch_size: Real, sequence_length: Real, kv_width: Real) -> Real:
    r"""Bytes of keys and values of whole sequences, which go round the ring of context parallelism.

    .. math:: S = 4\,b\,s\,w

    Each rank holds its share of them and passes it on until all have seen all (Liu et al. 2023).

    Parameters
    ----------
    local_batch_size : b [samples]
    sequence_length : s [tokens]
    kv_width : w [1], features of the key heads of one rank

    Returns
    -------
    message_bytes [B]

    Examples
    --------
    >>> context_message_bytes(1, 1000, 256)  # 2 B of each key and each value
    1024000
    """
    return 4 * local_batch_size * sequence_length * kv_width


@formula(cites=())
def busy_collective_time(
    message_bytes: Real,
    start_time: Real,
    wire_time: Real,
    ramp: Real,
    bend_time: Real,
    inner_wire_time: Real,
    outer_wire_time: Real,
    kernel_wire_time: Real,
    inner_share: Real,
    outer_share: Real,
) -> Real:
    r"""Time of a collective of a training step: as on its own, but at most a share of the nominal bandwidth.

    .. math:: T = A + W S + r\sqrt{\frac{W S}{1 + W S / b}}, \quad
        W = \max\left(W_0, \frac{W_i}{s_i}, \min\left(\frac{W_e}{s_e}, W_k\right)\right)

    During computation a collective has fewer channels and shares memory, and its peers come late.  A slow
    transport, which does not reach that share on its own, loses nothing more; nor does the kernel's TCP,
    which whoever spares the kernel its work may use as well.

    Parameters
    ----------
    message_bytes : S [B]
    start_time : A [s]
    wire_time : W_0 [s/B], of one byte, on its own
    ramp : r [s^0.5]
    bend_time : b [s]
    inner_wire_time : W_i [s/B], of one byte at the nominal rate inside a node; 0 for a rank alone in its node
    outer_wire_time : W_e [s/B], at that of the adapters; 0 on one node
    kernel_wire_time : W_k [s/B], on its own by the kernel's TCP over these adapters; 0 on one node
    inner_share : s_i [1], of the nominal rate
    outer_share : s_e [1]

    Returns
    -------
    communication_time [s]

    Examples
    --------
    1 MB that takes 1 ms on its own, at half of a link that could carry it in 0.6 ms; 20 us to start.

    >>> round(busy_collective_time(1e6, 20e-6, 1e-9, 0, 1, 0.6e-9, 0, 0, 0.5, 1) * 1e3, 6)
    1.22

    Adapters that could carry it in 0.9 ms, of which computation leaves 0.6: 1.5 ms, and 1.2 by the kernel.

    >>> round(busy_collective_time(1e6, 0, 1e-9, 0, 1, 0, 0.9e-9, 1.2e-9, 1, 0.6) * 1e3, 6)
    1.2
    """
    outer = ops.minimum(outer_wire_time / outer_share, kernel_wire_time)
    slowest = ops.maximum(inner_wire_time / inner_share, outer)
    wire = ops.maximum(wire_time, slowest) * message_bytes
    return start_time + wire + ramp * ops.sqrt(wire / (1 + wire / bend_time))


@formula(cites="shoeybi2019")
def partly_hidden_time(communication_time: Real, hidden_fraction: Real) -> Real:
    r"""Exposed time of traffic of which a stack hides a share behind products.

    .. math:: t_x = t_c\,(1 - \eta)

    Parameters
    ----------
    communication_time : t_c [s]
    hidden_fraction : eta [1]

    Returns
    -------
    exposed_communication_time [s]

    Examples
    --------
    >>> partly_hidden_time(4.0, 0.25)
    3.0
    """
    return communication_time * (1 - hidden_fraction)


@formula(cites="liu2023")
def beyond_attention_time(communication_time: Real, attention_time: Real, hidden_fraction: Real) -> Real:
    r"""Exposed time of the ring that brings the next blocks during attention on the present ones.

    .. math:: t_x = \max(t_c - \eta\,t_a,\;0)

    Parameters
    ----------
    communication_time : t_c [s], of the ring
    attention_time : t_a [s]
    hidden_fraction : eta [1], of attention during which a ring can run

    Returns
    -------
    exposed_communication_time [s]

    Examples
    --------
    >>> beyond_attention_time(4.0, 2.0, 0.5)
    3.0
    """
    return ops.maximum(communication_time - hidden_fraction * attention_time, 0.0)


@formula(cites=())
def beyond_window_time(communication_time: Real, overlap_window: Real, last_time: Real) -> Real:
    r"""Exposed time of the traffic of a step that overlaps with a window of computation, smoothed.

    .. math:: t_x = t_l + \left(t_w^3 + (t_c - t_l)^3\right)^{1/3} - t_w

    Gradients come in pieces, some too late to hide: a little is left long before traffic outlasts the window.
    Those of the embeddings are there when the backward pass has ended, and nothing hides them.

    Parameters
    ----------
    communication_time : t_c [s]
    overlap_window : t_w [s]
    last_time : t_l [s], of the gradients that are ready last; no longer than t_c

    Returns
    -------
    exposed_communication_time [s]

    Examples
    --------
    Both one second, and half a second after the window: the cube root of 2, less 1, and that half.

    >>> round(beyond_window_time(1.5, 1.0, 0.5), 4)
    0.7599
    """
    within = communication_time - last_time
    longer = ops.maximum(within, overlap_window)
    shorter = ops.minimum(within, overlap_window)
    whole = longer * (1 + (shorter / ops.maximum(longer, 1e-30)) ** 3) ** (1 / 3)
    return whole - overlap_window + last_time
