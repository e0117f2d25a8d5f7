"""A measured run of a transformer as what the prediction of another layout of it starts from."""

from __future__ import annotations

import itertools
import json
import math

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import perfmodel
from perfmodel.core.errors import InputError
from perfmodel.decide.explanations import explain
from perfmodel.decide.sensitivity.elasticity import sensitivity
from perfmodel.decide.sweeps import sweep
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.interfaces.cli import main
from perfmodel.model.fitted.calibration import NORMAL_80
from perfmodel.model.fitted.ledger_scales import FREEDOM, KNOWN, REPEAT, TRANSFORMERS, scale_of
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import predict
from perfmodel.model.setting.anchor import OWN, parse_anchor
from perfmodel.model.transformers.levels import learned
from perfmodel.model.transformers.parameters import fitted

LLAMA = {"workload": "llama-3-8b", "node": "dgx-h100"}
JOB = LLAMA | {"gpus": 64, "tensor_parallel": 4, "pipeline_parallel": 2, "global_batch_size": 256}
RUN = LLAMA | {"gpus": 16, "tensor_parallel": 2, "micro_batch_size": 2, "global_batch_size": 128}
"""Another run of the same network."""
SPREAD = fitted().spreads["dense, stated layout"] * scale_of(TRANSFORMERS, KNOWN).factor
OF_RUN = "@16,tensor-parallel=2,pipeline-parallel=1,micro-batch-size=2,global-batch-size=128"


def factor(answer, **job):
    return answer.iteration_time / predict(**job).iteration_time


def share(world, micro, layout, spread, ratio):
    """Return what one run of the same network on the same machine says of another, by hand.

    The run took ``ratio`` times what is predicted; one that is far off doubts the levels, not its repeats.
    """
    known = learned()
    away = known.falls["world_size"] * math.log(world) + known.falls["micro_batch_size"] * math.log(micro)
    near = math.exp(-away - known.falls["layout"] * layout / 2)
    within = known.network**2 + known.row**2 + known.rest**2
    source = max(spread**2 - within, known.source**2)
    wider = max(1, (FREEDOM + math.log(ratio) ** 2 / (source + within + REPEAT**2)) / (FREEDOM + 1))
    return (source + known.network**2 + known.row**2 * near) / (source + within + REPEAT**2 / wider)


def test_a_run_moves_another_by_what_jobs_of_one_source_share():
    """Accelerators 4 times, micro-batch half, tensors and stages differ."""
    specs = predict(**RUN).iteration_time
    for ratio in (0.9, 1.3, 2.5):
        weight = share(4, 2, 2, SPREAD, ratio)
        answer = predict(**JOB, anchor=f"iteration_time={specs * ratio!r}s{OF_RUN}")
        assert factor(answer, **JOB) == pytest.approx(ratio**weight, rel=1e-9)
        assert answer.mode == "anchored"
        assert sum(answer.terms.values()) == pytest.approx(answer.iteration_time, rel=1e-12)
        alone = predict(**JOB)
        assert answer.scaling_efficiency == pytest.approx(alone.scaling_efficiency, rel=1e-12)
        assert answer.bubble_fraction == pytest.approx(alone.bubble_fraction, rel=1e-12)
        assert answer.mfu == pytest.approx(alone.mfu / ratio**weight, rel=1e-9)
    tokens = 128 * 8192 / specs / 2.5
    by_rate = predict(**JOB, anchor=f"tokens_per_second={tokens!r}{OF_RUN}")
    assert by_rate.iteration_time == pytest.approx(answer.iteration_time, rel=1e-12)


def test_the_measured_job_itself_is_predicted_as_measured():
    for job in (JOB, LLAMA | {"gpus": 8}, JOB | {"workload": "mixtral-8x7b", "expert_parallel": 8}):
        answer = predict(**job, anchor=f"iteration_time=9.5s@{job['gpus']}")
        assert answer.iteration_time == pytest.approx(9.5, rel=0.03)  # but for the noise of repeats
        assert any("the same job" in words for words in answer.warnings)
        other = predict(
            **job | {"recompute": "full"}, anchor=f"iteration_time=9.5s@{job['gpus']},recompute=none"
        )
        assert not any("the same job" in words for words in other.warnings)


