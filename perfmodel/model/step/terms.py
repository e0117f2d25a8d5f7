"""The terms of an iteration, as one table that every listing and chart reads.

A new term is one entry here: its name, its label, its kind of time, the jobs that have it, and the function
that returns its time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, Literal, NamedTuple, get_args

from perfmodel.core.choices import ONE_PROCESS
from perfmodel.equations.iteration import iteration_time, launch_overhead_time
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.step.rare_terms import (
    coding_of,
    loss_of,
    measured_loss_of,
    parallel_apply_of,
    replicate_of,
)
from perfmodel.model.step.step_context import StepContext
from perfmodel.model.step.stragglers import shared_slowdown, straggler_time

Kind = Literal["busy", "network", "host", "wait"]
Place = Literal["before", "start", "forward", "between", "passes", "after", "update"]
Job = Literal["replicas", "one process", "layout"]
"""Data parallelism with a process for each replica or one for all; or a transformer with a layout."""
EVERY: tuple[Job, ...] = get_args(Job)
COPIES: tuple[Job, ...] = ("replicas", "one process")


class Term(NamedTuple):
    """One exposed part of an iteration."""

    name: str
    """Key of ``Prediction.terms``, ending in ``_time``."""
    label: str
    """Label in listings and charts."""
    kind: Kind
    """busy: the accelerator works, at its rated power; network: it communicates, or waits in a collective for
    others; host: it idles between kernels; wait: it idles until data arrive."""
    bound: str
    """The verdict if this term, with others of the same verdict, takes most of the iteration."""
    place: Place
    """Position in the timeline of a step: before everything, before the passes, in the forward pass, between
    forward and backward, in any pass, after them, or with the update at the end."""
    time: Callable[[StepContext, Mapping[str, Any]], Any] | None = None
    """Returns its time [s] from the context and the previous terms of the table, if the context does not have
    it; None: the context's time, or 0."""
    jobs: tuple[Job, ...] = EVERY
    """The jobs that have it."""
    travels: bool = False
    """Whether it is communication."""
    alone: bool = False
    """Whether a single accelerator or replica has it too, so that speed-up and efficiency count it; they
    always count passes, update and input."""
    spreads: bool = True
    """Whether workers differ in it, so that the slowest is waited for; else all of them lose it alike."""
    is_there: Callable[[Setting], bool] | None = None
    """Returns whether a job of these kinds has it; None: every one."""


def _forward(step: StepContext, _: Mapping[str, Any]) -> Any:
    return step.setting.accumulation_steps * step.counted.forward_time


def _backward(step: StepContext, _: Mapping[str, Any]) -> Any:
    return step.setting.accumulation_steps * step.counted.backward_time


def _launches(step: StepContext, _: Mapping[str, Any]) -> Any:
    work = step.counted
    return launch_overhead_time(
        step.setting.accumulation_steps, work.launch_overhead_time, work.iteration_overhead_time
    )


def _update(step: StepContext, _: Mapping[str, Any]) -> Any:
    return step.counted.update_time


def _stragglers(step: StepContext, before: Mapping[str, Any]) -> Any:
    """Return the wait for stragglers [s]; with a profile jitter applies to passes, not to idle time.

    With a layout the node-count penalty contains usual stragglers; a stated jitter is added.
    """
    setting, work = step.setting, step.work
    names = ("exposed_communication_time", "contention_time")
    by_exchange = iteration_time(**{name: before[name] for name in names})
    if work is None:
        if setting.scenario.jitter is None:
            return 0.0
        busy: Any = sum(time for name, time in before.items() if TERMS[name].kind in ("busy", "host"))
        return straggler_time(setting, busy, 0.0, step.constants)
    if setting.updates is not None:
        from perfmodel.model.step.updates import update_wait

        return update_wait(setting, work, by_exchange, step.constants)
    steps = setting.accumulation_steps
    busy = step.counted.alone(steps) if setting.profile is None else steps * work.pass_time
    return straggler_time(setting, busy, by_exchange, step.constants)


def _slowdown(step: StepContext, _: Mapping[str, Any]) -> Any:
    setting, work = step.setting, step.work
    return (
        0.0
        if work is None
        else shared_slowdown(setting, work.alone(setting.accumulation_steps), step.constants)
    )


def _input(step: StepContext, before: Mapping[str, Any]) -> Any:
    """Return the wait for samples, which are loaded during all other terms [s]."""
    setting, factor = step.setting, step.anchor_factor
    if setting.scenario.input == "synthetic":
        return 0.0
    from perfmodel.model.step.input_wait import input_time, shared_input_time

    if setting.layout is not None:
        return shared_input_time(setting, setting.layout, iteration_time(**before), step.constants)
    rest = iteration_time(**before) / factor  # before the anchor's factor
    samples = setting.accumulation_steps * setting.local_batch_size
    waits = input_time(setting, setting.accelerators_per_node, samples, rest, step.constants)
    return waits * factor


