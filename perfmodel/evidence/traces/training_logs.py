"""Read the speed of a training run from the log of its software.

Each format is a pattern of one line: Megatron-LM, torchtitan, NeMo, DeepSpeed, Horovod's synthetic
benchmarks and ``tf_cnn_benchmarks``.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from statistics import median
from typing import NamedTuple

from perfmodel.core.errors import refusal

WARM_UP = 0.1
"""Share of the first lines that are left out as warm-up (assumed); at least one where there are three."""
_NUMBER = r"(\d[\d,]*\.?\d*(?:[eE][-+]?\d+)?)"
_COLOURS = re.compile(r"\x1b\[[\d;]*m")


class LogFormat(NamedTuple):
    """How one software writes the speed of a step."""

    software: str
    """Its name, for people."""
    line: re.Pattern[str]
    """Matches a line with the speed, its first group."""
    quantity: str
    """``iteration_time``, ``samples_per_second`` or ``tokens_per_second``."""
    scale: float = 1.0
    """Factor to SI units."""
    per_accelerator: bool = False
    """Whether it is the rate of one accelerator."""
    is_summary: bool = False
    """Whether a line is about the whole run, without warm-up."""
    precision: str | None = None
    """Number format of products, where the software has no option for another; None where it has one."""


FORMATS = (
    LogFormat(
        "Megatron-LM",
        re.compile(rf"elapsed time per iteration \(ms\):\s*{_NUMBER}"),
        "iteration_time",
        1e-3,
    ),
    LogFormat(
        "torchtitan",
        re.compile(rf"step:\s*\d+.*\bloss:.*\b(?:tps|wps):\s*{_NUMBER}"),
        "tokens_per_second",
        per_accelerator=True,
    ),
    LogFormat("NeMo", re.compile(rf"train_step_timing in s[=:]\s*{_NUMBER}"), "iteration_time"),
    LogFormat("DeepSpeed", re.compile(rf"\bCurrSamplesPerSec={_NUMBER}"), "samples_per_second"),
    LogFormat("DeepSpeed", re.compile(rf"\bSamplesPerSec={_NUMBER}"), "samples_per_second"),
    LogFormat(
        "DeepSpeed's pipelines",
        re.compile(rf"steps:\s*\d+ loss:.*iter time \(s\):\s*{_NUMBER}"),
        "iteration_time",
    ),
    LogFormat(
        "Horovod's synthetic benchmark",
        re.compile(rf"Iter #\d+:\s*{_NUMBER} img/sec per \w+"),
        "samples_per_second",
        per_accelerator=True,
        precision="fp32",
    ),
    LogFormat(
        "Horovod's synthetic benchmark",
        re.compile(rf"Img/sec per \w+:\s*{_NUMBER}"),
        "samples_per_second",
        per_accelerator=True,
        is_summary=True,
        precision="fp32",
    ),
    LogFormat(
        "tf_cnn_benchmarks",
        re.compile(rf"\btotal images/sec:\s*{_NUMBER}"),
        "samples_per_second",
        is_summary=True,
    ),
    LogFormat(
        "tf_cnn_benchmarks",
        re.compile(rf"^\s*\d+\s+images/sec:\s*{_NUMBER} \+/-"),
        "samples_per_second",
    ),
)
"""In the order in which they are tried; of one software the more exact line first.  Horovod's script has no
option of a number format (horovod/examples/pytorch/pytorch_synthetic_benchmark.py, read 2026-11-27)."""
KNOWN = tuple(dict.fromkeys(each.software for each in FORMATS))
"""Software whose logs are read."""
_GPUS = (
    re.compile(r"Number of GPUs:\s*(\d+)"),
    re.compile(r"Total img/sec on (\d+) \w+\(s\)"),
    re.compile(r"using world size:\s*(\d+)"),
)
"""Lines that state the accelerators of the job: Horovod's, and Megatron-LM's at its start."""
_BATCH = re.compile(r"global[ _]batch[ _]size:\s*(\d+)")
"""Matches the global batch size in lines of Megatron-LM and NeMo."""
_LOCAL_BATCH = (
    re.compile(r"^Batch size:\s*(\d+)\s*$", re.MULTILINE),
    re.compile(r"^\s*(\d+) per device", re.MULTILINE),
)
"""Match the samples of one accelerator, as Horovod's benchmarks and ``tf_cnn_benchmarks`` print them."""
_MODEL = re.compile(r"^Model:\s*([\w.-]+)\s*$", re.MULTILINE)
"""Matches the network in the first lines of these two."""


