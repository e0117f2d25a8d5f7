"""Intervals of transformers that are shared out: wider on an accelerator without a measured run, and why."""

import math
from pathlib import Path

import numpy as np
import pytest

import perfmodel
from perfmodel import Catalogue, predict
from perfmodel.core.files.resources import folder
from perfmodel.evidence.accuracy.transformers.transformer_fit import spread_between
from perfmodel.model.fitted.calibration import NORMAL_80
from perfmodel.model.fitted.ledger_scales import EXPERTS, KNOWN, NEW, REPEAT, TRANSFORMERS, scale_of
from perfmodel.model.transformers.parameters import fitted
from perfmodel.model.transformers.uncertainty import NOTICED

JOB = {"workload": "llama-3-8b", "gpus": 8, "micro_batch_size": 1, "sharding": "zero3"}
KIND = "dense, stated layout"
BY_SCALE = {job: scale_of(TRANSFORMERS, job).factor for job in (KNOWN, NEW, EXPERTS)}
USUAL = fitted().spreads[KIND] * BY_SCALE[KNOWN]
ON_ANOTHER = (fitted().spreads[KIND] + fitted().accelerator_spread) * BY_SCALE[NEW]


def stated(**job):
    """A prediction of which no option of the software is left to its default."""
    software = predict(**job).scenario["framework"]
    return predict(**{"recompute": "none", "framework": software, **job})


def width(answer):
    """Of the class, without what low utilisation adds."""
    low_utilisation_factor = min(max(0.3 / answer.mfu, 1.0) ** 0.5, 1.5)
    return math.log(answer.interval.high_80 / answer.iteration_time) / NORMAL_80 / low_utilisation_factor


def reasons(answer):
    return [each.partition(" (x")[0] for each in answer.interval.wider_because if "no measured run" in each]


@pytest.mark.parametrize("accelerator", ["h100-sxm5-80gb", "a100-sxm4-80gb", "tpu-v5p", "gb300"])
def test_an_accelerator_whose_runs_were_learned_from_has_the_width_of_its_class(accelerator):
    answer = stated(**JOB, accelerator=accelerator)
    assert width(answer) == pytest.approx(USUAL)
    assert not reasons(answer)


@pytest.mark.parametrize("accelerator", ["k80", "mi300x", "tpu-v6e", "h100-pcie-80gb", "rtx-4090"])
def test_any_other_is_wider_by_what_accelerators_differ_by(accelerator):
    answer = stated(**JOB, accelerator=accelerator)
    assert width(answer) == pytest.approx(ON_ANOTHER)
    assert reasons(answer) == [f"no measured run of a transformer on {accelerator}"]
    experts = stated(**JOB | {"workload": "mixtral-8x7b"}, accelerator=accelerator)
    assert width(experts) == pytest.approx(
        (fitted().spreads["experts"] + fitted().accelerator_spread) * BY_SCALE[EXPERTS]
    )
    assert len(experts.interval.wider_because) == 2 + (experts.mfu < 0.3 / NOTICED**2)


def test_an_accelerator_of_ones_own_is_another(tmp_path):
    known = folder("hardware_specs") / "accelerators" / "h100-sxm5-80gb.toml"
    (tmp_path / "accelerators").mkdir()
    text = Path(known).read_text("utf-8").replace('id = "h100-sxm5-80gb"', 'id = "mine"')
    text = "\n".join(line for line in text.splitlines() if not line.startswith(("aliases", "#:schema")))
    (tmp_path / "accelerators" / "mine.toml").write_text(text)
    answer = stated(**JOB, accelerator="mine", catalogue=Catalogue([tmp_path]))
    assert width(answer) == pytest.approx(ON_ANOTHER)
    assert reasons(answer) == ["no measured run of a transformer on mine"]


def test_layouts_sweeps_and_comparisons_have_the_same_interval():
    job = {"workload": "llama-3-8b", "accelerator": "mi300x", "global_batch_size": 64}
    software = {"framework": "megatron-core@2026"}
    found = perfmodel.layouts(**job, **software, gpus=8, top=1)
    (why,) = found.wider_because
    assert why.startswith("no measured run of a transformer on mi300x (x1.")
    assert f'"wider_because": ["{why}"]' in found.to_json()
    row = found.rows[0]
    factor = math.exp(NORMAL_80 * ON_ANOTHER)
    assert row.interval["high_80"] / row.iteration_time == pytest.approx(factor)
    table = perfmodel.sweep(**job, **software, gpus=8, sharding="zero3", recompute="none").table()
    assert table["high_80"][0] / table["iteration_time"][0] == pytest.approx(factor)
    known = perfmodel.layouts(**job | software | {"accelerator": "h100-sxm5-80gb"}, gpus=8, top=1)
    assert known.wider_because == ()


def test_a_measured_run_on_it_takes_the_width_away():
    job = {"workload": "llama-3-8b", "accelerator": "mi300x", "sharding": "zero3"}
    same = predict(**job, gpus=8, anchor="iteration_time=1s@8")
    assert width(same) == pytest.approx(REPEAT * math.sqrt(2), rel=0.01)
    assert not reasons(same)
    far = predict(**job, gpus=512, anchor="iteration_time=1s@8")
    assert width(same) < width(far) < width(predict(**job, gpus=512))


def test_accelerators_differ_by_their_means_every_source_alike():
    class Two:
        logs = np.log([1.1, 1.1, 1.1, 1.3, 0.9])
        sources = np.array(["a", "a", "a", "b", "b"])

    spread = spread_between(Two, np.zeros(5), np.array(["x", "x", "x", "x", "y"]))
    of_x = (math.log(1.1) + math.log(1.3)) / 2
    assert spread == pytest.approx(math.sqrt((of_x**2 + math.log(0.9) ** 2) / 2))
    assert 0.03 < fitted().accelerator_spread < 0.2
    assert len(fitted().accelerators) == 17


def test_software_nobody_measured_is_wider_too_and_named():
    on = JOB | {"accelerator": "h100-sxm5-80gb"}
    known, new = (stated(**on, framework=name) for name in ("nemo@2026", "llm.c@2026"))
    assert width(known) == pytest.approx(USUAL)
    spread = fitted().spreads[KIND] + fitted().software_spread
    assert width(new) == pytest.approx(spread * BY_SCALE[NEW])
    assert reasons(new) == ["no measured run of llm.c"]
    both = predict(**JOB, accelerator="mi300x", framework="llm.c").interval.wider_because
    factors = [float(each.partition("(x")[2].partition(";")[0]) for each in both]
    assert len(both) == 2
    assert factors == sorted(factors, reverse=True)