def test_a_measurement_narrows_the_interval_the_more_the_nearer_it_is():
    specs = predict(**JOB)
    width = [math.log(specs.interval.high_80 / specs.iteration_time)]
    for size in (1024, 16, 64):
        run = predict(**JOB | {"gpus": size}).iteration_time
        answer = predict(**JOB, anchor=f"iteration_time={run!r}s@{size}")
        assert answer.iteration_time == pytest.approx(specs.iteration_time, rel=1e-12)
        width.append(math.log(answer.interval.high_80 / answer.iteration_time))
    assert width == sorted(width, reverse=True)
    assert width[-1] == pytest.approx(NORMAL_80 * REPEAT * math.sqrt(2), rel=0.01)


def test_another_layout_machine_or_precision_says_less_than_the_job_itself():
    near, machine, precision = (
        parse_anchor(f"iteration_time=1s@64{more}") for more in ("", ",node=dgx-a100-80gb", ",precision=fp8")
    )
    moved = []
    for anchor in (near, machine, precision):
        run = predict(anchor.of_run({k: v for k, v in JOB.items() if k != "gpus"})).iteration_time
        job = JOB | {"recompute": "full"} if anchor is near else JOB  # else it is the same job
        words = anchor._replace(value=1.5 * run, options={**anchor.options, "recompute": "none"}).words()
        moved.append(factor(predict(**job, anchor=words), **job))
    assert all(1 < each < 1.5 for each in moved)


def test_an_answers_scenario_has_the_same_answer():
    answer = predict(**JOB, anchor="iteration_time=30s@16,pipeline_parallel=1")
    assert predict(answer.scenario).iteration_time == answer.iteration_time
    again = predict(json.loads(answer.to_json())["scenario"])
    assert (again.iteration_time, again.interval.high_80) == (answer.iteration_time, answer.interval.high_80)
    said = parse_anchor(answer.scenario["anchor"]).options
    assert said["tensor_parallel"] == 4
    assert said["global_batch_size"] == 256
    assert set(said) <= set(OWN)


@pytest.mark.parametrize(
    ("anchor", "message"),
    [
        ("iteration_time=5s@0", "expected a run on one accelerator"),
        ("iteration_time=5s@3", "@3': tensor_parallel x pipeline_parallel .* does not divide 3 GPUs"),
        ("iteration_time=5s@64,tensor-parallel=3", "does not divide 64 GPUs"),
        ("iteration_time=5s@64,tensor-paralel=3", "unknown option of an anchor 'tensor-paralel'"),
        ("iteration_time=5s@64,workload=gpt2", "unknown option of an anchor 'workload'"),
        ("iteration_time=5s@64,tensor-parallel", "expected an option=value"),
        ("iteration_time=5s@64,tensor-parallel=2,tensor_parallel=2", "tensor_parallel is given twice"),
        ("iteration_time=5s@64,recompute=some", "recompute"),
        ("iteration_time=5s@64,node=dgx-h10", "dgx-h10"),
        ("iteration_time=5 GB@64", "GB"),
        ("iteration_time=1e9s@64", "between 1e-06 and 1e"),
        ("mfu=0.4@64", "expected iteration_time=0.145s@1"),
        ("iteration_time=5s@64,accumulation-steps=3,global-batch-size=64", "does not divide"),
    ],
)
def test_nonsense_is_refused(anchor, message):
    with pytest.raises(InputError, match=message):
        predict(**JOB, anchor=anchor)
    done = CliRunner().invoke(
        main, ["predict", "--workload", "llama-3-8b", "--gpus", "64", "--anchor", anchor]
    )
    assert done.exit_code in (0, 2)
    assert "Traceback" not in done.output


def test_what_is_far_off_or_beyond_physics_is_said():
    assert any("check its unit" in each for each in predict(**JOB, anchor="iteration_time=50s@64").warnings)
    said = predict(**JOB, anchor="iteration_time=5ms@64").warnings
    assert any("less than" in each and "peaks and links allow" in each for each in said)


