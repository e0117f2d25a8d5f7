"""A measurement on several accelerators of one machine as what a prediction starts from."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from perfmodel.cli import main
from perfmodel.errors import InputError
from perfmodel.explanations import explain
from perfmodel.prediction import predict
from perfmodel.prediction.result import Prediction
from perfmodel.specs.scenario import Scenario
from perfmodel.sweeps import sweep


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
        ("iteration_time=0.1s@9", "dgx-1v holds 8"),
        ("iteration_time=0.1s@0", "on several of one machine"),
        ("iteration_time=0.1s@999999", "on several of one machine"),
        ("iteration_time=2us@8", "no speed of one v100-sxm2-16gb leads to"),
    ],
)
def test_what_no_machine_can_have_measured_is_refused(anchor: str, wanted: str) -> None:
    with pytest.raises(InputError, match=wanted):
        ask(world_size=16, anchor=anchor)


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
