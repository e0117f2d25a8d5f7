"""The report's section on what limits well-known runs, and whether the model predicts it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import fmean, median
from typing import Any, Final

from perfmodel.accuracy.compare import Row
from perfmodel.accuracy.summary import counted
from perfmodel.prediction import predict
from perfmodel.specs.scenario import Scenario, StrategyOfCopies
from perfmodel.step.terms import of_kind
from perfmodel.templating import render

NOTICED = 0.03
"""Share of an iteration from which waiting is reported."""
ONE_PROCESS: Final = "data-parallel-single-process"
EPOCH = 2.5e6
"""Images."""
COURSE = {"table 1": "DP", "table 2": "DDP", "table 3": "DDP and DALI"}
_Rows = Sequence[Row]


def section(specs: _Rows, anchored: _Rows) -> str:
    """Return the section as Markdown, from rows predicted in both modes."""
    alexnet = _alexnet()
    return render(
        "what_limits.md.j2",
        hkbu=_hkbu(anchored),
        dlperf=_dlperf(anchored),
        nvidia={"specs": _nvidia(specs), "anchored": _nvidia(anchored)},
        k80={nodes: _k80(anchored, nodes) for nodes in (1, 2, 4, 8)},
        one_process={
            source: _one_process(anchored, source) for source in ("ryujaehun", "tf-benchmarks-2017")
        },
        course={
            "measured": _course(specs),
            "one_process": _course_says(ONE_PROCESS),
            "processes": _course_says("all-reduce"),
        },
        small=[_small_batch(strategy) for strategy in ("all-reduce", ONE_PROCESS)],
        alexnet=alexnet,
        epoch=EPOCH / alexnet,
    )


def _errors(rows: Iterable[Row], keep: Callable[[Row], bool]) -> str:
    """``n 12: 4.5 % / 3.2 %, bias +1 %``: mean and median absolute error."""
    result = [row.error for row in rows if row.error is not None and counted(row) and keep(row)]
    if not result:
        return "n 0"
    absolute = [abs(error) for error in result]
    return f"n {len(result)}: {fmean(absolute):.1%} / {median(absolute):.1%}, bias {fmean(result):+.1%}"


def _method(row: Row) -> tuple[str, str, str]:
    return row.run.strategy, row.run.overlap, row.run.workload


def _hkbu(anchored: _Rows) -> list[tuple[tuple[str, str, str], str]]:
    """Strategy, overlap and network, and the errors of each."""
    rows = [row for row in anchored if row.run.source == "hkbu-ddl-benchmarks"]
    return [
        (method, _errors(rows, lambda row, method=method: _method(row) == method))  # type: ignore[misc]
        for method in sorted(set(map(_method, rows)))
    ]


def _dlperf(anchored: _Rows) -> list[tuple[str, str, int, int]]:
    """Framework, its errors, how many of its runs wait for samples, and of how many."""
    rows = [row for row in anchored if row.run.source == "dlperf" and row.error is not None]
    result = []
    for framework in sorted({row.run.framework for row in rows}):
        own = [row for row in rows if row.run.framework == framework]
        waiting = sum((row.input_share or 0) > NOTICED for row in own)
        result.append((framework, _errors(own, lambda row: True), waiting, len(own)))
    return result


def _nvidia(rows: _Rows) -> list[str]:
    """Errors on one accelerator, on eight, on sixteen and more."""
    return [
        _errors(
            rows,
            lambda row, low=low, high=high: (  # type: ignore[misc]
                row.run.source == "nvidia-dle" and low <= row.run.world_size <= high
            ),
        )
        for low, high in ((1, 1), (8, 8), (16, 10_000))
    ]


def _k80(anchored: _Rows, nodes: int) -> str:
    return _errors(
        anchored,
        lambda row: (
            row.run.source == "tf-benchmarks-2017" and row.run.accelerator == "k80" and row.run.nodes == nodes
        ),
    )


def _one_process(anchored: _Rows, source: str) -> str:
    return _errors(anchored, lambda row: row.run.source == source and row.run.strategy == ONE_PROCESS)


def _course(specs: _Rows) -> dict[str, dict[int, float]]:
    """Measured throughput of the course report over that of one GPU, by way of training and GPUs."""
    rates: dict[str, dict[int, float]] = {}
    for row in specs:
        run = row.run
        if run.source == "ddp-dali-course-report" and run.samples_per_second is not None:
            for table, kind in COURSE.items():
                if table in run.locator:
                    rates.setdefault(kind, {})[run.world_size] = run.samples_per_second
                    break
    return {
        kind: {n: rate / result[1] for n, rate in sorted(result.items()) if n > 1}
        for kind, result in rates.items()
        if 1 in result
    }


def _course_says(strategy: str) -> list[str]:
    """Predicted speed-up on two and on four V100s."""
    asked = {
        "workload": "resnet18",
        "accelerator": "v100-sxm2-16gb",
        "strategy": strategy,
        "global_batch_size": 128,
    }
    return [f"{predict(Scenario.model_validate(asked | {'world_size': n})).speedup:.2f}" for n in (2, 4)]


def _small_batch(strategy: StrategyOfCopies) -> dict[str, Any]:
    """Shares of an iteration in which accelerators compute, and in which kernels are launched."""
    result = predict(
        Scenario(workload="resnet18", world_size=2, local_batch_size=4, precision="fp32", strategy=strategy)
    )
    return {
        "busy": of_kind(result.terms, "busy") / result.iteration_time,
        "launches": of_kind(result.terms, "host") / result.iteration_time,
    }


def _alexnet() -> float:
    """Predicted images/s."""
    return predict(
        Scenario(
            workload="alexnet-grouped",
            accelerator="k40",
            precision="fp32",
            local_batch_size=128,
            framework="torch7-cudnn-4",
        )
    ).samples_per_second
