"""Predictions of two published cases on 256 P100."""

from __future__ import annotations

from perfmodel.prediction import Prediction, predict
from perfmodel.specs.scenario import Scenario
from perfmodel.templating import render

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
    node, cluster = _one_hour(8), _one_hour(256)
    left, alone = cluster.terms["exposed_communication_time"], cluster.communication_time
    return render(
        "published_cases.md.j2",
        hidden=_exchange("bucketed"),
        exposed=_exchange("none"),
        node=node,
        cluster=cluster,
        unhidden=node.iteration_time / (cluster.iteration_time - left + alone),
    )
