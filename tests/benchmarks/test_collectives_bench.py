"""How long one million collectives take in array calls."""

from __future__ import annotations

from typing import Any

import numpy as np

from perfmodel.equations.algorithms import ALGORITHMS
from perfmodel.equations.nccl import Graph, nccl_choice

POINTS = 1_000_000


def test_one_million_algorithms_ranks_and_sizes(benchmark: Any) -> None:
    """Every all-reduce over a grid of ranks and sizes; budget 1 s on two cores."""
    algorithms = list(ALGORITHMS["all-reduce"].values())
    each = POINTS // len(algorithms) + 1
    rng = np.random.default_rng(0)
    ranks = rng.integers(1, 4096, each).astype(float)
    sizes = 10 ** rng.uniform(2, 10, each)

    def every() -> int:
        times = [algorithm.time(ranks, sizes, 5e-6, 25e9) for algorithm in algorithms]
        return sum(np.isfinite(time).sum() for time in times)

    assert benchmark(every) == each * len(algorithms) >= POINTS


def test_one_million_choices_of_nccl(benchmark: Any) -> None:
    rng = np.random.default_rng(0)
    nodes = rng.integers(1, 512, POINTS // 8)
    sizes = 10 ** rng.uniform(2, 10, POINTS // 8)
    choice = benchmark(nccl_choice, "all-reduce", 8 * nodes, nodes, sizes, Graph(6, 20e9, 12e9))
    assert np.all(np.isfinite(choice.time))
    assert len(choice.names) * len(sizes) >= POINTS
