"""Of what job a trace is: what its file says is taken, the rest is asked for before anything is learned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import streamlit as st

from app import session_hardware, state
from app.file_marks import Mark
from app.options import options, scenario
from app.own_uploads import TAKEN
from app.uploads import Seen
from perfmodel.core.errors import InputError
from perfmodel.evidence.traces.traced_job import accelerators_called, run_as

CONFIRMED = ("workload", "accelerator", "precision", "local-batch-size")
"""Options that say what was traced; a default for one of them would be a guess."""


class Device(NamedTuple):
    """What the files say of the accelerators."""

    called: str | None
    """As the driver calls them."""
    family: tuple[str, ...]
    """What of the catalogue that may be, the likeliest first."""
    ranks: int | None


def device_of(seen: Seen) -> Device:
    """Return what the files say of the accelerators and of the number of ranks."""
    named = next((trace for trace in seen.traces if trace.accelerator), None)
    ranks = max((trace.world_size or 0 for trace in seen.traces), default=0) or None
    if named is None:
        return Device(None, (), ranks)
    family = accelerators_called(named.accelerator, named.memory, session_hardware.catalogue())
    return Device(named.accelerator, tuple(family), ranks)


def take_from_files(seen: Seen, files: tuple[Mark, ...], picked: Mapping[str, Any]) -> None:
    """Put what the files say beside the page, once for each upload, and draw the page again.

    Raises
    ------
    InputError : another accelerator, precision or batch stands beside the page than the files tell
    """
    device, session = device_of(seen), st.session_state
    read = {name.replace("_", "-"): value for name, value in run_as(seen.traces, scenario(picked)).items()}
    if session.get(TAKEN) != files:
        session[TAKEN] = files
        changes: dict[str, Any] = dict(read)
        if device.family and "node" not in picked and "accelerator" not in picked:
            changes["accelerator"] = device.family[0]
        if device.ranks and picked.get("gpus") != device.ranks:
            changes["gpus"] = device.ranks
        if changes:
            state.choose({options()[name]: value for name, value in changes.items()})
            st.rerun()
    asked = _accelerator(picked)
    if device.family and asked is not None and asked not in device.family:
        raise InputError(
            f"the trace is of {device.called!r}, which is not {asked}: choose {device.family[0]} beside the "
            "page"
        )


def _accelerator(picked: Mapping[str, Any]) -> str | None:
    """The accelerator that the options beside the page name, by itself or by its machine."""
    if "accelerator" in picked:
        return str(picked["accelerator"])
    if "node" in picked:
        return str(session_hardware.catalogue().node(picked["node"]).accelerator)
    return None


def missing(picked: Mapping[str, Any]) -> list[str]:
    """Return the labels of what nobody has said of the traced job."""
    said = {**picked, "accelerator": _accelerator(picked)}
    if "global-batch-size" in picked:
        said["local-batch-size"] = picked["global-batch-size"]
    return [options()[name].label for name in CONFIRMED if said.get(name) is None]


def described(picked: Mapping[str, Any]) -> str:
    """Say the job that stands beside the page."""
    batch = picked.get("local-batch-size")
    samples = f"{batch} on each GPU" if batch else f"{picked.get('global-batch-size')} in all"
    job = f"{picked.get('workload')} in {picked.get('precision')} on {_accelerator(picked)}"
    return f"{job}, a batch of {samples}"


def as_options(seen: Seen, picked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the job as ``trace summary`` takes it; nothing where that cannot say it."""
    if missing(picked) or "local-batch-size" not in picked:
        return {}
    unsaid = () if device_of(seen).called else ("accelerator",)
    names = ("workload", "precision", "local-batch-size", *unsaid)
    return {name: picked[name] for name in names if name in picked}
