"""Rings on a cube mesh, derived from its links, against what was measured on it."""

from __future__ import annotations

import pytest

from perfmodel.equations.ring_search import ring_bandwidth, rings
from perfmodel.hardware.catalogue.store import Catalogue

MEASURED = {2: 22.6e9, 3: 45.2e9, 4: 85.8e9, 5: 37.1e9, 6: 45.9e9, 7: 87.6e9, 8: 136.1e9}


@pytest.fixture(scope="module")
def mesh():
    return Catalogue.built_in().node("dgx-1v").peer_graph


@pytest.mark.published("vTrain, nccl-tests all-reduce on a DGX-1V")
@pytest.mark.parametrize("group_size", MEASURED)
def test_a_cube_mesh_reduces_as_fast_as_its_rings(mesh, group_size):
    derived = ring_bandwidth(mesh, group_size, 25e9)
    assert derived == pytest.approx(MEASURED[group_size], rel=0.10)


def test_only_five_ranks_need_a_relay(mesh):
    assert [n for n in range(2, 9) if rings(mesh, n).forwarded] == [5]
    assert [rings(mesh, n).rings for n in range(2, 9)] == [1, 2, 4, 2, 2, 4, 6]


def test_every_pair_joined_twice_holds_all_its_links_in_rings():
    quad = tuple((a, b, 2) for a in range(4) for b in range(a))
    assert rings(quad, 4).rings == 6  # three different rings, both ways round, use each link of each pair


def test_more_ranks_than_a_graph_joins_are_no_ring_and_many_are_bounded_at_once(mesh):
    assert rings(mesh, 9).rings == rings(mesh, 40).rings == 0
    crowd = tuple((a, b, 1) for a in range(16) for b in range(a))
    assert rings(crowd, 16).rings == 14  # 15 links a rank, two for each ring, both ways round
    small = tuple((a, b, 1) for a in range(8) for b in range(a))
    assert rings(small, 8).rings == 6  # searched, and equal to its bound


def test_no_way_round_is_no_ring():
    assert rings(((0, 1, 1), (1, 2, 1)), 4).rings == 0
    assert ring_bandwidth(((0, 1, 1),), 2, 10e9) == pytest.approx(9.4e9)
