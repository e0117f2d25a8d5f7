"""A measurement on several accelerators, of one machine or of many, as what a prediction starts from."""

from __future__ import annotations

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from perfmodel.core.errors import InputError
from perfmodel.decide.explanations import explain
from perfmodel.decide.sweeps import sweep
from perfmodel.interfaces.cli import main
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import predict
from perfmodel.model.prediction.result import Prediction


def ask(**options: object) -> Prediction:
    return predict(Scenario(**{"workload": "resnet50", "accelerator": "v100-sxm2-16gb", **options}))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"workload": "bert-large", "local_batch_size": 8, "overlap": "none"},
        {"strategy": "data-parallel-single-process"},
        {"input": "real", "loader_workers": 4},
        {"accumulation_steps": 4},
    ],
)
def test_the_measured_machine_is_predicted_as_measured(more: dict[str, object]) -> None:
    specs = ask(world_size=8, **more)
    for factor in (0.95, 1.0, 1.4):
        time = factor * specs.iteration_time
        found = ask(world_size=8, anchor=f"iteration_time={time!r}s@8", **more)
        assert found.mode == "anchored"
        assert found.iteration_time == pytest.approx(time, rel=1e-9)


def test_one_accelerator_gives_back_what_eight_were_told() -> None:
    """From one to eight and back: the anchor on eight that one on one predicts is that one."""
    eight = ask(world_size=8, anchor="iteration_time=0.145s@1").iteration_time
    back = ask(world_size=1, anchor=f"iteration_time={eight!r}s@8")
    assert back.iteration_time == pytest.approx(0.145, rel=1e-6)
    far = [
        ask(world_size=64, anchor=a).iteration_time
        for a in ("iteration_time=0.145s@1", f"iteration_time={eight!r}s@8")
    ]
    assert far[0] == pytest.approx(far[1], rel=1e-6)


def test_a_rate_is_that_of_the_measured_job() -> None:
    """Eight times 64 images in 0.1 s are 5120 images/s."""
    by_rate = ask(world_size=32, local_batch_size=64, anchor="samples_per_second=5120@8")
    by_time = ask(world_size=32, local_batch_size=64, anchor="iteration_time=0.1s@8")
    assert by_rate.iteration_time == pytest.approx(by_time.iteration_time, rel=1e-9)


@pytest.mark.parametrize(
    ("anchor", "wanted"),
    [
        ("iteration_time=0.1s@0", r"or on several \(@8\), of at most 1,000,000"),
        ("iteration_time=0.1s@1000001", r"or on several \(@8\), of at most 1,000,000"),
        ("iteration_time=2us@8", "no speed of one v100-sxm2-16gb leads to"),
        ("iteration_time=2ms@64", "no speed of one v100-sxm2-16gb leads to"),
    ],
)
def test_what_no_machine_can_have_measured_is_refused(anchor: str, wanted: str) -> None:
    with pytest.raises(InputError, match=wanted):
        ask(world_size=16, anchor=anchor)


SEVERAL = [
    ({}, 16, "2 nodes of 8 accelerators"),
    ({"inter_link": "ethernet-10g-tcp"}, 64, "8 nodes of 8 accelerators"),
    ({"accelerators_per_node": 4}, 16, "4 nodes of 4 accelerators"),
    ({"world_size": 2}, 32, "4 nodes of 8 accelerators"),
    ({"rack_nodes": 2, "oversubscription": 8.0}, 64, "8 nodes of 8 accelerators"),
    ({"strategy": "parameter-server", "servers": 2}, 16, "2 nodes of 8 accelerators"),
    ({"input": "real"}, 24, "3 nodes of 8 accelerators"),
    ({"accelerator": "gb300"}, 8, "2 nodes of 4 accelerators in one NVLink domain"),
    ({"accelerator": "gb300"}, 72, "18 nodes of 4 accelerators in one NVLink domain"),
    ({"accelerator": "gb300"}, 144, "36 nodes of 4 accelerators in 2 NVLink domains"),
    ({"accelerator": "gb300", "accelerators_per_node": 2}, 36, "18 nodes of 2 accelerators in one NVLink"),
]


