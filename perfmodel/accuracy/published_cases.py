"""Two published cases of 256 P100, told with what the model says of them."""

from __future__ import annotations

from textwrap import fill

from perfmodel.prediction import Prediction, predict
from perfmodel.specs.scenario import Scenario

WIDTH = 110

_P100 = {"workload": "resnet50", "accelerator": "p100-sxm2-16gb", "node": "dgx-1p", "precision": "fp32"}


def _exchange(overlap: str, world_size: int = 256) -> Prediction:
    """Four accelerators and two EDR adapters a machine, batch 32 each, reduced dimension by dimension."""
    return predict(
        Scenario.model_validate(
            {
                **_P100,
                "world_size": world_size,
                "accelerators_per_node": 4,
                "inter_link": "ib-edr-100g",
                "nics": 2,
                "local_batch_size": 32,
                "algorithm": "hierarchical",
                "overlap": overlap,
            }
        )
    )


def _one_hour(world_size: int) -> Prediction:
    """Eight accelerators and 50 Gbit/s Ethernet a machine, batch 32 each."""
    return predict(
        Scenario.model_validate(
            {
                **_P100,
                "world_size": world_size,
                "inter_link": "ethernet-50g-tcp",
                "nics": 1,
                "local_batch_size": 32,
                "overlap": "bucketed",
            }
        )
    )


def section() -> str:
    """Return the report's section on both cases, as Markdown."""
    return "\n".join(["## Two published cases", "", _exchange_told(), "", _one_hour_told(), ""])


def _exchange_told() -> str:
    hidden, exposed = _exchange("bucketed"), _exchange("none")
    left, alone = hidden.terms["exposed_communication_time"], exposed.communication_time
    return fill(
        "Cho et al. 2017 (arXiv 1708.02188) report 95 % scaling efficiency for ResNet-50 on 256 P100, four to a "
        "machine with two EDR adapters, where the multi-ring exchange overlaps the backward pass, and 84 % where "
        f"it does not.  The model says {hidden.scaling_efficiency:.0%} and {exposed.scaling_efficiency:.0%}.  "
        f"The exchange takes {_ms(alone)} on its own, beside {_ms(exposed.baseline_time)} of computation, and that "
        f"decides: overlapped, {_ms(left)} of it show; not overlapped, all of it.  The rest of what is lost, "
        f"{_ms(hidden.terms['straggler_time'])}, is waiting for the slowest of 256, the least certain term: it "
        "rests on the spread of one process, and a cluster's was not measured.",
        WIDTH,
    )


def _one_hour_told() -> str:
    node, cluster = _one_hour(8), _one_hour(256)
    left, alone = cluster.terms["exposed_communication_time"], cluster.communication_time
    unhidden = node.iteration_time / (cluster.iteration_time - left + alone)
    minutes = 90 * (cluster.epoch_time or 0.0) / 60
    return fill(
        "Goyal et al. 2017 (arXiv 1706.02677) train ResNet-50 on 256 P100 in machines of eight joined by NVLink, "
        "50 Gbit/s Ethernet between them, batch 32 each: 90 epochs in one hour, about 90 % against one machine.  "
        f"The model says {node.iteration_time / cluster.iteration_time:.0%} against one machine.  An exchange "
        f"takes {_ms(alone)} and the backward pass {_ms(cluster.terms['backward_time'])}, so {_ms(left)} are "
        "exposed: what decides is that gradients are sent while others are computed.  Without overlap it would "
        f"be {unhidden:.0%}.  For 90 epochs the model says {minutes:.0f} minutes.  It is too pessimistic of this "
        "network: it grants one adapter 25 Gbit/s through the kernel's TCP, which is what one Horovod process was "
        "seen to reach, and they sent over many connections, by halving and doubling.",
        WIDTH,
    )


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:.1f} ms"
