"""Rings along racks and rings with two buffers: by hand, by events, through every command."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from perfmodel import InputError, Scenario, collective, explain, predict, sweep
from perfmodel.decide.sensitivity.elasticity import sensitivity
from perfmodel.equations.chunked_ring import chunked_ring_all_reduce_time
from perfmodel.equations.ring_all_reduce import ring_all_reduce_time
from perfmodel.interfaces.cli import main
from perfmodel.model.setting.rings import filled_racks

RACKS = {"node": "dgx-1p", "algorithm": "multi-ring", "overlap": "none", "rack_nodes": 4}


@given(
    rack=st.sampled_from([1, 2, 4, 8, 16]),
    nodes=st.sampled_from([1, 2, 4, 8, 16]),
    per_node=st.sampled_from([1, 2, 8]),
    size=st.sampled_from(["1kB", "100MB"]),
)
def test_without_slow_uplinks_racks_only_save_hops(rack, nodes, per_node, size):
    """As many bytes leave each node as by rings over all nodes, in fewer hops."""
    where = {"ranks": per_node * nodes, "nodes": nodes, "intra_link": "nvlink1-cube-mesh"}
    where |= {"inter_link": "ib-edr-100g"} if nodes > 1 else {}
    rings = collective(**where, size=size, algorithm="multi-ring", rack_nodes=rack)
    flat = collective(**where, size=size, algorithm="hierarchical")
    if rack == 1 or nodes <= rack:
        assert rings.time == pytest.approx(flat.time, rel=1e-12)
    else:
        assert rings.time < flat.time
    assert rings.time >= rings.lower_bound


def test_only_the_last_dimension_pays_for_uplinks():
    """8 nodes of 8 on racks of 4: between two racks each node passes 1/4 of the buffer once each way."""
    where = {"ranks": 64, "node": "dgx-1p", "size": "1GB", "algorithm": "multi-ring", "rack_nodes": 4}
    times = [collective(**where, oversubscription=each).time for each in (1, 2, 3)]
    assert times[2] - times[1] == pytest.approx(times[1] - times[0], rel=1e-9)
    adapters = 4 * 12.5e9
    least = 2 * (1 / 2) * (1e9 / 4) / adapters  # at the nominal rate of four adapters
    assert least < times[1] - times[0] < 1.4 * least


@given(
    ranks=st.integers(1, 12), ratio=st.sampled_from([1.0, 2.0, 8.0]), rack=st.sampled_from([None, 1, 2, 3])
)
def test_what_a_sweep_answers_and_refuses_predict_does_too(ranks, ratio, rack):
    job = RACKS | {"oversubscription": ratio, "rack_nodes": rack, "world_size": 8 * ranks}
    fits = rack is not None and (ranks <= rack or ranks % rack == 0)
    if not fits:
        for answer in (lambda: predict(Scenario(**job)), lambda: sweep(**job).table()):
            with pytest.raises(InputError, match="rack_nodes"):
                answer()
        return
    alone = predict(Scenario(**job)).iteration_time
    assert sweep(**job).table()["iteration_time"][0] == pytest.approx(alone, rel=1e-9)


def test_many_sizes_and_racks_in_one_sweep():
    table = sweep(
        **RACKS | {"algorithm": ["multi-ring", "best", "hierarchical"], "rack_nodes": [2, 4]},
        oversubscription=[1.0, 4.0],
        world_size=[1, 8, 32, 48, 64, 128],
    ).table()
    names = ("algorithm", "rack_nodes", "oversubscription", "world_size")
    rows = list(zip(*(table[name].tolist() for name in names), strict=True))
    assert ("multi-ring", 4, 1.0, 48) not in rows  # six nodes
    assert len(rows) == 3 * 2 * 2 * 6 - 2
    for row, time in zip(rows, table["iteration_time"].tolist(), strict=True):
        job = RACKS | dict(zip(names, row, strict=True))
        assert predict(Scenario(**job)).iteration_time == pytest.approx(time, rel=1e-9)


def test_domains_of_several_nodes_lie_on_racks():
    """NVLink joins 18 nodes of 4 to a domain: four domains on racks of two."""
    job = {"node": "gb300-nvl72", "algorithm": "multi-ring", "rack_nodes": 36}
    assert predict(Scenario(**job, world_size=4 * 72)).iteration_time > 0
    assert filled_racks(36, 4, 72) == 2
    with pytest.raises(InputError, match=r"72 nodes do not fill such racks alike.*18 or 36 would"):
        predict(Scenario(**job | {"rack_nodes": 20}, world_size=4 * 72))


def test_explained_and_what_the_uplinks_are_worth():
    job = Scenario(**RACKS, oversubscription=4, world_size=64)
    explained = explain(job)
    (rings,) = (each for each in explained.equations if each.formula.endswith("multi_ring_all_reduce_time"))
    numbers = {symbol.parameter: symbol.value for symbol in rings.symbols}
    assert (numbers["racks"], numbers["ranks_per_rack"]) == (2, 4)
    assert explained.complete
    assert {row.name: row.time.value for row in sensitivity(job).rows}["oversubscription"] > 0


def by_events(ranks: int, transfer: float, adding: float) -> float:
    """Each rank sends one chunk after the other and adds one after the other; all do the same at once.

    Two chunks of each place travel in turn, and every one is passed on when it was added, or received.
    """
    port = adder = 0.0
    ready = [0.0, 0.0]
    for step in range(2 * (ranks - 1)):
        for buffer in (0, 1):
            port = max(port, ready[buffer]) + transfer
            ready[buffer] = port
            if step < ranks - 1:
                adder = ready[buffer] = max(adder, port) + adding
    return max(ready)


@given(
    ranks=st.integers(2, 20),
    size=st.floats(1, 1e9),
    hop=st.floats(0, 1e-3),
    sent=st.floats(1e8, 1e12),
    added=st.floats(1e8, 1e13),
)
def test_two_buffers_take_what_events_take(ranks, size, hop, sent, added):
    chunk = size / (2 * ranks)
    events = by_events(ranks, hop + chunk / sent, chunk / added)
    formula = chunked_ring_all_reduce_time(ranks, size, hop, sent, added)
    assert formula == pytest.approx(events, rel=1e-9)
    with_one = ring_all_reduce_time(ranks, size, 0.0, sent, added)
    assert chunked_ring_all_reduce_time(ranks, size, 0.0, sent, added) <= with_one * (1 + 1e-9)


def test_adding_is_hidden_behind_what_travels():
    """On a P100 adding 100 MB takes 0.4 ms: nothing over PCIe, all of it on a link faster than memory."""
    job = {"ranks": 4, "size": "100MB", "accelerator": "p100-pcie-16gb", "algorithm": "ring-chunked"}
    slow, links = (collective(**job, intra_link=link) for link in ("pcie3-x16", "nvlink4-nvswitch"))
    assert slow.algorithm == links.algorithm == "ring-chunked"
    rings = collective(**job | {"algorithm": "torus"}, intra_link="pcie3-x16")
    assert rings.time < slow.time < 1.01 * rings.time  # twice the starts
    added = 6 * 100e6 / 8 / (732e9 / 3)
    assert added < links.time < 2 * added


def test_a_ring_with_two_buffers_in_every_command():
    job = {"node": "pcie-workstation-8gpu", "algorithm": "ring-chunked", "overlap": "none"}
    alone = predict(Scenario(**job, world_size=8))
    assert sweep(**job, world_size=[2, 8]).table()["iteration_time"][1] == pytest.approx(
        alone.iteration_time, rel=1e-9
    )
    explained = explain(Scenario(**job, world_size=8))
    assert any(each.formula.endswith("adding_bandwidth") for each in explained.equations)
    assert explained.complete
    words = "collective --ranks 8 --size 100MB --node dgx-1v --algorithm gloo --json"
    assert json.loads(CliRunner().invoke(main, words.split()).output)["algorithm"] == "ring-chunked"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"algorithm": "multi-ring"}, "needs rack_nodes, the nodes of a rack"),
        ({"algorithm": "multi-ring", "rack_nodes": 3}, "8 nodes do not fill such racks alike.*2 or 4 would"),
        ({"algorithm": "multi-ring", "rack_nodes": 4, "placement": "random"}, "goes rack by rack"),
        ({"algorithm": "ring-chunked"}, "goes among peers of one node; on 8 take ring or hierarchical"),
    ],
)
def test_rings_without_a_place_are_refused_alike(options, words):
    with pytest.raises(InputError, match=words):
        predict(Scenario(node="dgx-1p", world_size=64, **options))
    with pytest.raises(InputError, match=words):
        collective(ranks=64, size="1MB", node="dgx-1p", **options)


def test_the_best_algorithm_counts_no_racks_on_nodes_in_random_order():
    asked = {"node": "aws-p3.16xlarge", "gpus": 64, "rack_nodes": 4, "inter_link": "ib-edr-100g"}
    asked |= {"oversubscription": 8, "placement": "random", "overlap": "none"}
    best = predict(workload="vgg16", algorithm="best", **asked)
    assert not any("multi-ring" in warning for warning in best.warnings)
    others = (predict(workload="vgg16", algorithm=name, **asked) for name in ("hierarchical", "torus"))
    assert best.communication_time == min(other.communication_time for other in others)
