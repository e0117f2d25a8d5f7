"""What limits the runs people ask about, and whether the model sees it: prose with live numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import fmean, median
from textwrap import fill

from perfmodel.accuracy.compare import Row
from perfmodel.accuracy.summary import counted
from perfmodel.prediction import predict
from perfmodel.prediction.result import Prediction
from perfmodel.specs.scenario import Scenario
from perfmodel.step.terms import of_kind

WIDTH = 110
NOTICED = 0.03
"""Share of an iteration from which waiting is named."""
_Rows = Sequence[Row]


def paragraphs(specs: _Rows, anchored: _Rows) -> str:
    """Return the section, from rows predicted in both modes."""
    told = [
        ("HKBU, by method and network", _hkbu(anchored)),
        ("DLPerf, by framework", _dlperf(anchored)),
        ("NVIDIA, 1, 8 and 16 or more", _nvidia(specs, anchored)),
        ("TensorFlow on K80, to 64", _k80(anchored)),
        ("One process for several accelerators", _single_process(anchored)),
        ("A course report on CIFAR-10 (ratios only)", _course(specs)),
        ("ResNet-18 at batch 4 on two accelerators", _small_batch()),
        ("AlexNet on one K40 over 2.5 million images", _alexnet()),
    ]
    return "\n\n".join(
        ["## What limits, and does the model see it", *(f"### {title}\n\n{text}" for title, text in told)]
    )


def _errors(rows: Iterable[Row], keep: Callable[[Row], bool]) -> str:
    """``n 12: 4.5 % / 3.2 %, bias +1 %``: mean and median absolute error."""
    found = [row.error for row in rows if row.error is not None and counted(row) and keep(row)]
    if not found:
        return "n 0"
    absolute = [abs(error) for error in found]
    return f"n {len(found)}: {fmean(absolute):.1%} / {median(absolute):.1%}, bias {fmean(found):+.1%}"


def _list(lines: Iterable[str]) -> str:
    return "\n".join(fill(line, WIDTH, initial_indent="* ", subsequent_indent="  ") for line in lines)


def _of(source: str) -> Callable[[Row], bool]:
    return lambda row: row.run.source == source


def _hkbu(anchored: _Rows) -> str:
    rows = [row for row in anchored if row.run.source == "hkbu-ddl-benchmarks"]
    methods = sorted({(row.run.strategy, row.run.overlap, row.run.workload) for row in rows})
    lines = [
        f"{strategy}, {overlap}, {network}: "
        + _errors(
            rows,
            lambda row, m=(strategy, overlap, network): (
                (  # type: ignore[misc]
                    row.run.strategy,
                    row.run.overlap,
                    row.run.workload,
                )
                == m
            ),
        )
        for strategy, overlap, network in methods
    ]
    text = (
        "Four RTX 2080 Ti a machine, 1 to 8 machines, two networks.  BERT is bound by the exchange everywhere, inside a "
        "machine by the way through host memory, since these cards read no peer's memory over PCIe; between "
        "machines at 100 Gbit/s by the kernel's TCP, not by the port.  The model sees all three.  It does not see why "
        "ByteScheduler's priority all-reduce is a third slower than plain buckets on ResNet-50, nor that the exchange "
        "of Horovod hides more of ResNet-50's traffic at 10 Gbit/s than its buckets become ready for."
    )
    return fill(text, WIDTH) + "\n\n" + _list(lines)


def _dlperf(anchored: _Rows) -> str:
    rows = [row for row in anchored if row.run.source == "dlperf"]
    lines = []
    for framework in sorted({row.run.framework for row in rows}):
        own = [row for row in rows if row.run.framework == framework and row.error is not None]
        if not own:
            continue
        waiting = sum((row.input_share or 0) > NOTICED for row in own)
        lines.append(
            f"{framework}: {_errors(own, lambda row: True)}; the model says {waiting} of {len(own)} wait for samples"
        )
    text = (
        "Eight V100 a machine, real data, two processors of 12 cores.  Decoding 224-pixel crops on those 24 cores feeds about 3,000 "
        "images/s a machine; MXNet without DALI and Paddle without DALI stop near 2,400 to 2,900 whatever the "
        "number of accelerators, and the model says so of those that ask for more.  Where DALI or compiled decoding feeds them, nothing waits.  BERT "
        "under Paddle loses time that grows with the number of accelerators inside one machine (39, 74, 175 ms on 2, 4, 8 at "
        "batch 32): more than any exchange over NVLink takes, unexplained, and most of what is missed here."
    )
    return fill(text, WIDTH) + "\n\n" + _list(lines)


def _nvidia(specs: _Rows, anchored: _Rows) -> str:
    def at(low: int, high: int) -> Callable[[Row], bool]:
        return lambda row: row.run.source == "nvidia-dle" and low <= row.run.world_size <= high

    text = (
        "Tuned containers, DALI, fused kernels, machines with NVSwitch or a cube mesh and an adapter for each pair of cards.  Compute binds "
        f"throughout.  From specs, one accelerator {_errors(specs, at(1, 1))}; eight {_errors(specs, at(8, 8))}; sixteen "
        f"and more {_errors(specs, at(16, 10_000))}.  Anchored on one: eight {_errors(anchored, at(8, 8))}; sixteen and "
        f"more {_errors(anchored, at(16, 10_000))}.  What the model does not see: gradients of BERT that are "
        "exchanged after the last of many micro-batches and reduced by LAMB in several kernels."
    )
    return fill(text, WIDTH)


def _k80(anchored: _Rows) -> str:
    def at(nodes: int) -> Callable[[Row], bool]:
        return lambda row: (
            row.run.source == "tf-benchmarks-2017" and row.run.accelerator == "k80" and row.run.nodes == nodes
        )

    shown = "; ".join(f"{8 * nodes} devices {_errors(anchored, at(nodes))}" for nodes in (2, 4, 8))
    text = (
        "Computation on a K80 is so slow that 10 Gbit/s to parameter servers on the same machines nearly keep up; what "
        "is lost is the flow limit of the provider (5 Gbit/s a connection), which the model sees.  It is a little too fast at 16 and 32.  "
        f"On one machine {_errors(anchored, at(1))}; {shown}."
    )
    return fill(text, WIDTH)


def _single_process(anchored: _Rows) -> str:
    def of(source: str) -> Callable[[Row], bool]:
        return lambda row: row.run.source == source and row.run.strategy == "data-parallel-single-process"

    text = (
        "PyTorch's DataParallel copies every module, tensor and buffer to every accelerator in each iteration, in Python, and "
        "launches all replicas' forward passes under one lock: the loss is the same on an A100 and on a Titan Xp, and grows with modules "
        "and accelerators, not with bytes.  The model counts them, at one kernel dispatch each.  The fold of `ryujaehun`, "
        f"whose rows are nearly all there are: {_errors(anchored, of('ryujaehun'))} (nothing of this strategy is left to learn "
        f"from but {_errors(anchored, of('tf-benchmarks-2017'))} of TensorFlow, which makes no replicas).  Not seen: four Titan Xp "
        "in fp32, where ResNet-152 takes 2.2 times as long as on three."
    )
    return fill(text, WIDTH)


def _measured_rates(specs: _Rows) -> dict[str, dict[int, float]]:
    found: dict[str, dict[int, float]] = {}
    for row in specs:
        run = row.run
        if run.source != "ddp-dali-course-report" or run.samples_per_second is None:
            continue
        if "table 1" in run.locator or "table 2" in run.locator or "table 3" in run.locator:
            kind = "DP" if "table 1" in run.locator else "DDP" if "table 2" in run.locator else "DDP and DALI"
            found.setdefault(kind, {})[run.world_size] = run.samples_per_second
    return found


def _course(specs: _Rows) -> str:
    def speedup(n: int, strategy: str, **more: object) -> float:
        return predict(
            Scenario.model_validate(
                {
                    "workload": "resnet18",
                    "accelerator": "v100-sxm2-16gb",
                    "world_size": n,
                    "strategy": strategy,
                    "global_batch_size": 128,
                    **more,
                }
            )
        ).speedup

    measured = _measured_rates(specs)
    told = "; ".join(
        f"{kind} {', '.join(f'{rate / rates[1]:.2f} times on {n}' for n, rate in sorted(rates.items()) if n > 1)}"
        for kind, rates in measured.items()
        if 1 in rates
    )
    one, ddp = (
        [speedup(n, strategy) for n in (2, 4)] for strategy in ("data-parallel-single-process", "all-reduce")
    )
    text = (
        "Neither network, card nor batch is stated, so only ratios can be held against the model, and no row enters a statistic.  "
        f"Measured throughput over one GPU's: {told or 'not in these rows'}.  For ResNet-18 with 128 images shared out on V100s the "
        f"model says {one[0]:.2f} and {one[1]:.2f} for one process, {ddp[0]:.2f} and {ddp[1]:.2f} for one process each: the first gains "
        "next to nothing and loses from two to four, since replicas are made in Python; the second scales.  DALI removes waiting for samples, which the model "
        "has as another rate of decoding."
    )
    return fill(text, WIDTH)


def _busy(prediction: Prediction) -> float:
    share: float = of_kind(prediction.terms, "busy") / prediction.iteration_time
    return share


def _small_batch() -> str:
    found = [
        predict(
            Scenario(
                workload="resnet18", world_size=2, local_batch_size=4, precision="fp32", strategy=strategy
            )
        )
        for strategy in ("all-reduce", "data-parallel-single-process")
    ]
    text = (
        "Reported: 33 % utilisation.  The host binds: too little work in a kernel to cover its launch.  The model says that the "
        f"accelerators of a V100 pair compute {_busy(found[0]):.0%} of the time with a process each, {_busy(found[1]):.0%} with one process "
        f"for both; launches take {found[0].terms['launch_overhead_time'] / found[0].iteration_time:.0%} and "
        f"{found[1].terms['launch_overhead_time'] / found[1].iteration_time:.0%} of the iteration."
    )
    return fill(text, WIDTH)


def _alexnet() -> str:
    found = predict(
        Scenario(
            workload="alexnet-grouped",
            accelerator="k40",
            precision="fp32",
            local_batch_size=128,
            framework="torch7-cudnn-4",
        )
    )
    epoch = 2.5e6 / found.samples_per_second
    text = (
        "Reported: six days.  Compute binds.  The model says "
        f"{found.samples_per_second:,.0f} images/s, {epoch / 3600:.1f} hours for one pass over 2.5 million images: six days are "
        f"{6 * 86400 / epoch:.0f} passes, where the original training took 90.  The epochs are not stated, so that is a check of the order "
        "of magnitude and no more."
    )
    return fill(text, WIDTH)
