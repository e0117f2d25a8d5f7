"""The terms of an iteration, in one table: every listing, chart, share of power and key reads it.

A new term is one entry here: its name, what people call it, what kind of time it is, and the function that
says how long it takes.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from perfmodel.calibration import Calibration
from perfmodel.equations.iteration import (
    accumulated_time,
    anchored_time,
    iteration_time,
    launch_overhead_time,
    rest_of_iteration,
)
from perfmodel.resolve import ONE_PROCESS, Setting
from perfmodel.step.computation import Computation
from perfmodel.step.fabric import Fabric
from perfmodel.step.stragglers import straggler_time

if TYPE_CHECKING:
    from perfmodel.transformers.step import Step as SharedStep

Kind = Literal["busy", "network", "host", "wait"]
Place = Literal["before", "start", "forward", "between", "passes", "after", "update"]


class Moment(NamedTuple):
    """What the terms of an iteration are worked out from; numbers, or in a sweep arrays."""

    setting: Setting
    work: Computation
    """Times of one accelerator, an anchor's factor in them."""
    anchor_factor: Any
    traffic: Mapping[str, Any]
    """Exposed times of what travels, by the names of their terms."""
    constants: Calibration

    @property
    def counted(self) -> Computation:
        """Times of the gradients that count: late ones may be cut short."""
        if self.setting.updates is None:
            return self.work
        from perfmodel.step.updates import counted_work

        return counted_work(self.setting, self.work, self.constants)


class SharedMoment(NamedTuple):
    """What the terms of a transformer that is shared out are taken from; numbers, or in a sweep arrays."""

    setting: Setting
    step: SharedStep
    constants: Calibration


class Term(NamedTuple):
    """One exposed part of an iteration."""

    name: str
    """Key of ``Prediction.terms``, ending in ``_time``."""
    label: str
    """For people."""
    kind: Kind
    """busy: the accelerator works, at its rated power; network: it communicates, or spins in a collective
    until the others are there; host: it idles between kernels; wait: it idles until something arrives."""
    bound: str
    """The verdict where this term, with others of the same verdict, takes most of the iteration."""
    place: Place
    """Where in a step the timeline and the emulator put it: before all else, before the passes, the forward
    pass, between it and the backward pass, one of the passes, after them, or with the update at the end."""
    time: Callable[[Any, Mapping[str, Any]], Any]
    """Its time [s], from the moment and the terms before it in the table."""


def _forward(moment: Moment, _: Mapping[str, Any]) -> Any:
    return accumulated_time(moment.setting.accumulation_steps, moment.counted.forward_time)


def _backward(moment: Moment, _: Mapping[str, Any]) -> Any:
    return accumulated_time(moment.setting.accumulation_steps, moment.counted.backward_time)


def _launches(moment: Moment, _: Mapping[str, Any]) -> Any:
    setting, work = moment.setting, moment.counted
    return launch_overhead_time(
        setting.accumulation_steps,
        work.launch_overhead_time,
        work.iteration_overhead_time,
    )


def _update(moment: Moment, _: Mapping[str, Any]) -> Any:
    return moment.counted.update_time


def _communication(moment: Moment, _: Mapping[str, Any]) -> Any:
    return moment.traffic.get("exposed_communication_time", 0.0)


def _stragglers(moment: Moment, before: Mapping[str, Any]) -> Any:
    """A worker's whole iteration spreads; of a profile only its passes do, not the idling measured beside."""
    setting, work, steps = moment.setting, moment.work, moment.setting.accumulation_steps
    if setting.updates is not None:
        from perfmodel.step.updates import update_wait

        return update_wait(setting, work, before["exposed_communication_time"], moment.constants)
    if setting.profile is None:
        busy_time = work.alone(steps)
    else:
        busy_time = accumulated_time(steps, work.pass_time)
    return straggler_time(setting, busy_time, before["exposed_communication_time"], moment.constants)


def _input(moment: Moment, before: Mapping[str, Any]) -> Any:
    """Samples are fetched behind everything else."""
    setting, factor = moment.setting, moment.anchor_factor
    if setting.scenario.input == "synthetic":
        return 0.0
    from perfmodel.step.input_wait import input_time

    rest = rest_of_iteration(iteration_time(**before), factor)
    samples = accumulated_time(setting.accumulation_steps, setting.local_batch_size)
    waits = input_time(setting, setting.accelerators_per_node, samples, rest, moment.constants)
    return anchored_time(waits, factor)


def _coding(moment: Moment, _: Mapping[str, Any]) -> Any:
    if moment.setting.compression is None:
        return 0.0
    from perfmodel.step.compressed import coding_times

    return coding_times(moment.setting, moment.constants)


