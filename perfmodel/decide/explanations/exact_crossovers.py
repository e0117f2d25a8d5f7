"""Exact crossovers by sympy: values at which another arm or algorithm takes over, solved symbolically."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from perfmodel.core.units import show
from perfmodel.core.vocabulary import QUANTITIES
from perfmodel.decide.explanations.arms import is_symbolic, symbolic
from perfmodel.decide.explanations.derivation import Derivation
from perfmodel.decide.explanations.library_crossovers import (
    FARTHEST,
    ExactCrossover,
    hidden_by_library,
    hiding_crossover,
    shown,
)
from perfmodel.decide.explanations.node import Node
from perfmodel.decide.sensitivity.case import Case
from perfmodel.equations.collective_times import ramped_time
from perfmodel.equations.overlap import exposed_communication_time
from perfmodel.model.step.all_reduce import ONLY_ON_REQUEST, all_reduce_times
from perfmodel.model.step.communication import uses_library
from perfmodel.model.step.layout import gradient_group
from perfmodel.model.step.parts import fabric_of


def crossovers_of(case: Case, result: Derivation) -> list[ExactCrossover]:
    """Return every crossover of a derivation that has an exact solution.

    Parameters
    ----------
    case : the predicted case
    result : its derivation
    """
    crossovers: list[ExactCrossover] = []
    for node in result.iteration_time.walk():
        if node.function is exposed_communication_time:
            by_nccl = node.inputs["communication_times"].function is ramped_time
            crossovers += hidden_by_library(case, node) if by_nccl else _hiding_bandwidths(node)
        elif _has_scalar_arms(node):
            crossovers += _arm_crossovers(node)
    once = {(crossover.parameter, f"{crossover.at:.9g}"): crossover for crossover in reversed(crossovers)}
    return [*reversed(once.values()), *_algorithm_crossovers(case)]


def _has_scalar_arms(node: Node) -> bool:
    """Return whether a node's formula takes symbols and all its inputs are single numbers."""
    if node.function is None or not is_symbolic(node.function):
        return False
    return all(isinstance(each.value, (int, float)) for each in node.inputs.values())


def _arm_crossovers(node: Node) -> list[ExactCrossover]:
    """Return the values of each parameter at which a maximum or minimum of a formula changes its arm."""
    import sympy

    assert node.function is not None
    expression = symbolic(node.function, tuple(node.inputs))
    choices = expression.atoms(sympy.Max, sympy.Min)
    symbols = {name: sympy.Symbol(name, positive=True) for name in node.inputs}
    values = {symbols[name]: sympy.Float(each.value) for name, each in node.inputs.items()} if choices else {}
    crossovers = []
    for chosen in sorted(choices, key=lambda atom: sympy.default_sort_key(atom)):
        arms = [_on_active_arms(arm, values) for arm in chosen.args]
        sign = 1 if isinstance(chosen, sympy.Max) else -1
        arms.sort(key=lambda arm: -sign * float(arm.subs(values)))
        for symbol in sorted((arms[0] - arms[1]).free_symbols, key=str):
            for solution in _zeros(arms[0] - arms[1], symbol):
                crossover = _crossover(node, symbol, solution, values, arms)
                if crossover is not None:
                    crossovers.append(crossover)
    return crossovers


@lru_cache(maxsize=4096)
def _zeros(expression: Any, symbol: Any) -> tuple[Any, ...]:
    """Return the zeros of an expression in a symbol; none of an expression that changes by jumps."""
    import sympy

    if any(step.has(symbol) for step in expression.atoms(sympy.floor, sympy.ceiling)):
        return ()  # it changes by jumps
    try:
        numerator, _ = sympy.fraction(sympy.together(expression))
        polynomial = sympy.Poly(numerator, symbol)
    except sympy.PolynomialError:
        return tuple(sympy.solve(expression, symbol))
    if polynomial.degree() == 1:
        slope, constant = polynomial.all_coeffs()
        return (sympy.factor(-constant / slope),)
    return tuple(sympy.solve(expression, symbol))


def _crossover(node: Node, symbol: Any, solution: Any, values: Any, arms: list[Any]) -> ExactCrossover | None:
    """Return a solution as a crossover; None where it is complex, too far away, or the present value."""
    at = complex(solution.subs(values))
    now = float(values[symbol])
    if at.imag or not now / FARTHEST < at.real < now * FARTHEST or at.real == now:
        return None
    unit = QUANTITIES[symbol.name].unit
    side = "above" if at.real > now else "below"
    words = (
        f"{symbol.name} {side} {shown(at.real, unit)} (now {shown(now, unit)}): {arms[1]} takes over from "
        f"{arms[0]} in {node.name}"
    )
    exact = f"{symbol} = {solution}"
    return ExactCrossover(words=words, parameter=symbol.name, unit=unit, now=now, at=at.real, exact=exact)


def _on_active_arms(expression: Any, values: Any) -> Any:
    """Return an expression with each maximum and minimum replaced by its active arm."""
    import sympy

    while inner := expression.atoms(sympy.Max, sympy.Min):
        deepest = min(inner, key=sympy.count_ops)
        pick = max if isinstance(deepest, sympy.Max) else min
        expression = expression.xreplace(
            {deepest: pick(deepest.args, key=lambda arm: float(arm.subs(values)))}
        )
    return expression


