"""``--overlap fused`` against an event simulation of Horovod's thread, ``optimal`` against all other ways."""

from __future__ import annotations

import random
from typing import Any, get_args

import numpy as np
import pytest

from perfmodel.core.choices import Overlap
from perfmodel.equations.fusion import CYCLE_TIME, FUSION_THRESHOLD_BYTES
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.fitted.calibration import calibration
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction.assemble import predict, settled
from perfmodel.model.step.communication import cost_of_sums, message_times
from perfmodel.model.step.messages import messages
from perfmodel.model.step.parts import computation_of, fabric_of
from perfmodel.model.step.terms import added
from tests.simulators import events

NETWORKS = ("resnet50", "resnet101", "vgg16", "inception-v3", "googlenet", "alexnet", "densenet121")
MACHINES = (
    ("k80", 4),
    ("p100-sxm2-16gb", 4),
    ("v100-sxm2-16gb", 8),
    ("t4", 2),
    ("a100-sxm4-40gb", 8),
)
LINKS = ("ethernet-10g-tcp", "ethernet-25g-tcp", "ethernet-25g-rdma", "ib-edr-100g", "aws-10g")


def configurations(count: int, seed: int) -> list[dict[str, Any]]:
    """Random jobs that reduce gradients by a ring or as NCCL chooses, in one node and over many."""
    rng = random.Random(seed)
    found = []
    for _ in range(count):
        accelerator, per_node = rng.choice(MACHINES)
        found.append(
            {
                "workload": rng.choice(NETWORKS),
                "accelerator": accelerator,
                "accelerators_per_node": per_node,
                "world_size": per_node * rng.choice((1, 2, 4, 8, 32)),
                "inter_link": rng.choice(LINKS),
                "local_batch_size": rng.choice((4, 16, 32, 64)),
                "precision": rng.choice(("fp32", "amp")),
                "algorithm": rng.choice(("ring", "auto", "tree")),
            }
        )
    return found


def simulated(scenario: Scenario) -> tuple[float, float, int]:
    """Time that communication adds to the iteration, its time on its own, and how many messages there are."""
    setting, constants = settled(scenario, Catalogue.built_in(), calibration())
    work = computation_of(setting, setting.local_batch_size, constants, setting.accumulation_steps)
    on = fabric_of(setting, constants)
    # one message a tensor, each when it is ready: what the thread is given
    alone = messages(setting._replace(overlap="wfbp"), work, lambda sizes: sizes)
    sent = events.cycling_fusion(
        alone.ready_times.tolist(),
        alone.message_bytes.tolist(),
        lambda size: float(np.ravel(message_times(setting, np.array([size]), on))[0]),
        CYCLE_TIME,
        FUSION_THRESHOLD_BYTES,
    )
    backward = float(work.backward_by_layer.sum())
    hidden = sum(min(end, backward) - min(start, backward) for start, end, _ in sent)
    exposed = max(0.0, sent[-1][1] - backward)
    cost = cost_of_sums(setting.accelerator, constants)
    if setting.nodes > 1:  # a collective keeps units busy for as long as its bytes take inside a node
        sent_bytes = 2 * (1 - 1 / setting.world_size) * float(alone.message_bytes.sum())
        cost *= min(1.0, sent_bytes / float(on.intra_link_bandwidth) / (hidden + exposed))
    return exposed + cost * hidden, hidden + exposed, len(sent)


@pytest.mark.parametrize("asked", configurations(60, seed=1), ids=range(60))
def test_fused_against_a_simulated_thread(asked: dict[str, Any]) -> None:
    scenario = Scenario(**asked, overlap="fused")
    prediction = predict(scenario)
    added, alone, _ = simulated(scenario)
    exposed = prediction.terms["exposed_communication_time"] + prediction.terms["contention_time"]
    assert abs(exposed - added) <= 0.01 * prediction.iteration_time
    assert exposed == pytest.approx(added, rel=1e-9)
    assert prediction.communication_time == pytest.approx(alone, rel=1e-9)


def test_tensors_gather_while_a_message_is_on_its_way() -> None:
    """32 nodes over the kernel's TCP: a cycle of 1 ms would send most of 313 tensors on their own."""
    scenario = Scenario(
        workload="resnet101",
        accelerator="p100-pcie-16gb",
        node="pcie-workstation-8gpu",
        accelerators_per_node=4,
        world_size=128,
        inter_link="ethernet-25g-tcp",
        algorithm="ring",
        precision="fp32",
        overlap="fused",
    )
    added, alone, count = simulated(scenario)
    assert 20 <= count <= 30
    contention = calibration().contention * 80 / 56  # of 56 multiprocessors
    assert (added - contention * alone) / (1 - contention) < 0.005


def test_a_wait_for_the_next_cycle_is_communication() -> None:
    """A small network's messages are shorter than the wait for the cycle that sends the last of them."""
    prediction = predict(
        Scenario(
            workload="squeezenet1-1",
            accelerator="a100-sxm4-40gb",
            world_size=8,
            local_batch_size=4,
            overlap="fused",
        )
    )
    assert 0 < prediction.terms["exposed_communication_time"] <= prediction.communication_time


@pytest.mark.parametrize("asked", configurations(24, seed=2), ids=range(24))
@pytest.mark.parametrize("strategy", ["all-reduce", "parameter-server"])
def test_optimal_is_no_slower_than_any_other_way(strategy: str, asked: dict[str, Any]) -> None:
    times = {
        overlap: added(predict(Scenario(**asked, strategy=strategy, overlap=overlap)).terms)
        for overlap in get_args(Overlap)
    }
    assert times["optimal"] <= min(times.values()) * (1 + 1e-12)
