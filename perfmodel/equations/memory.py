"""Memory on one accelerator in data-parallel training.

Validity
--------
Data-parallel training without sharding and without recomputation of activations; the framework's own
memory is a constant.
"""

from perfmodel.core import ops
from perfmodel.core.formula import formula
from perfmodel.core.ops import Real


@formula(cites="rajbhandari2020")
def parameter_memory_bytes(parameters: Real, bytes_per_parameter: Real) -> Real:
    r"""Memory of values that are kept for every parameter, such as weights, gradients and moments.

    .. math:: W = \Psi k

    fp32 SGD with momentum keeps weight, gradient and momentum: 4 B each; Adam a second moment, and with
    half-precision copies as well 2 + 2 + 12 = 16 B (Rajbhandari et al. 2020).

    Parameters
    ----------
    parameters : Psi [1]
    bytes_per_parameter : k [B]

    Returns
    -------
    memory [B]

    Examples
    --------
    The two moments that Adam keeps of 1 million parameters, 4 B each.

    >>> parameter_memory_bytes(1e6, 8)
    8000000.0
    """
    return parameters * bytes_per_parameter


@formula(cites="rajbhandari2020")
def activation_memory_bytes(local_batch_size: Real, activation_bytes_per_sample: Real) -> Real:
    r"""Memory of the activations of one micro-batch, kept from the forward to the backward pass.

    .. math:: M_a = b\,A

    Parameters
    ----------
    local_batch_size : b [samples]
    activation_bytes_per_sample : A [B]

    Returns
    -------
    memory [B]

    Examples
    --------
    10 samples of 2 MB.

    >>> activation_memory_bytes(10, 2e6)
    20000000.0
    """
    return local_batch_size * activation_bytes_per_sample


@formula(cites="pytorch-memory-stats")
def allocator_bytes(allocated_bytes: Real, allocator_share: Real) -> Real:
    r"""Memory that a caching allocator loses to rounding and between blocks.

    .. math:: M_f = f\,M_t

    Parameters
    ----------
    allocated_bytes : M_t [B]
    allocator_share : f [1]

    Returns
    -------
    memory [B]

    Examples
    --------
    A twentieth of 20 GB of tensors.

    >>> allocator_bytes(20e9, 0.05)
    1000000000.0
    """
    return allocator_share * allocated_bytes


@formula(cites="rajbhandari2020", symbolic=False)
def training_memory_bytes(**memory_rows: Real) -> Real:
    r"""Memory of one training step: model states, activations, and the framework's own.

    .. math:: M = \sum_i M_i

    Parameters
    ----------
    memory_rows : M_i [B], by name

    Returns
    -------
    memory [B]

    Examples
    --------
    12 MB of states, 20 MB of activations and 1 MB reserved.

    >>> training_memory_bytes(states=12e6, activations=20e6, reserved=1e6)
    33000000.0
    """
    return sum(memory_rows.values())


@formula(cites="rajbhandari2020")
def largest_local_batch_size(
    memory_bytes: Real, fixed_bytes: Real, activation_bytes_per_sample: Real
) -> Real:
    r"""Largest batch size whose training step fits into memory; 0 if the model alone does not.

    .. math:: b = \max\left(0, \left\lfloor \frac{M - M_0}{A} \right\rfloor\right)

    Parameters
    ----------
    memory_bytes : M [B], of one accelerator
    fixed_bytes : M_0 [B], independent of the batch size
    activation_bytes_per_sample : A [B]

    Returns
    -------
    local_batch_size [samples], whole

    Examples
    --------
    34 MB less 12 MB of states and 1 MB reserved leave 21 MB: ten samples of 2 MB.

    >>> largest_local_batch_size(34e6, 13e6, 2e6)
    10
    """
    return ops.maximum(0, ops.floor((memory_bytes - fixed_bytes) / activation_bytes_per_sample))
