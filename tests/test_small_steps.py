"""What a step costs whose work is next to nothing: the host, its launches, and what each kernel takes."""

from __future__ import annotations

import numpy as np
import pytest

from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.formats import FORMATS, states_of
from perfmodel.hardware.releases import release
from perfmodel.model.fitted.calibration import calibration
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import predict
from perfmodel.model.setting.resolve import resolve
from perfmodel.model.step.computation import computation
from perfmodel.model.step.layer_rates import demand, update_launches
from perfmodel.model.step.layers import layer_table
from perfmodel.workloads.catalogue import workload as network

CATALOGUE = Catalogue.built_in()
ACCELERATORS = ("k80", "p100-sxm2-16gb", "v100-sxm2-16gb", "a100-sxm4-40gb", "h100-sxm5-80gb")


def _perceptron(folder, layers):
    path = folder / f"mlp{layers}.csv"
    lines = [f"fc{n},linear,65536 256,1,256,256" for n in range(layers)]
    path.write_text("\n".join(["name,kind,tensors,gemm_rows,gemm_columns,gemm_depth", *lines]), "utf-8")
    return str(path)


def _time(workload, accelerator, **options):
    scenario = Scenario(workload=workload, accelerator=accelerator, local_batch_size=16, **options)
    return predict(scenario, CATALOGUE).iteration_time


@pytest.mark.parametrize("accelerator", ACCELERATORS)
def test_a_step_of_small_layers_costs_its_kernels(tmp_path, accelerator):
    one, two, four = (_time(_perceptron(tmp_path, n), accelerator) for n in (10, 20, 40))
    assert four - two == pytest.approx(2 * (two - one), rel=0.02)
    fixed = 2 * one - two
    assert 0 < fixed < 1.2e-3  # what is left without a layer
    assert one < 6e-3


def test_the_host_paces_small_kernels_on_every_chip(tmp_path):
    network, host = _perceptron(tmp_path, 40), calibration().efficiency.dispatch_time
    slow, *_, fast = (_time(network, accelerator) for accelerator in ACCELERATORS)
    assert fast < slow < 2 * fast
    assert fast > 40 * 3 * host  # at least a forward and two backward products


def test_gradients_are_cleared_and_added_until_a_framework_drops_them():
    adds = {
        name: release(name, CATALOGUE).adds_gradients for name in ("pytorch@2022", "pytorch@2023", "mxnet")
    }
    assert adds == {"pytorch@2022": True, "pytorch@2023": False, "mxnet": False}
    moved = [states_of("none", FORMATS[name], True).update_bytes for name in ("fp32", "fp16")]
    assert moved == [16, 8]
    old, new = (
        resolve(Scenario(workload="vgg16", framework=f"pytorch@{year}"), CATALOGUE).states.update_bytes
        for year in (2022, 2023)
    )
    assert old - new == 16


def test_autocast_leaves_lookups_in_fp32():
    amp, half = (
        resolve(Scenario(workload="ncf", accelerator="v100-sxm2-16gb", precision=name), CATALOGUE)
        for name in ("amp", "fp16")
    )
    table = layer_table(amp.workload)
    ratio = demand(amp, table, 1e6).bytes / demand(half, table, 1e6).bytes
    assert ratio[table.lookup] == pytest.approx(2.0, rel=0.07)
    assert ratio[~table.lookup] == pytest.approx(1.0, rel=1e-6)


@pytest.mark.parametrize("accelerator", ACCELERATORS)
def test_a_step_that_the_host_paces_says_so_and_what_would_help(accelerator):
    answer = predict(Scenario(workload="lenet", accelerator=accelerator, local_batch_size=64), CATALOGUE)
    table, software = layer_table(answer_workload := network("lenet")), answer.scenario["framework"]
    assert answer_workload.parameters == 61_706
    job = resolve(Scenario(workload="lenet", framework=software), CATALOGUE)
    updated = update_launches(job, calibration().efficiency, table.tensors)
    assert answer.verdict.startswith("host-bound: ")
    assert f"the host starts {table.all_kernels + updated:.0f} kernels, {updated:.0f} of the update" in (
        answer.verdict
    )
    share = float(answer.verdict.rpartition("would save ")[2].rstrip(" %")) / 100
    # without its host's pace a step takes what the accelerator takes: never more than its launch overhead
    assert 0 < share <= answer.terms["launch_overhead_time"] / answer.iteration_time
    assert "host-bound" not in predict(Scenario(workload="vgg16", accelerator=accelerator), CATALOGUE).verdict


@pytest.mark.parametrize("name", ["vgg16", "bert-large", "gpt2-small"])
def test_launches_that_rounding_swallows_are_not_negative(name):
    """At 1e14 s the difference of the passes with and without launches is -0.03 s in 64 bits."""
    setting = resolve(Scenario(workload=name, world_size=1), CATALOGUE)
    batches = 10 ** np.linspace(13, 17, 100)
    parts = [computation(setting, batch, calibration()) for batch in batches.tolist()]
    assert max(each.pass_time for each in parts) > 1e14
    assert min(each.launch_overhead_time for each in parts) == 0
