"""How long one million collectives take in array calls."""

from __future__ import annotations

from typing import Any

import numpy as np

from perfmodel.equations.algorithms import ALGORITHMS
from perfmodel.equations.nccl import Graph, nccl_choice

POINTS = 1_000_000


def test_one_million_algorithms_ranks_and_sizes(benchmark: Any) -> None:
    """Every all-reduce at many ranks and sizes, in one call; budget 1 s on two cores."""
    each = POINTS // len(ALGORITHMS["all-reduce"]) + 1
    rng = np.random.default_rng(0)
    ranks = rng.integers(1, 4096, each).astype(float)
    sizes = 10 ** rng.uniform(2, 10, each)

    def every_algorithm() -> dict[str, Any]:
        return {
            name: algorithm.time(ranks, sizes, 5e-6, 25e9, *((1e11,) if algorithm.adds else ()))
            for name, algorithm in ALGORITHMS["all-reduce"].items()
        }

    times = benchmark(every_algorithm)
    assert sum(np.isfinite(time).sum() for time in times.values()) == each * len(times) >= POINTS


def test_one_million_choices_of_nccl(benchmark: Any) -> None:
    rng = np.random.default_rng(0)
    nodes = rng.integers(1, 512, POINTS // 8)
    sizes = 10 ** rng.uniform(2, 10, POINTS // 8)
    choice = benchmark(nccl_choice, "all-reduce", 8 * nodes, nodes, sizes, Graph(6, 20e9, 12e9))
    assert np.all(np.isfinite(choice.time))
    assert len(choice.names) * len(sizes) >= POINTS
