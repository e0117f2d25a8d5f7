"""Oversubscribed racks: what they take from the adapters of nodes, and what the answer says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import perfmodel
from perfmodel.core.errors import InputError
from perfmodel.decide.sensitivity.elasticity import sensitivity
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.collectives.place import COLLECTIVES, USUAL_YEAR, places
from perfmodel.model.collectives.racks import Racks
from perfmodel.model.fitted.calibration import calibration
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction.collectives.collective import collective
from perfmodel.model.prediction.collectives.collective_fabric import fabric_of
from perfmodel.model.prediction.network_cuts import cuts_of, least_time
from perfmodel.model.setting.resolve import resolve
from perfmodel.model.step.fabric import fabric
from perfmodel.model.step.layout import gradient_group
from perfmodel.model.step.library import library_curve

CATALOGUE = Catalogue.built_in()
DGX = {"node": "dgx-a100-80gb", "ranks": 128, "size": "1GB"}
PLACEMENTS = st.sampled_from(["contiguous", "random"])


@pytest.mark.parametrize(
    ("name", "placement", "slowdown"),
    [
        ("all-reduce", "contiguous", 2),  # 4 to 1, two nodes of a rack: one of them sends to another rack
        ("all-reduce", "random", 4 * 14 / 15),  # 14 of 15 neighbours are elsewhere
        ("all-to-all", "contiguous", 4 * 14 / 15),
    ],
)
def test_adapters_carry_less_by_what_leaves_a_rack(name, placement, slowdown):
    words = {"rack_nodes": 2, "oversubscription": 4, "placement": placement}
    alone, crossed = (
        places([fabric_of(128, CATALOGUE, node="dgx-a100-80gb", **more).of(name, 1e9)])
        for more in ({}, words)
    )
    assert alone.port[0] / crossed.port[0] == pytest.approx(slowdown)
    assert perfmodel.collective(name, **DGX, **words).time > 1.5 * perfmodel.collective(name, **DGX).time


def test_the_answer_says_what_was_taken_of_racks_and_rails():
    crossed = perfmodel.collective(**DGX, rack_nodes=2, oversubscription=4)
    assert crossed.warnings[-1] == (
        "taken: racks of 2 nodes, filled node after node; their uplinks carry 1/4 of what the nodes could "
        "send, on every rail alike"
    )
    inside = perfmodel.collective(**DGX, rack_nodes=16, oversubscription=4)
    assert inside.warnings[-1] == "the uplinks of racks are not crossed: 16 nodes lie in one rack of 16"
    assert inside.time == perfmodel.collective(**DGX).time


def test_algorithms_of_textbooks_cross_the_same_uplinks():
    for name in ("halving-doubling", "hierarchical"):
        plain, crossed = (
            perfmodel.collective(**DGX, algorithm=name, **more).time
            for more in ({}, {"rack_nodes": 2, "oversubscription": 8})
        )
        assert crossed > 2 * plain


@given(
    st.sampled_from(COLLECTIVES),
    st.sampled_from(["dgx-a100-80gb", "aws-g4dn.12xlarge", "gcp-a4x-highgpu-4g", "azure-nc6s_v3"]),
    st.integers(2, 60),
    st.integers(1, 60),
    st.floats(1, 50),
    PLACEMENTS,
)
def test_no_uplink_makes_anything_faster_and_no_answer_beats_the_bound(name, node, nodes, rack, ratio, order):
    ranks = nodes * CATALOGUE.node(node).accelerators

    def of(rack_nodes: int, oversubscription: float):
        words = {"rack_nodes": rack_nodes, "oversubscription": oversubscription, "placement": order}
        return fabric_of(ranks, CATALOGUE, node=node, **words)

    plain, crossed = fabric_of(ranks, CATALOGUE, node=node), of(rack, ratio)
    slower = collective(name, "auto", crossed, 1e8)
    assert slower.time >= collective(name, "auto", plain, 1e8).time * (1 - 1e-12)
    assert collective(name, "auto", of(rack, 2 * ratio), 1e8).time >= slower.time * (1 - 1e-12)
    assert slower.lower_bound <= slower.time
    point = crossed.of(name, 1e8)
    for cut in cuts_of(point):
        assert least_time(name, ranks, 1e8, cut) <= slower.time
    if nodes <= rack:
        assert slower.time == collective(name, "auto", plain, 1e8).time


def test_racks_of_domains_count_in_domains():
    """144 GB200 are two domains of 18 nodes: racks of 18 hold one each, and each sends to the other."""
    racks = Racks(18, 3.0)
    assert racks.slowdown("all-reduce", 2, 36) == 3
    assert racks.slowdown("all-to-all", 2, 36) == 3
    assert racks.slowdown("all-reduce", 2, 18) == 1
    one = {"node": "gb300-nvl72", "gpus": 72, "rack_nodes": 4, "oversubscription": 4.0, "placement": "random"}
    assert perfmodel.predict(**one).communication_time == pytest.approx(
        perfmodel.predict(node="gb300-nvl72", gpus=72).communication_time
    )


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ({"oversubscription": 4}, "oversubscription needs rack_nodes"),
        ({"oversubscription": 0.5, "rack_nodes": 2}, "expected 1 to 1,000"),
        ({"oversubscription": "x", "rack_nodes": 2}, "oversubscription = 'x': expected a number"),
        ({"oversubscription": 4, "rack_nodes": 2, "placement": "randm"}, "random"),
        ({"rack_nodes": 0}, "rack_nodes = 0: expected greater than or equal to 1"),
    ],
)
def test_bad_racks(words, expected):
    with pytest.raises(InputError, match=expected):
        perfmodel.collective(**DGX, **words)


@pytest.mark.parametrize("link", ["ib-edr-100g", "ethernet-100g-tcp", "ethernet-25g-tcp"])
@pytest.mark.parametrize(("rack", "ratio"), [(2, 3.0), (1, 4.0), (2, 1.5)])
@pytest.mark.parametrize("order", ["contiguous", "random"])
def test_a_step_crosses_the_uplinks_that_a_collective_does(link, rack, ratio, order):
    """Uplinks slow what ports send; a host that is too slow for its port, no more than it is."""
    words = {"rack_nodes": rack, "oversubscription": ratio, "placement": order, "inter_link": link}
    setting = resolve(Scenario(node="dgx-1v", gpus=64, nics=1, **words), CATALOGUE)
    setting = setting._replace(software_year=USUAL_YEAR)
    curve = library_curve(gradient_group(setting, fabric(setting, calibration())))
    alone = perfmodel.collective(node="dgx-1v", ranks=64, size=1e9, nics=1, **words).time
    near = 0.18 if CATALOGUE.link(link).passes_kernel else 0.09  # 2.40 GB/s by training, 2.83 by collectives
    assert float(curve.time(1e9)) == pytest.approx(alone, rel=near)


def test_uplinks_do_not_slow_what_the_kernel_is_too_slow_for():
    asked = {"node": "dgx-1v", "gpus": 64, "nics": 1, "inter_link": "ethernet-100g-tcp", "workload": "vgg16"}
    plain, crossed = (
        perfmodel.predict(**asked, rack_nodes=2, oversubscription=ratio).communication_time
        for ratio in (1.0, 4.0)
    )
    assert crossed == pytest.approx(plain, rel=0.05)  # half of 12.5 GB/s is twice what its TCP carries


EXPERTS = {
    "workload": "mixtral-8x7b",
    "node": "dgx-h100",
    "gpus": 64,
    "expert_parallel": 8,
    "tensor_parallel": 8,
    "expert_tensor_parallel": 8,
    "accumulation_steps": 4,
}


def experts_time(**options) -> float:
    return perfmodel.predict(**EXPERTS | options).terms["expert_parallel_time"]


def test_tokens_cross_the_uplinks_on_their_way_to_experts():
    """Eight nodes hold the experts of a layer: of tokens for others, 6 of 7 leave racks of two, 4 to 1."""
    plain, crossed = experts_time(), experts_time(rack_nodes=2, oversubscription=4.0)
    started = experts_time(inter_link="ib-ndr-400g", nics=32, network_cap=False)
    assert started < plain < crossed
    half, same = experts_time(rack_nodes=2, oversubscription=7 / 3), experts_time(nics=4)
    assert half == pytest.approx(same, rel=1e-9)  # 7/3 of 6/7 is half of the adapters
    assert experts_time(rack_nodes=8, oversubscription=4.0) == plain
    near = {"tensor_parallel": 1, "expert_tensor_parallel": 1}  # within a node
    assert experts_time(**near, rack_nodes=2, oversubscription=4.0) == experts_time(**near)


@pytest.mark.any_version
@given(
    st.sampled_from([1, 2, 4, 8]),
    st.sampled_from([1, 2, 4, 8]),
    st.sampled_from([1, 2]),
    st.integers(1, 20),
    st.floats(1, 50),
    PLACEMENTS,
)
def test_no_uplink_makes_a_layout_faster(tensor, experts, stages, rack, ratio, order):
    """One as many as in a sweep, which times layouts as arrays."""
    layout = {"tensor_parallel": tensor, "expert_parallel": experts, "pipeline_parallel": stages}
    layout["expert_tensor_parallel"] = tensor
    asked = EXPERTS | layout | {"gpus": 128}
    racks = {"rack_nodes": rack, "placement": order}
    times = [
        perfmodel.predict(**asked, **racks, oversubscription=each).iteration_time
        for each in (1.0, ratio, 2 * ratio)
    ]
    assert times == sorted(times)
    table = perfmodel.sweep(
        **asked | {"expert_parallel": [1, experts]}, **racks, oversubscription=[1.0, ratio]
    ).table()
    of = (table["expert_parallel"] == experts) & (table["oversubscription"] == ratio)
    assert table["iteration_time"][of] == pytest.approx(times[1], rel=1e-9)


def test_an_explanation_and_elasticities_of_a_layout_know_racks():
    asked = EXPERTS | {"rack_nodes": 2, "oversubscription": 4.0}
    report = perfmodel.explain(**asked)
    assert report.complete
    assert "o, oversubscription = 4" in str(report)
    assert perfmodel.explain(**EXPERTS).complete
    rows = {row.name: row.time.value for row in sensitivity(Scenario(**asked)).rows}
    assert rows["oversubscription"] > 0.01
