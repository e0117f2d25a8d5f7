"""Money, energy and carbon of a job.

Validity
--------
Machines that are paid for as a whole while the job holds them; power that depends on whether an
accelerator computes, communicates or idles, not on its load. Taxes, discounts, people and idle machines
are not counted.
"""

from perfmodel.core.formula import formula
from perfmodel.core.ops import Real


@formula(cites=())
def rent(nodes: Real, machine_price: Real, wall_time: Real) -> Real:
    r"""Rent of a job's machines; a machine is paid for as a whole, even if some of its accelerators idle.

    .. math:: C = N p t

    Parameters
    ----------
    nodes : N [1]
    machine_price : p [$/s], of one machine
    wall_time : t [s]

    Returns
    -------
    cost [$]

    Examples
    --------
    Four machines at 0.008 $/s (28.80 $/h) for 100 s.

    >>> rent(4, 0.008, 100)
    3.2
    """
    return nodes * machine_price * wall_time


@formula(cites=())
def amortised_machine_price(purchase_price: Real, service_life: Real, used_fraction: Real) -> Real:
    r"""Price of an owned machine for each second it works: its purchase price over its working time.

    .. math:: p = \frac{P}{u t_a}

    Parameters
    ----------
    purchase_price : P [$]
    service_life : t_a [s], until it is written off
    used_fraction : u [1], share of its life in which it works

    Returns
    -------
    machine_price [$/s], without electricity

    Examples
    --------
    150,000 $ over 100 million seconds (3.2 years), half of them at work: 50 million.

    >>> amortised_machine_price(150e3, 100e6, 0.5)
    0.003
    """
    return purchase_price / (used_fraction * service_life)


@formula(cites="patterson2021")
def three_state_power(
    busy_fraction: Real,
    communicating_fraction: Real,
    busy_power: Real,
    communicating_power: Real,
    idle_power: Real,
) -> Real:
    r"""Mean power of an accelerator that computes, or communicates, or idles.

    .. math:: P = u P_b + v P_c + (1 - u - v) P_i

    Parameters
    ----------
    busy_fraction : u [1], share of the time in which it computes
    communicating_fraction : v [1], share in which it only communicates
    busy_power : P_b [W]
    communicating_power : P_c [W]
    idle_power : P_i [W]

    Returns
    -------
    accelerator_power [W]

    Examples
    --------
    Half the time 300 W, a quarter 160 W, a quarter 40 W: 150 + 40 + 10.

    >>> three_state_power(0.5, 0.25, 300, 160, 40)
    200.0
    """
    idle = 1 - busy_fraction - communicating_fraction
    return busy_fraction * busy_power + communicating_fraction * communicating_power + idle * idle_power


@formula(cites="patterson2021")
def job_energy(
    world_size: Real, accelerator_power: Real, nodes: Real, host_power: Real, pue: Real, wall_time: Real
) -> Real:
    r"""Energy of a job at the meter of its building: accelerators, hosts and cooling.

    .. math:: E = \mathrm{PUE} (n P + N P_h) t

    Parameters
    ----------
    world_size : n [1]
    accelerator_power : P [W], mean of one accelerator
    nodes : N [1]
    host_power : P_h [W], of a machine without its accelerators
    pue : \mathrm{PUE} [1], power usage effectiveness of the building
    wall_time : t [s]

    Returns
    -------
    energy [J]

    Examples
    --------
    Eight accelerators of 250 W and one host of 1000 W draw 3 kW; 20 % more for cooling, for an hour: 3.6 kWh.

    >>> job_energy(8, 250, 1, 1000, 1.2, 3600) / 3.6e6
    3.6
    """
    return pue * (world_size * accelerator_power + nodes * host_power) * wall_time


@formula(cites="patterson2021")
def carbon_mass(energy: Real, carbon_intensity: Real) -> Real:
    r"""Mass of carbon dioxide emitted for a job's electricity.

    .. math:: m = E c

    Parameters
    ----------
    energy : E [J]
    carbon_intensity : c [g/J]

    Returns
    -------
    mass of CO2 equivalent [g]

    Examples
    --------
    10 kWh are 3.6e7 J; at 1e-4 g/J (360 g/kWh) that is 3.6 kg.

    >>> carbon_mass(3.6e7, 1e-4)
    3600.0
    """
    return energy * carbon_intensity


@formula(cites="patterson2021", symbolic=False)
def sum_of_terms(**terms: Real) -> Real:
    r"""Sum of several terms of an iteration.

    .. math:: t = \sum_i t_i

    Parameters
    ----------
    terms : t_i [s], by name

    Returns
    -------
    terms_time [s]

    Examples
    --------
    >>> sum_of_terms(forward_time=4, backward_time=7)  # 4 + 7
    11
    """
    return sum(terms.values())


@formula(cites="patterson2021")
def share_of_time(terms_time: Real, iteration_time: Real) -> Real:
    r"""Share of an iteration that some of its terms take.

    .. math:: u = t_s / T

    Parameters
    ----------
    terms_time : t_s [s]
    iteration_time : T [s]

    Returns
    -------
    share [1]

    Examples
    --------
    >>> share_of_time(11, 44)  # 11 of 44 ms
    0.25
    """
    return terms_time / iteration_time


@formula(cites="patterson2021")
def both_costs(first_cost: Real, second_cost: Real) -> Real:
    r"""Cost of machines and electricity together.

    .. math:: C = C_1 + C_2

    Parameters
    ----------
    first_cost : C_1 [$]
    second_cost : C_2 [$]

    Returns
    -------
    cost [$]

    Examples
    --------
    >>> both_costs(10, 2)  # 10 $ of machines, 2 $ of electricity
    12
    """
    return first_cost + second_cost


@formula(cites="patterson2021")
def both_energies(first_energy: Real, second_energy: Real) -> Real:
    r"""Energy of machines that train and of parameter servers together.

    .. math:: E = E_1 + E_2

    Parameters
    ----------
    first_energy : E_1 [J]
    second_energy : E_2 [J]

    Returns
    -------
    energy [J]

    Examples
    --------
    >>> both_energies(10, 2)  # 10 J of workers, 2 J of servers
    12
    """
    return first_energy + second_energy


@formula(cites="patterson2021")
def amount_over(rate: Real, wall_time: Real) -> Real:
    r"""Money, energy or carbon of a period, from that of each second.

    .. math:: A = \mu\,t

    Parameters
    ----------
    rate : mu [1/s], of each second
    wall_time : t [s]

    Returns
    -------
    amount [1]

    Examples
    --------
    >>> amount_over(3, 60)  # 3 a second for a minute
    180
    """
    return rate * wall_time


@formula(cites="patterson2021")
def work_time(run_samples: Real, samples_per_second: Real) -> Real:
    r"""Time of a run without failures.

    .. math:: w = N_r / R

    Parameters
    ----------
    run_samples : N_r [samples], of the whole run
    samples_per_second : R [samples/s], of the job

    Returns
    -------
    work_time [s]

    Examples
    --------
    >>> work_time(1000, 50)  # 1000 samples at 50 a second
    20.0
    """
    return run_samples / samples_per_second


@formula(cites="daly2006")
def run_time(work_time: Real, goodput: Real) -> Real:
    r"""Wall-clock time of a run, including checkpoints, restarts and repeated work.

    .. math:: t = w / g

    Parameters
    ----------
    work_time : w [s]
    goodput : g [1]

    Returns
    -------
    wall_time [s]

    Examples
    --------
    >>> run_time(90, 0.9)  # nine tenths of the time are kept
    100.0
    """
    return work_time / goodput
