"""Adapters of low rank (LoRA): what they train of a transformer whose own weights stay as they are.

Validity
--------
Adapters beside the products of attention, of a rank far below the width; weights of the network
frozen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfmodel.core.formula import formula

if TYPE_CHECKING:
    from perfmodel.core.ops import Real


@formula(cites=("hu2021",))
def adapter_parameters(adapter_rank: Real, hidden_size: Real, adapted_width: Real) -> Real:
    r"""Trained parameters of a layer whose four products of attention have adapters.

    .. math:: p = r\,(4h + w)

    Beside a product of a x b an adapter has one of a x r and one of r x b: with queries, keys and values
    a is h and the b add up to their features, with the output a is the features of heads and b is h.

    Parameters
    ----------
    adapter_rank : r [1]
    hidden_size : h [1]
    adapted_width : w [1], features of queries, keys and values, and those that the output takes

    Returns
    -------
    parameters [1]

    Examples
    --------
    GPT-3: h = 12,288, so w = 4 x 12,288, and 8 x 12,288 x r of each of 96 layers; rank 4 trains 37.7 million.

    >>> 96 * adapter_parameters(4, 12_288, 4 * 12_288)
    37748736
    """
    return adapter_rank * (4 * hidden_size + adapted_width)


@formula(cites=("hu2021",))
def frozen_flops_per_token(flops_per_token: Real, parameters: Real) -> Real:
    r"""FLOP of a token where weights get no gradient: two of the six of each parameter are left out.

    .. math:: f' = f - 2P

    Products of the forward pass and the gradients of their inputs stay, and so does all of attention, which
    has no weights.  What adapters compute is left out, as a few per cent.

    Parameters
    ----------
    flops_per_token : f [FLOP], of training all parameters
    parameters : P [1], that a token meets

    Returns
    -------
    flops_per_token [FLOP]

    Examples
    --------
    Seven billion parameters at 6 each, 42 GFLOP: 28 are left.

    >>> frozen_flops_per_token(42e9, 7e9)
    28000000000.0
    """
    return flops_per_token - 2 * parameters
