"""Uploaded profiler files: read once, kept in the session, used for calibration."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from typing import Any, NamedTuple

import streamlit as st

from app import session_hardware
from perfmodel.errors import InputError
from perfmodel.prediction import Prediction
from perfmodel.profile import Profile, to_toml
from perfmodel.specs.scenario import Scenario
from perfmodel.traces.calibrate import profile_of_traces
from perfmodel.traces.device_trace import DeviceTrace
from perfmodel.traces.diff import difference
from perfmodel.traces.nccl_tests import Timings
from perfmodel.traces.read import read_trace
from perfmodel.traces.summary import PARTS
from perfmodel.traces.timeline import write_timeline
from perfmodel.units import show


class Seen(NamedTuple):
    """What the files hold."""

    traces: list[DeviceTrace]
    timings: list[Timings]


def read(files: Sequence[Any]) -> Seen | None:
    """Return what uploaded files hold, reading each upload once; None without files.

    Raises
    ------
    InputError : a file that is none of the kinds
    """
    session = st.session_state
    named = tuple(file.file_id for file in files)
    if not files:
        session.pop("seen-traces", None)
        return None
    if session.get("seen-traces", (None,))[0] != named:
        session["seen-traces"] = (named, _read(files))
    seen: Seen = session["seen-traces"][1]
    return seen


def _read(files: Sequence[Any]) -> Seen:
    seen = Seen([], [])
    place = session_hardware.folder() / "traces"
    for index, file in enumerate(files):
        path = place / str(index) / session_hardware.own_name(file.name, "trace")
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as out:
            file.seek(0)
            shutil.copyfileobj(file, out)
        try:
            result = read_trace(path)
        except InputError as error:
            raise InputError(str(error).replace(f"{path.parent}/", "")) from None
        finally:
            path.unlink()
        if isinstance(result, list):
            seen.traces.extend(result)
        else:
            seen.timings.append(result)
    return seen


def calibrate(seen: Seen, scenario: Scenario, skip: int) -> Profile:
    """Take the profile of the job into the session, for every page that predicts.

    Raises
    ------
    InputError : a trace without marked steps
    """
    session = st.session_state
    result = profile_of_traces(seen.traces, seen.timings, scenario, session_hardware.catalogue(), skip)
    # a new name each time, as profiles are cached by name
    session["profiles"] = session.get("profiles", 0) + 1
    session["profile-name"] = f"{session['profiles']}/{profile_called(result.files)}"
    file = session_hardware.folder() / "profiles" / session["profile-name"]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(to_toml(result), "utf-8")
    session["profile-summary"] = f"{result.workload} on {result.accelerator}: {', '.join(result.files)}"
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


def forget() -> None:
    """Drop the session's profile."""
    st.session_state.pop("profile-summary", None)
    st.session_state.pop("profile-name", None)
