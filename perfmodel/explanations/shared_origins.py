"""Where the inputs of a transformer's shared step come from, by parameter."""

from __future__ import annotations

from perfmodel.resolve import Setting

LEARNED = (
    "half_depth",
    "half_work",
    "half_columns",
    "score_bytes",
    "cast_bytes",
    "kernel_floor",
    "hidden_fraction",
    "exposed_fraction",
    "exchange_fraction",
    "inner_share",
    "outer_share",
    "growth",
    "update_bytes_per_parameter",
    "repeats",
)
"""What was learned from measured steps of transformers."""
OF_COLLECTIVES = (
    "launch_time",
    "hop_latency",
    "round_trip_time",
    "host_latency",
    "crowd_latency",
    "bend_ratio",
    "bend_time",
    "ramp",
    "ramp_strength",
    "ramp_growth",
    "bandwidth_decay",
    "largest_part",
    "sum_gain",
    "pair_loss",
    "tree_fraction",
    "tree_part",
    "trip_fraction",
    "achieved_fraction",
    "start_time",
    "slow_start_time",
    "wire_time",
    "bus_bandwidth",
    "tree_bandwidth",
)
"""What was learned from measured collectives, or follows from it without a formula of its own."""
OF_WIDTHS = (
    "product_rows",
    "product_depth",
    "product_columns",
    "products",
    "heads",
    "head_size",
    "value_size",
    "hidden_size",
    "inputs_width",
    "attention_width",
    "inner_matrices",
    "inner_width",
    "kv_width",
    "active_experts",
    "attended_fraction",
    "scores",
    "layers",
    "dense_fraction",
    "moved_bytes",
    "message_bytes",
    "kernels",
    "own_parameters",
)
"""Widths and counts of the network, shared out."""
OF_LAYOUT = (
    "tokens",
    "sequence_length",
    "sequence_shards",
    "group_size",
    "nodes",
    "accelerators_per_node",
    "local_batch_size",
    "pipeline_parallel",
    "virtual_stages",
    "accumulation_steps",
    "gathers",
    "passes",
)


def input_notes(setting: Setting) -> dict[str, str]:
    """Return the origin of each parameter of the input pipeline, which copies of a network have as well."""
    asked = setting.scenario
    return {
        "decode_rate": (asked.decoder or "measured") if asked.decode_rate is None else "as asked",
        "storage_bandwidth": setting.storage,
        "storage_requests": setting.storage,
        "cache_bandwidth": "ram",
        "cache_bytes": f"{setting.node.id}, the share that keeps samples assumed",
        "dataset_bytes": "the data set",
        "accelerator_decode_rate": asked.decoder or "no decoder that takes its time",
        "worker_start_time": "assumed",
        "busy_time": "nothing is fetched ahead",
        "stored_bytes": "the data set" if asked.sample_bytes is None else "as asked",
        "input_rate": "samples made on the spot",
        "host_bandwidth": setting.host_link.id + ("" if asked.pinned_memory else ", pageable"),
        "input_time": "synthetic samples",
    }


def shared_notes(setting: Setting) -> dict[str, str]:
    """Return the origin of each parameter that no formula makes."""
    chip = setting.accelerator.id
    rate = f"{chip}: its best measured product, or a share of its peak, as far as steps were seen to reach it"
    notes = dict.fromkeys(LEARNED, "fitted to measured steps")
    notes |= dict.fromkeys(OF_COLLECTIVES, "fitted to measured collectives")
    notes |= dict.fromkeys(OF_WIDTHS, f"{setting.workload.id}, shared out")
    notes |= dict.fromkeys(OF_LAYOUT, "the layout")
    return (
        notes
        | input_notes(setting)
        | {
            "product_rate": rate,
            "attention_rate": rate,
            "product_bandwidth": f"{chip}, as far as products were seen to reach it",
            "elementwise_bandwidth": f"{chip}, as far as steps were seen to reach it",
            "compute_units": chip,
            "link_bandwidth": "the link, or what its library was seen to reach",
            "other_bandwidth": "no other limit",
            "inner_bandwidth": setting.intra_link.id,
            "outer_bandwidth": f"{setting.nics} x {setting.inter_link.id}",
            "oversubscription": "as asked",
            "ranks_per_rack": "as asked",
            "adapters": "of one accelerator",
            "server_fraction": "no parameter server",
            "inner_wire_time": setting.intra_link.id,
            "outer_wire_time": f"{setting.nics} x {setting.inter_link.id}",
            "overlap_window": "computation that can hide it: a fitted share of the passes",
            "shift": "your own runs, by what jobs of one source were seen to share",
            "straggler_time": "in the growth with nodes",
            "sample_bytes": "tokens as 32-bit numbers, or pixels",
            "launch_overhead_time": "the host keeps up",
        }
        | dict.fromkeys(PARTS, "nothing of that kind in this layout, or fitted")
    )


PARTS = (
    "scatter_time",
    "gather_time",
    "tensor",
    "context",
    "experts",
    "host",
    "dense",
    "data",
    "stage_sends",
    "attention",
    "operations",
    "again",
    "computed",
    "shared",
    "routed",
    "of_weights",
    "overhead",
    "time",
    "communication_time",
    "stage_time",
    "layer_time",
    "launches",
    "gaps",
    "routing",
    "longer_time",
    "step_time",
    "tensor_parallel_time",
    "context_parallel_time",
    "expert_parallel_time",
    "recomputation_time",
    "iteration_overhead_time",
    "stage_transfer_time",
    "exposed_communication_time",
)
"""Parts of a step that are nothing in many layouts, or one learned number."""
