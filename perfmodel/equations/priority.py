"""Iteration time if the gradients that the next forward pass needs first are sent first.

Validity
--------
Messages that can be interrupted at any byte without cost, in the steady state of many iterations: a lower
bound for any order of messages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from perfmodel.core import ops
from perfmodel.core.formula import formula

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@formula(cites=("jayarajan2019", "peng2019"), symbolic=False)
def priority_iteration_time(
    forward_times: Any, backward_times: Any, communication_times: Any
) -> NDArray[np.float64]:
    r"""Steady-state time of one iteration with messages that can be interrupted at any byte.

    .. math:: T = \max\left(\sum_i (f_i + b_i),
              \ \max_i\left(\sum_{j \ge i}(f_j + b_j) + \sum_{j \le i} c_j\right)\right)

    Layers are in forward order here.  The forward pass of layer i waits for its own gradient and for those of
    the layers before, which are sent first.  No schedule on one network is faster.

    Parameters
    ----------
    forward_times : f [s], shape (..., L), in forward order
    backward_times : b [s], shape (..., L), in forward order
    communication_times : c [s], shape (..., L), in forward order

    Returns
    -------
    iteration_time [s], shape (...)

    Examples
    --------
    Four layers, forward 1 s, backward 2 s, messages 0.5, 1, 2, 4 s: the last
    layer computes 3 s, is sent after all others, 7.5 s; from the third on it is
    6 + 3.5, from the second 9 + 1.5, and from the first 12 + 0.5.

    >>> float(priority_iteration_time([1, 1, 1, 1], [2, 2, 2, 2], [0.5, 1, 2, 4]))
    12.5
    """
    import numpy as np

    compute = ops.array(forward_times) + ops.array(backward_times)
    communication = ops.array(communication_times)
    from_here_on = np.cumsum(compute[..., ::-1], axis=-1)[..., ::-1]
    up_to_here = np.cumsum(communication, axis=-1)
    period: NDArray[np.float64] = np.maximum(from_here_on[..., 0], np.max(from_here_on + up_to_here, axis=-1))
    return period
