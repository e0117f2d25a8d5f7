"""A two-dimensional torus: through predict, sweep, explain and collective, and by hand."""

from __future__ import annotations

import json
import re

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from perfmodel import InputError, Scenario, collective, explain, predict, sweep
from perfmodel.equations.ring_all_reduce import ring_all_reduce_time
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.interfaces.cli import main
from perfmodel.model.setting.torus import usual_torus
from perfmodel.model.step.all_reduce import torus_times
from perfmodel.model.step.fabric import Fabric
from perfmodel.model.step.layout import Group

JOB = {"node": "dgx-1p", "algorithm": "torus", "overlap": "none"}
LINK = Catalogue.built_in().link("pcie3-x16")


def group(per_node, nodes, torus=None, hops=(1.0, 1.0), rates=(1e9, 1e9)):
    return Group(per_node, nodes, LINK, Fabric(hops[0], rates[0], hops[1], rates[1]), torus=torus)


@given(columns=st.integers(1, 8), rows=st.integers(1, 8))
def test_hops_and_bytes_on_equal_links(columns, rows):
    """In one node: 2(X-1) + 2(Y-1) hops, and as many bytes as a ring of all ranks sends."""
    ranks = group(columns * rows, 1, torus=(columns, rows))
    assert torus_times(ranks, 0.0) == pytest.approx(2 * (columns - 1) + 2 * (rows - 1))
    free = group(columns * rows, 1, torus=(columns, rows), hops=(0.0, 0.0))
    assert torus_times(free, 1e9) == pytest.approx(ring_all_reduce_time(columns * rows, 1e9, 0.0, 1e9))


def test_columns_share_the_adapters_of_a_node():
    """4 nodes of 8, rows of 8, 4 and 16; adapters of 1 GB/s bind: bytes out of a node over their rate."""
    numbers = {"hops": (0.0, 0.0), "rates": (1e18, 1e9)}
    row_a_node = torus_times(group(8, 4, (8, 4), **numbers), 8e9)
    assert row_a_node == pytest.approx(2 * 3 / 4 * 8)  # eight columns: the buffer by a ring of four
    half_rows = torus_times(group(8, 4, (4, 8), **numbers), 8e9)
    assert half_rows == pytest.approx(2 * 7 / 8 * 8)  # four columns of eight
    wide_rows = torus_times(group(8, 4, (16, 2), **numbers), 8e9)
    assert wide_rows == pytest.approx(2 * 15 / 16 * 8 + 2 * 1 / 2 * 4)  # then half for a ring of two


@given(per_node=st.sampled_from([1, 2, 4, 8]), nodes=st.integers(2, 16), size=st.floats(1, 1e10))
def test_a_node_a_row_is_the_hierarchical_ring(per_node, nodes, size):
    assert usual_torus(per_node, nodes) == (per_node, nodes)
    job = {**JOB, "world_size": per_node * nodes, "accelerators_per_node": per_node}
    torus, rings = (
        predict(Scenario(**{**job, "algorithm": name})).iteration_time for name in ("torus", "hierarchical")
    )
    assert torus == pytest.approx(rings, rel=1e-12)


def test_the_same_in_a_sweep_and_round_again():
    grids = [None, "4x8", "16x2"]
    table = sweep(**JOB, world_size=[8, 12, 16, 32], torus_dimensions=grids).table()
    asked = list(zip(table["world_size"].tolist(), table["torus_dimensions"].tolist(), strict=True))
    assert sorted(asked, key=str) == sorted(
        [(8, None), (16, None), (32, None), (32, "4x8"), (32, "16x2")], key=str
    )
    for (ranks, grid), time in zip(asked, table["iteration_time"].tolist(), strict=True):
        answer = predict(Scenario(**JOB, world_size=ranks, torus_dimensions=grid))
        assert answer.iteration_time == pytest.approx(time, rel=1e-9)
        assert predict(answer.scenario).iteration_time == answer.iteration_time
    assert predict(Scenario(**JOB, world_size=32)).scenario["torus_dimensions"] == "8x4"


def test_an_explanation_shows_the_equation():
    explained = explain(Scenario(**JOB, world_size=32, torus_dimensions="4x8"))
    (torus,) = (each for each in explained.equations if each.formula.endswith("torus_all_reduce_time"))
    assert {symbol.parameter: symbol.value for symbol in torus.symbols}["rows"] == 8
    assert explained.complete


def test_a_collective_on_its_own_takes_dimensions():
    wide = collective(ranks=32, size="100MB", node="dgx-1p", algorithm="torus", torus_dimensions="16x2")
    usual = collective(ranks=32, size="100MB", node="dgx-1p", algorithm="torus")
    assert wide.algorithm == usual.algorithm == "torus"
    assert wide.time != usual.time
    assert wide.time >= wide.lower_bound
    words = (
        "collective --ranks 32 --size 100MB --node dgx-1p --algorithm torus --torus-dimensions 16x2 --json"
    )
    assert json.loads(CliRunner().invoke(main, words.split()).output)["time"] == wide.time


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"torus_dimensions": "4x8"}, "goes with algorithm torus, not auto"),
        ({"algorithm": "torus", "torus_dimensions": "4by8"}, "ranks in a row x ranks in a column, e.g. 4x8"),
        ({"algorithm": "torus", "torus_dimensions": "4x4"}, "holds 16 ranks, not 32; e.g. 8x4"),
        ({"algorithm": "torus", "world_size": 24, "torus_dimensions": "3x8"}, "rows straddle nodes of 8"),
        (
            {"algorithm": "torus", "world_size": 12},
            "12 ranks do not fill 2 nodes of 8 evenly; give gpus 8 or 16, or accelerators_per_node 6",
        ),
        (
            {"algorithm": "torus", "world_size": 13},
            "13 ranks do not fill 2 nodes of 8 evenly; give gpus 8 or 16$",
        ),
        (
            {"algorithm": "torus", "torus_dimensions": "4x8", "strategy": "parameter-server"},
            "goes with strategy all-reduce",
        ),
    ],
)
def test_bad_grids_are_refused_with_what_would_be_right(options, words):
    with pytest.raises(InputError, match=words.replace("(", r"\(")):
        predict(Scenario(**{"node": "dgx-1p", "world_size": 32, **options}))


@pytest.mark.parametrize(
    ("node", "ranks"), [("dgx-1v", 12), ("dgx-1v", 44), ("gb300-nvl72", 74), ("gb300-nvl72", 148)]
)
def test_what_an_uneven_torus_is_told_to_take_runs(node, ranks):
    job = {"node": node, "world_size": ranks, "algorithm": "torus", "workload": "resnet50"}
    with pytest.raises(InputError, match="evenly; give gpus") as refused:
        predict(Scenario(**job))
    fewer, more, *spread = map(int, re.findall(r"\d+", str(refused.value).split("give")[1]))
    assert fewer < ranks < more
    for better in (
        {"world_size": fewer},
        {"world_size": more},
        *({"accelerators_per_node": n} for n in spread),
    ):
        assert predict(Scenario(**job | better)).iteration_time > 0