def test_copies_take_no_options_and_images_no_tokens():
    with pytest.raises(InputError, match="leave tensor_parallel out"):
        predict(gpus=8, anchor="iteration_time=0.2s@8,tensor_parallel=2")
    with pytest.raises(InputError, match="no sequences of tokens"):
        predict(gpus=8, anchor="tokens_per_second=1000@1")
    alone = predict(workload="bert-large", anchor="tokens_per_second=10000@1")
    assert alone.tokens_per_second == pytest.approx(10000)


def anchors():
    return st.builds(
        lambda time, size, tensor, more: f"iteration_time={time}s@{size},tensor_parallel={tensor}{more}",
        st.sampled_from([0.5, 7.0]),
        st.sampled_from([8, 12, 16]),
        st.sampled_from([1, 2, 3]),
        st.sampled_from(
            ["", ",global_batch_size=48", ",precision=fp8,micro_batch_size=1", ",recompute=full"]
        ),
    ) | st.sampled_from(["samples_per_second=30@8", "tokens_per_second=3e5@16,accumulation_steps=4"])


@pytest.mark.any_version
@settings(max_examples=15, deadline=None)
@given(
    anchor=anchors(),
    name=st.sampled_from(["llama-3-8b", "mixtral-8x7b", "gpt2"]),
    batch=st.sampled_from([{"global_batch_size": [48]}, {"accumulation_steps": [1, 4]}, {}]),
)
def test_a_sweep_is_predict(anchor, name, batch):
    lists = {
        "gpus": [8, 16],
        "tensor_parallel": [1, 2],
        "pipeline_parallel": [1, 2],
        "virtual_stages": [1, 2],
        "sharding": [None, "zero3"],
        "accumulation_steps": [None],
        **batch,
    }
    fixed = {"workload": name, "node": "dgx-h100", "anchor": anchor}
    expected, refused = [], {}
    for values in itertools.product(*lists.values()):
        try:
            expected.append(predict(**fixed, **dict(zip(lists, values, strict=True))))
        except InputError as error:
            refused[error.note()] = refused.get(error.note(), 0) + 1
    crossed = sweep(**fixed, **lists)
    try:
        table = crossed.records()
    except InputError:
        assert not expected
        return
    assert crossed.refused == refused
    key = ("world_size", "tensor_parallel", "pipeline_parallel", "virtual_stages", "accumulation_steps")
    rows = {(*(row[name] for name in key), row["sharding"] or "zero1"): row for row in table}
    assert len(rows) == len(expected)
    for answer in expected:
        row = rows[(*(answer.scenario[name] for name in key), answer.layout["sharding"])]
        for column in ("iteration_time", "baseline_time", "communication_time", "mfu", "scaling_efficiency"):
            assert row[column] == pytest.approx(getattr(answer, column), rel=1e-9)
        for column in ("low_80", "high_80"):
            assert row[column] == pytest.approx(getattr(answer.interval, column), rel=1e-9)
        for term, time in answer.terms.items():
            assert row[term] == pytest.approx(time, rel=1e-9, abs=1e-15)


def test_explain_is_complete_and_multiplies_out():
    words = "iteration_time=9s@16,pipeline_parallel=1"
    result = explain(Scenario(**JOB, anchor=words), Catalogue.built_in())
    assert result.complete
    assert result.iteration_time == predict(**JOB, anchor=words).iteration_time
    text = result.to_json()
    assert "own_runs_factor" in text
    assert "by what jobs of one source share" in text


def test_sensitivity_is_the_models_and_the_anchors_weight():
    words = "iteration_time=9s@16,pipeline_parallel=1"
    plain, anchored = (
        {row.name: row.time.value for row in sensitivity(Scenario(**JOB, **more), Catalogue.built_in()).rows}
        for more in ({}, {"anchor": words})
    )
    assert anchored.pop("measured_iteration_time") == pytest.approx(
        share(4, 1, 1, SPREAD, 1.0), rel=0.02
    )  # nearly: the further off, the more it counts
    assert anchored == pytest.approx(plain, abs=1e-9)


