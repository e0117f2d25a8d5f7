"""Every quantity once: its name everywhere (code, options, columns, labels), symbol, unit and one meaning."""

from __future__ import annotations

from typing import NamedTuple


class Quantity(NamedTuple):
    """One quantity of the model."""

    symbol: str
    """LaTeX, as the formulas' docstrings write it."""
    unit: str
    """SI, or a count: ``1``, ``samples``, ``tokens``."""
    meaning: str


QUANTITIES: dict[str, Quantity] = {
    # the job
    "world_size": Quantity("n", "1", "accelerators in the job"),
    "nodes": Quantity("N", "1", "machines that take part"),
    "accelerators_per_node": Quantity("g", "1", "accelerators that take part in each node"),
    "group_size": Quantity("n", "1", "ranks taking part in one collective"),
    "workers": Quantity("W", "1", "ranks that compute gradients, in parameter-server formulas"),
    "servers": Quantity("s", "1", "parameter servers; they train nothing"),
    "sequence_length": Quantity("s", "tokens", "tokens in one sequence"),
    "local_batch_size": Quantity("b", "samples", "samples per accelerator and micro-batch"),
    "global_batch_size": Quantity("B", "samples", "samples per iteration over all accelerators"),
    "accumulation_steps": Quantity("m", "1", "micro-batches per iteration"),
    # times
    "iteration_time": Quantity("T", "s", "one optimizer update, wall clock, everything included"),
    "compute_time": Quantity("T_c", "s", "forward and backward on one accelerator"),
    "forward_time": Quantity("t_f", "s", "forward pass on one accelerator"),
    "backward_time": Quantity("t_b", "s", "backward pass on one accelerator"),
    "update_time": Quantity("t_u", "s", "optimizer update on one accelerator"),
    "communication_time": Quantity("t_c", "s", "communication on its own"),
    "exposed_communication_time": Quantity("t_x", "s", "communication left after overlap"),
    "input_time": Quantity("t_i", "s", "waiting for the input pipeline"),
    "straggler_time": Quantity("t_s", "s", "waiting for the slowest worker"),
    "launch_overhead_time": Quantity("t_l", "s", "the host, not the accelerator, sets the pace"),
    "overlap_window": Quantity("t_w", "s", "time during which communication can hide"),
    # communication
    "message_bytes": Quantity("S", "B", "full buffer on one rank"),
    "bucket_bytes": Quantity("S_k", "B", "gradient bytes sent together"),
    "gradient_bytes": Quantity("S", "B", "all gradients of one rank"),
    "hop_latency": Quantity("\\alpha", "s", "start-up time of one message over one hop"),
    "link_bandwidth": Quantity("B", "B/s", "one rank, one direction"),
    "algorithm_bandwidth": Quantity("B_a", "B/s", "message bytes over time, as nccl-tests defines it"),
    "bus_bandwidth": Quantity("B_b", "B/s", "algorithm bandwidth times the volume factor of the collective"),
    "reduction_bandwidth": Quantity("R", "B/s", "bytes a rank adds up per second"),
    "forward_times": Quantity("f", "s", "forward pass of each layer"),
    "backward_times": Quantity("b", "s", "backward pass of each layer"),
    "partition_bytes": Quantity("d", "B", "of one partition of a message"),
    "partition_overhead": Quantity("\\theta", "s", "that each partition of a message adds"),
    "cycle_time": Quantity("t_y", "s", "between two ticks at which fused gradients are released"),
    "fusion_threshold_bytes": Quantity("C_y", "B", "largest fused message of several gradients"),
    "bucket_indices": Quantity("k", "1", "bucket of each gradient tensor"),
    "compute_slowdown": Quantity("k_c", "1", "of computing while communicating"),
    "communication_slowdown": Quantity("k_m", "1", "of communicating while computing"),
    "fixed_time": Quantity("a_1", "s", "of an algorithm: its time for no bytes"),
    "time_per_byte": Quantity("b_1", "s/B", "of an algorithm: its time for each byte more"),
    "other_fixed_time": Quantity("a_2", "s", "of the algorithm compared with"),
    "other_time_per_byte": Quantity("b_2", "s/B", "of the algorithm compared with"),
    "wire_latency": Quantity("L", "s", "LogGP: on the way, the processors free"),
    "send_overhead": Quantity("o", "s", "LogGP: the processor busy, at each end"),
    "message_gap": Quantity("g", "s", "LogGP: between the starts of two short messages of one processor"),
    "gap_per_byte": Quantity("G", "s/B", "LogGP: between two bytes of a message"),
    "oversubscription": Quantity("o", "1", "what a rack's ports could send over what its uplinks carry"),
    "ranks_per_rack": Quantity("r", "1", "ranks that share the uplinks of one rack"),
    "columns": Quantity("X", "1", "ranks in one row of a torus"),
    "rows": Quantity("Y", "1", "ranks in one column of a torus"),
    "row_hop_latency": Quantity("\\alpha_x", "s", "hop latency between neighbours of a row"),
    "row_link_bandwidth": Quantity("B_x", "B/s", "of one rank along its row"),
    "column_hop_latency": Quantity("\\alpha_y", "s", "hop latency between neighbours of a column"),
    "column_link_bandwidth": Quantity("B_y", "B/s", "of one rank along its column"),
    "switch_levels": Quantity("d", "1", "switches from a rank to the root of their tree"),
    "dimension_sizes": Quantity("p_d", "1", "ranks along each dimension of a grid"),
    "hop_latencies": Quantity("\\alpha_d", "s", "hop latency along each dimension of a grid"),
    "link_bandwidths": Quantity("B_d", "B/s", "link bandwidth of one rank along each dimension of a grid"),
    "intra_hop_latency": Quantity("\\alpha_i", "s", "hop latency inside a node"),
    "intra_link_bandwidth": Quantity("B_i", "B/s", "of one rank inside its node, one direction"),
    "inter_hop_latency": Quantity("\\alpha_e", "s", "hop latency between nodes"),
    "inter_link_bandwidth": Quantity("B_e", "B/s", "what one rank gets between nodes, one direction"),
    "worker_bandwidth": Quantity("B_w", "B/s", "of a worker's port, one direction"),
    "server_bandwidth": Quantity("B_s", "B/s", "of a server's port, one direction"),
    "shard_imbalance": Quantity("I", "1", "largest shard over the mean shard"),
    "incast_efficiency": Quantity("\\eta", "1", "what many senders at once leave of a server's port"),
    "pipeline_blocks": Quantity("k", "1", "equal blocks a message is cut into"),
    "arrival_times": Quantity("t", "s", "when each worker starts to push"),
    "transfer_time": Quantity("t_c", "s", "one buffer through one port"),
    "tensor_bytes": Quantity("m", "B", "of each gradient tensor, in a stated order"),
    "optimizer_copies": Quantity("c", "1", "optimizer state in units of the model's size"),
    "ready_times": Quantity("r", "s", "when each message is ready, since the backward pass began"),
    "communication_times": Quantity("c", "s", "of each message on its own"),
    "first_bucket_bytes": Quantity("C_f", "B", "size at which the first gradient bucket closes"),
    "bucket_cap_bytes": Quantity("C", "B", "size at which a later gradient bucket closes"),
    "baseline_time": Quantity("T_1", "s", "iteration time of one accelerator, or of a stated baseline"),
    "serial_fraction": Quantity("\\sigma", "1", "share of the time that cannot be shared out"),
    "contention": Quantity("\\sigma", "1", "universal scalability law: what is done one after another"),
    "coherency": Quantity("\\kappa", "1", "universal scalability law: what each pair has to settle"),
    # transformers
    "layers": Quantity("l", "1", "layers of a transformer"),
    "hidden_size": Quantity("h", "1", "features of one token between layers"),
    "vocabulary_size": Quantity("V", "1", "tokens that are told apart"),
    "heads": Quantity("a", "1", "attention heads"),
    "head_size": Quantity("d", "1", "features of one attention head"),
    "parameters": Quantity("\\Psi", "1", "trainable parameters"),
    "query_width_ratio": Quantity("r", "1", "heads times head size over hidden size"),
    "kv_head_ratio": Quantity("q", "1", "key-value heads over query heads"),
    "feed_forward_ratio": Quantity("f", "1", "feed-forward width over hidden size"),
    "active_experts": Quantity("k", "1", "experts one token passes through"),
    "gate_factor": Quantity("G", "1", "3/2 where the feed-forward part is gated, else 1"),
    "flops_per_token": Quantity("F_t", "FLOP", "to train on one token"),
    "recomputed_fraction": Quantity("c", "1", "share of the forward pass that runs again"),
    # hardware
    "peak_flops": Quantity("F_p", "FLOP/s", "dense, one accelerator, named precision"),
    "memory_bandwidth": Quantity("B_m", "B/s", "of one accelerator's own memory"),
    # results
    "samples_per_second": Quantity("R", "1/s", "the whole job"),
    "tokens_per_second": Quantity("R_t", "1/s", "the whole job"),
    "speedup": Quantity("S", "1", "weak scaling: n T1/Tn; strong: T1/Tn"),
    "scaling_efficiency": Quantity("E", "1", "weak scaling: T1/Tn; strong: T1/(n Tn)"),
    "mfu": Quantity("U", "1", "model FLOPs over what the peak could do"),
    "hfu": Quantity("U_h", "1", "as mfu, recomputed FLOPs counted too"),
}
