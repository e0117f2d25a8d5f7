"""Uploaded profiler traces: read once, stored in the session, used for a summary and calibration."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import streamlit as st

from app import own_profile, samples, session_hardware
from app.file_marks import Mark, in_use
from app.session_hardware import SEEN
from perfmodel.core.units import show
from perfmodel.evidence.traces.calibrate import profile_of_traces
from perfmodel.evidence.traces.device_trace import DeviceTrace
from perfmodel.evidence.traces.diff import difference
from perfmodel.evidence.traces.nccl_tests import Timings
from perfmodel.evidence.traces.read import read_trace
from perfmodel.evidence.traces.summary import PARTS
from perfmodel.evidence.traces.timeline import write_timeline
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import Prediction
from perfmodel.model.setting.profile import Profile, to_toml


class TraceFiles(NamedTuple):
    """Contents of uploaded trace files."""

    traces: list[DeviceTrace]
    """Of profilers, one for each device."""
    timings: list[Timings]
    """Of nccl-tests."""


def traces_in_use() -> TraceFiles | None:
    """Return the contents of the traces in use; None without any."""
    files, marks = TraceFiles([], []), in_use("trace")
    for result in (st.session_state[SEEN][mark] for mark in marks):
        files.traces.extend(result) if isinstance(result, list) else files.timings.append(result)
    return files if marks else None


@cache
def sample() -> TraceFiles:
    """Return the contents of the sample trace, which no session has to hand over."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / samples.TRACE_NAME
        path.write_bytes(samples.trace())
        result = read_trace(path)
    assert isinstance(result, list)
    return TraceFiles(result, [])


def names() -> list[str]:
    """Return the file names of the traces in use."""
    return [session_hardware.own_name(mark.name, "trace") for mark in in_use("trace")]


def store_trace(mark: Mark, content: bytes) -> None:
    """Read an uploaded trace and store its content, but not the file, in the session.

    Raises
    ------
    InputError : a file of an unknown format
    """
    session = st.session_state
    path = session_hardware.place("trace", mark)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    try:
        result = read_trace(path)
    finally:
        path.unlink()
    session[SEEN] = {**session.get(SEEN, {}), mark: result}


def calibrate(files: TraceFiles, scenario: Scenario, skip: int) -> Profile:
    """Learn the profile of a job from traces, and use it on all pages that predict.

    Parameters
    ----------
    files : contents of the traces
    scenario : the job
    skip : marked steps to leave out first

    Raises
    ------
    InputError : a trace without marked steps
    """
    result = profile_of_traces(files.traces, files.timings, scenario, session_hardware.catalogue(), skip)
    own_profile.take(profile_name(result.files), to_toml(result))
    return result


def profile_name(files: Sequence[str]) -> str:
    """Return the file name of the profile learned from some files, made from the first one's name.

    >>> profile_name(["my step.json.gz", "other.json"]), profile_name([])
    ('my step-profile.toml', 'profile.toml')
    """
    stem = files[0].removesuffix(".gz").rpartition(".") if files else ("", "", "")
    return f"{stem[0] or stem[2]}-profile.toml".removeprefix("-")


def against_prediction(files: TraceFiles, prediction: Prediction, skip: int) -> list[dict[str, Any]]:
    """Return a table of the measured and the predicted step, a row for each part.

    Raises
    ------
    InputError : no marked steps; more ranks than a timeline draws
    """
    path = session_hardware.folder() / "predicted.json"
    write_timeline(path, prediction)
    predicted = read_trace(path)
    rows = difference(files.traces, predicted if isinstance(predicted, list) else [], skip)
    return [
        {
            "a step": {"iteration_time": "iteration", **PARTS}[row["part"]],
            "measured": show(row["first"], "s"),
            "predicted": show(row["second"], "s"),
            "predicted / measured": row["ratio"],
        }
        for row in rows
    ]
