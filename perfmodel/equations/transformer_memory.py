"""Memory of a transformer on one rank under model parallelism: states, activations, logits.

Validity
--------
16-bit activations of layers as Megatron-Core, FSDP or torchtitan keep them, fused attention;
fragments and a framework's own buffers come on top as one constant.
"""

from __future__ import annotations

from perfmodel.core import ops
from perfmodel.core.formula import formula
from perfmodel.core.ops import Real


@formula(cites="rajbhandari2020")
def sharded_memory_bytes(local_parameters: Real, bytes_per_parameter: Real, shards: Real) -> Real:
    r"""Memory of a state that is kept for every parameter, sharded over ranks.

    .. math:: M = \frac{\Psi\,k}{n_s}

    ZeRO 1 shares the states of the optimizer, ZeRO 2 gradients too, ZeRO 3 weights too (Rajbhandari et al.
    2020, table 1).

    Parameters
    ----------
    local_parameters : Psi [1], of the rank's part of the model
    bytes_per_parameter : k [B]
    shards : n_s [1], ranks that share it

    Returns
    -------
    memory [B]

    Examples
    --------
    Adam's 12 B of 7.5 billion parameters on 64 ranks.

    >>> sharded_memory_bytes(7.5e9, 12, 64) / 1e9
    1.40625
    """
    return local_parameters * bytes_per_parameter / shards


@formula(cites="korthikanti2022")
def layer_activation_bytes(
    tokens: Real,
    hidden_size: Real,
    sequence_shards: Real,
    product_width: Real,
    tensor_parallel: Real,
    scores_per_token: Real,
) -> Real:
    r"""Bytes that one rank keeps of one layer for its backward pass, 16-bit.

    .. math:: A = T\left(\frac{10 h}{n_q} + \frac{2 w}{t} + \frac{5 n_s}{t}\right)

    Of a GPT w is 12 h (queries, keys, values, their sum, and 8 h of a feed-forward part of 4 h), which gives
    T h (10 + 24/t + 5 a s/(h t)) (Korthikanti et al. 2022, eq. 2); with sequence parallelism n_q is t.

    Parameters
    ----------
    tokens : T [tokens], of one rank
    hidden_size : h [1]
    sequence_shards : n_q [1], ranks that share the tokens between products
    product_width : w [1], features that the layer's products make or read, beyond the hidden ones
    tensor_parallel : t [1]
    scores_per_token : n_s [1], scores kept for each token; 0 where attention is fused or computed again

    Returns
    -------
    activation_bytes [B]

    Examples
    --------
    10 tokens of width 10, w = 120, two heads of 10 positions, one rank: 100 x (10 + 24 + 10).

    >>> layer_activation_bytes(10, 10, 1, 120, 1, 20)
    4400.0
    """
    shared = (2 * product_width + 5 * scores_per_token) / tensor_parallel
    return tokens * (10 * hidden_size / sequence_shards + shared)


@formula(cites="korthikanti2022")
def checkpoint_bytes(tokens: Real, hidden_size: Real, sequence_shards: Real) -> Real:
    r"""Bytes that one rank keeps of a layer that is computed again: its input.

    .. math:: A = \frac{2\,T\,h}{n_q}

    Parameters
    ----------
    tokens : T [tokens], of one rank
    hidden_size : h [1]
    sequence_shards : n_q [1]

    Returns
    -------
    activation_bytes [B]

    Examples
    --------
    >>> checkpoint_bytes(10, 10, 1)
    200.0
    """
    return 2 * tokens * hidden_size / sequence_shards


@formula(cites="liang2024")
def product_checkpoint_bytes(
    tokens: Real,
    hidden_size: Real,
    sequence_shards: Real,
    value_width: Real,
    product_width: Real,
    tensor_parallel: Real,
) -> Real:
    r"""Bytes that one rank keeps of a layer of which every second product is computed again.

    .. math:: A = T\left(\frac{4 h}{n_q} + \frac{2 w_v + w}{t}\right)

    Kept are the layer's input, what attention makes, and half of what products make: of w features inside
    the layer, and of its two outputs (torchtitan's selective checkpoints; Liang et al. 2024, section 3.1.4).

    Parameters
    ----------
    tokens : T [tokens], of one rank
    hidden_size : h [1]
    sequence_shards : n_q [1], ranks that share the tokens between products
    value_width : w_v [1], features that attention makes
    product_width : w [1], features that products make inside the layer: queries, keys, values, feed-forward
    tensor_parallel : t [1]

    Returns
    -------
    activation_bytes [B]

    Examples
    --------
    10 tokens of width 10, values of 10, 70 features of products, one rank: 10 x (40 + 20 + 70).

    >>> product_checkpoint_bytes(10, 10, 1, 10, 70, 1)
    1300.0
    """
    return tokens * (4 * hidden_size / sequence_shards + (2 * value_width + product_width) / tensor_parallel)


