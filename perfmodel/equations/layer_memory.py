"""Memory of experts, and of the backward passes of a transformer's layer and of its output head.

Validity
--------
16-bit activations of Megatron-Core's or PyTorch's modules, one kernel for each gated activation function.
"""

from __future__ import annotations

from perfmodel.core.formula import formula
from perfmodel.core.ops import Real


@formula(cites=("korthikanti2022", "megatron-experts"))
def expert_activation_bytes(
    tokens: Real,
    hidden_size: Real,
    top_k: Real,
    experts: Real,
    product_width: Real,
    tensor_parallel: Real,
    weighted_later: Real,
) -> Real:
    r"""Bytes that one rank keeps of a layer's routed experts for its backward pass, 16-bit.

    .. math:: A = T\left(2 k h\,(1 + u) + \frac{2 k w}{t} + 4 E\right)

    Each of the k experts of a token reads a copy of it (2 h), and keeps what its products make and read (2 w;
    of a gated expert, both halves of the first product and the input of the last: w = 3 f).  Outputs (2 h)
    stay where the router's weight is applied to them (u = 1), not where it is applied inside an expert.  The
    router keeps its scores in fp32.

    Parameters
    ----------
    tokens : T [tokens], that the rank routes; as many come from others
    hidden_size : h [1]
    top_k : k [1], experts of a token
    experts : E [1]
    product_width : w [1], features that one expert's products make or read, beyond the hidden ones
    tensor_parallel : t [1], ranks that split each expert
    weighted_later : u [1], 1 where outputs are weighted after the experts, else 0

    Returns
    -------
    activation_bytes [B]

    Examples
    --------
    10 tokens of width 10, two of eight experts, w = 30, weighted inside: 10 x (40 + 120 + 32).

    >>> expert_activation_bytes(10, 10, 2, 8, 30, 1, 0)
    1920.0
    """
    copies = 2 * top_k * hidden_size * (1 + weighted_later)
    return tokens * (copies + 2 * top_k * product_width / tensor_parallel + 4 * experts)


@formula(cites="korthikanti2022")
def working_bytes(
    tokens: Real, hidden_size: Real, sequence_shards: Real, gradient_width: Real, tensor_parallel: Real
) -> Real:
    r"""Bytes of gradients of activations at the fullest in the backward pass of a layer, 16-bit.

    .. math:: A = T\left(\frac{2 h}{n_q} + \frac{2 w}{t}\right)

    The feed-forward part is the widest: when its activation function goes back, the gradient of what the
    first product made (w) has taken the place of the last product's input, and that of the layer's output (h)
    waits for the residual.

    Parameters
    ----------
    tokens : T [tokens], of one rank
    hidden_size : h [1]
    sequence_shards : n_q [1], ranks that share the tokens between products
    gradient_width : w [1], features of the first product
    tensor_parallel : t [1]

    Returns
    -------
    activation_bytes [B]

    Examples
    --------
    10 tokens of width 10, a gated part of 2 x 30: 10 x (20 + 120).

    >>> working_bytes(10, 10, 1, 60, 1)
    1400.0
    """
    return 2 * tokens * (hidden_size / sequence_shards + gradient_width / tensor_parallel)


@formula(cites="transformer-engine")
def placeholder_bytes(local_parameters: Real) -> Real:
    r"""Bytes of placeholders for gradients that products add to the main gradients themselves.

    .. math:: M = 2\,\Psi

    Autograd wants a gradient of each weight.  Transformer Engine returns an empty 16-bit tensor, one for
    each shape of a weight, which it keeps and shares between layers.

    Parameters
    ----------
    local_parameters : Psi [1], of one weight of each shape on the rank

    Returns
    -------
    memory [B]

    Examples
    --------
    >>> placeholder_bytes(0.8e9) / 1e9
    1.6
    """
    return 2 * local_parameters


@formula(cites="megatron-experts")
def head_backward_bytes(tokens: Real, hidden_size: Real, words: Real, local_parameters: Real) -> Real:
    r"""Bytes of the backward pass of the output head.

    .. math:: A = 2\,T\,(W + 2 h) + 2\,\Psi

    Gradients of logits, the head's input and its gradient, and the gradient of its weight or a placeholder
    for it, all 16-bit.

    Parameters
    ----------
    tokens : T [tokens], of one rank
    hidden_size : h [1]
    words : W [1], of the vocabulary, that one rank has logits for
    local_parameters : Psi [1], of the head on one rank

    Returns
    -------
    activation_bytes [B]

    Examples
    --------
    10 tokens of width 10, 100 words: 20 x 120 + 2000.

    >>> head_backward_bytes(10, 10, 100, 1000)
    4400
    """
    return 2 * tokens * (words + 2 * hidden_size) + 2 * local_parameters


@formula(cites=("korthikanti2022", "deepseek2024v3"))
def module_activation_bytes(
    tokens: Real,
    hidden_width: Real,
    sequence_shards: Real,
    product_width: Real,
    tensor_parallel: Real,
    copied_width: Real,
    value_bytes: Real,
) -> Real:
    r"""Bytes of some of a layer's activations on one rank: of a module, or of what is kept in one format.

    .. math:: A = e\,T\left(\frac{w_h}{n_q} + \frac{w}{t} + w_c\right)

    A module that is computed again keeps so many bytes less.

    Parameters
    ----------
    tokens : T [tokens], of one rank
    hidden_width : w_h [1], features between products, as norms make them
    sequence_shards : n_q [1], ranks that share the tokens between products
    product_width : w [1], features that products make or read inside the module
    tensor_parallel : t [1]
    copied_width : w_c [1], features of copies of a token for its experts
    value_bytes : e [B], of each value as it is kept

    Returns
    -------
    activation_bytes [B]

    Examples
    --------
    Two norms of width 10 for 10 tokens, in 16 and in 8 bits.

    >>> module_activation_bytes(10, 20, 1, 0, 1, 0, 2), module_activation_bytes(10, 20, 1, 0, 1, 0, 1)
    (400.0, 200.0)
    """
    width = hidden_width / sequence_shards + product_width / tensor_parallel + copied_width
    return value_bytes * tokens * width


@formula(cites="pytorch-rms-norm")
def unfused_activation_bytes(
    tokens: Real, hidden_size: Real, sequence_shards: Real, gate_width: Real, tensor_parallel: Real
) -> Real:
    r"""Bytes that one rank keeps of a layer because its small operations are kernels of their own.

    .. math:: A = T\left(\frac{8 h}{n_q} + \frac{2 f}{t}\right)

    Each of two RMSNorms keeps its input in fp32, and a gated feed-forward part what its gate's activation
    function makes.  Rotated queries and keys need no more, since the angles have no gradient.

    Parameters
    ----------
    tokens : T [tokens], of one rank
    hidden_size : h [1]
    sequence_shards : n_q [1], ranks that share the tokens between products
    gate_width : f [1], inner features of a gated feed-forward part; 0 of another
    tensor_parallel : t [1]

    Returns
    -------
    activation_bytes [B]

    Examples
    --------
    10 tokens of width 10, a gate of 30, one rank: 10 x (80 + 60).

    >>> unfused_activation_bytes(10, 10, 1, 30, 1)
    1400.0
    """
    return tokens * (8 * hidden_size / sequence_shards + 2 * gate_width / tensor_parallel)
