"""Parameters, FLOPs and utilisation of transformers, in closed form."""

from perfmodel.formula import formula
from perfmodel.ops import Real


@formula(cites="narayanan2021")
def transformer_parameters(
    layers: Real, hidden_size: Real, vocabulary_size: Real, sequence_length: Real
) -> Real:
    r"""Parameters of a GPT with feed-forward width 4h, learned positions and tied embeddings.

    .. math:: \Psi = 12 l h^2 \left(1 + \frac{13}{12 h} + \frac{V + s}{12 l h}\right)

    A layer has 4 h^2 weights in attention, 8 h^2 in the feed-forward part, 13 h biases and norms; the
    embeddings have V + s rows.  The last norm, 2 h, is left out (Narayanan et al. 2021, eq. 2).

    Parameters
    ----------
    layers : l [1]
    hidden_size : h [1]
    vocabulary_size : V [1]
    sequence_length : s [tokens], the positions that are learned

    Returns
    -------
    parameters [1]

    Examples
    --------
    1 layer of width 10, 100 words, 20 positions: 1200 weights, 130 biases and norms, 1200 embeddings.

    >>> round(transformer_parameters(1, 10, 100, 20))
    2530
    """
    return (
        12
        * layers
        * hidden_size**2
        * (1 + 13 / (12 * hidden_size) + (vocabulary_size + sequence_length) / (12 * layers * hidden_size))
    )


@formula(cites="narayanan2021")
def transformer_iteration_flops(
    global_batch_size: Real,
    sequence_length: Real,
    layers: Real,
    hidden_size: Real,
    vocabulary_size: Real,
) -> Real:
    r"""FLOP of one iteration of a GPT, nothing recomputed.

    .. math:: F = 72 B s l h^2 \left(1 + \frac{s}{6 h} + \frac{V}{12 l h}\right)

    A token costs 24 h^2 + 4 s h per layer and 2 V h for its logits, forward; three times that with the
    backward pass.  All s^2 scores are counted, causal or not.

    Parameters
    ----------
    global_batch_size : B [samples]
    sequence_length : s [tokens]
    layers : l [1]
    hidden_size : h [1]
    vocabulary_size : V [1]

    Returns
    -------
    iteration_flops [FLOP]

    Examples
    --------
    1 sample of 10 tokens, 1 layer of width 10, 100 words: 3 x 10 x (2400 + 400 + 2000).

    >>> round(transformer_iteration_flops(1, 10, 1, 10, 100))
    144000
    """
    return (
        72
        * global_batch_size
        * sequence_length
        * layers
        * hidden_size**2
        * (1 + sequence_length / (6 * hidden_size) + vocabulary_size / (12 * layers * hidden_size))
    )


@formula(cites="narayanan2021")
def transformer_recomputed_iteration_flops(
    global_batch_size: Real,
    sequence_length: Real,
    layers: Real,
    hidden_size: Real,
    vocabulary_size: Real,
) -> Real:
    r"""FLOP of one iteration of a GPT that runs the forward pass of every layer twice.

    .. math:: F = 96 B s l h^2 \left(1 + \frac{s}{6 h} + \frac{V}{16 l h}\right)

    Layers cost four forward passes instead of three; the logits are not recomputed, which is why their
    denominator differs (Narayanan et al. 2021, eq. 3).

    Parameters
    ----------
    global_batch_size : B [samples]
    sequence_length : s [tokens]
    layers : l [1]
    hidden_size : h [1]
    vocabulary_size : V [1]

    Returns
    -------
    iteration_flops [FLOP]

    Examples
    --------
    1 sample of 10 tokens, 1 layer of width 10, 100 words: 10 x (4 x 2800 + 3 x 2000).

    >>> round(transformer_recomputed_iteration_flops(1, 10, 1, 10, 100))
    172000
    """
    return (
        96
        * global_batch_size
        * sequence_length
        * layers
        * hidden_size**2
        * (1 + sequence_length / (6 * hidden_size) + vocabulary_size / (16 * layers * hidden_size))
    )


