"""A trace of convolutions is taken for the network that has them, and for no other."""

from __future__ import annotations

import pytest

from perfmodel import InputError
from perfmodel.evidence.traces.device_trace import DeviceTrace
from perfmodel.evidence.traces.traced_job import check_network
from perfmodel.workloads import groups, workload, workload_from_file
from perfmodel.workloads.workload import Workload

pytestmark = pytest.mark.any_version
CNNS = [name for name in groups()["images"] if any(layer.kind == "conv" for layer in workload(name).layers)]
WITH_GATES = ("efficientnet-b0", "mobilenet-v3-large", "regnety-3.2gf")


def traced(convolutions: set[int]) -> list[DeviceTrace]:
    """A trace of which nothing else is known."""
    rest = dict.fromkeys(DeviceTrace._fields)
    return [DeviceTrace(**rest | {"file": "own.json", "convolutions": frozenset(convolutions)})]


def sizes(network: Workload, are_gates_convolutions: bool = False) -> set[int]:
    """Numbers of weights of what PyTorch runs by ``aten::conv2d``, by names of layers."""
    return {
        layer.tensors[0]
        for layer in network.layers
        if layer.tensors
        and (layer.kind in ("conv", "depthwise-conv") or (are_gates_convolutions and ".se." in layer.name))
    }


@pytest.mark.parametrize("are_gates_convolutions", [False, True])
def test_every_network_is_taken_for_itself(are_gates_convolutions):
    assert len(CNNS) > 40
    for name in CNNS:
        network = workload(name)
        check_network(traced(sizes(network, are_gates_convolutions)), network)


@pytest.mark.parametrize("name", WITH_GATES)
def test_gates_are_sizes_of_their_own(name):
    network = workload(name)
    assert sizes(network, True) > sizes(network)


@pytest.mark.parametrize("name", ["vgg16", "resnet18", "densenet121", "bert-large", "efficientnet-b0"])
def test_another_network_is_refused(name):
    with pytest.raises(InputError, match=f"it is not of workload {name}: of its 14 sizes"):
        check_network(traced(sizes(workload("resnet50"))), workload(name))


def test_a_patch_is_no_product_of_a_network_without_convolutions():
    with pytest.raises(InputError, match="it is not of workload bert-base"):
        check_network(traced({768 * 768}), workload("bert-base"))


def test_a_table_that_says_no_weights_is_not_compared(tmp_path):
    file = tmp_path / "own.csv"
    columns = "name,kind,gemm_rows,gemm_columns,gemm_depth,kernel_size,tensors\n"
    file.write_text(f"{columns}a,conv,100,32,9,3,\nb,linear,1,10,32,,320\n")
    check_network(traced({9408, 4096}), workload_from_file(str(file)))
    file.write_text(f"{columns}a,conv,100,32,9,3,288\nb,linear,1,10,32,,\n")
    with pytest.raises(InputError, match="of its 2 sizes of convolutions 0 are"):
        check_network(traced({9408, 4096}), workload_from_file(str(file)))
