"""The model against check values worked out elsewhere, by other code: one entry, one number.

``data/check_values.json`` holds them by the section of the formula sheet they come from.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perfmodel.equations import (
    broadcast,
    compression,
    direct_all_reduce,
    input_pipeline,
    interleaved_pipeline,
    merging,
    overlap,
    priority,
    quantization,
    ring_all_reduce,
    scaling,
    server_load,
    shuffles,
    topology,
    transformer_memory,
    transformer_pipeline,
    tree_all_reduce,
    unequal_pipeline,
    volumes,
)
from perfmodel.equations import parameter_server as ps

VALUES: dict[str, list[dict[str, Any]]] = json.loads(
    (Path(__file__).parent / "data" / "check_values.json").read_text()
)


def _hierarchy(x: dict[str, Any]) -> Any:
    if "S_bytes" in x:
        shared, sizes = x["nic"] == "1 per node", (x["g"], x["N"], x["S_bytes"], x["ai"], x["Bi"])
        bandwidth = x["Bn"]
    else:
        shared, sizes = x["shared"], (x["g"], x["N"], x["n"], x["ai"], 1 / x["bi"])
        bandwidth = 1 / x["bn"]
    time = (
        ring_all_reduce.shared_card_all_reduce_time
        if shared
        else ring_all_reduce.hierarchical_all_reduce_time
    )
    return time(*sizes, x["an"], bandwidth)


def _backward_order(x: dict[str, Any], key: str) -> list[float]:
    return list(reversed(x[key]))


def _zero(x: dict[str, Any], stage: int) -> float:
    parts = ((2, 3), (2, 2), (x["K"], 1))
    return 1e-9 * sum(
        transformer_memory.sharded_memory_bytes(x["Psi"], each, x["N"] if stage >= least else 1)
        for each, least in parts
    )


def _pipeline(x: dict[str, Any]) -> float:
    stage, chunks = x["tf"] + x["tb"], x.get("v", 1)
    if chunks == 1:
        times = stage, x["tf"], 0.0, 0.0, stage
        bubble = unequal_pipeline.unequal_bubble_time(x["p"], x["p"], x["m"], *times)
    else:
        times = stage / chunks, x["tf"] / chunks, 0.0, stage
        layers = x["p"] * chunks
        bubble = interleaved_pipeline.interleaved_bubble_time(layers, x["p"], chunks, x["m"], *times)
    return transformer_pipeline.pipelined_time(x["m"], stage, bubble)


def _wfbp(x: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    backward = x.get("bwd_in_backward_order", x.get("b"))
    communication = x.get("comm_in_backward_order", x.get("c"))
    if "L" in x:
        backward, communication = [x["b"]] * x["L"], [x["c"]] * x["L"]
    return np.cumsum(backward), np.asarray(communication, dtype=float)


def _prefetched(x: dict[str, Any]) -> Any:
    """Reading and copying are one stage here, so they give the rate of the input."""
    busy = x["t_f"] + x["t_b"] + x["t_c_no"] + x["t_u"]
    return busy + input_pipeline.exposed_input_time(1, 1, 1 / (x["t_io"] + x["t_h2d"]), 0, 1, busy)


def _all_reduce(time: Callable[..., Any]) -> Callable[[dict[str, Any]], Any]:
    return lambda x: time(x["P"], x["n"], x["alpha"], 1 / x["beta"], 1 / x["gamma"])


def _two_links(x: dict[str, Any]) -> Any:
    links = (x["aX"], 1 / x["bX"], x["aY"], 1 / x["bY"])
    return ring_all_reduce.torus_all_reduce_time(x["X"], x["Y"], x["n"], *links)


def _in_ready_order(x: dict[str, Any]) -> tuple[Any, Any]:
    """Gradients as a queue sends them without priorities: the last layer's first."""
    return np.cumsum(x["b"][::-1]), np.array(x["c"][::-1])