class TrainingLog(NamedTuple):
    """The speed of a run by its log."""

    software: str
    quantity: str
    """``iteration_time`` [s], ``samples_per_second`` or ``tokens_per_second`` [1/s]."""
    value: float
    """The median over the lines that count."""
    per_accelerator: bool
    """Whether a rate is that of one accelerator."""
    lines: int
    """Lines that count."""
    skipped: int
    """Lines left out first, as warm-up."""
    spread: float | None
    """Standard deviation of the lines' logarithm, by the median deviation; None of a summary."""
    world_size: int | None = None
    """Accelerators that the log states."""
    global_batch_size: int | None = None
    """Samples of an iteration that the log states."""
    local_batch_size: int | None = None
    """Samples of one accelerator that the log states."""
    model: str | None = None
    """The network, as the log names it."""
    precision: str | None = None
    """Number format of products, where the software has one only."""

    @property
    def words(self) -> str:
        """Return what was read, in words."""
        first = f", the first {self.skipped} left out" if self.skipped else ""
        return f"log of {self.software}: median of {self.lines} line{'s' * (self.lines != 1)}{first}"


def format_of(text: str) -> LogFormat | None:
    """Return the format of a log; None if no line has the speed of a step in a known format.

    >>> format_of("[INFO] step: 10  loss: 8.1  memory: 49.5GiB(62.5%)  tps: 5,721  mfu: 30.3%").software
    'torchtitan'
    >>> format_of("loss 0.3") is None
    True
    """
    lines = _COLOURS.sub("", text).splitlines()
    return next((each for each in FORMATS if any(each.line.search(line) for line in lines)), None)


def read_training_log(path: Path | str, text: str, skip: int | None = None) -> TrainingLog:
    """Return the speed of a run by the text of its log.

    Parameters
    ----------
    path : of the log, which messages name
    text : of the log
    skip : lines to leave out first; by default a tenth of them, at least one of three, none of a summary

    Raises
    ------
    InputError : no line in a known format, no positive speed, or fewer lines than are to be left out
    """
    text = _COLOURS.sub("", text)
    kind = format_of(text)
    if kind is None:
        raise refusal("diagnose.log_format", known=KNOWN).under(path)
    matches = (kind.line.search(line) for line in text.splitlines())
    values = [float(match[1].replace(",", "")) * kind.scale for match in matches if match]
    if skip is None:
        skip = 0 if kind.is_summary or len(values) < 3 else max(1, round(WARM_UP * len(values)))
    kept = [value for value in values[skip:] if value > 0 and math.isfinite(value)]
    if not kept:
        raise refusal("diagnose.log_empty", "skip", skip=skip, count=len(values)).under(path)
    middle = median(kept)
    spread = 1.4826 * median(abs(math.log(value / middle)) for value in kept)
    return TrainingLog(
        kind.software,
        kind.quantity,
        middle,
        kind.per_accelerator,
        len(kept),
        skip,
        None if kind.is_summary else spread,
        _stated(text, *_GPUS),
        _stated(text, _BATCH),
        _stated(text, *_LOCAL_BATCH),
        named[1] if (named := _MODEL.search(text)) else None,
        kind.precision,
    )


def _stated(text: str, *patterns: re.Pattern[str]) -> int | None:
    """Return the last whole number that a pattern finds in a text; None if none does."""
    numbers = [number for each in patterns for number in each.findall(text)]
    return int(numbers[-1]) if numbers else None