@formula(cites="pytorch-zero-grad")
def fresh_gradient_bytes(gradient_bytes: Real, recomputed_bytes: Real, activation_bytes: Real) -> Real:
    r"""Bytes of gradients at the peak of a step that begins without any.

    .. math:: M = \max(0,\; S + A_r - A)

    Gradients take the place of activations as the backward pass frees them, so memory is fullest before it,
    with all activations, or after it, with all gradients and the last layer that was computed again.

    Parameters
    ----------
    gradient_bytes : S [B]
    recomputed_bytes : A_r [B], of one layer; 0 where none is computed again
    activation_bytes : A [B], with logits, when they are fullest

    Returns
    -------
    memory [B], above the activations at their fullest

    Examples
    --------
    16 GB of gradients, 10 GB of activations: the peak is after the backward pass.

    >>> fresh_gradient_bytes(16e9, 0, 10e9) / 1e9
    6.0
    """
    return ops.maximum(gradient_bytes + recomputed_bytes - activation_bytes, 0.0)


@formula(cites=("narayanan2021", "korthikanti2022"))
def micro_batches_kept(
    accumulation_steps: Real, pipeline_parallel: Real, virtual_stages: Real, interleaved: Real
) -> Real:
    r"""Micro-batches of a stage's layers whose activations the first stage keeps at once.

    .. math:: k = \min\left(m,\; p + i\,\frac{p - 1}{v}\right)

    1F1B keeps one for each stage behind, itself included, if there are as many; interleaving keeps some
    chunks more (Korthikanti et al. 2022, section 4.2.3).

    Parameters
    ----------
    accumulation_steps : m [1], micro-batches
    pipeline_parallel : p [1]
    virtual_stages : v [1]
    interleaved : i [1], 1 with several chunks on each stage, else 0

    Returns
    -------
    micro_batches [1]

    Examples
    --------
    Four stages of two chunks: 4 + 3/2, but of four micro-batches no more than these.

    >>> micro_batches_kept(8, 4, 2, 1), micro_batches_kept(4, 4, 2, 1)
    (5.5, 4)
    """
    most = pipeline_parallel + interleaved * (pipeline_parallel - 1) / virtual_stages
    return ops.minimum(accumulation_steps, most)


@formula(cites=("narayanan2021", "korthikanti2022"))
def last_micro_batches_kept(pipeline_parallel: Real, virtual_stages: Real) -> Real:
    r"""Micro-batches of a stage's layers whose activations the last stage keeps at once.

    .. math:: k = \frac{(v - 1)\,p + 1}{v}

    The last stage begins to go back as soon as its last chunk has seen a micro-batch; with several chunks the
    others have seen as many as there are stages by then.

    Parameters
    ----------
    pipeline_parallel : p [1]
    virtual_stages : v [1]

    Returns
    -------
    micro_batches [1]

    Examples
    --------
    One chunk: one. Two chunks of four stages: (4 + 1) / 2.

    >>> last_micro_batches_kept(4, 1), last_micro_batches_kept(4, 2)
    (1.0, 2.5)
    """
    return ((virtual_stages - 1) * pipeline_parallel + 1) / virtual_stages


@formula(cites="pytorch-pipelining")
def stage_boundary_bytes(
    boundary_bytes: Real, received_chunks: Real, sending_chunks: Real, accumulation_steps: Real, sent: Real
) -> Real:
    r"""Bytes of what a pipeline stage receives and sends, where buffers are not used again.

    .. math:: A = S\left(v_r\,m + v_s\,(m + n_s)\right)

    ``torch.distributed.pipelining`` has a buffer for the input of each micro-batch on every chunk but the
    first of all, and one for its gradient on every chunk but the last; outputs stay until their gradients
    are back.

    Parameters
    ----------
    boundary_bytes : S [B], activations of one micro-batch between two stages
    received_chunks : v_r [1], chunks of the stage that receive inputs
    sending_chunks : v_s [1], chunks that send outputs, and receive gradients
    accumulation_steps : m [1], micro-batches
    sent : n_s [1], of them, whose gradients are not back yet

    Returns
    -------
    activation_bytes [B]

    Examples
    --------
    A first stage of one chunk: gradients of eight micro-batches, outputs of four.

    >>> stage_boundary_bytes(10.0, 0, 1, 8, 4)
    120.0
    """
    return boundary_bytes * (
        received_chunks * accumulation_steps + sending_chunks * (accumulation_steps + sent)
    )
