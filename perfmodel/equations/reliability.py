"""Failures of a job, the best checkpoint interval, and the share of time that remains for work.

Validity
--------
Independent failures at a constant rate, any of which stops the job; checkpoints of equal duration, less
than twice the time between failures.  Machines at spot prices that are taken back count as failures: where
several are taken back at once, or the more the larger the job, the rate of one machine is a mean.
"""

from perfmodel.core import ops
from perfmodel.core.formula import formula
from perfmodel.core.ops import Real


@formula(cites="daly2006")
def job_failure_interval(node_failure_interval: Real, nodes: Real) -> Real:
    r"""Mean time between failures of a job that stops when any of its nodes fails.

    .. math:: M = \frac{M_1}{N}

    Failures are independent and occur at a constant rate.

    Parameters
    ----------
    node_failure_interval : M_1 [s], mean time between failures of one node
    nodes : N [1]

    Returns
    -------
    failure_interval [s]

    Examples
    --------
    A node that fails once in 10 million seconds (116 days), 1000 of them: every 10,000 s.

    >>> job_failure_interval(1e7, 1000)
    10000.0
    """
    return node_failure_interval / nodes


@formula(cites="wu2024")
def interruption_interval(interruption_rate: Real) -> Real:
    r"""Mean time until a machine at a spot price is taken back.

    .. math:: M_i = \frac{1}{\lambda}

    Parameters
    ----------
    interruption_rate : \lambda [1/s]

    Returns
    -------
    interruption_interval [s]

    Examples
    --------
    Once in 20,000 s (5.6 hours).

    >>> interruption_interval(1 / 20000)
    20000.0
    """
    return 1 / interruption_rate


@formula(cites="daly2006")
def either_failure_interval(node_failure_interval: Real, interruption_interval: Real) -> Real:
    r"""Mean time until a machine fails or is taken back, whichever comes first.

    .. math:: M = \frac{M_1 M_i}{M_1 + M_i}

    The rates of two independent causes add: 1 / M = 1 / M_1 + 1 / M_i.

    Parameters
    ----------
    node_failure_interval : M_1 [s]
    interruption_interval : M_i [s]

    Returns
    -------
    node_failure_interval [s]

    Examples
    --------
    A failure in 60,000 s, taken back once in 30,000 s: in 60,000 s three of either.

    >>> either_failure_interval(60000, 30000)
    20000.0
    """
    return node_failure_interval * interruption_interval / (node_failure_interval + interruption_interval)


@formula(cites="daly2006")
def expected_failures(wall_time: Real, failure_interval: Real) -> Real:
    r"""Expected number of failures in a given time.

    .. math:: k = \frac{t}{M}

    Parameters
    ----------
    wall_time : t [s]
    failure_interval : M [s]

    Returns
    -------
    failures [1]

    Examples
    --------
    One every 10,000 s for 86,400 s.

    >>> expected_failures(86400, 10000)
    8.64
    """
    return wall_time / failure_interval


@formula(cites="grattafiori2024")
def checkpoint_write_time(states_bytes: Real, nodes: Real, checkpoint_bandwidth: Real) -> Real:
    r"""Time to write one checkpoint, of which every machine of a job writes its share.

    .. math:: \delta = \frac{W}{N B_w}

    Training stops meanwhile.  Storage that all machines use may have a lower total bandwidth.

    Parameters
    ----------
    states_bytes : W [B], weights and moments of the whole network
    nodes : N [1]
    checkpoint_bandwidth : B_w [B/s], at which one machine writes

    Returns
    -------
    checkpoint_time [s]

    Examples
    --------
    70 billion parameters of 12 B, 64 machines of 1 GB/s: 840 GB at 64 GB/s.

    >>> checkpoint_write_time(840e9, 64, 1e9)
    13.125
    """
    return states_bytes / (nodes * checkpoint_bandwidth)


@formula(cites="daly2006")
def daly_checkpoint_interval(checkpoint_time: Real, failure_interval: Real) -> Real:
    r"""Working time between two checkpoints that maximises goodput, to higher order (Daly 2006, eq. 37).

    .. math:: \tau = \sqrt{2\delta M}\left(1 + \frac{1}{3}\sqrt{\frac{\delta}{2M}}
        + \frac{1}{9}\frac{\delta}{2M}\right) - \delta \quad (\delta < 2M), \qquad \tau = M \text{ beyond}

    Parameters
    ----------
    checkpoint_time : \delta [s], to write one checkpoint
    failure_interval : M [s]

    Returns
    -------
    checkpoint_interval [s], of work, without the checkpoint

    Examples
    --------
    50 s to write, 10,000 s between failures: delta / 2M is 0.0025 and its root 0.05, so
    1000 (1 + 0.05 / 3 + 0.0025 / 9) - 50 = 966.9.

    >>> round(daly_checkpoint_interval(50, 10000), 3)
    966.944
    """
    ratio = checkpoint_time / (2 * failure_interval)
    series = 1 + ops.sqrt(ratio) / 3 + ratio / 9
    higher = ops.sqrt(2 * checkpoint_time * failure_interval) * series - checkpoint_time
    return ops.where(checkpoint_time < 2 * failure_interval, higher, failure_interval)


