"""Read what ``--measured`` gives: a time or rate, a log, a trace, or a listing of nccl-tests."""

from __future__ import annotations

import os
import re
from pathlib import Path
from statistics import median
from typing import NamedTuple

from perfmodel.core.errors import InputError, refusal
from perfmodel.core.files.attachments import is_request, made
from perfmodel.core.files.reading import LARGEST_TEXT, opened
from perfmodel.core.units import parse, show
from perfmodel.evidence.traces.device_trace import DeviceTrace
from perfmodel.evidence.traces.nccl_tests import Timings, is_nccl_tests, read_nccl_tests
from perfmodel.evidence.traces.nsight import SQLITE_MAGIC
from perfmodel.evidence.traces.read import read_all
from perfmodel.evidence.traces.summary import kept_steps
from perfmodel.evidence.traces.training_logs import read_training_log

GIVEN = "<measured>"
"""Name of a content that is given itself, not by the name of its file."""
_PER_ACCELERATOR = re.compile(r"\s*(?:/|per)\s*(?:gpu|device|accelerator|chip|rank)\s*$", re.IGNORECASE)
_OF = re.compile(
    r"\s*(tok(?:en)?s?|samples?|images?|imgs?|seq(?:uence)?s?)\s*(?:/|\s+per\s+)\s*(?:s|sec|second)\s*$",
    re.IGNORECASE,
)
_RATE = re.compile(r"/\s*s(?:ec|econd)?\b|per\s+s(?:ec|econd)\b", re.IGNORECASE)
_OF_A_STEP = re.compile(r"\s*(?:/|\bper\b)\s*(?:it|iter|iteration|step|update|batch)\s*$", re.IGNORECASE)
"""Matches what a time is of: a step, as any time is here."""
_STEPS = re.compile(
    r"\s*(?:its?|iters?|iterations?|steps?|updates?|batch(?:es)?)\s*(?=/|per\b)", re.IGNORECASE
)
"""Matches the steps of a rate of steps."""
_STARTS = re.compile(r"\s*[+-]?[\d.]")
_BARE = re.compile(r"\s*[+-]?[\d.,]+(?:[eE][+-]?\d+)?\s*")
"""Matches a number without a unit, which may be seconds or milliseconds."""


class Speed(NamedTuple):
    """The measured speed of a training run."""

    quantity: str
    """``iteration_time`` [s], ``samples_per_second`` or ``tokens_per_second`` [1/s]."""
    value: float
    per_accelerator: bool
    """Whether a rate is that of one accelerator."""
    words: str
    """What was read, and how."""
    spread: float | None = None
    """Standard deviation of the logarithm of a step's time, where single steps were read."""
    world_size: int | None = None
    """Accelerators of the job, where the measurement says so."""
    global_batch_size: int | None = None
    """Samples of an iteration, where the measurement says so."""
    file: str = GIVEN
    local_batch_size: int | None = None
    """Samples of one accelerator, where the measurement says so."""
    model: str | None = None
    """Name of the network, where the measurement says so."""
    precision: str | None = None
    """Number format of products, where the measurement implies one."""


def parse_speed(text: str) -> Speed | None:
    """Return a speed that a person typed; None if the text is no number with a unit.

    >>> parse_speed("1234tok/s/gpu")[:3], parse_speed("145ms")[:3]
    (('tokens_per_second', 1234.0, True), ('iteration_time', 0.145, False))
    >>> parse_speed("19.5k images/s")[:3], parse_speed("train.log")
    (('samples_per_second', 19500.0, False), None)
    >>> parse_speed("0.4 s/it")[:2], parse_speed("2.5 it/s")[:2]
    (('iteration_time', 0.4), ('iteration_time', 0.4))

    Raises
    ------
    InputError : a rate of nothing, or a number whose unit is unknown
    """
    if not _STARTS.match(text):
        return None
    one = bool(_PER_ACCELERATOR.search(text))
    words = _PER_ACCELERATOR.sub("", text)
    unit = _OF.search(words)
    if unit is not None:
        number = words[: unit.start()].strip()
        quantity = "tokens_per_second" if unit[1].lower().startswith("tok") else "samples_per_second"
        value = parse(f"{number}/s", "1/s")
        return _checked(Speed(quantity, value, one, f"{text.strip()}, as given"), text)
    steps = _STEPS.sub("", words, count=1)
    try:
        if steps != words and not one:
            rate = _checked(
                Speed("iteration_time", parse(steps, "1/s"), False, f"{text.strip()}, as given"), text
            )
            return rate._replace(value=1 / rate.value)
    except InputError:
        raise refusal("diagnose.measured", "measured", given=text) from None
    if _RATE.search(words):
        raise refusal("diagnose.unit", "measured", given=text)
    words = _OF_A_STEP.sub("", words)
    if _BARE.fullmatch(words):
        raise refusal("diagnose.no_unit", "measured", given=text, number=words.strip())
    try:
        return _checked(Speed("iteration_time", parse(words, "s"), False, f"{text.strip()}, as given"), text)
    except InputError:
        raise refusal("diagnose.measured", "measured", given=text) from None


