"""Meshes of NVLink: what rings of 2, 3, 4 ranks reach where a pair has but some of an accelerator's links."""

from __future__ import annotations

import pytest

import perfmodel
from perfmodel.core.errors import InputError
from perfmodel.equations.ring_search import WRITE_PAYLOAD, rings
from perfmodel.evidence.accuracy.collectives.collective_rows import shipped_measurements
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.collectives.place import places

CATALOGUE = Catalogue.built_in()
QUADS = {"nvlink2-quad-mesh": 2, "nvlink3-quad-mesh": 4, "nvlink4-quad-mesh": 6}
"""Links of each pair, 25 GB/s each."""


@pytest.mark.parametrize(("link", "links"), QUADS.items())
@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_rings_of_a_quad_mesh_have_the_links_between_their_ranks(link, links, ranks):
    """Each rank has links to ranks - 1 others, half of them to pass on and half to take in, both ways."""
    most = WRITE_PAYLOAD * 25e9 * links * (ranks - 1)
    result = perfmodel.collective(ranks=ranks, size="16GB", intra_link=link)
    assert 0.98 * most < result.bus_bandwidth < most
    # an algorithm of textbooks crosses the same links
    other = perfmodel.collective(ranks=ranks, size="16GB", intra_link=link, algorithm="exchange")
    assert other.bus_bandwidth <= most


@pytest.mark.parametrize("link", QUADS)
def test_a_quad_mesh_joins_four(link):
    with pytest.raises(InputError, match="joins 4 ranks in a node, not 5"):
        perfmodel.collective(ranks=5, size="1GB", intra_link=link)


def test_machines_and_their_links_tell_of_the_same_mesh():
    named = [CATALOGUE.node(id) for id in CATALOGUE.ids("nodes")]
    meshed = [node for node in named if node.peer_graph]
    assert len(meshed) >= 9
    for node in meshed:
        link = CATALOGUE.link(str(node.intra_link))
        for ranks in range(2, node.accelerators + 1):
            assert rings(node.peer_graph, ranks) == rings(link.peer_graph, ranks)


def test_no_measured_quad_mesh_is_faster_than_its_links():
    quads = [m for m in shipped_measurements() if m.point and m.point.link.id in QUADS and m.point.nodes == 1]
    assert len(quads) >= 40
    for row in quads:
        point = row.point
        share = 2 * 3 / 4 if point.collective == "all-reduce" else 3 / 4
        assert share * point.message_bytes / row.time < places([point]).inside_rate[0]