@formula(cites="narayanan2021")
def general_transformer_iteration_flops(
    global_batch_size: Real,
    sequence_length: Real,
    layers: Real,
    hidden_size: Real,
    vocabulary_size: Real,
    query_width_ratio: Real,
    kv_head_ratio: Real,
    feed_forward_ratio: Real,
    active_experts: Real,
    gate_factor: Real,
) -> Real:
    r"""FLOP of one iteration with grouped queries, gated or routed feed-forward parts, nothing recomputed.

    .. math:: F = 12 B s l h^2 \left[\left(1 + q + \frac{s}{h}\right) r + f k G + \frac{V}{2 l h}\right]

    With r = q = k = G = 1 and f = 4 this is the plain GPT.  All s^2 scores are counted.

    Parameters
    ----------
    global_batch_size : B [samples]
    sequence_length : s [tokens]
    layers : l [1]
    hidden_size : h [1]
    vocabulary_size : V [1]
    query_width_ratio : r [1], heads times head size over hidden size
    kv_head_ratio : q [1], key-value heads over query heads
    feed_forward_ratio : f [1], feed-forward width over hidden size
    active_experts : k [1], experts a token passes through
    gate_factor : G [1], 3/2 if gated, else 1

    Returns
    -------
    iteration_flops [FLOP]

    Examples
    --------
    The plain GPT of 1 layer of width 10, 100 words, 10 tokens: 12 x 10 x 100 x (3 + 4 + 5).

    >>> round(general_transformer_iteration_flops(1, 10, 1, 10, 100, 1, 1, 4, 1, 1))
    144000
    """
    attention = (1 + kv_head_ratio + sequence_length / hidden_size) * query_width_ratio
    feed_forward = feed_forward_ratio * active_experts * gate_factor
    logits = vocabulary_size / (2 * layers * hidden_size)
    return (
        12
        * global_batch_size
        * sequence_length
        * layers
        * hidden_size**2
        * (attention + feed_forward + logits)
    )


@formula(cites="chowdhery2022")
def model_flops_per_token(
    parameters: Real, layers: Real, heads: Real, head_size: Real, sequence_length: Real
) -> Real:
    r"""FLOP to train on one token, recomputation left out.

    .. math:: F_t = 6 \Psi + 12 l a d s

    Six per parameter, and twelve per layer, head, head feature and position for scores and weighted sum
    (Chowdhery et al. 2022, appendix B); all scores are counted, causal or not.

    Parameters
    ----------
    parameters : Psi [1]
    layers : l [1]
    heads : a [1]
    head_size : d [1]
    sequence_length : s [tokens]

    Returns
    -------
    flops_per_token [FLOP]

    Examples
    --------
    1000 parameters, 2 layers, 2 heads of 5, 10 tokens: 6000 + 12 x 200.

    >>> model_flops_per_token(1000, 2, 2, 5, 10)
    8400
    """
    return 6 * parameters + 12 * layers * heads * head_size * sequence_length


@formula(cites="chowdhery2022")
def hardware_flops_per_token(flops_per_token: Real, recomputed_fraction: Real) -> Real:
    r"""FLOP the accelerators run for one token, recomputation counted.

    .. math:: F_h = F_t \left(1 + \frac{c}{3}\right)

    The forward pass is a third of the model's FLOP; c is the share of it that runs again.

    Parameters
    ----------
    flops_per_token : F_t [FLOP]
    recomputed_fraction : c [1], 1 for full recomputation

    Returns
    -------
    hardware_flops_per_token [FLOP]

    Examples
    --------
    All of the forward pass again: a third more.

    >>> hardware_flops_per_token(3, 1)
    4.0
    """
    return flops_per_token * (1 + recomputed_fraction / 3)


@formula(cites="chowdhery2022")
def model_flops_utilization(
    flops_per_token: Real, tokens_per_second: Real, world_size: Real, peak_flops: Real
) -> Real:
    r"""Share of the peak that goes into the model.

    .. math:: U = \frac{F_t R_t}{n F_p}

    With the FLOP of the hardware in place of those of the model this is the hardware's utilisation.

    Parameters
    ----------
    flops_per_token : F_t [FLOP]
    tokens_per_second : R_t [1/s], the whole job
    world_size : n [1]
    peak_flops : F_p [FLOP/s]

    Returns
    -------
    mfu [1]

    Examples
    --------
    2 GFLOP a token, 1000 tokens a second, 4 accelerators of 1 TFLOP/s: 2 of 4 TFLOP/s.

    >>> model_flops_utilization(2e9, 1000, 4, 1e12)
    0.5
    """
    return flops_per_token * tokens_per_second / (world_size * peak_flops)