@pytest.mark.any_version
@pytest.mark.parametrize(("more", "ranks", "place"), SEVERAL)
def test_machines_that_measured_are_predicted_as_measured(
    more: dict[str, object], ranks: int, place: str
) -> None:
    """Their nodes, NVLink domains and links are those of the same plan on as many accelerators."""
    options = {"workload": "vgg16", "local_batch_size": 256} | more
    specs = ask(**options | {"world_size": ranks})
    assert specs.placement.startswith(place)
    for factor in (1.1, 2.0):
        anchor = f"iteration_time={factor * specs.iteration_time!r}s@{ranks}"
        there = ask(**options | {"world_size": ranks, "anchor": anchor})
        assert there.iteration_time == pytest.approx(factor * specs.iteration_time, rel=1e-9)
        assert there.communication_time == pytest.approx(specs.communication_time, rel=1e-9)
        elsewhere = ask(**{"world_size": 8} | options | {"anchor": anchor})
        assert any(f"the anchor's run, {place}" in words for words in elsewhere.warnings)


@pytest.mark.any_version
@given(
    st.sampled_from(["v100-sxm2-16gb", "gb300"]),
    st.sampled_from([2, 4, 8, 12, 16, 40, 64, 72, 76, 144, 288]),
    st.floats(0.05, 2),
    st.sampled_from(["all-reduce", "parameter-server"]),
)
@settings(max_examples=25, deadline=None)
def test_any_number_gives_back_the_accelerator_it_was_predicted_from(
    accelerator: str, ranks: int, alone: float, strategy: str
) -> None:
    options = {"accelerator": accelerator, "strategy": strategy}
    many = ask(**options, world_size=ranks, anchor=f"iteration_time={alone!r}s@1").iteration_time
    for world_size in (1, 72, 256):
        back, first = (
            ask(**options, world_size=world_size, anchor=anchor).iteration_time
            for anchor in (f"iteration_time={many!r}s@{ranks}", f"iteration_time={alone!r}s@1")
        )
        assert back == pytest.approx(first, rel=1e-5)


def test_what_the_measured_run_took_by_default_is_named() -> None:
    """A job of one machine crosses no network; the run that it starts from did."""
    answer = ask(world_size=4, anchor="iteration_time=0.3s@32", strategy="all-reduce")
    assert "--inter-link ib-edr-100g" in answer.defaults
    odd = ask(world_size=8, anchor="iteration_time=0.3s@12")
    assert any(words.startswith("the anchor's run: 12 GPUs fill 1 node of 8") for words in odd.warnings)


def test_strategies_of_one_machine_measured_on_one() -> None:
    with pytest.raises(InputError, match=r"^anchor 'iteration_time=0.1s@16': strategy data-para"):
        ask(world_size=8, strategy="data-parallel-single-process", anchor="iteration_time=0.1s@16")


def test_a_network_for_a_stack_is_measured_with_the_batch_of_its_copies() -> None:
    """Eight replicas of 8 sequences, measured at 80 a second, are predicted at 80 a second."""
    options = {"workload": "gpt2-xl", "accelerator": "a100-sxm4-80gb", "world_size": 8}
    answer = ask(**options, anchor="samples_per_second=80@8")
    assert answer.samples_per_second == pytest.approx(80, rel=0.01)  # but for the noise of repeats
    by_time = ask(**options, anchor="iteration_time=1s@8")
    assert by_time.iteration_time == pytest.approx(1, rel=0.01)


def test_a_sweep_refuses_it_and_an_explanation_holds() -> None:
    with pytest.raises(InputError, match="a sweep takes the time of one accelerator"):
        sweep(workload=["resnet50"], world_size=[1, 8], anchor="iteration_time=0.1s@8")
    told = explain(Scenario(workload="resnet50", world_size=32, anchor="iteration_time=0.1s@8"))
    asked = predict(Scenario(workload="resnet50", world_size=32, anchor="iteration_time=0.1s@8"))
    assert told.iteration_time == pytest.approx(asked.iteration_time)


def test_the_command_takes_it() -> None:
    result = CliRunner().invoke(main, ["predict", "--gpus", "8", "--anchor", "iteration_time=100ms@8"])
    assert result.exit_code == 0
    assert "100 ms   anchored" in result.stdout


@pytest.mark.parametrize(
    ("anchor", "said"),
    [
        ("iteration_time={}@1", "{} times what the specs say; {} ms?"),
        ("samples_per_second=0.1@1", "as slow as the specs say; check its unit and batch"),
        ("iteration_time={}ms@1", None),
    ],
)
def test_a_slip_of_the_unit_is_doubted(anchor: str, said: str | None) -> None:
    milliseconds = f"{1e3 * ask(world_size=1).iteration_time:.3g}"
    warnings = " ".join(ask(world_size=4, anchor=anchor.format(milliseconds)).warnings)
    if said is None:
        assert "specs say" not in warnings
    else:
        assert said.format("1,000", milliseconds).split(" ", 1)[1] in warnings
