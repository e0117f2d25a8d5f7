"""Jobs on several machines: where none is usual, or nobody knows its network, one is asked for."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from perfmodel import layouts
from perfmodel.core.errors import InputError
from perfmodel.decide.sensitivity.crossovers import crossovers
from perfmodel.decide.sensitivity.elasticity import case_of
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.placement import is_slice
from perfmodel.interfaces.cli import main
from perfmodel.model.fitted.calibration import calibration
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import predict
from perfmodel.model.prediction.collectives.collective_fabric import fabric_of
from perfmodel.model.prediction.verdict import placement
from perfmodel.model.setting.link_caveats import GENERIC_NODE
from perfmodel.model.setting.resolve import resolve

BUILT_IN = Catalogue.built_in()
MANY = 1024
"""More than any machine of the catalogue holds."""


def scenario(id: str, gpus: int, **more: object) -> Scenario:
    peaks = BUILT_IN.accelerator(id).peak_flops
    return Scenario(accelerator=id, gpus=gpus, precision="bf16" if "bf16" in peaks else "fp32", **more)


def network_of(id: str) -> str:
    """Return why a job on several machines of an accelerator cannot be predicted; empty where it can."""
    usual = BUILT_IN.accelerator(id).usual_node
    if usual is None:
        return "give node"
    node = BUILT_IN.node(usual)
    if node.inter_link is None and not is_slice(node, BUILT_IN.link(node.intra_link or "pcie3-x16"), None):
        return "give inter_link"
    return ""


@pytest.mark.parametrize("id", BUILT_IN.ids("accelerators"))
def test_no_accelerator_gets_a_network_that_nobody_named(id):
    why = network_of(id)
    if not why:
        prediction = predict(scenario(id, MANY))
        assert prediction.scenario["node"] not in (None, GENERIC_NODE)
        assert prediction.iteration_time > 0
        return
    with pytest.raises(InputError, match=why):
        predict(scenario(id, MANY))
    with pytest.raises(InputError, match=why):
        predict(scenario(id, MANY, strategy="parameter-server", servers=4))
    with pytest.raises(InputError, match=why):
        fabric_of(MANY, BUILT_IN, accelerator=id)
    named = predict(scenario(id, MANY, node=GENERIC_NODE))
    assert named.scenario["node"] == GENERIC_NODE


@pytest.mark.parametrize("id", BUILT_IN.ids("accelerators"))
def test_a_single_machine_is_enough_where_no_network_matters(id):
    usual = BUILT_IN.accelerator(id).usual_node or GENERIC_NODE
    for gpus in (1, BUILT_IN.node(usual).accelerators):
        prediction = predict(scenario(id, gpus))
        assert prediction.scenario["node"] == usual
        assert f"--node {usual}" in prediction.defaults


COMMANDS = {
    "predict": ["--gpus", "64"],
    "scale": ["--gpus", "1,8,64"],
    "compare": ["--gpus", "64", "--set", "precision=fp32"],
    "sensitivity": ["--gpus", "64"],
    "explain": ["--gpus", "64"],
    "cite": ["--gpus", "64"],
    "sweep": ["--gpus", "64"],
    "collective": ["--ranks", "64", "--size", "1MB"],
    "layouts": ["--gpus", "64", "--workload", "llama-3-8b", "--global-batch-size", "64"],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_asks_for_the_machine(command):
    result = CliRunner().invoke(main, [command, *COMMANDS[command], "--accelerator", "b100-sxm"])
    assert result.exit_code == 2, result.output
    assert "give --node" in result.stderr
    assert "B100 SXM has no usual machine" in " ".join(result.stderr.split())
    assert "pcie-workstation-8gpu (Workstation with 8 PCIe cards)" in " ".join(result.stderr.split())


def test_layouts_of_a_machine_that_is_only_assumed_are_refused():
    with pytest.raises(InputError, match="give node"):
        layouts("llama-3-8b", accelerator="b100-sxm", gpus=8, global_batch_size=64)


@pytest.mark.parametrize(("id", "node"), [(f"mi{n}x", f"8xmi{n}x") for n in (325, 350, 355)])
def test_eight_instinct_gpus_have_eight_adapters(id, node):
    assert BUILT_IN.accelerator(id).usual_node == node
    machine = BUILT_IN.node(node)
    assert (machine.accelerators, machine.nics) == (8, 8)
    assert BUILT_IN.link(str(machine.inter_link)).bandwidth.value * 8 == 400e9
    job = {"gpus": 64, "workload": "llama-3-8b", "strategy": "fsdp"}
    older, newer = (predict(Scenario(accelerator=each, **job)) for each in ("mi300x", id))
    assert newer.iteration_time < older.iteration_time


def test_all_hosts_of_a_torus_without_a_network_are_one_slice():
    """No 25 Gbit/s between hosts of a slice: the torus goes on."""
    for id in ("tpu-v3", "tpu-v4", "tpu-v5e", "tpu-v5p"):
        prediction = predict(scenario(id, 64))
        assert placement(resolve(scenario(id, 64), BUILT_IN)).endswith("in one slice")
        assert prediction.scenario["inter_link"] is None
        assert prediction.terms["exposed_communication_time"] < 0.2 * prediction.iteration_time
        assert fabric_of(64, BUILT_IN, accelerator=id).nodes == 1
        apart = predict(scenario(id, 64, inter_link="dcn"))
        assert apart.iteration_time > prediction.iteration_time


def test_what_several_machines_would_do_is_not_said_of_one_without_a_network():
    case = case_of(Scenario(accelerator="rtx-4090", gpus=8), BUILT_IN, calibration(), Conditions())
    turns = crossovers(case.setting, BUILT_IN, calibration())
    (scaling,) = (turn for turn in turns if turn.axis == "world_size")
    assert scaling.at <= 8
    assert scaling.words.startswith("weak scaling falls below")
