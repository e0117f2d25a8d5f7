"""What code written for MLPerf does: each fact of it changes what it says it changes, and nothing else."""

import pytest

import perfmodel
from perfmodel.evidence.accuracy.mlperf.mlperf_rules import configuration_of
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.fitted.calibration import calibration
from perfmodel.model.transformers.parameters import fitted
from perfmodel.workloads import workload
from perfmodel.workloads.joined import with_joined_norms

IMAGES = {"workload": "resnet50-v1.5", "accelerator": "a100-sxm4-80gb", "precision": "fp16"}
BERT = {
    "workload": "bert-large",
    "sequence_length": 256,
    "accelerator": "h100-sxm5-80gb",
    "precision": "fp16",
    "optimizer": "lamb",
    "local_batch_size": 8,
    "overlap": "none",
    "jitter": "none",
}
FACTS = """
id = "mine"
name = "Mine"
based_on = "{base}"
[versions.2018]
{fact} = {value}
[[provenance]]
facts = ["{fact}"]
basis = "assumed"
"""


def terms(folder, job, fact, value, base, **more):
    """Return the terms of a job with software that differs from ``base`` in one fact."""
    (folder / "mine.toml").write_text(FACTS.format(base=base, fact=fact, value=value))
    catalogue = Catalogue([folder])
    return perfmodel.predict(**job | more, framework="mine@2022", catalogue=catalogue).terms


def pair(folder, job, fact, without, with_, base, **more):
    return [terms(folder, job, fact, value, base, **more) for value in (without, with_)]


def test_norms_take_over_what_follows_them():
    """By hand: a norm and its ReLU move 3 + 2 elements forward, one kernel that does both 3, or 2 where the
    convolution took the statistics."""
    plain = workload("resnet50")
    first = next(at for at, layer in enumerate(plain.layers) if layer.kind == "norm")
    norm, activation = plain.layers[first : first + 2]
    elements = norm.forward_elements / 3
    assert (activation.kind, activation.forward_elements) == ("activation", 2 * elements)
    for joined, moved in (("none", 5), ("activations", 3), ("statistics", 2)):
        layers = with_joined_norms(plain, joined).layers[first : first + 2]
        assert sum(layer.forward_elements for layer in layers) == pytest.approx(moved * elements)
        assert sum(layer.forward_kernels for layer in layers) == (2 if joined == "none" else 1)
        assert [layer.tensors for layer in layers] == [norm.tensors, activation.tensors]
    assert with_joined_norms(workload("bert-large", 128), "statistics") is workload("bert-large", 128)


def test_a_replayed_iteration_waits_for_no_host(tmp_path):
    """What is left between kernels is the time from one to the next on the accelerator."""
    before, after = pair(
        tmp_path, IMAGES, "graphs", '"none"', '"iteration"', "mlperf-mxnet-many", local_batch_size=4
    )
    learned = calibration().efficiency
    network = with_joined_norms(workload("resnet50-v1.5"), "activations")
    kernels = network.column("forward_kernels").sum() + network.column("backward_kernels").sum()
    assert after["launch_overhead_time"] < before["launch_overhead_time"] / 3
    assert after["forward_time"] == before["forward_time"]
    share = after["launch_overhead_time"] / (kernels * learned.kernel_floor)
    assert share == pytest.approx(1, abs=0.1)  # times the factor of the network


def test_a_replayed_transformer_has_the_time_between_its_kernels(tmp_path):
    """22 kernels forward in each of 24 layers, 1.6 times as many backward; the host's 4 ms a step go."""
    before, after = pair(tmp_path, BERT, "graphs", '"none"', '"iteration"', "mlperf-bert", gpus=1)
    kernels = 24 * 22 * (1 + 1.6)
    assert after["launch_overhead_time"] == pytest.approx(kernels * calibration().efficiency.kernel_floor)
    assert after["forward_time"] == pytest.approx(before["forward_time"])
    of_passes = terms(tmp_path, BERT, "graphs", '"passes"', "mlperf-bert", gpus=1)
    step = of_passes["launch_overhead_time"] - after["launch_overhead_time"]
    assert step == pytest.approx(fitted().parameters["step"])


def test_products_without_a_set_up(tmp_path):
    before, after = pair(
        tmp_path, IMAGES, "prepared_products", "false", "true", "mlperf-mxnet-graph", local_batch_size=64
    )
    products = 3 * 54 - 1  # forward, and both gradients but that of the images
    saved = before["launch_overhead_time"] - after["launch_overhead_time"]
    assert saved / calibration().efficiency.product_set_up == pytest.approx(products, rel=0.1)


