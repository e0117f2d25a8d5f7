"""Embedding tables partitioned over accelerators: rows that are touched and exchanged, and their memory.

Validity
--------
Whole tables on accelerators (none is cut), look-ups that fall on rows alike: real data touch fewer
rows.
"""

from typing import Any

from perfmodel.core import ops
from perfmodel.core.formula import formula
from perfmodel.core.ops import Real


@formula(cites="naumov2019", symbolic=False)
def touched_parameters(samples: Real, table_parameters: Any, looked_up: Any, world_size: Real) -> Any:
    r"""Parameters of the fullest accelerator's tables in rows that the job's batch looks up at least once.

    .. math:: U = \max\left(\frac{1}{n} \sum_t U_t,\; \max_t U_t\right), \quad
              U_t = P_t \left(1 - e^{-n b x_t / P_t}\right)

    A table is never cut, and no assignment of whole tables leaves fewer on the fullest accelerator.
    Look-ups are taken as uniform over rows; those of real data repeat more and touch fewer rows, so this is
    an upper bound on their mean.

    Parameters
    ----------
    samples : b [samples], of each accelerator
    table_parameters : P_t [1], shape (tables,)
    looked_up : x_t [1], of one sample: rows times their width, shape (tables,)
    world_size : n [1], accelerators that hold the tables

    Returns
    -------
    touched_parameters [1]

    Examples
    --------
    100 samples with a row of 10 each: of a table of a billion parameters nearly 1,000, of one of 40 all.  On
    two accelerators with 50 each the fullest has the first of them.

    >>> import numpy as np
    >>> tables = np.array([1e9, 40.0]), np.array([10.0, 10.0])
    >>> [round(float(touched_parameters(100 / n, *tables, n)), 2) for n in (1, 2)]
    [1040.0, 1000.0]
    """
    import numpy as np

    of_all = looked_up * world_size
    lookups = samples * of_all if np.ndim(samples) == 0 else ops.array(samples)[..., None] * of_all
    touched = -table_parameters * np.expm1(-lookups / table_parameters)
    return np.maximum(touched.sum(axis=-1) / world_size, touched.max(axis=-1))


@formula(cites="naumov2019")
def fullest_activations(activations: Any, table_share: Any, tables: Real, world_size: Real) -> Any:
    r"""Activations that the accelerator with most tables moves, for each sample of its own batch.

    .. math:: x_f = x\left(1 + l\left(n\,\frac{\lceil T/n \rceil}{T} - 1\right)\right)

    It looks its own tables up for the samples of all.  Of tables whose samples name as many elements each.

    Parameters
    ----------
    activations : x [1], of one sample, where each accelerator looks up all tables for its own samples
    table_share : l [1], of them, what is looked up: 1 or 0 for a layer
    tables : T [1]
    world_size : n [1], accelerators that the tables are dealt out to evenly

    Returns
    -------
    activations [1]

    Examples
    --------
    26 tables of 128 elements: one accelerator looks up all, each of 8 with four tables 8/26 x 4 of them.  Of
    64 most have none, and the others look one table up for 64 batches.

    >>> [fullest_activations(26 * 128, 1, 26, n) for n in (1, 8, 64)]
    [3328.0, 4096.0, 8192.0]
    """
    return activations * (1 + table_share * (world_size * ops.ceil(tables / world_size) / tables - 1))


@formula(cites="naumov2019")
def update_with_rows(
    dense_update_time: Real, touched_parameters: Real, row_update_bytes: Real, memory_bandwidth: Real
) -> Real:
    r"""Time of an update of dense layers and of the rows of tables that a batch touched.

    .. math:: t_u = t_d + \frac{U u}{B_m}

    Parameters
    ----------
    dense_update_time : t_d [s]
    touched_parameters : U [1]
    row_update_bytes : u [B], read and written of each
    memory_bandwidth : B_m [B/s]

    Returns
    -------
    update_time [s]

    Examples
    --------
    1 ms, and 100 million parameters of 12 B at 1.2 TB/s.

    >>> round(update_with_rows(1e-3, 100e6, 12, 1.2e12), 9)
    0.002
    """
    return dense_update_time + touched_parameters * row_update_bytes / memory_bandwidth


