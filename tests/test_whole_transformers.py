"""A transformer that every accelerator holds whole is timed by the layer of ``transformers/``."""

from typing import Any

import numpy as np
import pytest

from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.fitted.calibration import calibration
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.setting.resolve import Setting, resolve
from perfmodel.model.step.computation import Computation, computation
from perfmodel.model.transformers.computation import passes_of
from perfmodel.model.transformers.evaluate import step_of_setting
from perfmodel.model.transformers.parameters import fitted

CONSTANTS = calibration()


def setting_of(**options: Any) -> Setting:
    return resolve(Scenario(workload="bert-large", **options), Catalogue.built_in())


def work_of(setting: Setting, batch: Any = None, steps: Any = None) -> Computation:
    return computation(setting, setting.local_batch_size if batch is None else batch, CONSTANTS, steps)


def test_with_and_without_a_layout_computation_is_the_same() -> None:
    job = {
        "accelerator": "v100-sxm2-16gb",
        "world_size": 8,
        "local_batch_size": 4,
        "framework": "pytorch@2024",
    }
    whole = work_of(setting_of(**job, precision="amp"))
    laid_out = step_of_setting(setting_of(**job, precision="amp", sharding="zero1"))
    compute = (
        laid_out.products_time + laid_out.attention_time + laid_out.elementwise_time + laid_out.logits_time
    )
    assert whole.forward_time + whole.backward_time == pytest.approx(compute, rel=1e-12)
    assert whole.launch_overhead_time == pytest.approx(laid_out.launch_overhead_time, rel=1e-12, abs=1e-15)
    assert whole.iteration_overhead_time == laid_out.iteration_overhead_time
    assert whole.update_time == pytest.approx(8 * laid_out.update_time, rel=1e-12)  # ZeRO 1 shares it


@pytest.mark.parametrize("accelerator", ["k80", "v100-sxm2-16gb", "t4", "a100-sxm4-80gb", "mi300x", "tpu-v4"])
@pytest.mark.parametrize("precision", ["fp32", "tf32", "fp16", "amp", "bf16"])
def test_every_precision_that_an_accelerator_has(accelerator: str, precision: str) -> None:
    chip = Catalogue.built_in().accelerator(accelerator)
    if (precision in ("tf32", "bf16") and precision not in chip.peak_flops) or "fp32" not in chip.peak_flops:
        pytest.skip("no such arithmetic")
    work = work_of(setting_of(accelerator=accelerator, precision=precision, world_size=1))
    assert 0 < work.forward_time < work.backward_time < 1e3
    assert 0 <= work.host_share < 1


def test_a_column_of_batches_is_each_of_them() -> None:
    setting = setting_of(accelerator="v100-sxm2-16gb", world_size=4, overlap="priority")
    together = work_of(setting, np.array([[4.0], [16.0]]), np.array([1.0, 3.0]))
    for place, (batch, steps) in enumerate([(4, 1), (16, 3)]):
        alone = work_of(setting, batch, steps)
        for name, value in alone._asdict().items():
            all_of_them = np.broadcast_to(getattr(together, name), np.shape(getattr(together, name)) or (2,))
            assert all_of_them[place] == pytest.approx(value, rel=1e-12, abs=1e-18), name


def test_layers_take_the_whole_backward_pass() -> None:
    setting = setting_of(accelerator="v100-sxm2-16gb", world_size=4)
    passes = passes_of(setting, fitted().parameters, 8, 1)
    assert work_of(setting, 8).backward_by_layer.sum() == pytest.approx(passes.paced_backward, rel=1e-12)


def test_an_optimizer_takes_as_long_as_it_moves_bytes() -> None:
    times = {
        name: work_of(setting_of(optimizer=name, framework="pytorch@2024")).update_time
        for name in ("none", "sgd", "adam", "lamb")
    }
    assert times["none"] == 0
    assert times["sgd"] / times["adam"] == pytest.approx(20 / 28)
    assert times["lamb"] / times["adam"] == pytest.approx(40 / 28)