def _checked(speed: Speed, text: str) -> Speed:
    """Return the speed; refuse one of nothing."""
    if speed.value <= 0:
        raise refusal("diagnose.measured", "measured", given=text)
    return speed


def read_measured(given: str, skip: int | None = None) -> Speed | Timings:
    """Return a measured speed, or a listing of collectives.

    Parameters
    ----------
    given : a time or rate; the content of a log or listing, which has several lines; or the name of a file
    skip : first lines of a log, or marked steps of a trace, to leave out; by default a tenth of the lines of
        a log, and no step

    Raises
    ------
    InputError : a unit that is not known; a file that cannot be read, or whose format is not known
    """
    if "\n" in given:
        with made({GIVEN: given.encode("utf-8", "replace")}):
            return _read(GIVEN, skip)
    speed = None if _is_file(given) else parse_speed(given)
    if speed is None:
        return _read(given, skip)
    if skip is not None:
        raise refusal("diagnose.skip", "skip", skip=skip, what=given)
    return speed


def read_listing(given: str) -> Timings:
    """Return a listing of collectives; parameter and errors as of ``read_measured``, or it is no listing."""
    read = read_measured(given)
    if isinstance(read, Speed):
        raise refusal("fit.no_nccl_tests").under(read.file)
    return read


def is_name(given: object) -> bool:
    """Return whether a value names a file, and is neither a speed nor a content.

    >>> is_name("train.log"), is_name("145ms"), is_name("step: 1\\nstep: 2")
    (True, False, False)
    """
    if not isinstance(given, str):
        return isinstance(given, os.PathLike)
    return "\n" not in given and (_is_file(given) or not _STARTS.match(given))


def _is_file(given: str) -> bool:
    return not is_request() and os.path.exists(given)


def _read(name: str, skip: int | None) -> Speed | Timings:
    """Return the speed or listing in a file."""
    path = Path(name)
    if not os.path.isdir(path) or is_request():
        head = _head(path)
        if not (head.startswith((SQLITE_MAGIC, b"\x1f\x8b")) or head.lstrip()[:1] in (b"{", b"[")):
            return _of_text(path, skip)
        if head.lstrip()[:1] == b"[" and not head.lstrip()[1:].lstrip().startswith((b"{", b"]")):
            return _of_text(path, skip)  # a log whose lines begin with a time in brackets
    traces, timings = read_all([name])
    if not traces:
        return timings[0]
    return _of_traces(traces, name, skip or 0)


def _head(path: Path) -> bytes:
    with opened(path, LARGEST_TEXT) as file:
        return file.read(4096)


def _of_text(path: Path, skip: int | None) -> Speed | Timings:
    """Return the speed in a log, or a listing."""
    with opened(path, LARGEST_TEXT) as file:
        text = file.read().decode("utf-8-sig", "replace")
    if is_nccl_tests(text):
        if skip is not None:
            raise refusal("diagnose.skip", "skip", skip=skip, what="a listing")
        return read_nccl_tests(path, text)
    try:
        log = read_training_log(path, text, skip)
    except InputError as error:
        from perfmodel.evidence.fitting.own_table import is_table_of_runs

        if is_table_of_runs(text):
            raise refusal("diagnose.table_of_runs").under(str(path)) from error
        raise
    return Speed(
        log.quantity,
        log.value,
        log.per_accelerator,
        log.words,
        log.spread,
        log.world_size,
        log.global_batch_size,
        str(path),
        log.local_batch_size,
        log.model,
        log.precision,
    )


def _of_traces(traces: list[DeviceTrace], name: str, skip: int) -> Speed:
    """Return the median of the marked steps of traces."""
    durations = [float(end - start) for trace in traces for start, end in kept_steps(trace, skip)]
    if not durations:
        raise refusal("trace.no_steps").under(name)
    ranks = max((trace.world_size or 0 for trace in traces), default=0)
    middle = median(durations)
    first = f", the first {skip} left out" if skip else ""
    words = f"trace: median of {len(durations)} marked steps{first}, {show(middle, 's')}"
    return Speed("iteration_time", middle, False, words, None, ranks or None, None, name)
