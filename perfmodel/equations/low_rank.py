"""Low-rank adapters (LoRA): trained parameters and FLOP of a transformer whose own weights are frozen.

Validity
--------
Adapters of a rank far below the width; the network's own weights are frozen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfmodel.core.formula import formula

if TYPE_CHECKING:
    from perfmodel.core.ops import Real


@formula(cites=("hu2021",))
def adapter_parameters(adapter_rank: Real, adapted_width: Real) -> Real:
    r"""Trained parameters of a layer some of whose products have adapters.

    .. math:: p = r\,w

    The adapter of an a x b product consists of an a x r and an r x b product; w is the sum of a + b over the
    products that have one.

    Parameters
    ----------
    adapter_rank : r [1]
    adapted_width : w [1], features that the adapted products take and make

    Returns
    -------
    parameters [1]

    Examples
    --------
    GPT-3: h = 12,288, and four products of attention with 2 h each in each of 96 layers; rank 4 trains 37.7
    million.

    >>> 96 * adapter_parameters(4, 4 * 2 * 12_288)
    37748736
    """
    return adapter_rank * adapted_width


@formula(cites=("hu2021",))
def frozen_flops_per_token(flops_per_token: Real, parameters: Real) -> Real:
    r"""FLOP of a token if weights have no gradient: four instead of six for each parameter.

    .. math:: f' = f - 2P

    The forward pass and the gradients of inputs remain, as does all of attention, which has no weights.  The
    adapters' own arithmetic, a few per cent, is not included.

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