COMPUTE, HOST, COMMUNICATION = "compute-bound", "host-bound", "communication-bound"
MEASURED_LOSS = "measured loss"
BOUNDS = {
    COMPUTE: "computing",
    COMMUNICATION: "communication",
    HOST: "the host, which starts the GPUs' work",
    "update-bound": "updating weights",
    "coding-bound": "compressing gradients",
    "straggler-bound": "waiting for the slowest GPU",
    "input-bound": "waiting for samples",
    "pipeline-bound": "idle pipeline stages",
    "copy-bound": "copying weights from the host's memory",
    MEASURED_LOSS: "a loss measured on your own runs",
}
"""The activity behind each verdict, as text; for other verdicts the labels of their terms."""


def _computes(name: str, label: str) -> Term:
    """Return a term of computation in the passes of a layout."""
    return Term(name, label, "busy", COMPUTE, "passes", None, ("layout",))


def _communication(name: str, label: str, place: Place, *jobs: Job) -> Term:
    """Return a term of communication."""
    return Term(name, label, "network", COMMUNICATION, place, None, jobs, travels=True)


def _waits(name: str, label: str, place: Place, bound: str = "pipeline-bound") -> Term:
    """Return a term of idle accelerators of a layout, by default of stages of a pipeline."""
    return Term(name, label, "wait", bound, place, None, ("layout",), spreads=False)


def _of_one_process(name: str, label: str, place: Place, time: Any, kind: Kind = "host") -> Term:
    """Return a term of a single process that drives several accelerators."""
    return Term(name, label, kind, HOST if kind == "host" else COMPUTE, place, time, ("one process",))


TERMS: dict[str, Term] = {
    term.name: term
    for term in (
        Term("forward_time", "forward", "busy", COMPUTE, "forward", _forward, COPIES),
        Term("backward_time", "backward", "busy", COMPUTE, "passes", _backward, COPIES),
        _computes("products_time", "matrix products"),
        _computes("attention_time", "attention"),
        _computes("elementwise_time", "element-wise"),
        _computes("logits_time", "logits and loss"),
        _computes("recomputation_time", "recomputation"),
        _communication("scatter_time", "scatter: samples from GPU 0", "start", "one process"),
        _of_one_process("replicate_time", "replicate: copies made in Python", "start", replicate_of),
        _communication("broadcast_time", "replicate: weights from GPU 0", "start", "one process"),
        _of_one_process(
            "parallel_apply_time", "parallel apply: launches in turn", "start", parallel_apply_of
        ),
        _communication("gather_time", "gather: outputs to GPU 0 and back", "between", "one process"),
        _of_one_process("loss_time", "loss of the others on GPU 0", "between", loss_of, "busy"),
        _communication("reduce_time", "reduce: gradients to GPU 0", "after", "one process"),
        Term("launch_overhead_time", "launch overhead", "host", HOST, "passes", _launches),
        Term("update_time", "update", "busy", "update-bound", "update", _update),
        Term("iteration_overhead_time", "overhead of a step", "host", HOST, "update", None, ("layout",)),
        Term("coding_time", "coding gradients", "busy", "coding-bound", "after", coding_of, COPIES),
        _communication("tensor_parallel_time", "tensor-parallel exchange", "passes", "layout"),
        _communication("context_parallel_time", "context-parallel exchange", "passes", "layout"),
        _communication("expert_parallel_time", "expert-parallel exchange", "passes", "layout"),
        _communication("stage_transfer_time", "between stages", "passes", "layout"),
        _waits("unequal_stages_time", "unequal stages", "passes"),
        _waits("bubble_time", "pipeline bubble", "after"),
        _communication("exposed_communication_time", "exposed communication", "after", *EVERY),
        _waits("host_copy_time", "copies from the host's memory", "after", "copy-bound"),
        Term("contention_time", "slowdown while communicating", "busy", COMMUNICATION, "passes"),
        Term(
            "shared_slowdown_time",
            "slower than one GPU alone",
            "busy",
            COMPUTE,
            "passes",
            _slowdown,
            ("replicas",),
            spreads=False,
        ),
        Term("node_growth_time", "node-count penalty", "network", COMMUNICATION, "after", None, ("layout",)),
        Term("straggler_time", "waiting for stragglers", "network", "straggler-bound", "after", _stragglers),
        Term("input_time", "waiting for input", "wait", "input-bound", "before", _input, spreads=False),
        Term(
            "measured_loss_time",
            "loss measured on your own runs",
            "network",
            MEASURED_LOSS,
            "after",
            measured_loss_of,
            COPIES,
            spreads=False,
            is_there=lambda setting: setting.measured_loss > 0,
        ),
    )
}
"""Every term by name, in the order of computation and listing; the terms of a job sum to the iteration.  With
a layout ``exposed_communication_time`` is that between replicas."""