def test_an_update_of_many_tensors_at_once(tmp_path):
    """161 tensors, 54 at a time."""
    before, after = pair(
        tmp_path, IMAGES, "update_tensors", "1", "54", "mlperf-mxnet-graph", local_batch_size=64
    )
    learned = calibration().efficiency
    saved = 161 * (1 - 1 / 54) * learned.optimizer_kernels * learned.kernel_floor
    assert before["update_time"] - after["update_time"] == pytest.approx(saved, rel=0.05)


def test_accelerators_of_a_node_share_the_update(tmp_path):
    """An eighth of it each; their exchange scatters, sums over nodes and gathers, one after another."""
    before, after = pair(tmp_path, BERT, "shares_update", "false", "true", "pytorch-ngc", gpus=8)
    assert after["update_time"] == pytest.approx(before["update_time"] / 8)
    gradients = 2 * workload("bert-large", 256).parameters
    one = perfmodel.collective(
        "all-gather", ranks=8, size=gradients, accelerator=BERT["accelerator"], node="dgx-h100"
    )
    assert after["exposed_communication_time"] == pytest.approx(2 * one.time, rel=0.05)  # in several messages
    alone = pair(tmp_path, BERT, "shares_update", "false", "true", "pytorch-ngc", gpus=1)
    assert alone[0] == alone[1]
    more = terms(tmp_path, BERT, "shares_update", "true", "pytorch-ngc", gpus=64)
    assert more["update_time"] == after["update_time"]
    assert more["exposed_communication_time"] > 2 * one.time


def test_logits_of_all_positions(tmp_path):
    """BERT predicts 76 of 512 positions; the passes of the head grow as the positions do."""
    before, after = pair(tmp_path, BERT, "all_logits", "false", "true", "mlperf-bert", gpus=1)
    more = after["forward_time"] + after["backward_time"] - before["forward_time"] - before["backward_time"]
    flops = 3 * 2 * 8 * 256 * (1 - 0.15) * 1024 * 30528
    assert more > flops / 989e12  # all but the masked ones, at the peak
    assert more < 10 * flops / 989e12


def test_operands_of_8_bits_without_passes_of_their_own(tmp_path):
    """Fused, fp8 is worth it; and data-parallel jobs of BERT may use it."""
    job = BERT | {"local_batch_size": 96, "gpus": 8}
    half = terms(tmp_path, job, "fused_casts", "false", "mlperf-bert")
    apart, fused = pair(tmp_path, job | {"precision": "fp8"}, "fused_casts", "false", "true", "mlperf-bert")
    passes = [sum(each[name] for name in ("forward_time", "backward_time")) for each in (half, apart, fused)]
    assert passes[2] < passes[1]
    assert 0.6 < passes[2] / passes[0] < 0.9  # NVIDIA, MLPerf 2.1: 0.63 of a whole run
    with pytest.raises(perfmodel.InputError, match="precision fp8"):
        perfmodel.predict(workload="resnet50", accelerator="h100-sxm5-80gb", precision="fp8")


@pytest.mark.parametrize(
    ("job", "software", "tokens", "precision"),
    [
        (("bert", "v0.7", "a100-sxm4-40gb", 1, 8), "mlperf-bert", "", ""),
        (("bert", "v0.7", "a100-sxm4-40gb", 32, 8), "mlperf-bert", "512", ""),
        (("bert", "v1.1", "a100-sxm4-80gb", 8, 8), "mlperf-bert", "", ""),
        (("bert", "v1.1", "a100-sxm4-80gb", 128, 8), "mlperf-bert-graph", "512", ""),
        (("bert", "v2.0", "a100-sxm4-80gb", 128, 8), "mlperf-bert-graph", "", ""),
        (("bert", "v3.0", "h100-sxm5-80gb", 8, 8), "mlperf-bert", "", "fp8"),
        (("bert", "v3.1", "h100-sxm5-80gb", 434, 8), "mlperf-bert-graph", "", ""),
        (("bert", "v2.0", "a100-sxm4-80gb", 1, 4), "mlperf-bert-few", "", ""),
        (("resnet50", "v0.5", "v100-sxm3-32gb", 1, 16), "", "", ""),
        (("resnet50", "v1.1", "a100-sxm4-80gb", 8, 8), "mlperf-mxnet-many", "", ""),
        (("resnet50", "v2.0", "a100-sxm4-80gb", 527, 8), "mlperf-mxnet-graph", "", ""),
        (("resnet50", "v3.0", "h100-sxm5-80gb", 448, 8), "mlperf-mxnet-many", "", ""),
    ],
)
def test_configurations_are_those_of_the_job(job, software, tokens, precision):
    found = configuration_of(*job)
    assert (found.software, found.sequence_length, found.precision) == (software, tokens, precision)
