"""The derivation of an iteration time: the evaluation on traced numbers as a graph of quantities."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from perfmodel.core import ops
from perfmodel.core.formula import FORMULAS
from perfmodel.core.tracing.gradients import leaves_of
from perfmodel.core.tracing.numeric_node import traced_in
from perfmodel.core.tracing.traced import Traced, leaf
from perfmodel.core.tracing.traced_run import tracing
from perfmodel.core.tracing.tracing import Call, Trace
from perfmodel.core.vocabulary import QUANTITIES
from perfmodel.decide.explanations.node import Node
from perfmodel.decide.sensitivity.case import Case
from perfmodel.model.fitted.calibration import Calibration
from perfmodel.model.prediction.intervals.bound import least_times
from perfmodel.model.setting.leaves import Leaves, with_leaves
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.step.evaluate import Outcome, Step, evaluate, outcome, start_of
from perfmodel.model.step.input_wait import epoch_start_time
from perfmodel.model.step.memory import memory_of
from perfmodel.model.step.parts import figures
from perfmodel.model.transformers.evaluate import case_of_setting, network_of
from perfmodel.model.transformers.figures import again_over_model
from perfmodel.model.transformers.job import job_of
from perfmodel.model.transformers.memory import memory_of as memory_of_job

_RETURNS = re.compile(r"^Returns\n-+\n(\w+)", re.M)
SAME_NUMBER = ("reshape", "array", "broadcast_to", "getitem")
"""Operations that leave a single number unchanged."""
PLAIN = {
    **dict.fromkeys(("columns", "replicated", "table_share", "tables"), "the layer table"),
    **dict.fromkeys(("accelerators_per_node", "nodes", "group_size"), "the layout"),
    **dict.fromkeys(("inner_matrices", "products", "attended_fraction"), "the network's architecture"),
    **dict.fromkeys(("cycle_time", "fusion_threshold_bytes"), "Horovod's default"),
    **dict.fromkeys(("first_bucket_bytes", "bucket_cap_bytes"), "PyTorch's default"),
    "largest_whole_bytes": "MXNet's default",
    "layer_indices": "layers in forward order, from 0",
    "message_bytes": "of messages that are timed to compare",
    "ranks_per_rack": "the scenario",
    "link_bandwidth": "no other limit",
    "start_time": "of a library's own start",
    "server_fraction": "no kernel adds up",
    "oversubscription_factor": "no uplink slows it",
    "reduction_bandwidth": "the time to add is left out",
    "straggler_time": "no jitter",
    "coding_time": "nothing is compressed, or nothing travels",
    "exposed_communication_time": "nothing travels",
    "input_time": "synthetic samples",
}
"""Source of a parameter whose value has no traced origin."""


class Derivation(NamedTuple):
    """The graph of quantities from which an iteration time is computed."""

    iteration_time: Node
    terms: dict[str, Node]
    """By name; including those that are zero."""
    step: Step | Outcome
    """The evaluated step, in traced numbers."""
    nodes: Nodes
    """The quantities of the evaluation."""
    trace: Trace
    leaves: Leaves
    given: dict[str, str]
    """Source of each input by name, including inputs of memory and of the least possible time."""

    @property
    def gaps(self) -> list[Node]:
        """Return the quantities with an unknown source: not computed, and not given."""
        return [node for node in self.iteration_time.walk() if is_gap(node)]


def derivation(case: Case) -> Derivation:
    """Return how the iteration time of a case is computed.

    Parameters
    ----------
    case : a setting and constants
    """
    start = start_of(case.setting, case.constants)  # of measured runs only what comes out is a part of this
    with tracing() as trace:
        changed = with_leaves(case.setting, case.constants, leaf)
        trace.learned.update(changed.learned)
        step: Step | Outcome = (
            evaluate(changed.setting, changed.constants)
            if case.setting.layout is None
            else outcome(changed.setting, changed.constants, start)
        )
        others = _other_results(changed.setting, changed.constants, step)
    nodes = Nodes(case.setting)
    terms = {name: nodes.of(time, name) for name, time in step.terms.items()}
    whole = nodes.of(step.iteration_time, "iteration_time")
    leaves = leaves_of(*traced_in((step.iteration_time, others)))
    given = {each.leaf.name: each.leaf.source for each in leaves if each.leaf is not None}
    return Derivation(whole, terms, step, nodes, trace, changed, given)


def _other_results(setting: Setting, constants: Calibration, step: Step | Outcome) -> tuple[Any, ...]:
    """Return the other results of a prediction: least possible time, memory, and utilisation figures."""
    always = least_times(setting), epoch_start_time(setting, constants), setting.accelerator.memory_capacity
    if setting.layout is None:
        memory: Any = memory_of(setting, constants)
        figures(setting, step.iteration_time, step.iteration_time, 0.0)
        return *always, memory
    case = case_of_setting(setting)
    memory = memory_of_job(job_of(case))
    model, length = network_of(setting.workload)
    again_over_model(model, case.layout, case.stack, length, ops.number(case.layout.global_batch_size))
    figures(setting, step.iteration_time, step.iteration_time, 0.0, setting.layout.data_parallel)
    return *always, memory


class Nodes:
    """The quantities of one evaluation: one node per traced value."""

    def __init__(
        self, setting: Setting, notes: Mapping[str, str] = MappingProxyType({}), before: Nodes | None = None
    ) -> None:
        """Take the setting and the sources of plain numbers.

        Parameters
        ----------
        setting : its layers name the elements of arrays
        notes : sources of untraced parameters, by name
        before : quantities of an earlier evaluation that this one continues
        """
        self._notes = {**PLAIN, **notes}
        group = "" if setting.domains is setting.nodes or setting.is_slice else "of an NVLink domain"
        self._groups = dict.fromkeys(("accelerators_per_node", "adapters"), group)
        """What counts are of that no formula made, by parameter."""
        layers = [each.name for each in setting.workload.layers]
        passes = [f"{name}, {way}" for way in ("forward", "backward") for name in layers]
        self._labels = {len(names): tuple(names) for names in (layers, passes)}
        self._made: dict[int, tuple[Any, Node]] = {} if before is None else before._made
        """By the identity of a value, which is kept alive."""

    def of(self, value: Any, name: str) -> Node:
        """Return the node of a value, with the nodes of everything that a traced number was computed from."""
        value = _unwrapped(value)
        if not any(True for _ in traced_in(value)):
            return Node(name, value, note=self._note(name, value), labels=self._labels_of(value))
        if id(value) not in self._made:
            self._made[id(value)] = value, self._node(value, name)
        return self._made[id(value)][1]

    def _node(self, value: Any, name: str) -> Node:
        """Return a new node for a traced number, or for a value that contains traced numbers."""
        if not isinstance(value, Traced):
            whole = _array_of(value)
            if whole is not None:
                return self.of(whole, name)
            parts = {_name_of(each): self.of(each, _name_of(each)) for each in traced_in(value)}
            return Node(name, value, operation=type(value).__name__, operands=tuple(parts.values()))
        labels = self._labels_of(value.value)
        if value.leaf is not None:
            return Node(value.leaf.name, value.value, note=value.leaf.source, labels=labels)
        if value.call is None or value.call.name not in FORMULAS:
            operation, arguments = _one_of(value)
            operands = tuple(self.of(each, "") if isinstance(each, Traced) else each for each in arguments)
            note = self._groups.get(name, "")
            return Node(name, value.value, note=note, operation=operation, operands=operands, labels=labels)
        call = value.call
        function = FORMULAS[call.name].function
        inputs = {parameter: self.of(each, parameter) for parameter, each in call.arguments.items()}
        inputs |= {_name_of(each): self.of(each, _name_of(each)) for each in _unnamed(value, call)}
        return Node(result_of(function), value.value, function, inputs, labels)

    def _note(self, name: str, value: Any) -> str:
        """Return the source of an untraced value."""
        usual = ""
        if isinstance(value, (float, np.floating)) and (value in (0, 1) or np.isinf(value)):
            usual = "without effect here"
        elif isinstance(value, int):
            usual = "a count"
        return self._notes.get(name, usual)

    def _labels_of(self, value: Any) -> tuple[str, ...]:
        """Return the layer or message of each element of an array; empty for a number."""
        if not isinstance(value, np.ndarray) or value.ndim != 1:
            return ()
        count = len(value)
        return self._labels.get(count) or tuple(f"message {k + 1} of {count}" for k in range(count))


def is_gap(node: Node) -> bool:
    """Return whether the source of a quantity is unknown."""
    is_number = isinstance(node.value, (float, np.ndarray, np.generic))
    return node.function is None and not node.operation and not node.note and is_number


@cache
def result_of(function: Callable[..., Any]) -> str:
    """Return the name of a formula's result, from its docstring.

    >>> from perfmodel.equations.compute import flops_utilization
    >>> result_of(flops_utilization)
    'mfu'
    """
    match = _RETURNS.search(inspect.getdoc(function) or "")
    name = match[1] if match else "value"
    return name if name in QUANTITIES else "value"


def _unwrapped(value: Any) -> Any:
    """Return the number behind operations that only reshape it, multiply it by 1, or choose it."""
    while isinstance(value, Traced) and value.call is None and value.leaf is None:
        if value.operation == "where" and np.ndim(value.arguments[0]) == 0:
            value = value.arguments[1 if value.arguments[0] else 2]
            continue
        before = value.parents[0]
        is_same = value.operation in SAME_NUMBER or (
            value.operation == "multiply"
            and any(type(each) is float and each == 1 for each in value.arguments)
        )
        if not is_same or np.shape(before.value) != np.shape(value.value):
            break
        value = before
    return value


def _one_of(value: Traced) -> tuple[str, tuple[Any, ...]]:
    """Return operation and operands of a number; for an element of a stacked array, those of the element."""
    if value.operation == "getitem" and isinstance(which := value.arguments[1], int):
        several = value.parents[0]
        if several.operation == "exp" and several.parents[0].operation == "stack":
            return "exp", (several.parents[0].arguments[which],)
    return value.operation, value.arguments


def _array_of(items: Any) -> Traced | None:
    """Return the array whose elements a list holds; None if it holds anything else."""
    arrays = {}
    for item in items if isinstance(items, list) else ():
        inner = item.parents[0] if isinstance(item, Traced) and item.operation == "reshape" else None
        if inner is None or inner.operation != "getitem":
            return None
        arrays[id(inner.parents[0])] = inner.parents[0]
    return next(iter(arrays.values())) if len(arrays) == 1 else None


def _unnamed(result: Traced, call: Call) -> Iterator[Traced]:
    """Yield inputs of a formula that are not arguments: values inside functions among its arguments."""
    seen = {id(each) for each in traced_in(list(call.arguments.values()))}
    stack = [result]
    while stack:
        for parent in stack.pop().parents:
            if id(parent) not in seen:
                seen.add(id(parent))
                if parent.call is call:
                    stack.append(parent)
                else:
                    yield parent


def _name_of(value: Traced) -> str:
    """Return the name of a traced number: of its leaf, of its formula's result, or its operation."""
    if value.leaf is not None:
        return value.leaf.name
    return result_of(FORMULAS[value.call.name].function) if value.call else value.operation