def job_of(setting: Setting) -> Job:
    """Return the kind of job of a setting, which determines its terms."""
    if setting.layout is not None:
        return "layout"
    return "one process" if setting.strategy == ONE_PROCESS else "replicas"


def names_of(*jobs: Job) -> tuple[str, ...]:
    """Return the names of the terms that all jobs of some kinds have, in the order of the table.

    >>> names_of("replicas")[:3]
    ('forward_time', 'backward_time', 'launch_overhead_time')
    """
    return tuple(name for name, term in TERMS.items() if term.is_there is None and {*jobs} & {*term.jobs})


def only_of(job: Job) -> tuple[str, ...]:
    """Return the names of the terms that only one kind of jobs has.

    >>> only_of("one process")[:2]
    ('scatter_time', 'replicate_time')
    """
    return tuple(name for name, term in TERMS.items() if term.jobs == (job,))


def terms_of(step: StepContext) -> dict[str, Any]:
    """Return the exposed terms of an iteration by name [s], numbers or arrays."""
    job = job_of(step.setting)
    result: dict[str, Any] = {}
    for name, term in TERMS.items():
        if job in term.jobs and (term.is_there is None or term.is_there(step.setting)):
            computed = 0.0 if name in step.known or term.time is None else term.time(step, result)
            result[name] = step.known.get(name, computed)
    if job == "one process":
        return {name: result[name] for name in _in_step_order(tuple(result))}
    return result


def counted_alone() -> bool:
    """Return whether any term is marked ``alone``."""
    return any(term.alone for term in TERMS.values())


def time_alone(step: StepContext) -> Any:
    """Return the iteration time of a single accelerator or replica, without communication and stragglers [s].

    Parameters
    ----------
    step : context of the single accelerator
    """
    nothing = {
        name: 0.0 for name, term in TERMS.items() if term.kind == "network" or term.bound == COMMUNICATION
    }
    return iteration_time(**terms_of(step._replace(known=nothing | {**step.known})))


def sent(terms: Mapping[str, Any]) -> Any:
    """Return the exposed time of all communication [s].

    >>> sent({"forward_time": 3.0, "exposed_communication_time": 1.0, "tensor_parallel_time": 2.0})
    3.0
    """
    return sum([time for name, time in terms.items() if name in TERMS and TERMS[name].travels])


def added(terms: Mapping[str, Any]) -> Any:
    """Return the time that communication adds to an iteration [s]: exposed time, and slowdown of the rest.

    >>> added({"forward_time": 3.0, "exposed_communication_time": 1.0, "contention_time": 2.0})
    3.0
    """
    return sum([time for name, time in terms.items() if name in TERMS and TERMS[name].bound == COMMUNICATION])


def alike(terms: Mapping[str, Any]) -> Any:
    """Return the time that all workers lose alike, which does not spread over them [s].

    >>> alike({"forward_time": 3.0, "shared_slowdown_time": 1.0, "input_time": 2.0})
    3.0
    """
    return sum([time for name, time in terms.items() if name in TERMS and not TERMS[name].spreads])


def bound_words(bound: str) -> str:
    """Return the activity behind a verdict, as text.

    >>> bound_words("input-bound")
    'waiting for samples'
    """
    return BOUNDS.get(bound) or ", ".join(term.label for term in TERMS.values() if term.bound == bound)


def by_bound(terms: Mapping[str, Any]) -> dict[str, Any]:
    """Return the total time of the terms of each verdict [s].

    >>> by_bound({"forward_time": 3.0, "backward_time": 1.0, "input_time": 2.0})
    {'compute-bound': 4.0, 'input-bound': 2.0}
    """
    result: dict[str, Any] = {}
    for name, time in terms.items():
        bound = TERMS[name].bound
        result[bound] = result.get(bound, 0.0) + time
    return result


def only_kind(terms: Mapping[str, Any], kind: Kind) -> dict[str, Any]:
    """Return the terms of one kind.

    >>> only_kind({"forward_time": 3.0, "update_time": 1.0, "input_time": 2.0}, "wait")
    {'input_time': 2.0}
    """
    return {name: time for name, time in terms.items() if name in TERMS and TERMS[name].kind == kind}


def of_kind(terms: Mapping[str, Any], kind: Kind) -> Any:
    """Return the total time of the terms of one kind [s].

    >>> of_kind({"forward_time": 3.0, "update_time": 1.0, "input_time": 2.0}, "busy")
    4.0
    """
    return sum(only_kind(terms, kind).values())


def in_step_order(names: Iterable[str]) -> list[str]:
    """Return the names of terms in the order of a step's timeline.

    >>> in_step_order(["update_time", "straggler_time", "forward_time", "input_time"])
    ['input_time', 'forward_time', 'straggler_time', 'update_time']
    """
    return list(_in_step_order(tuple(names)))


@lru_cache(maxsize=64)
def _in_step_order(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of terms in the order of a step's timeline, cached."""
    places = get_args(Place)
    return tuple(sorted(names, key=lambda name: places.index(TERMS[name].place)))