@formula(cites="naumov2019")
def table_memory_bytes(
    table_parameters: Real, largest_table: Real, world_size: Real, bytes_per_parameter: Real
) -> Real:
    r"""Memory of the tables that the fullest accelerator holds; a table is never cut.

    .. math:: M_t = k \max\left(\frac{P}{n},\; P_1\right)

    No assignment of whole tables needs less; assigning the largest first comes close to it.

    Parameters
    ----------
    table_parameters : P [1], of all tables
    largest_table : P_1 [1]
    world_size : n [1]
    bytes_per_parameter : k [B], weight and moments

    Returns
    -------
    memory [B]

    Examples
    --------
    10 billion parameters of 4 B on 8 accelerators, the largest table 1 billion, then 2.

    >>> table_memory_bytes(10e9, 1e9, 8, 4), table_memory_bytes(10e9, 2e9, 8, 4)
    (5000000000.0, 8000000000.0)
    """
    return ops.maximum(table_parameters / world_size, largest_table) * bytes_per_parameter


@formula(cites="naumov2019")
def table_message_bytes(
    local_batch_size: Real, looked_up: Real, element_bytes: Real, tables: Real, holders: Real
) -> Real:
    r"""Bytes that the accelerator with most tables holds for all ranks, itself included, in one all-to-all.

    .. math:: S = h\,b\,x\,e\,\frac{\lceil T/h \rceil}{T}

    Each looks its own tables up for the samples of all, and sends everyone the vectors of theirs; in the
    backward pass the gradients of these come back.  Of all accelerators as holders it is what the fullest
    holds; of nodes, the mean of those in the fullest node, which share its adapters.

    Parameters
    ----------
    local_batch_size : b [samples]
    looked_up : x [1], elements of one sample in all tables
    element_bytes : e [B]
    tables : T [1]
    holders : h [1], accelerators or nodes, that the tables are dealt out to evenly

    Returns
    -------
    message_bytes [B]

    Examples
    --------
    26 tables on 8 accelerators: one holds 4, so 8 x 1000 samples of 4 x 128 elements of 2 B.

    >>> table_message_bytes(1000, 26 * 128, 2, 26, 8)
    8192000.0
    """
    share = ops.ceil(tables / holders) / tables
    return local_batch_size * looked_up * element_bytes * (holders * share)


@formula(cites=())
def busiest_port_time(fullest_rank_time: Real, fullest_node_time: Real) -> Real:
    r"""Time of an all-to-all of unequal senders: that of the fullest rank's port or of its node's ports.

    .. math:: t_a = \max(t_r,\; t_n)

    Parameters
    ----------
    fullest_rank_time : t_r [s]
    fullest_node_time : t_n [s]

    Returns
    -------
    communication_time [s]

    Examples
    --------
    >>> busiest_port_time(3, 4)  # 3 ms for the rank with most tables, 4 for the node with most
    4
    """
    return ops.maximum(fullest_rank_time, fullest_node_time)


@formula(cites="naumov2019")
def table_exchange_time(accumulation_steps: Real, communication_time: Real) -> Real:
    r"""Time to exchange looked-up vectors before a forward pass and their gradients after the backward one.

    .. math:: t_e = 2\,m\,t_a

    No part of it is assumed to be hidden: the rest of the network waits for the vectors, and the next batch
    for the rows that the gradients change.

    Parameters
    ----------
    accumulation_steps : m [1]
    communication_time : t_a [s], of one all-to-all

    Returns
    -------
    communication_time [s]

    Examples
    --------
    >>> table_exchange_time(1, 0.25)  # 0.25 ms each way
    0.5
    """
    return 2 * accumulation_steps * communication_time


@formula(cites="naumov2019")
def with_tables(communication_time: Real, table_time: Real) -> Real:
    r"""Sum of the times of exchanging gradients and rows of tables.

    .. math:: t_c' = t_c + t_e

    Parameters
    ----------
    communication_time : t_c [s], on its own, or what of it is exposed
    table_time : t_e [s]

    Returns
    -------
    communication_time [s]

    Examples
    --------
    >>> with_tables(3, 2)  # 3 ms of gradients, 2 ms of rows
    5
    """
    return communication_time + table_time
