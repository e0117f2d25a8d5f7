"""How long a sweep takes."""

from __future__ import annotations

from perfmodel import sweep

MILLION = {
    "workload": ["resnet50", "vgg16", "bert-base", "mobilenet-v2"],
    "accelerator": [
        "k80",
        "p100-sxm2-16gb",
        "v100-sxm2-16gb",
        "a100-sxm4-80gb",
        "h100-sxm5-80gb",
        "t4",
        "a10g",
        "l4",
    ],
    "precision": ["fp32", "fp16", "amp"],
    "local_batch_size": [1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 160, 192, 256, 384, 512],
    "world_size": range(8, 657, 8),
    "inter_link": ["ethernet-10g-tcp", "ethernet-25g-tcp", "ib-edr-100g", "ethernet-100g-rdma"],
    "strategy": ["all-reduce", "parameter-server"],
}


def test_a_million_scenarios(within):
    """1,007,616 scenarios, every column."""
    count = within(450, lambda: sum(len(chunk["fits"]) for chunk in sweep(**MILLION).chunks()), passes=50)
    assert count == 1_007_616
