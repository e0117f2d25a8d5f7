"""Machines of other makers and announced ones: totals that makers print, warnings, widths, every way in."""

import math

import pytest

from perfmodel import Catalogue, layouts, predict
from perfmodel.core.errors import InputError
from perfmodel.model.prediction.names import accelerator_name
from perfmodel.model.transformers.parameters import fitted

BUILT_IN = Catalogue.built_in()
JOB = {"workload": "llama-3-8b", "gpus": 64, "sharding": "zero3", "micro_batch_size": 1}
NEW = ("trainium1", "trainium2", "gaudi2", "gaudi3", "ascend-910b3", "rubin")
NVL72 = "vera-rubin-nvl72", 18


def total(node, racks, peak):
    """What all accelerators of a number of equal machines reach together [FLOP/s]."""
    machine = BUILT_IN.node(node)
    return racks * machine.accelerators * BUILT_IN.accelerator(machine.accelerator).peak_flops[peak].value


@pytest.mark.parametrize(
    ("node", "count", "peak", "printed"),
    [
        ("aws-trn1.32xlarge", 1, "bf16", 3.04e15),
        ("aws-trn1.32xlarge", 1, "fp32", 760e12),
        ("aws-trn2.48xlarge", 1, "fp8", 20.8e15),
        ("aws-trn2.48xlarge", 1, "bf16", 10.7e15),
        ("aws-trn2.48xlarge", 1, "fp32", 2.9e15),
        (*NVL72, "nvfp4", 2.52e18),
        (*NVL72, "fp8", 1.26e18),
        (*NVL72, "bf16", 288e15),
        (*NVL72, "tf32", 144e15),
        (*NVL72, "fp32", 9.36e15),
    ],
)
def test_peaks_sum_to_the_totals_that_makers_print_of_machines(node, count, peak, printed):
    assert total(node, count, peak) == pytest.approx(printed, rel=0.005)


@pytest.mark.parametrize(
    ("node", "both_directions"),
    [
        ("aws-trn1.32xlarge", 384e9),
        ("aws-trn1n.32xlarge", 768e9),
        ("aws-trn2.48xlarge", 1024e9),
        ("hls-gaudi2", 525e9),
        ("hls-gaudi3", 1050e9),
        ("atlas-800t-a2", 392e9),
        ("vera-rubin-nvl72", 216e12 / 72),
    ],
)
def test_links_have_half_of_what_makers_count_in_both_directions(node, both_directions):
    link = BUILT_IN.link(BUILT_IN.node(node).intra_link)
    assert 2 * link.bandwidth.value == both_directions


@pytest.mark.parametrize(
    ("node", "bits"),
    [
        ("aws-trn1.32xlarge", 800e9),
        ("aws-trn1n.32xlarge", 1.6e12),
        ("aws-trn2.48xlarge", 3.2e12),
        ("hls-gaudi2", 2.4e12),
        ("hls-gaudi3", 4.8e12),
        ("vera-rubin-nvl72", 4 * 1.6e12),
    ],
)
def test_adapters_carry_what_makers_print_of_the_machine(node, bits):
    machine = BUILT_IN.node(node)
    port = BUILT_IN.link(machine.inter_link).bandwidth.value
    assert 8 * port * machine.nics == bits
    assert machine.network_bandwidth is None or 8 * machine.network_bandwidth.value == bits


@pytest.mark.parametrize("accelerator", NEW)
def test_a_chip_without_a_measured_run_has_the_interval_of_one(accelerator):
    assert accelerator not in fitted().accelerators
    answer = predict(**JOB, accelerator=accelerator)
    known = predict(**JOB, accelerator="h100-sxm5-80gb")
    reasons = [why for why in answer.interval.wider_because if f"on {accelerator}" in why]
    assert len(reasons) == 1
    widths = [math.log(one.interval.high_80 / one.iteration_time) for one in (answer, known)]
    assert widths[0] > 1.3 * widths[1]


@pytest.mark.parametrize("accelerator", NEW)
def test_its_usual_machine_trains_a_network_whole_and_under_layouts(accelerator):
    spec = BUILT_IN.accelerator(accelerator)
    assert BUILT_IN.node(spec.usual_node).accelerator == spec.id
    answer = predict(workload="resnet50", accelerator=accelerator, gpus=16)
    assert any(
        f"no measured run on {accelerator_name(accelerator)}" in why for why in answer.interval.wider_because
    )
    found = layouts("llama-3-8b", gpus=64, accelerator=accelerator, global_batch_size=64, top=1)
    assert found.wider_because[0].startswith(f"no measured run of a transformer on {accelerator}")


def test_what_is_only_announced_is_marked_and_warned_of():
    keys = {key for key, number in BUILT_IN.accelerator("rubin").statements() if number.basis == "announced"}
    assert {"peak_flops.bf16", "peak_flops.nvfp4", "memory_bytes", "memory_bandwidth"} <= keys
    mine = (
        "Rubin GPU of Vera Rubin NVL72 is announced, not measured: peak_flops, memory_bytes, memory_bandwidth"
    )
    link = "NVLink 6, domain of 72 GPUs is announced, not measured: domain, bandwidth"
    answers = [predict(**JOB, accelerator="rubin").warnings]
    answers.append(layouts("llama-3-8b", gpus=8, accelerator="rubin", global_batch_size=64, top=1).notes)
    for notes in answers:
        assert [note.partition(" are ")[0] for note in notes if "announced" in note] == [mine, link]
    assert not [note for note in predict(**JOB, accelerator="gb300").warnings if "announced" in note]


@pytest.mark.parametrize(("accelerator", "maker"), [("trainium2", "Amazon"), ("gaudi3", "Intel")])
def test_makers_whose_software_is_not_modelled_are_named(accelerator, maker):
    answer = predict(**JOB, accelerator=accelerator)
    said = f"software of {maker} is not modelled: megatron-core@2026 stands for it"
    assert said in answer.warnings
    found = layouts("llama-3-8b", gpus=32, accelerator=accelerator, global_batch_size=64, top=1)
    assert said in found.notes
    for known in ("h100-sxm5-80gb", "mi300x", "tpu-v5p"):
        assert not [note for note in predict(**JOB, accelerator=known).warnings if "not modelled" in note]


def test_names_people_type():
    for name, id in (("Trainium", "trainium1"), ("Gaudi-3", "gaudi3"), ("Ascend 910B", "ascend-910b3")):
        assert BUILT_IN.accelerator(name).id == id
    for name, id in (("vera-rubin-nvl144", NVL72[0]), ("HLS-2", "hls-gaudi2"), ("trn2", "aws-trn2.48xlarge")):
        assert BUILT_IN.node(name).id == id
    with pytest.raises(InputError, match="sold at several speeds"):
        BUILT_IN.accelerator("ascend-910b-64gb")
