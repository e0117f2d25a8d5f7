"""How fast a prediction is: ``pytest tests/benchmarks --benchmark-enable``."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path

import pytest

from perfmodel.prediction import predict
from perfmodel.specs.scenario import Scenario

CARDS = ("k80", "p100-sxm2-16gb", "v100-sxm2-16gb", "a100-sxm4-80gb")
LINKS = ("ethernet-10g-tcp", "ethernet-25g-tcp", "ib-edr-100g")


def test_predict(benchmark):
    """Budget: 0.25 ms, another batch, accelerator and link on each call; the verdict is not read."""
    scenarios = [
        Scenario(
            workload="resnet50",
            world_size=32,
            node="dgx-1v",
            local_batch_size=b,
            accelerator=a,
            inter_link=link,
        )
        for b, a, link in itertools.product(range(16, 80, 4), CARDS, LINKS)
    ]
    endless = itertools.cycle(scenarios)
    benchmark(lambda: predict(next(endless)))


def _process(*words: str) -> None:
    # a user's interpreter keeps compiled modules
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, env=environment)


MEDIANS: dict[str, float] = {}
"""What this run measured [s], for the ratio between the two."""


@pytest.mark.benchmark(group="cold start: perfmodel at most 2.3 x numpy")
@pytest.mark.parametrize("what", ["numpy", "perfmodel"])
def test_cold_start(benchmark, what):
    """Budget: ``perfmodel predict --gpus 32 --json`` in 2.3 x the time of ``python -c "import numpy"``."""
    words = {
        "numpy": (sys.executable, "-c", "import numpy"),
        "perfmodel": (str(Path(sys.executable).with_name("perfmodel")), "predict", "--gpus", "32", "--json"),
    }[what]
    benchmark.pedantic(_process, args=words, rounds=20, warmup_rounds=2)  # the warm-up writes byte code
    if benchmark.enabled:
        MEDIANS[what] = benchmark.stats.stats.median
        if len(MEDIANS) == 2:
            benchmark.extra_info["median_over_numpy"] = MEDIANS["perfmodel"] / MEDIANS["numpy"]
