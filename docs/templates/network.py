"""Example network: a convolution, a classifier (replace: what it is, and where it was published)."""

from __future__ import annotations

from perfmodel.workloads.builder import Network, image
from perfmodel.workloads.networks import imagenet
from perfmodel.workloads.workload import Workload

# perfmodel/workloads/networks/<module>.py; an entry of ``FIXED`` in built_in.py names the module and its
# networks. tests/test_workloads.py holds parameters and multiply-adds against the publication.


def build(name: str) -> Workload:
    """Return the workload of the example network."""
    net = Network()
    x = net.conv(image(), "conv1", 64, 7, stride=2, padding=3, bias=True)
    x = net.relu(x, "conv1.relu")
    x = net.conv(x, "conv2", 1000, 1, bias=True)
    net.loss(net.global_pool(x, "avgpool"))
    return imagenet.workload(name, "Example", net.layers, variant="", source="iandola2016")
