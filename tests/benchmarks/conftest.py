"""Budgets of speed, as ratios: to a fixed loop, or to another program, in the same run.

A ratio fails where it is above its budget in each of ``PAIRS`` interleaved pairs: were the median at the
budget, all would be above it once in 1,024 runs.  Where one of the first ``FEW`` is within it, that is told
without the others.
Times are of the processor; beside other work on the same core ratios were up to a fifth higher.  Budgets are
some half as much again as what was measured on an idle machine.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

FEW, PAIRS = 3, 10
RATIOS = pytest.StashKey[list[str]]()


def processor_time() -> float:
    """Seconds of processor that this process has taken, with the processes that it waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def yardstick(passes: int = 1) -> None:
    """A fixed amount of work of the interpreter and of numpy, some 5 ms a pass."""
    for _ in range(passes):
        total = 0.0
        for number in range(30_000):
            total += (number % 7) * 0.5
        values = np.linspace(1.0, 2.0, 100_000)
        for _ in range(10):
            values = np.sqrt(values * 1.0001 + 1.0)
        assert total > 0 < float(values[0])


Within = Callable[..., Any]


@pytest.fixture
def within(benchmark: Any, request: pytest.FixtureRequest) -> Within:
    """Hold the time of a function against a budget, and return its result.

    The budget is the most that it may take, as a multiple of one pass of the yardstick, or of ``against``; a
    function does what is timed ``per`` times, and a pair has ``passes`` of the other.
    """

    def hold(
        budget: float,
        function: Callable[[], Any],
        per: int = 1,
        passes: int = 1,
        against: Callable[[int], None] = yardstick,
    ) -> Any:
        beside: list[float] = []

        def measure() -> None:
            start = processor_time()
            against(passes)
            beside.append(processor_time() - start)

        benchmark._timer = processor_time
        result = benchmark.pedantic(function, setup=measure, rounds=FEW, warmup_rounds=1)
        if benchmark.enabled:
            times = [*benchmark.stats.stats.data]

            def ratios() -> list[float]:
                of_pairs = zip(times, beside[-len(times) :], strict=True)
                return sorted(time / per / (other / passes) for time, other in of_pairs)

            while ratios()[0] > budget and len(times) < PAIRS:
                measure()
                start = processor_time()
                function()
                times.append(processor_time() - start)
            least, *_, most = ratios()
            middle = ratios()[len(times) // 2]
            benchmark.extra_info |= {"ratio": middle, "least": least, "budget": budget}
            words = f"{middle:8.4g} ({least:.4g} to {most:.4g}), budget {budget:g}, {len(times)} pairs"
            request.config.stash.setdefault(RATIOS, []).append(f"{words}  {request.node.name}")
            assert least <= budget, f"{words}: above it in each of {PAIRS} pairs"
        return result

    return hold


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print every ratio with its budget."""
    if ratios := config.stash.get(RATIOS, []):
        terminalreporter.section("ratios to the yardstick: median (least to most of the pairs)")
        terminalreporter.write_line("\n".join(ratios))
