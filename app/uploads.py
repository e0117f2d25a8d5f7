"""Uploaded profiler files: read once, kept in the session, used for calibration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import streamlit as st

from app import own_profile, session_hardware
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


class Seen(NamedTuple):
    """What the files hold."""

    traces: list[DeviceTrace]
    timings: list[Timings]


def in_use_seen() -> Seen | None:
    """Return what the traces in use hold; None without any."""
    seen, marks = Seen([], []), in_use("trace")
    for result in (st.session_state[SEEN][mark] for mark in marks):
        seen.traces.extend(result) if isinstance(result, list) else seen.timings.append(result)
    return seen if marks else None


def names() -> list[str]:
    """Return what their owner calls the traces in use."""
    return [session_hardware.own_name(mark.name, "trace") for mark in in_use("trace")]


def take(mark: Mark, content: bytes) -> None:
    """Keep what a trace that was handed over holds, which is all that is kept of it.

    Raises
    ------
    InputError : a file that is none of the kinds
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


def calibrate(seen: Seen, scenario: Scenario, skip: int) -> Profile:
    """Take the profile of the job into the session, for every page that predicts.

    Raises
    ------
    InputError : a trace without marked steps
    """
    result = profile_of_traces(seen.traces, seen.timings, scenario, session_hardware.catalogue(), skip)
    own_profile.take(profile_called(result.files), to_toml(result))
    return result


def profile_called(files: Sequence[str]) -> str:
    """Return the name of the profile that some files make: that of the first, so that two are not confused.

    >>> profile_called(["my step.json.gz", "other.json"]), profile_called([])
    ('my step-profile.toml', 'profile.toml')
    """
    stem = files[0].removesuffix(".gz").rpartition(".") if files else ("", "", "")
    return f"{stem[0] or stem[2]}-profile.toml".removeprefix("-")


def against_prediction(seen: Seen, prediction: Prediction, skip: int) -> list[dict[str, Any]]:
    """Return the measured step beside the predicted one, part by part.

    Raises
    ------
    InputError : no marked steps; more ranks than a timeline draws
    """
    path = session_hardware.folder() / "predicted.json"
    write_timeline(path, prediction)
    predicted = read_trace(path)
    rows = difference(seen.traces, predicted if isinstance(predicted, list) else [], skip)
    return [
        {
            "a step": {"iteration_time": "iteration", **PARTS}[row["part"]],
            "measured": show(row["first"], "s"),
            "predicted": show(row["second"], "s"),
            "predicted / measured": row["ratio"],
        }
        for row in rows
    ]
