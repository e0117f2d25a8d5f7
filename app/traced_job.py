"""The job of an uploaded trace: options that its files state, and those that the user has to choose."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import streamlit as st

from app import names, session_hardware, state
from app.file_marks import Mark
from app.options import options, scenario
from app.own_uploads import TAKEN
from app.uploads import TraceFiles
from perfmodel.core.errors import InputError
from perfmodel.evidence.traces.traced_job import accelerators_called, run_as

CONFIRMED = ("workload", "accelerator", "precision", "local-batch-size")
"""Options of the traced job without a default: the files state them, or the user chooses them."""


class Device(NamedTuple):
    """The accelerators of a trace, as its files state them."""

    called: str | None
    """The driver's name."""
    family: tuple[str, ...]
    """Ids in the catalogue that the name may mean, the likeliest first."""
    ranks: int | None
    """Number of ranks."""


def device_of(files: TraceFiles) -> Device:
    """Return the accelerators and the number of ranks that trace files state."""
    named = next((trace for trace in files.traces if trace.accelerator), None)
    ranks = max((trace.world_size or 0 for trace in files.traces), default=0) or None
    if named is None:
        return Device(None, (), ranks)
    family = accelerators_called(named.accelerator, named.memory, session_hardware.catalogue())
    return Device(named.accelerator, tuple(family), ranks)


def take_from_files(files: TraceFiles, marks: tuple[Mark, ...], picked: Mapping[str, Any]) -> None:
    """Set the options that trace files state, once for each upload, and rerun the page.

    Parameters
    ----------
    files : contents of the traces
    marks : of the files
    picked : chosen options

    Raises
    ------
    InputError : a chosen accelerator, precision or batch differs from that in the files
    """
    device, session = device_of(files), st.session_state
    read = {name.replace("_", "-"): value for name, value in run_as(files.traces, scenario(picked)).items()}
    if session.get(TAKEN) != marks:
        session[TAKEN] = marks
        changes: dict[str, Any] = dict(read)
        if device.family and "node" not in picked and "accelerator" not in picked:
            changes["accelerator"] = device.family[0]
        if device.ranks and picked.get("gpus") != device.ranks:
            changes["gpus"] = device.ranks
        if changes:
            state.choose({options()[name]: value for name, value in changes.items()})
            st.rerun()
    accelerator = _accelerator(picked)
    if device.family and accelerator is not None and accelerator not in device.family:
        raise InputError(
            f"the trace is of {device.called!r}, which is not {accelerator}: choose {device.family[0]} "
            "in the sidebar"
        )


def _accelerator(picked: Mapping[str, Any]) -> str | None:
    """Return the accelerator that the chosen options name, directly or by the machine, or None."""
    if "accelerator" in picked:
        return str(picked["accelerator"])
    if "node" in picked:
        return str(session_hardware.catalogue().node(picked["node"]).accelerator)
    return None


def missing(picked: Mapping[str, Any]) -> list[str]:
    """Return the labels of options of the traced job that the user still has to choose."""
    stated = {**picked, "accelerator": _accelerator(picked)}
    if "global-batch-size" in picked:
        stated["local-batch-size"] = picked["global-batch-size"]
    return [options()[name].label for name in CONFIRMED if stated.get(name) is None]


def job_words(picked: Mapping[str, Any]) -> str:
    """Return a description of the job that the chosen options define."""
    batch = picked.get("local-batch-size")
    samples = f"{batch} on each GPU" if batch else f"{picked.get('global-batch-size')} in all"
    known = session_hardware.catalogue()
    network = names.called(str(picked.get("workload")), known)
    chip = names.called(str(_accelerator(picked)), known)
    return f"{network} in {picked.get('precision')} on {chip}, a batch of {samples}"


def as_options(files: TraceFiles, picked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the job as options of ``perfmodel trace summary``; {} if they are incomplete."""
    if missing(picked) or "local-batch-size" not in picked:
        return {}
    unnamed = () if device_of(files).called else ("accelerator",)
    described = ("workload", "precision", "local-batch-size", *unnamed)
    return {name: picked[name] for name in described if name in picked}
