"""What a page shows where its answer would be when an input is wrong, and what would mend it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app import session_hardware
from app.backend import backend
from app.names import called
from app.options import accelerators, options
from app.state import choose, show_mistake
from perfmodel.core.errors import InputError
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.options.scenario import Scenario

_INDIVISIBLE = ("batch.replicas", "batch.indivisible")
"""Codes of problems that another batch of the whole job would mend."""
_NO_MACHINE = ("machine.no_usual", "machine.unusual")
"""Codes of problems that a machine would mend."""


@contextmanager
def errors_shown(
    title: str = "",
    top: DeltaGenerator | None = None,
    rest: Callable[[], None] | None = None,
    jobs: Callable[[], Sequence[Scenario]] | None = None,
) -> Iterator[None]:
    """Show an InputError of the ``with`` block in place of the answer, and stop the page.

    Parameters
    ----------
    title : of the page, which the answer would replace
    top : place of the answer; None: here
    rest : draws what the page has without an answer: examples, help
    jobs : returns all jobs of the answer, for a batch that each of them can take
    """
    try:
        yield
    except InputError as error:
        with nullcontext() if top is None else top:
            if title:
                st.subheader(title, anchor=False)
            show_mistake(error)
            _offer_machine(error)
            if jobs is not None:
                _offer_batch(error, jobs())
            if rest is not None:
                rest()
        st.stop()


def _offer_machine(error: InputError) -> None:
    """Draw buttons that mend an unknown machine: the usual form of the accelerator, a machine for any."""
    fields = st.session_state.get("fields", {})
    values = next((problem.values for problem in error.problems if problem.code in _NO_MACHINE), None)
    if values is None:
        return
    catalogue = session_hardware.catalogue()
    for name, id in (("accelerator", usual_form(values["accelerator"], catalogue)), ("node", values["node"])):
        if name in fields and id in fields[name].choices:
            label, change = f"Take {called(id, catalogue)}", {fields[name]: id}
            st.button(label, on_click=choose, args=(change,), key=f"take-{name}", type="primary")


def usual_form(id: str, catalogue: Catalogue) -> str | None:
    """Return the usual form of an accelerator of which no machine is known; None where none is.

    >>> usual_form("h100-nvl-94gb", Catalogue.built_in()), usual_form("rtx-4090", Catalogue.built_in())
    ('h100-sxm5-80gb', None)
    """
    family = catalogue.accelerator(id).family
    forms = (each for each in accelerators(catalogue) if catalogue.accelerator(each).usual_node)
    return next((each for each in forms if family and catalogue.accelerator(each).family == family), None)


def _offer_batch(error: InputError, jobs: Sequence[Scenario]) -> None:
    """Draw a button that takes the nearest batch that all jobs can take, if that would mend the error."""
    option = options()["global-batch-size"]
    batch = next((job.global_batch_size for job in jobs if job.global_batch_size), None)
    if batch is None or not any(problem.code in _INDIVISIBLE for problem in error.problems):
        return
    nearest = fitting_batch(batch, jobs)
    if nearest is not None:
        label = f"Take a batch of {nearest:,}, the nearest that fits all"
        st.button(label, on_click=choose, args=({option: nearest},), key="take-batch", type="primary")


def fitting_batch(batch: int, jobs: Sequence[Scenario]) -> int | None:
    """Return the batch nearest to a given one that divides over the replicas of every job; None without one.

    Parameters
    ----------
    batch : of the whole job [samples]
    jobs : with that batch, or with one of their own, which stays

    >>> fitting_batch(256, [Scenario(gpus=gpus, global_batch_size=256) for gpus in (64, 96)])
    192
    """
    step = 1
    for _ in range(2 * len(jobs) + 1):
        nearest = max(1, round(batch / step)) * step
        changed = {"global_batch_size": nearest}
        divisors = [
            _divisor(job.model_copy(update=changed) if job.global_batch_size == batch else job)
            for job in jobs
        ]
        if None in divisors:
            return None
        further = math.lcm(step, *(each for each in divisors if each))
        if further == step:
            return nearest
        step = further
    return None


def _divisor(job: Scenario) -> int | None:
    """Return what the batch of a job must be a multiple of; 1 where it is already, None if more is wrong."""
    try:
        backend().predict(job)
    except InputError as error:
        for problem in error.problems:
            if problem.code in _INDIVISIBLE:
                replicas = int(problem.values.get("data", job.world_size))
                return replicas * (job.micro_batch_size or 1) * (job.accumulation_steps or 1)
        return None
    return 1