@formula(cites="daly2006")
def goodput_fraction(
    checkpoint_interval: Real, checkpoint_time: Real, restart_time: Real, failure_interval: Real
) -> Real:
    r"""Share of the wall-clock time that is useful work; the rest is checkpoints, restarts, repeated work.

    .. math:: g = \frac{\tau}{M} \frac{e^{-R/M}}{e^{(\tau+\delta)/M} - 1}

    Daly's complete model: failures occur at a constant rate, also during checkpoints and restarts.

    Parameters
    ----------
    checkpoint_interval : \tau [s], of work between two checkpoints
    checkpoint_time : \delta [s], during which no work is done
    restart_time : R [s], from a failure until work continues
    failure_interval : M [s]

    Returns
    -------
    goodput [1]; 1 without failures and checkpoints

    Examples
    --------
    1000 s of work, 50 s to write, 100 s to restart, 10,000 s between failures:
    0.1 exp(-0.01) / (exp(0.105) - 1) = 0.1 * 0.99005 / 0.110711.

    >>> round(goodput_fraction(1000, 50, 100, 10000), 5)
    0.89427
    """
    cycle = ops.exp((checkpoint_interval + checkpoint_time) / failure_interval) - 1
    return checkpoint_interval / failure_interval * ops.exp(-restart_time / failure_interval) / cycle


@formula(cites="daly2006")
def lost_time_spread(failures: Real, checkpoint_interval: Real, restart_time: Real, wall_time: Real) -> Real:
    r"""Standard deviation of a run's time from the chance of its failures, over the time itself.

    .. math:: s = \frac{1}{t} \sqrt{k \left(R^2 + R \tau + \frac{\tau^2}{3}\right)}

    A failure costs the restart and what was done since the last checkpoint, which is anything up to the
    interval: the root is that of the mean square of the loss, times a Poisson number of failures.

    Parameters
    ----------
    failures : k [1], expected in the run
    checkpoint_interval : \tau [s]
    restart_time : R [s]
    wall_time : t [s]

    Returns
    -------
    spread [1]

    Examples
    --------
    Nine failures, each of 100 s of restart and up to 300 s again: 10,000 + 30,000 + 30,000 = 70,000 s^2
    each, 630,000 in all, a root of 793.7 s of 10,000.

    >>> round(lost_time_spread(9, 300, 100, 10000), 5)
    0.07937
    """
    loss = restart_time**2 + restart_time * checkpoint_interval + checkpoint_interval**2 / 3
    return ops.sqrt(failures * loss) / wall_time


@formula(cites="daly2006")
def run_time_sensitivity(
    checkpoint_interval: Real, restart_time: Real, failure_interval: Real, goodput: Real
) -> Real:
    r"""By how many per cent a run takes longer where failures are 1 % more frequent.

    .. math:: s = -\frac{d \ln g}{d \ln 1/M} = \frac{R}{M} + \frac{x}{1 - e^{-x}} - 1, \qquad
        x = \ln\left(1 + \frac{\tau e^{-R/M}}{M g}\right)

    The derivative of Daly's goodput, whose cycle x = (\tau + \delta) / M follows from g itself; the best
    checkpoint interval makes that of \tau vanish.

    Parameters
    ----------
    checkpoint_interval : \tau [s]
    restart_time : R [s]
    failure_interval : M [s]
    goodput : g [1]

    Returns
    -------
    sensitivity [1]

    Examples
    --------
    1000 s of work, 50 s to write, 100 s to restart, 10,000 s between failures: x is 0.105, so
    0.01 + 0.105 / 0.099675 - 1.

    >>> g = goodput_fraction(1000, 50, 100, 10000)
    >>> round(run_time_sensitivity(1000, 100, 10000, g), 5)
    0.06342
    """
    share = checkpoint_interval / failure_interval * ops.exp(-restart_time / failure_interval)
    cycle = ops.log(1 + share / goodput)
    return restart_time / failure_interval + cycle / (1 - ops.exp(-cycle)) - 1
