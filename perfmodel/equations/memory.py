"""Memory on one accelerator in data-parallel training."""

from perfmodel import ops
from perfmodel.formula import formula
from perfmodel.ops import Real


@formula(cites="rajbhandari2020")
def training_memory_bytes(
    parameters: Real,
    state_bytes_per_parameter: Real,
    local_batch_size: Real,
    activation_bytes_per_sample: Real,
    reserved_bytes: Real,
) -> Real:
    r"""Memory of one training step: model states, activations, and what the framework keeps.

    .. math:: M = \Psi k + b\,A + M_0

    fp32 SGD with momentum keeps weight, gradient and momentum: k = 12 B; Adam k = 16 B, with
    half-precision copies as well: 2 + 2 + 12 = 16 B (Rajbhandari et al. 2020).

    Parameters
    ----------
    parameters : Psi [1]
    state_bytes_per_parameter : k [B]
    local_batch_size : b [samples]
    activation_bytes_per_sample : A [B], kept from the forward for the backward pass
    reserved_bytes : M_0 [B], context, libraries, workspace, communication buffers

    Returns
    -------
    memory [B]

    Examples
    --------
    1 million parameters at 12 B, 10 samples of 2 MB, 1 MB reserved: 12 + 20 + 1 MB.

    >>> training_memory_bytes(1e6, 12, 10, 2e6, 1e6)
    33000000.0
    """
    return (
        parameters * state_bytes_per_parameter
        + local_batch_size * activation_bytes_per_sample
        + reserved_bytes
    )


@formula(cites="rajbhandari2020")
def largest_local_batch_size(
    memory_bytes: Real,
    parameters: Real,
    state_bytes_per_parameter: Real,
    activation_bytes_per_sample: Real,
    reserved_bytes: Real,
) -> Real:
    r"""Largest batch whose training step fits; 0 where the model alone does not.

    .. math:: b = \max\left(0, \left\lfloor \frac{M - \Psi k - M_0}{A} \right\rfloor\right)

    Parameters
    ----------
    memory_bytes : M [B], what one accelerator has
    parameters : Psi [1]
    state_bytes_per_parameter : k [B]
    activation_bytes_per_sample : A [B]
    reserved_bytes : M_0 [B]

    Returns
    -------
    local_batch_size [samples], whole

    Examples
    --------
    34 MB less 12 MB of states and 1 MB reserved leave 21 MB: ten samples of 2 MB.

    >>> largest_local_batch_size(34e6, 1e6, 12, 2e6, 1e6)
    10
    """
    free = memory_bytes - parameters * state_bytes_per_parameter - reserved_bytes
    return ops.maximum(0, ops.floor(free / activation_bytes_per_sample))
