"""Traces a formula that takes only plain numbers (a search, recursion or quadrature) as one operation."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from perfmodel.core.tracing.traced import Traced, plain
from perfmodel.core.tracing.tracing import TRACE, Call

STEP = 1e-6
"""Relative step of the central differences that give the derivatives."""


def numeric_result(function: Callable[..., Any], arguments: Any, keywords: Any) -> Any:
    """Return a formula's result, computed on plain values, each number in it traced to the arguments."""
    parents = tuple({id(each): each for each in traced_in((arguments, keywords))}.values())
    trace, token = TRACE.get(), TRACE.set(None)
    try:
        result = function(*_with_values(arguments, {}), **_with_values(keywords, {}))
        bound = inspect.signature(function).bind(*arguments, **keywords)
    finally:
        TRACE.reset(token)
    bound.apply_defaults()
    name = None if trace is None else trace.names().get(id(inspect.unwrap(function).__code__))
    call = None if name is None else Call(name, dict(bound.arguments), is_numeric=True)
    if trace is not None and call is not None:
        trace.calls.append(call)
        trace.ran.setdefault(call.name)

    def part_at(path: tuple[int, ...], values: Mapping[int, Any]) -> Any:
        whole = function(*_with_values(arguments, values), **_with_values(keywords, values))
        for i in path:
            whole = whole[i]
        return np.asarray(whole, np.float64)

    def node(part: Any, path: tuple[int, ...]) -> Any:
        if isinstance(part, tuple):
            pieces = [node(each, (*path, i)) for i, each in enumerate(part)]
            return type(part)(*pieces) if hasattr(part, "_fields") else tuple(pieces)
        if not isinstance(part, (float, np.ndarray, np.floating)):
            return part

        def with_one(parent: int, value: Any) -> Any:
            return part_at(path, {parent: value})

        def backward(gradient: Any) -> list[Any]:
            token = TRACE.set(None)
            try:
                return [_slope(partial(with_one, id(each)), each.value, gradient) for each in parents]
            finally:
                TRACE.reset(token)

        title = (inspect.getdoc(function) or function.__name__).partition("\n")[0]
        made = Traced(part, title, parents, backward)
        made.call = made.call or call
        return made

    return node(result, ()) if parents else result


def _slope(of: Callable[[Any], Any], value: Any, gradient: Any) -> Any:
    """Return the derivatives of the result, weighted by a gradient, by each number of ``value``."""
    here = np.array(value, np.float64)
    result = np.zeros(here.shape)
    if isinstance(value, int):
        return result  # a count: it has no derivative
    for i in np.ndindex(here.shape):
        step = STEP * (abs(here[i]) or 1.0)
        sides = []
        for moved_by in (step, -step):
            moved = here.copy()
            moved[i] += moved_by
            sides.append(of(moved if moved.ndim else float(moved)))
        result[i] = np.sum(gradient * (sides[0] - sides[1]) / (2 * step))
    return result


def traced_in(thing: Any) -> Iterator[Traced]:
    """Yield the traced numbers in a value: itself, or those in a sequence, a dict or a dataclass."""
    if isinstance(thing, Traced):
        yield thing
    elif isinstance(thing, (tuple, list)):
        for each in thing:
            yield from traced_in(each)
    elif isinstance(thing, dict):
        yield from traced_in(list(thing.values()))
    elif is_dataclass(thing):
        yield from traced_in([getattr(thing, field.name) for field in fields(thing)])


def _with_values(thing: Any, values: Mapping[int, Any]) -> Any:
    """Return arguments with traced numbers replaced by plain ones.

    Parameters
    ----------
    thing : arguments; a function among them is wrapped so that it returns plain values
    values : identity of a traced number -> the value to use instead of its own
    """
    if isinstance(thing, Traced):
        return values.get(id(thing), thing.value)
    if isinstance(thing, tuple):
        parts = [_with_values(each, values) for each in thing]
        return type(thing)(*parts) if hasattr(thing, "_fields") else tuple(parts)
    if isinstance(thing, list):
        return [_with_values(each, values) for each in thing]
    if isinstance(thing, dict):
        return {key: _with_values(each, values) for key, each in thing.items()}
    if is_dataclass(thing) and not isinstance(thing, type) and any(True for _ in traced_in(thing)):
        return replace(
            thing,
            **{
                each.name: _with_values(getattr(thing, each.name), values)
                for each in fields(thing)
                if each.init
            },
        )
    if callable(thing) and not isinstance(thing, type):
        return lambda *arguments: plain(thing(*arguments))
    return thing
