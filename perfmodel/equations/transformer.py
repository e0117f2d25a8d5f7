"""FLOPs and utilisation of transformers, in closed form.

Validity
--------
Decoder and encoder blocks whose FLOP are matrix products; norms and softmax are left out.
"""

from perfmodel.core.formula import formula
from perfmodel.core.ops import Real


@formula(cites="jiang2023")
def attended_positions(window: Real, sequence_length: Real) -> Real:
    r"""Positions that a query attends to under a causal mask, the mean over a sequence.

    .. math:: c = w - \frac{w (w - 1)}{2 s}

    The i-th of s queries attends to the last w positions up to its own, or to i where there are no more
    (Jiang et al. 2023, section 2).  Without a window w is s, and c is (s + 1) / 2.

    Parameters
    ----------
    window : w [tokens], at most s
    sequence_length : s [tokens]

    Returns
    -------
    attended_positions [tokens]

    Examples
    --------
    Of 4 queries each attends to 1, 2, 3 and 4 positions; within a window of 2 to 1, 2, 2 and 2.

    >>> attended_positions(4, 4), attended_positions(2, 4)
    (2.5, 1.75)
    """
    return window - window * (window - 1) / (2 * sequence_length)


@formula(cites="chowdhery2022")
def model_flops_per_token(
    parameters: Real, layers: Real, heads: Real, head_size: Real, attended_positions: Real
) -> Real:
    r"""FLOP to train on one token, recomputation left out.

    .. math:: F_t = 6 \Psi + 12 l a d c

    Six per parameter, and twelve per layer, head, head feature and position for scores and weighted sum
    (Chowdhery et al. 2022, appendix B).  What is computed has the parameters of products, no table of
    embeddings among them, and the positions that a mask leaves; publications count all of both.

    Parameters
    ----------
    parameters : Psi [1]
    layers : l [1]
    heads : a [1]
    head_size : d [1], the mean of keys' and values'
    attended_positions : c [tokens], by a query, the mean over layers and queries

    Returns
    -------
    flops_per_token [FLOP]

    Examples
    --------
    1000 parameters, 2 layers, 2 heads of 5, 10 positions: 6000 + 12 x 200.

    >>> model_flops_per_token(1000, 2, 2, 5, 10)
    8400
    """
    return 6 * parameters + 12 * layers * heads * head_size * attended_positions


@formula(cites="hoffmann2022")
def compute_optimal_tokens(parameters: Real) -> Real:
    r"""Tokens at which a network of some size makes the most of its training FLOP.

    .. math:: D = 20 \Psi

    Tokens grow as parameters do (Hoffmann et al. 2022, section 3); 20 for each are those of Chinchilla, 1.4
    trillion for 70 billion.  More are no waste where many will use the network, which is then smaller.

    Parameters
    ----------
    parameters : Psi [1]

    Returns
    -------
    training_tokens [tokens]

    Examples
    --------
    70 billion parameters.

    >>> compute_optimal_tokens(70e9)
    1400000000000.0
    """
    return 20 * parameters


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