def _hiding_bandwidths(node: Node) -> list[ExactCrossover]:
    """Return the bandwidths above which only the last message is exposed.

    Above such a bandwidth the network is idle before the last message is ready.
    """
    import sympy

    times, ready = node.inputs["communication_times"], node.inputs["ready_times"].value
    if times.function is None or not is_symbolic(times.function) or "message_bytes" not in times.inputs:
        return []
    names = [
        name
        for name, each in times.inputs.items()
        if QUANTITIES[name].unit == "B/s" and each.function is None
    ]
    sizes = times.inputs["message_bytes"].value
    crossovers = []
    for name in names:
        symbols = {
            each: sympy.Symbol(each, positive=True)
            for each in times.inputs
            if each in (name, "message_bytes")
        }
        given = {each: node.value for each, node in times.inputs.items()}
        expression = sympy.sympify(times.function(**(given | symbols)))
        bandwidth, size = symbols[name], symbols["message_bytes"]
        now = {bandwidth: sympy.Float(given[name]), size: sympy.Float(float(np.max(sizes)))}
        expression = _on_active_arms(_active_piece(expression, now), now)
        if bandwidth not in expression.free_symbols:
            continue
        best = _last_queue(expression, size, bandwidth, np.asarray(sizes), np.asarray(ready))
        present = float(given[name])
        if best is None or not present / FARTHEST < best[0] < present * FARTHEST:
            continue
        at, solution = best
        if not _holds(times, name, at, expression, size, bandwidth):
            continue
        crossovers.append(hiding_crossover(name, present, at, solution))
    return crossovers


def _last_queue(
    expression: Any, size: Any, bandwidth: Any, sizes: Any, ready: Any
) -> tuple[float, Any] | None:
    """Return the largest bandwidth at which messages still queue until the last, and the solution behind it.

    Exact where a message takes a + S v(B): messages k to K-1 take n a + v(B) sum S in the time between
    k and K.  None where the time is not linear in S, or no bandwidth makes them queue.
    """
    import sympy

    try:
        polynomial = sympy.Poly(expression, size)
    except sympy.PolynomialError:
        return None
    if polynomial.degree() != 1:
        return None
    slope, fixed = polynomial.all_coeffs()
    total, count, gap = sympy.symbols("total count gap", positive=True)
    # in order of k: what the messages k to K-1 sum to, how many they are, and the time they have
    totals = np.cumsum(sizes[:-1][::-1])[::-1].astype(np.complex128)
    counts, gaps = np.arange(len(sizes) - 1, 0, -1.0), ready[-1] - ready[:-1]
    best: tuple[float, Any] | None = None
    for solution in _zeros(count * fixed + total * slope - gap, bandwidth):
        with np.errstate(divide="ignore", invalid="ignore"):
            result = np.atleast_1d(
                sympy.lambdify([total, count, gap], solution, "numpy")(totals, counts, gaps)
            )
        real = result.real[(result.imag == 0) & (result.real > 0) & np.isfinite(result.real)]
        if real.size and (best is None or real.max() > best[0]):
            best = (float(real.max()), solution)
    return best


def _active_piece(expression: Any, values: Any) -> Any:
    """Return an expression with each piecewise part replaced by the branch that holds at these values."""
    import sympy

    for piecewise in expression.atoms(sympy.Piecewise):
        for branch, condition in piecewise.args:
            if condition == True or condition.subs(values) == True:  # noqa: E712 - sympy's own truth
                expression = expression.xreplace({piecewise: branch})
                break
    return expression


def _holds(times: Node, name: str, at: float, expression: Any, size: Any, bandwidth: Any) -> bool:
    """Return whether the arms that were fixed are still active at the solution ``at``."""
    assert times.function is not None
    given = {each: node.value for each, node in times.inputs.items()} | {name: at}
    largest = float(np.max(given["message_bytes"]))
    exact = float(expression.subs({size: largest, bandwidth: at}))
    return bool(np.isclose(np.max(times.function(**given)), exact, rtol=1e-9))


def _algorithm_crossovers(case: Case) -> list[ExactCrossover]:
    """Return the message sizes at which another all-reduce algorithm is faster than the one in use."""
    import sympy

    setting = case.setting
    used = setting.scenario.algorithm
    if setting.strategy != "all-reduce" or setting.world_size == 1 or used == "best" or setting.layout:
        return []
    if uses_library(setting):
        return []  # a library chooses the algorithm by the machine, not by the message
    times = all_reduce_times(gradient_group(setting, fabric_of(setting, case.constants)))
    size = sympy.Symbol("message_bytes", positive=True)
    if used not in times:
        return []
    crossovers = []
    for other, time in times.items():
        if other == used or other in ONLY_ON_REQUEST:
            continue
        try:
            difference = sympy.sympify(times[used](size)) - sympy.sympify(time(size))
        except TypeError:
            continue  # a search, not a formula
        if size not in difference.free_symbols:
            continue
        for solution in _zeros(difference, size):
            at = complex(solution)
            if at.imag or not 1 <= at.real < 1e12:
                continue
            smaller = float(difference.subs(size, at.real / 2))
            side = "below" if smaller > 0 else "above"
            words = f"messages {side} {show(round(at.real), 'B')} are faster by {other} than by {used}"
            crossovers.append(
                ExactCrossover(
                    words=words,
                    parameter="message_bytes",
                    unit="B",
                    now=None,
                    at=at.real,
                    exact=f"message_bytes = {solution}",
                )
            )
    return sorted(crossovers, key=lambda crossover: crossover.at)
