"""How long predictions take, in a process that is there and in a new one, and how long layouts do."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from perfmodel import layouts
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import predict

CARDS = ("k80", "p100-sxm2-16gb", "v100-sxm2-16gb", "a100-sxm4-80gb")
LINKS = ("ethernet-10g-tcp", "ethernet-25g-tcp", "ib-edr-100g")
SHARED = {"workload": "llama-3-8b", "world_size": 64, "node": "dgx-h100"}


def test_predict(within: Any) -> None:
    """Another batch, accelerator and link on each call; the verdict is not read."""
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
    within(0.17, lambda: [predict(next(endless)) for _ in range(100)], per=100, passes=4)


def test_predict_a_layout(within: Any) -> None:
    """Another batch and layout on each call."""
    scenarios = [
        Scenario(**SHARED, global_batch_size=b, tensor_parallel=t, pipeline_parallel=p)
        for b, t, p in itertools.product(range(256, 1280, 64), (1, 2, 4, 8), (1, 2, 4))
    ]
    endless = itertools.cycle(scenarios)
    within(0.33, lambda: [predict(next(endless)) for _ in range(50)], per=50, passes=4)


def test_every_layout_of_1024_accelerators(within: Any) -> None:
    asked = {"gpus": 1024, "node": "dgx-a100-80gb", "global_batch_size": 1536}
    assert within(14, lambda: layouts("gpt3-175b", **asked), passes=10).rows


def _process(*words: str) -> None:
    # a user's interpreter keeps compiled modules
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(words, check=False, stdout=subprocess.DEVNULL, env=environment)
    assert done.returncode == ("fits" in words)  # that job does not fit


@pytest.mark.parametrize(
    ("budget", "command"),
    [
        pytest.param(3.0, "predict --gpus 32", id="predict"),
        pytest.param(5.0, "fits --workload llama-3-70b --node dgx-h100 --gpus 64", id="fits"),
        pytest.param(
            20.0,
            "plan --workload llama-3-70b --tokens 1T --deadline 60days --budget 5M "
            "--instance p5.48xlarge,Standard_ND96isr_H100_v5,a3-megagpu-8g,gpu_8x_b200_sxm6",
            id="plan of layouts",
        ),
    ],
)
def test_cold_start(within: Any, budget: float, command: str) -> None:
    """A command of the shell with ``--json`` against ``python -c "import numpy"``."""
    words = (str(Path(sys.executable).with_name("perfmodel")), *command.split(), "--json")
    numpy = (sys.executable, "-c", "import numpy")
    within(budget, lambda: _process(*words), against=lambda passes: _process(*numpy))