CHECKS: dict[str, Callable[[dict[str, Any]], Any]] = {
    # section 3: collectives, parameter servers, compression
    "hier_": _hierarchy,
    "ps_single_W7": lambda x: ps.parameter_server_time(
        x["W"], 1, x["n"], x["alpha"], 1 / x["beta"], 1 / x["beta"]
    ),
    "ps_bytes_at_server": lambda x: server_load.server_port_bytes(x["P"] - 1, 1, x["N"]),
    "powersgd_ratio": lambda x: x["n"] * x["m"] / compression.powersgd_elements(x["n"], x["m"], x["r"]),
    "qsgd_variance_bound": lambda x: quantization.qsgd_variance_bound(x["n"], x["s"]),
    "ring_volume_per_rank": lambda x: volumes.all_reduce_bytes_per_rank(x["P"], x["n"]),
    "ring_allreduce": _all_reduce(ring_all_reduce.ring_all_reduce_time),
    "recdoubling_allreduce": _all_reduce(tree_all_reduce.recursive_doubling_all_reduce_time),
    "rabenseifner": _all_reduce(tree_all_reduce.halving_doubling_all_reduce_time),
    "binomial_bcast": lambda x: broadcast.binomial_broadcast_time(x["P"], x["n"], x["alpha"], 1 / x["beta"]),
    "torus2d_steps": lambda x: ring_all_reduce.torus_all_reduce_time(x["X"], x["Y"], 0, 1, 1, 1, 1),
    "torus2d_volume": lambda x: ring_all_reduce.torus_all_reduce_time(x["X"], x["Y"], x["n"], 0, 1, 0, 1),
    "torus2d_": _two_links,
    "ps_push": lambda x: ps.parameter_server_push_time(
        x["workers"], x["servers"], x["n"], 1 / x["bw"], 1 / x["bs"]
    ),
    "ps_colocated": lambda x: ps.colocated_parameter_server_time(x["P"], x["P"], x["n"], 0, 1 / x["beta"]),
    "byteps": lambda x: ps.extra_server_time(x["n"], x["k"], 1, 0, 1),
    "two_tree_bcast": lambda x: broadcast.best_two_tree_broadcast_time(
        2 ** x["h"], x["S"], x["alpha"], 1 / x["beta"]
    ),
    "ring_resnet50": lambda x: ring_all_reduce.ring_all_reduce_time(x["P"], x["S_bytes"], x["alpha"], x["B"]),
    "ps_single_resnet50": lambda x: ps.parameter_server_time(x["W"], 1, x["S_bytes"], 0, x["B"], x["B"]),
    "p2p_broadcast": lambda x: direct_all_reduce.exchange_all_reduce_time(
        x["P"], x["n"], x["alpha"], 1 / x["beta"]
    ),
    "nvls_traffic": lambda x: volumes.nvls_bytes_per_rank(x["n"], 1),
    "fattree_ring_contiguous": lambda x: topology.contiguous_ring_factor(x["o"], x["r"]),
    "alltoall_fattree": lambda x: shuffles.pairwise_all_to_all_time(
        x["P"], x["S"], 0, x["B"] / topology.random_ring_factor(x["P"], x["o"], x["r"])
    ),
    "fattree_ring_random": lambda x: topology.random_ring_factor(x["P"], x["o"], x["r"]),
    # section 4: traffic of sharding, made of collectives
    "fsdp_bytes": lambda x: 3 * volumes.share_bytes_per_rank(x["P"], x["Psi"] * x["e"]),
    "tp_bytes": lambda x: 4 * volumes.all_reduce_bytes_per_rank(x["t"], x["b"] * x["s"] * x["h"] * x["e"]),
    "moe_a2a": lambda x: 4 * volumes.share_bytes_per_rank(x["E"], x["tokens"] * x["k"] * x["h"] * x["e"]),
    # section 4: memory and pipelines
    "zero_stage0": lambda x: _zero(x, 0),
    "zero_stage1": lambda x: _zero(x, 1),
    "zero_stage2": lambda x: _zero(x, 2),
    "zero_stage3": lambda x: _zero(x, 3),
    "pipe_": _pipeline,
    # section 5: overlap
    "wfbp_finish": lambda x: overlap.communication_finish_time(*_wfbp(x)),
    "wfbp_exposed": lambda x: overlap.exposed_communication_time(*_wfbp(x), sum(x["b"])),
    "wfbp_uniform": lambda x: overlap.communication_finish_time(*_wfbp(x)),
    "bucket_dp": lambda x: merging.optimal_buckets(
        np.cumsum(_backward_order(x, "tb_forward_order")),
        _backward_order(x, "m_forward_order"),
        x["a"],
        x["b"],
    )[1],
    "priority_": lambda x: priority.priority_iteration_time(x["f"], x["b"], x["c"]),
    "fifo_": lambda x: sum(x["f"]) + max(sum(x["b"]), overlap.communication_finish_time(*_in_ready_order(x))),
    "dag_input_pipeline": _prefetched,
    # section 7: scaling
    "weak_eff": lambda x: scaling.weak_scaling_efficiency(x["T1"], x["Tn"]),
    "throughput_speedup": lambda x: scaling.weak_speedup(x["n"], x["T1"], x["Tn"]),
    "wrong_efficiency": lambda x: scaling.weak_speedup(x["n"], x["T1"], x["Tn"]) / x["n"],
    "amdahl": lambda x: scaling.usl_speedup(x["n"], x["s"], 0),
    "usl_nstar": lambda x: scaling.usl_peak_world_size(x["sigma"], x["kappa"]),
    "course_report": lambda x: scaling.strong_scaling_efficiency(x["n"], x["T1"], x["Tn"]),
}
"""How to compute an entry, by the beginning of its name; the longest one counts."""


def check_of(name: str) -> Callable[[dict[str, Any]], Any]:
    known = [prefix for prefix in CHECKS if name.startswith(prefix)]
    assert known, f"no check for {name}: add one to CHECKS"
    return CHECKS[max(known, key=len)]


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param(entry, id=f"{section}-{entry['name']}")
        for section, entries in VALUES.items()
        for entry in entries
    ],
)
def test_check_value(entry: dict[str, Any]) -> None:
    value = float(check_of(entry["name"])(entry["inputs"]))
    assert value == pytest.approx(entry["expected"], **entry["tolerance"])


def test_rounding_at_random_stays_within_the_bound_on_its_variance() -> None:
    """Section 3 has an entry whose vector is not stated; what it stands for is checked on another."""
    rng = np.random.default_rng(4)
    vector, levels = rng.normal(size=400), 20
    norm = np.linalg.norm(vector)
    scaled = levels * np.abs(vector) / norm
    rounded = np.floor(scaled) + (rng.random((4000, 400)) < scaled - np.floor(scaled))
    errors = ((rounded - scaled) * norm / levels) ** 2
    assert errors.sum(axis=1).mean() <= quantization.qsgd_variance_bound(400, levels) * norm**2


def test_every_check_is_used() -> None:
    names = [entry["name"] for entries in VALUES.values() for entry in entries]
    used = {prefix for prefix in CHECKS if any(check_of(name) is CHECKS[prefix] for name in names)}
    assert used == set(CHECKS)
