"""Words of a derivation that no formula has as a parameter."""

from __future__ import annotations

from perfmodel.vocabulary import Quantity

WORDS: dict[str, Quantity] = {
    "flops_per_sample": Quantity("f", "FLOP", "of one layer's pass over one sample"),
    "activations": Quantity("x", "1", "activations read and written by a pass over one sample"),
    "element_bytes": Quantity("e", "B", "of one activation"),
    "weights": Quantity("p", "1", "weights read, or read and written, by a pass"),
    "weight_bytes": Quantity("e_w", "B", "of one weight as it is computed with"),
    "compute_units": Quantity("c", "1", "units that share a product"),
    "busy_times": Quantity("t", "s", "of each pass of a layer, launches apart"),
    "busy_sum": Quantity("t", "s", "of all passes, launches apart"),
    "update_kernels": Quantity("k_u", "1", "launched by the optimizer"),
    "backward_paced": Quantity("b_0", "s", "backward pass of each layer, before the network's effect"),
    "paced_time": Quantity("t_p", "s", "of an iteration that both pace"),
    "stretch": Quantity("g", "1", "what the pace of the host makes of the accelerator's time"),
    "effect": Quantity("z", "1", "of the network, as measured runs of it were slower or faster"),
    "anchor_factor": Quantity("a", "1", "measured over predicted time of one accelerator"),
    "measured_time": Quantity("T_m", "s", "iteration time measured on one accelerator"),
    "alone_time": Quantity("T_0", "s", "iteration time of one accelerator before the measurement is known"),
    "iteration_overhead": Quantity("o", "s", "of every iteration, whatever it does"),
    "launches": Quantity("t_l", "s", "launches of one micro-batch"),
    "once": Quantity("o", "s", "of every iteration, with what the update loses to the host"),
    "cycle_wait": Quantity(
        "t_w", "s", "after the backward pass, for the cycle that sends the last gradients"
    ),
    "one_host_time": Quantity("t_o", "s", "one process that serves every accelerator in turn"),
    "layer_indices": Quantity("l_k", "1", "layer whose backward pass makes the last gradient of a message"),
    "push_share": Quantity("p", "1", "share of an exchange with servers in which workers push"),
    "straggler_factor": Quantity("\\rho", "1", "mean time of the slowest worker over the mean of one"),
    "pass_time": Quantity("t", "s", "forward and backward, launches included"),
    "replica_dispatches": Quantity("q", "1", "launches' worth of host time for each object of a replica"),
    "first_part": Quantity("t_1", "s", "of two: forward, or inside the nodes"),
    "second_part": Quantity("t_2", "s", "of two: backward, or between the nodes"),
    "values": Quantity("v", "s", "each"),
    "cost": Quantity("C", "$", "of machines and electricity"),
    "first_cost": Quantity("C_1", "$", "of machines"),
    "first_energy": Quantity("E_1", "J", "of machines that train"),
    "second_energy": Quantity("E_2", "J", "of machines that serve parameters"),
    "second_cost": Quantity("C_2", "$", "of electricity"),
    "carbon": Quantity("m", "g", "of CO2 equivalent"),
    "goodput": Quantity("g", "1", "share of the time that is work kept"),
    "failures": Quantity("k", "1", "to expect in the run"),
    "work_time": Quantity("w", "s", "of the run, were there no failures"),
    "run_samples": Quantity("N_r", "samples", "of the whole run"),
}
"""Quantities that only the assembly needs."""