TRAFFIC = (
    "exposed_communication_time",
    "scatter_time",
    "broadcast_time",
    "gather_time",
    "reduce_time",
    "tensor_parallel_time",
    "context_parallel_time",
    "expert_parallel_time",
    "stage_transfer_time",
)
"""Terms in which bytes travel."""

TERMS: dict[str, Term] = {
    term.name: term
    for term in (
        Term("forward_time", "forward", "busy", "compute-bound", "forward", _forward),
        Term("backward_time", "backward", "busy", "compute-bound", "passes", _backward),
        Term("launch_overhead_time", "launch overhead", "host", "host-bound", "passes", _launches),
        Term("update_time", "update", "busy", "update-bound", "update", _update),
        Term("coding_time", "coding gradients", "busy", "coding-bound", "after", _coding),
        Term(
            "exposed_communication_time",
            "exposed communication",
            "network",
            "communication-bound",
            "after",
            _communication,
        ),
        Term("straggler_time", "waiting for stragglers", "network", "straggler-bound", "after", _stragglers),
        Term("input_time", "waiting for input", "wait", "input-bound", "before", _input),
    )
}
"""Every term by name, in the order in which they are worked out and listed; they sum to the iteration."""


def _travels(name: str, label: str, place: Place) -> Term:
    """Return a term that is a part of what travels in one process for several accelerators."""
    return Term(
        name, label, "network", "communication-bound", place, lambda moment, _: moment.traffic.get(name, 0.0)
    )


def _replicate(moment: Moment, _: Mapping[str, Any]) -> Any:
    from perfmodel.step.one_process import replicate_time

    return replicate_time(moment.setting, moment.constants)


def _parallel_apply(moment: Moment, _: Mapping[str, Any]) -> Any:
    from perfmodel.step.one_process import parallel_apply_time

    return parallel_apply_time(moment.setting, moment.work, moment.constants)


def _loss(moment: Moment, _: Mapping[str, Any]) -> Any:
    from perfmodel.step.one_process import loss_time

    return loss_time(moment.setting, moment.anchor_factor, moment.constants)


ONE_PROCESS_TERMS: dict[str, Term] = {
    term.name: term
    for term in (
        _travels("scatter_time", "scatter: samples from GPU 0", "start"),
        Term("replicate_time", "replicate: copies made in Python", "host", "host-bound", "start", _replicate),
        _travels("broadcast_time", "replicate: weights from GPU 0", "start"),
        Term(
            "parallel_apply_time",
            "parallel apply: launches by turns",
            "host",
            "host-bound",
            "start",
            _parallel_apply,
        ),
        _travels("gather_time", "gather: outputs to GPU 0 and back", "between"),
        Term("loss_time", "loss of the others on GPU 0", "busy", "compute-bound", "between", _loss),
        _travels("reduce_time", "reduce: gradients to GPU 0", "after"),
    )
}
"""What one process for several accelerators has besides ``TERMS``."""


def exposed_traffic(setting: Setting, on: Fabric, exposed: Any) -> dict[str, Any]:
    """Return the exposed times of what travels, by the names of their terms.

    Parameters
    ----------
    setting, on : of the iteration; numbers, or in a sweep arrays
    exposed : all of it together [s]; 0 where nothing travels
    """
    if setting.strategy == ONE_PROCESS:
        from perfmodel.step.one_process import traffic

        return traffic(setting, on)
    return {"exposed_communication_time": exposed}


def _shared(name: str, label: str, kind: Kind, bound: str, place: Place = "passes") -> Term:
    """Return a term that is a part of a shared step."""
    part = PART_OF_STEP[name]
    return Term(name, label, kind, bound, place, lambda moment, _: getattr(moment.step, part))


PART_OF_STEP = {
    "products_time": "products",
    "attention_time": "attention",
    "elementwise_time": "elementwise",
    "logits_time": "logits",
    "recomputation_time": "recomputation",
    "launch_overhead_time": "launches",
    "tensor_parallel_time": "tensor",
    "context_parallel_time": "context",
    "expert_parallel_time": "experts",
    "stage_transfer_time": "stage_sends",
    "unequal_stages_time": "unequal_stages",
    "bubble_time": "bubble",
    "exposed_communication_time": "data",
    "contention_time": "contention",
    "update_time": "optimizer",
    "iteration_overhead_time": "overhead",
    "node_growth_time": "growth",
}
"""By the name of a term: the part of ``perfmodel.transformers.step.Step`` that it is."""


def _shared_stragglers(moment: SharedMoment, before: Mapping[str, Any]) -> Any:
    """Those of the usual job are in its growth with nodes; a spread that is given comes on top."""
    if moment.setting.scenario.jitter is None:
        return 0.0
    busy = sum(time for name, time in before.items() if SHARED_TERMS[name].kind in ("busy", "host"))
    return straggler_time(moment.setting, busy, 0.0, moment.constants)


