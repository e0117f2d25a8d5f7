"""Sums of times over layers, and the forward and the backward half of a table of passes.

Validity
--------
Successive passes on one accelerator, which do not overlap; the sums are exact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from perfmodel.core import ops
from perfmodel.core.formula import formula

if TYPE_CHECKING:
    from numpy.typing import NDArray


@formula(cites=(), symbolic=False)
def sum_over_layers(layer_times: Any) -> Any:
    r"""Time of successive passes of layers.

    .. math:: T = \sum_l t_l

    Parameters
    ----------
    layer_times : t_l [s], shape (..., L)

    Returns
    -------
    pass_time [s], a number or shape (...)

    Examples
    --------
    Three passes of 1, 2 and 4 s take 7 s.

    >>> import numpy as np
    >>> sum_over_layers(np.array([1.0, 2.0, 4.0]))
    7.0
    """
    import numpy as np

    total = np.add.reduce(layer_times, axis=-1)
    return total if total.ndim else total.item()


@formula(cites=(), symbolic=False)
def elapsed_times(layer_times: Any) -> NDArray[Any]:
    r"""Elapsed time before each layer, and after the last.

    .. math:: e_l = \sum_{i \le l} t_i, \quad e_0 = 0

    Parameters
    ----------
    layer_times : t_i [s], shape (..., L), in the order in which they run

    Returns
    -------
    elapsed_times [s], shape (..., L + 1)

    Examples
    --------
    >>> elapsed_times([1.0, 2.0, 4.0]).tolist()  # 1, 1 + 2, 1 + 2 + 4
    [0.0, 1.0, 3.0, 7.0]
    """
    import numpy as np

    layer_times = ops.array(layer_times)
    before = np.zeros((*layer_times.shape[:-1], 1))
    elapsed: NDArray[Any] = np.add.accumulate(np.concatenate((before, layer_times), axis=-1), axis=-1)
    return elapsed


@formula(cites=(), symbolic=False)
def forward_passes(layer_times: Any) -> NDArray[Any]:
    r"""Times of the forward passes, which are the first half of a table of passes.

    .. math:: f_l = t_l, \quad l \le L

    Parameters
    ----------
    layer_times : t [s], shape (..., 2 L)

    Returns
    -------
    forward_times [s], shape (..., L)

    Examples
    --------
    Of two layers, the first two of four passes.

    >>> import numpy as np
    >>> forward_passes(np.array([1.0, 2.0, 3.0, 4.0])).tolist()
    [1.0, 2.0]
    """
    half: NDArray[Any] = layer_times[..., : layer_times.shape[-1] // 2]
    return half


@formula(cites=(), symbolic=False)
def backward_passes(layer_times: Any) -> NDArray[Any]:
    r"""Times of the backward passes, which are the second half of a table of passes.

    .. math:: b_l = t_{L + l}

    Parameters
    ----------
    layer_times : t [s], shape (..., 2 L)

    Returns
    -------
    backward_times [s], shape (..., L), in forward order

    Examples
    --------
    Of two layers, the last two of four passes.

    >>> import numpy as np
    >>> backward_passes(np.array([1.0, 2.0, 3.0, 4.0])).tolist()
    [3.0, 4.0]
    """
    half: NDArray[Any] = layer_times[..., layer_times.shape[-1] // 2 :]
    return half


@formula(cites=(), symbolic=False)
def time_by_flops(pass_time: Any, flops_per_sample: Any) -> NDArray[Any]:
    r"""Time of each layer in a pass of all layers, in proportion to its arithmetic.

    .. math:: t_l = t \frac{f_l}{\sum_i f_i}

    Parameters
    ----------
    pass_time : t [s], of all layers, a number or shape (..., 1)
    flops_per_sample : f [FLOP], shape (L,)

    Returns
    -------
    layer_times [s], shape (..., L)

    Examples
    --------
    >>> import numpy as np
    >>> time_by_flops(4.0, np.array([1.0, 0.0, 3.0])).tolist()
    [1.0, 0.0, 3.0]
    """
    layer_times: NDArray[Any] = pass_time * (flops_per_sample / flops_per_sample.sum())
    return layer_times