def test_every_door_takes_it():
    anchor = "iteration_time=9s@16,pipeline_parallel=1"
    flags = [
        "--workload",
        "llama-3-8b",
        "--node",
        "dgx-h100",
        "--tensor-parallel",
        "4",
        "--global-batch-size",
    ]
    flags += ["256", "--pipeline-parallel", "2", "--anchor", anchor]
    one = predict(**JOB, anchor=anchor)
    for command in (["predict", "--gpus", "64"], ["scale", "--gpus", "64"], ["explain", "--gpus", "64"]):
        done = CliRunner().invoke(main, [*command, *flags, "--json"])
        assert done.exit_code == 0, done.output
        assert f"{one.iteration_time!r}"[:12] in done.stdout
    done = CliRunner().invoke(main, ["predict", "--gpus", "64", *flags])
    assert "anchored on" in done.stdout
    both = perfmodel.compare(JOB | {"anchor": anchor}, JOB)
    assert repr(one.iteration_time)[:12] in both.to_json()


def test_an_anchor_of_images_has_no_sequence_length():
    asked = {"workload": "vit-h-14", "node": "dgx-h100", "tensor_parallel": 4}
    assert predict(gpus=64, anchor="iteration_time=1.2s@8", **asked).mode == "anchored"


def test_several_anchors_are_one_update():
    """Two near runs say more than either; their order does not matter."""
    far = []
    for options in ({"gpus": 16, "pipeline_parallel": 1}, {"gpus": 128}):
        time = 1.1 * predict(JOB | options).iteration_time
        more = ",pipeline_parallel=1" if "pipeline_parallel" in options else ""
        far.append(f"iteration_time={time!r}s@{options['gpus']}{more}")
    one, other, both = (predict(**JOB, anchor=each) for each in (*far, "; ".join(far)))
    turned = predict(**JOB, anchor="; ".join(reversed(far)))
    assert turned.iteration_time == pytest.approx(both.iteration_time, rel=1e-12)
    half = [math.log(each.interval.high_80 / each.iteration_time) for each in (one, other, both)]
    assert half[2] < min(half[:2])
    assert predict(both.scenario).iteration_time == pytest.approx(both.iteration_time, rel=1e-12)
    table = sweep(JOB | {"anchor": "; ".join(far)}, gpus=[64]).table()
    assert table["iteration_time"][0] == pytest.approx(both.iteration_time, rel=1e-9)
    with pytest.raises(InputError, match="several runs are of transformers"):
        predict(gpus=8, anchor="iteration_time=1s@8; iteration_time=1s@4")


def test_the_same_job_is_the_same_in_all_its_options():
    """A run says of another only what jobs of one owner share, whatever option makes it another."""
    time = 1.3 * predict(**JOB).iteration_time
    anchor = f"iteration_time={time!r}s@64"
    for change in ({"lora": 16}, {"rack_nodes": 2, "oversubscription": 4}, {"nics": 1}):
        job = JOB | change
        run = f"iteration_time={1.3 * predict(**job).iteration_time!r}s@64"
        assert any("the same job" in each for each in predict(**job, anchor=run).warnings)
    other = predict(**JOB, accelerators_per_node=4, anchor=anchor + ",accelerators_per_node=8")
    assert not any("the same job" in each for each in other.warnings)


def test_repeated_anchors_are_averaged_in_a_sweep_too():
    for more in ("", ",tensor_parallel=4"):
        anchors = f"iteration_time=9s@64; iteration_time=9.3s@64{more}"
        table = sweep(JOB | {"anchor": anchors, "tensor_parallel": [2, 4]}).table()
        for row, tensor in enumerate((2, 4)):
            answer = predict(JOB | {"tensor_parallel": tensor}, anchor=anchors)
            assert table["iteration_time"][row] == pytest.approx(answer.iteration_time, rel=1e-9)
            assert table["high_80"][row] == pytest.approx(answer.interval.high_80, rel=1e-9)