def _shared_input(moment: SharedMoment, before: Mapping[str, Any]) -> Any:
    setting = moment.setting
    if setting.scenario.input == "synthetic" or setting.layout is None:
        return 0.0
    from perfmodel.step.input_wait import shared_input_time

    return shared_input_time(setting, setting.layout, iteration_time(**before), moment.constants)


SHARED_TERMS: dict[str, Term] = {
    term.name: term
    for term in (
        _shared("products_time", "matrix products", "busy", "compute-bound"),
        _shared("attention_time", "attention", "busy", "compute-bound"),
        _shared("elementwise_time", "element-wise", "busy", "compute-bound"),
        _shared("logits_time", "logits and loss", "busy", "compute-bound"),
        _shared("recomputation_time", "recomputation", "busy", "compute-bound"),
        _shared("launch_overhead_time", "launch overhead", "host", "host-bound"),
        _shared("tensor_parallel_time", "tensor-parallel exchange", "network", "communication-bound"),
        _shared("context_parallel_time", "context exchange", "network", "communication-bound"),
        _shared("expert_parallel_time", "exchange with experts", "network", "communication-bound"),
        _shared("stage_transfer_time", "between stages", "network", "communication-bound"),
        _shared("unequal_stages_time", "unequal stages", "wait", "pipeline-bound"),
        _shared("bubble_time", "pipeline bubble", "wait", "pipeline-bound", "after"),
        _shared(
            "exposed_communication_time",
            "exposed communication",
            "network",
            "communication-bound",
            "after",
        ),
        _shared("contention_time", "beside hidden traffic", "busy", "communication-bound"),
        _shared("update_time", "update", "busy", "update-bound", "update"),
        _shared("iteration_overhead_time", "overhead of a step", "host", "host-bound", "update"),
        _shared("node_growth_time", "growth with nodes", "network", "communication-bound", "after"),
        Term(
            "straggler_time",
            "waiting for stragglers",
            "network",
            "straggler-bound",
            "after",
            _shared_stragglers,
        ),
        Term("input_time", "waiting for input", "wait", "input-bound", "before", _shared_input),
    )
}
"""The same of a transformer that is shared out; ``exposed_communication_time`` is that between replicas."""
ANY_TERM: Mapping[str, Term] = ChainMap(TERMS, SHARED_TERMS, ONE_PROCESS_TERMS)
"""What a term is called, whichever of them it is from."""


def terms_of(moment: Moment | SharedMoment) -> dict[str, Any]:
    """Return the exposed terms of an iteration by name [s], numbers or arrays."""
    result: dict[str, Any] = {}
    if moment.setting.strategy != ONE_PROCESS:
        for name, term in (TERMS if isinstance(moment, Moment) else SHARED_TERMS).items():
            result[name] = term.time(moment, result)
        return result
    for name, term in (*ONE_PROCESS_TERMS.items(), *TERMS.items()):
        result[name] = term.time(moment, result)
    return {name: result[name] for name in _in_step_order(tuple(result))}


def sent(terms: Mapping[str, Any]) -> Any:
    """Return the exposed time of all traffic [s].

    >>> sent({"forward_time": 3.0, "exposed_communication_time": 1.0, "tensor_parallel_time": 2.0})
    3.0
    """
    return sum([terms[name] for name in TRAFFIC if name in terms])


def only_kind(terms: Mapping[str, Any], kind: Kind) -> dict[str, Any]:
    """Return the terms of one kind.

    >>> only_kind({"forward_time": 3.0, "update_time": 1.0, "input_time": 2.0}, "wait")
    {'input_time': 2.0}
    """
    return {name: time for name, time in terms.items() if _kind(name) == kind}


def of_kind(terms: Mapping[str, Any], kind: Kind) -> Any:
    """Return the time of all terms of one kind together [s].

    >>> of_kind({"forward_time": 3.0, "update_time": 1.0, "input_time": 2.0}, "busy")
    4.0
    """
    return sum([time for name, time in terms.items() if _kind(name) == kind])


def _kind(name: str) -> Kind | None:
    """Return the kind of a term; None of what is no term.  A chain of maps takes 2 us a look."""
    term = TERMS.get(name) or SHARED_TERMS.get(name) or ONE_PROCESS_TERMS.get(name)
    return None if term is None else term.kind


def in_step_order(names: Iterable[str]) -> list[str]:
    """Return terms in the order in which a step goes through them.

    >>> in_step_order(["update_time", "straggler_time", "forward_time", "input_time"])
    ['input_time', 'forward_time', 'straggler_time', 'update_time']
    """
    return list(_in_step_order(tuple(names)))


@lru_cache(maxsize=64)
def _in_step_order(names: tuple[str, ...]) -> tuple[str, ...]:
    places = get_args(Place)
    return tuple(sorted(names, key=lambda name: places.index(ANY_TERM[name].place)))
