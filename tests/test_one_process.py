"""One process for several accelerators: its parts add up, GPU 0 keeps more, two may be slower than one."""

from __future__ import annotations

import json

import numpy as np
import pytest
import sympy
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from perfmodel import Scenario, explain, predict, sweep
from perfmodel.decide.sensitivity import sensitivity
from perfmodel.decide.sensitivity.crossovers import crossovers
from perfmodel.equations.single_process import copy_out_time
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.interfaces.cli import main
from perfmodel.model.fitted.calibration import calibration
from perfmodel.model.setting.resolve import resolve
from perfmodel.model.step.fabric import fabric
from perfmodel.model.step.terms import TERMS, names_of, only_of, sent
from perfmodel.workloads import workload

ONE_PROCESS = "data-parallel-single-process"
NODE = {"node": "aws-p2.8xlarge", "strategy": ONE_PROCESS}
PARTS = {"scatter_time", "replicate_time", "broadcast_time", "parallel_apply_time", "gather_time"}
PARTS |= {"loss_time", "reduce_time"}


@given(
    n=st.integers(2, 8),
    batch=st.integers(1, 64),
    steps=st.integers(1, 4),
    network=st.sampled_from(["resnet50", "alexnet", "bert-base"]),
)
def test_the_parts_are_terms_that_add_up(n, batch, steps, network):
    job = {"workload": network, "local_batch_size": batch, "accumulation_steps": steps, "world_size": n}
    answer = predict(Scenario(**NODE, **job, framework="pytorch"))
    assert set(only_of("one process")) == PARTS
    assert all(answer.terms[name] > 0 for name in PARTS)
    assert sum(answer.terms.values()) == pytest.approx(answer.iteration_time, rel=1e-12)
    assert sent(answer.terms) == pytest.approx(answer.communication_time, rel=1e-12)
    assert sum(row.exposed_time for row in answer.traffic) == pytest.approx(answer.communication_time)
    assert answer.terms["exposed_communication_time"] == 0


def test_what_travels_is_counted_by_hand():
    """Four K80, ResNet-50, 32 images each: every byte that passes GPU 0's port, at the port's rate."""
    answer = predict(Scenario(**NODE, world_size=4, local_batch_size=32, framework="pytorch"))
    parameters = workload("resnet50", None).parameters
    rows = {row.collective: row for row in answer.traffic}
    assert {name: row.message_bytes for name, row in rows.items()} == {
        "scatter": 3 * 32 * 3 * 224 * 224 * 4,
        "broadcast": 4 * parameters,
        "gather": 2 * 3 * 32 * 1000 * 4,
        "reduce": 3 * 4 * parameters,
    }
    rate = rows["reduce"].message_bytes / rows["reduce"].time
    assert rows["scatter"].message_bytes / rows["scatter"].time == pytest.approx(rate, rel=0.01)
    assert rows["broadcast"].time == pytest.approx(rows["reduce"].time / 3, rel=0.01)


@given(n=st.integers(2, 8), framework=st.sampled_from(["pytorch", "mxnet"]))
def test_nothing_passes_the_first_port_faster_than_its_link(n, framework):
    scenario = Scenario(**NODE, world_size=n, framework=framework)
    link = fabric(resolve(scenario, Catalogue.built_in()), calibration()).intra_link_bandwidth
    for row in predict(scenario).traffic:
        assert row.message_bytes <= row.time * link, row.collective


@given(n=st.integers(1, 64))
def test_the_weights_leave_the_first_port_once_whatever_the_number_of_replicas(n):
    time = copy_out_time(n, 1e9, 1e-6, 10e9)
    assert time == pytest.approx((n - 1) * 1e-6 + (0.1 if n > 1 else 0), rel=1e-12)
    assert copy_out_time(np.array([n]), 1e9, 1e-6, 10e9).tolist() == [time]
    symbol = sympy.Symbol("W")
    assert float(copy_out_time(symbol, 1e9, 1e-6, 10e9).subs(symbol, n)) == pytest.approx(time, rel=1e-12)


