"""All-reduces of NCCL and RCCL in a training step: which is chosen, and how long it takes."""

from __future__ import annotations

import pytest

from perfmodel import collective, predict
from perfmodel.core.errors import InputError
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.collectives.place import USUAL_YEAR
from perfmodel.model.fitted.calibration import calibration
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.setting.resolve import resolve
from perfmodel.model.step.fabric import fabric
from perfmodel.model.step.layout import gradient_group
from perfmodel.model.step.library import library_curve, library_times, ring_part

CATALOGUE = Catalogue.built_in()


def group_of(**options):
    setting = resolve(Scenario(**options), CATALOGUE)
    return gradient_group(setting, fabric(setting, calibration()))


@pytest.mark.parametrize(
    ("node", "ranks"),
    [
        ("dgx-1v", 8),
        ("dgx-1v", 32),
        ("dgx-a100-80gb", 64),
        ("dgx-h100", 4),
        ("dgx-h100", 8),
        ("dgx-h100", 64),
        ("dgx-b200", 64),
        ("aws-p4d.24xlarge", 32),
        ("aws-p5.48xlarge", 32),
        ("gcp-a3-highgpu-8g", 32),
        ("aws-p3.16xlarge", 16),
        ("aws-g4dn.12xlarge", 8),
        ("gb300-nvl72", 72),
        ("gb300-nvl72", 100),
        ("gcp-a4x-highgpu-4g", 576),
    ],
)
def test_gradients_take_as_long_as_the_collective_on_its_own(node, ranks):
    """Shares of links that training runs tell of differ a little from those that collectives tell of.

    Most for the TCP of kernels, 2.40 and 2.83 GB/s: training runs of 2017 to 2021, collectives of all years.
    """
    curve = library_curve(group_of(node=node, world_size=ranks)._replace(year=USUAL_YEAR))
    for size in (1e4, 1e6, 1e8, 1e9):
        alone = collective("all-reduce", node=node, ranks=ranks, size=size).time
        by_kernel = CATALOGUE.link(CATALOGUE.node(node).inter_link).passes_kernel
        assert float(curve.time(size)) == pytest.approx(alone, rel=0.18 if by_kernel else 0.09), size


@pytest.mark.parametrize(
    ("options", "chosen"),
    [
        ({"node": "dgx-1v", "world_size": 8}, "ring"),
        ({"node": "dgx-1v", "world_size": 16}, "tree"),
        ({"node": "dgx-h100", "world_size": 4}, "ring"),
        ({"node": "dgx-h100", "world_size": 8}, "nvls"),
        ({"node": "dgx-h100", "world_size": 16}, "nvls-tree"),
        ({"accelerator": "mi300x", "world_size": 16}, "ring"),
    ],
)
def test_a_library_left_to_choose_takes_as_long_as_what_it_chooses(options, chosen):
    group = group_of(**options)
    times = library_times(group, 1e8)
    assert next(iter(times)) == chosen
    assert times[chosen] == library_curve(group).time(1e8) == min(times.values())


def test_one_rank_in_each_node_crosses_no_link_inside_it():
    asked = {"node": "dgx-1v", "world_size": 8, "accelerators_per_node": 1, "workload": "vgg16"}
    times = {
        predict(**asked, intra_link=link).communication_time
        for link in ("nvlink2-cube-mesh", "nvlink2-nvswitch", "pcie3-x16")
    }
    assert len(times) == 1


def test_no_more_leaves_a_node_than_its_accelerators_reach_their_adapters_with():
    alone = {"node": "dgx-h100", "accelerators_per_node": 1, "world_size": 8, "overlap": "none"}
    one, eight = (predict(**alone, nics=nics).communication_time for nics in (1, 8))
    assert one / eight < 63 / 50  # a port carries 50 GB/s, PCIe 5 no more than 63


def test_rings_carry_less_than_a_switch_that_adds():
    link, chip = CATALOGUE.link("nvlink4-nvswitch"), CATALOGUE.accelerator("h100-sxm5-80gb")
    assert ring_part(link, chip, 4, 300e9) == 300e9  # so few are left to rings
    assert 1.2 < 480e9 / ring_part(link, chip, 8, 480e9) < 1.5


PROFILE = """
made_by = "a test"
files = []
workload = "resnet50"
accelerator = "v100-sxm2-16gb"
precision = "amp"
local_batch_size = 64

[link]
group_size = 8

[link.latency]
value = {latency}
deviation = 0.0
basis = "measured"

[link.bandwidth]
value = {bandwidth}
deviation = 0.0
basis = "measured"
"""


@pytest.mark.parametrize("latency", [0.0, 20e-6])
def test_a_measured_link_takes_the_line_that_was_measured(tmp_path, latency):
    """All gradients in one message: the latency, and twice as long for its bytes at half the bandwidth."""
    times = []
    for bandwidth in (120e9, 60e9):
        path = tmp_path / f"{bandwidth:g}.toml"
        path.write_text(PROFILE.format(latency=latency, bandwidth=bandwidth))
        times.append(predict(profile=str(path), gpus=8, overlap="none").communication_time)
    assert times[1] - latency == pytest.approx(2 * (times[0] - latency), rel=1e-3)


def test_a_measured_link_that_carries_nothing_is_refused(tmp_path):
    path = tmp_path / "profile.toml"
    path.write_text(PROFILE.format(latency=1e-5, bandwidth=0.0))
    with pytest.raises(InputError, match="expected what its bus carries"):
        predict(profile=str(path), gpus=8)
