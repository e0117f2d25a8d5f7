"""How long one million collectives take in array calls."""

from __future__ import annotations

from typing import Any

import numpy as np

from perfmodel.equations.algorithms import ALGORITHMS
from perfmodel.equations.nccl import Graph, nccl_times
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.collectives.model import Curve, curve, fitted
from perfmodel.model.collectives.place import COLLECTIVES, Point, places

POINTS = 1_000_000


def test_one_million_algorithms_ranks_and_sizes(within: Any) -> None:
    """Every all-reduce at many ranks and sizes, in one call."""
    each = POINTS // len(ALGORITHMS["all-reduce"]) + 1
    rng = np.random.default_rng(0)
    ranks = rng.integers(1, 4096, each).astype(float)
    sizes = 10 ** rng.uniform(2, 10, each)

    def every_algorithm() -> dict[str, Any]:
        return {
            name: algorithm.time(ranks, sizes, 5e-6, 25e9, *((1e11,) if algorithm.adds else ()))
            for name, algorithm in ALGORITHMS["all-reduce"].items()
        }

    times = within(5, every_algorithm, passes=20)
    assert sum(np.isfinite(time).sum() for time in times.values()) == each * len(times) >= POINTS


def test_one_million_choices_of_nccl(within: Any) -> None:
    rng = np.random.default_rng(0)
    nodes = rng.integers(1, 512, POINTS // 8)
    sizes = 10 ** rng.uniform(2, 10, POINTS // 8)

    def choices() -> Any:
        names, times = nccl_times("all-reduce", 8 * nodes, nodes, sizes, Graph(6, 20e9, 12e9))
        assert len(names) * len(sizes) >= POINTS
        return times.argmin(axis=0), times.min(axis=0)

    assert np.all(np.isfinite(within(22, choices, passes=20)[1]))


def test_one_million_points_of_measured_fabrics(within: Any) -> None:
    """200 places, 5,000 sizes, the library's choice in every one."""
    inside, between = (Catalogue.built_in().link(name) for name in ("nvlink4-nvswitch", "ib-ndr-400g"))
    points = [
        Point(8 * nodes, nodes, inside, between, 8).of(COLLECTIVES[each % len(COLLECTIVES)], 1.0)
        for each, nodes in enumerate(range(2, 202))
    ]
    at, sizes = places(points), np.geomspace(1.0, 1e11, POINTS // len(points))

    def every_point() -> Any:
        columns = curve(at, fitted().parameters)
        return Curve(*(column[:, None] for column in columns)).time(sizes)

    assert np.isfinite(within(8, every_point, passes=10)).sum() == POINTS