def test_every_listing_has_the_parts():
    run = CliRunner().invoke
    options = [word for key, value in NODE.items() for word in (f"--{key}", value)]
    listing = run(main, ["predict", "--gpus", "2", *options]).output
    labels = [term.label for term in map(TERMS.__getitem__, only_of("one process"))]
    assert all(label in listing for label in labels)
    answer = json.loads(run(main, ["predict", "--gpus", "2", *options, "--json"]).output)
    assert answer["terms"].keys() == set(names_of("one process"))
    emulated = run(main, ["emulate", "--gpus", "2", "--steps", "1", "--speed", "1e6", *options]).output
    assert all(label in emulated for label in labels)
    explained = explain(Scenario(world_size=2, **NODE))
    assert {equation.term for equation in explained.equations} >= PARTS
    table = sweep(strategy=["all-reduce", ONE_PROCESS], node=NODE["node"], world_size=[1, 2, 4]).table()
    single = table["strategy"] == ONE_PROCESS
    for name in PARTS:
        assert (table[name] > 0).tolist() == (single & (table["world_size"] > 1)).tolist()
    for n in (1, 2, 4):
        row = single & (table["world_size"] == n)
        again = predict(Scenario(**NODE, world_size=n))
        assert table["iteration_time"][row].tolist() == pytest.approx([again.iteration_time], rel=1e-9)
        assert table["memory_bytes"][row].tolist() == pytest.approx([again.memory.bytes], rel=1e-9)
        assert table["largest_local_batch_size"][row].tolist() == [again.memory.largest_local_batch_size]


def test_frameworks_whose_replicas_stay_share_no_batch():
    terms = predict(Scenario(**NODE, world_size=4, framework="mxnet")).terms
    absent = {"scatter_time", "replicate_time", "gather_time", "loss_time"}
    assert {name for name in PARTS if not terms[name]} >= absent
    assert terms["broadcast_time"] > 0
    assert terms["reduce_time"] > 0


@given(n=st.integers(2, 8), batch=st.integers(1, 128))
def test_the_first_accelerator_keeps_more(n, batch):
    memory = predict(Scenario(**NODE, world_size=n, local_batch_size=batch, optimizer="adam")).memory
    first, others = memory.devices
    assert (first.first, first.count, others.first, others.count) == (0, 1, 1, n - 1)
    assert first.bytes == memory.bytes == pytest.approx(sum(memory.rows.values()))
    more = memory.rows["whole_batch"] + memory.rows["summed_gradients"] + memory.rows["optimizer"]
    assert first.bytes - others.bytes == pytest.approx(more * (1 + calibration().allocator_share))
    samples_and_outputs = (n - 1) * batch * (3 * 224 * 224 + 3 * 1000) * 4
    assert memory.rows["whole_batch"] == pytest.approx(samples_and_outputs)
    assert memory.rows["summed_gradients"] == memory.rows["gradients"]
    fits = predict(Scenario(**NODE, world_size=n, local_batch_size=memory.largest_local_batch_size))
    assert fits.memory.fits


def test_where_all_keep_the_same_nothing_is_listed_by_device():
    assert predict(Scenario(world_size=8)).memory.devices == []
    assert predict(Scenario(**NODE)).memory.devices == []


def test_crossovers_and_charts_count_all_that_travels():
    """VGG-16 on four K80: parameters and gradients take over 5 % of an iteration of few images."""
    found = sensitivity(Scenario(**NODE, workload="vgg16", world_size=4))
    turns = crossovers(found.case.setting, Catalogue.built_in(), calibration())
    (at,) = (turn.at for turn in turns if turn.words.startswith("communication takes under 5 %"))
    for batch, is_under in ((at - 1, False), (at, True)):
        answer = predict(Scenario(**NODE, workload="vgg16", world_size=4, local_batch_size=batch))
        assert (sent(answer.terms) <= 0.05 * answer.iteration_time) == is_under
    charts = pytest.importorskip("app.charts")
    assert all(charts.HIDDEN not in (bar.y or ()) for bar in charts.waterfall(answer).plotly().data)


def test_two_slower_than_one_says_why_with_the_numbers():
    job = {"workload": "squeezenet", "accelerator": "v100-sxm2-16gb", "global_batch_size": 32}
    one, two = (predict(Scenario(**job, world_size=n, strategy=ONE_PROCESS)) for n in (1, 2))
    assert two.iteration_time > one.iteration_time
    (why,) = (note for note in two.warnings if "slower than one" in note)
    assert f"2 accelerators are slower than one ({one.iteration_time / two.iteration_time:.2f} times" in why
    assert "replicate: copies made in Python" in why
    quick = predict(Scenario(**NODE, world_size=2))
    assert not any("slower than one" in note for note in quick.warnings)


@given(batch=st.integers(1, 128))
def test_one_alone_is_not_slower_than_itself(batch):
    """Rounding puts the speedup of some a hair below 1."""
    alone = predict(Scenario(accelerator="v100-sxm2-16gb", local_batch_size=batch, strategy=ONE_PROCESS))
    assert alone.speedup == pytest.approx(1)
    assert not any("slower than one" in note for note in alone.warnings)
