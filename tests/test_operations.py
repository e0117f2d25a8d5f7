"""A type of operation that is entered in the one table is read, counted and timed as that says."""

from __future__ import annotations

import pytest

from perfmodel.model.fitted.efficiency import CLASSES
from perfmodel.model.fitted.efficiency import KINDS as TRAFFIC
from perfmodel.model.prediction import predict
from perfmodel.model.step.layers import layer_table, product_class
from perfmodel.workloads import workload
from perfmodel.workloads.workload import CONVOLUTION, KINDS, Operation

TABLE = """name,kind,tensors,gemm_rows,kernel_size,forward_elements
first,conv,9408 64,12544,7,
offsets,deformable-conv,36864 64,3136,3,
scan,scan,,,,401408
classes,linear,64000 1000,1,,
loss,loss,,,,1000
"""


@pytest.fixture
def network(monkeypatch, tmp_path):
    monkeypatch.setitem(KINDS, "deformable-conv", Operation("product", "conv-other"))
    monkeypatch.setitem(KINDS, "scan", Operation("heavy"))
    path = tmp_path / "new.csv"
    path.write_text(TABLE, "utf-8")
    return workload(str(path))


def test_every_entry_names_what_efficiencies_are_learned_of():
    for operation in KINDS.values():
        assert operation.traffic in TRAFFIC
        assert operation.product in ("", CONVOLUTION, *CLASSES)
        assert bool(operation.product) == (operation.traffic == "product")


def test_what_a_product_leaves_out_follows_from_its_weights(network):
    deformable = network.layers[1]
    assert (deformable.gemm_columns, deformable.gemm_depth) == (64, 576)
    assert deformable.forward_flops == 2 * 3136 * 36864
    assert deformable.forward_elements == 3136 * 576 / 9 + 3136 * 64
    assert CLASSES[product_class(deformable)] == "conv-other"
    assert network.family == "cnn"


def test_each_pass_goes_as_its_entry_says(network):
    table = layer_table(network)
    assert [TRAFFIC[each] for each in table.traffic[:5]] == [
        "product",
        "product",
        "heavy",
        "product",
        "activation",
    ]
    assert table.is_product[:5].tolist() == [True, True, False, True, False]
    terms = predict(gpus=8, workload=network.source).terms
    assert min(terms["forward_time"], terms["backward_time"]) > 0
