"""Numbers that remember how they were made: the values of plain ones, exact derivatives, nothing lost."""

from __future__ import annotations

import math

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import assume, given

from perfmodel.core import ops
from perfmodel.core.tracing.derivative_rules import ELEMENTWISE, REDUCING
from perfmodel.core.tracing.gradients import leaves_of, parents_first, slopes
from perfmodel.core.tracing.traced import Traced, leaf, plain
from perfmodel.core.tracing.traced_run import tracing
from perfmodel.core.tracing.tracing import numeric, remembered
from perfmodel.equations.iteration import iteration_time
from perfmodel.equations.layer_pass import paced_time, traffic_time

STEP = 1e-6

A, B = np.array([1.3, 0.7, 2.9]), np.array([0.4, 5.1, 1.7])
EXAMPLES = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "divide": lambda x, y: x / y,
    "power": lambda x, y: x**y,
    "negative": lambda x, y: -x * y,
    "absolute": lambda x, y: abs(x - y),
    "maximum": ops.maximum,
    "minimum": ops.minimum,
    "matmul": lambda x, y: x @ y,
    "sqrt": lambda x, y: ops.sqrt(x * y),
    "square": lambda x, y: np.square(x) + y,
    "exp": lambda x, y: ops.exp(x) + y,
    "expm1": lambda x, y: np.expm1(x) * y,
    "log": lambda x, y: ops.log(x) * y,
    "log2": lambda x, y: ops.log2(x) * y,
    "log1p": lambda x, y: ops.log1p(x) * y,
    "where": lambda x, y: ops.where(np.array([True, False, True]), x, y),
    "floor": lambda x, y: ops.floor(x) * y,
    "ceil": lambda x, y: ops.ceil(x) * y,
    "rint": lambda x, y: np.rint(x) * y,
    "sign": lambda x, y: np.sign(x) * y,
    "floor_divide": lambda x, y: x // y + x,
    "remainder": lambda x, y: (x % 0.5) * 0 + y,
    "getitem": lambda x, y: x[np.array([2, 0, 2])] * y,
    "reshape": lambda x, y: x[..., None] * y,
    "broadcast_to": lambda x, y: np.broadcast_to(x, (2, 3)) * y,
    "bincount": lambda x, y: np.bincount(np.array([0, 1, 1]), weights=x) * y[:2],
    "array": lambda x, y: ops.array(x) * y,
    "sum": lambda x, y: np.add.reduce(x * y, axis=-1),
    "max": lambda x, y: np.max(x, axis=0) * y,
    "min": lambda x, y: np.minimum.reduce(x, axis=-1) * y,
    "cummax": lambda x, y: np.maximum.accumulate(x, axis=-1) * y,
    "cumsum": lambda x, y: np.add.accumulate(x, axis=-1) * y,
}
"""By operation: something of two arrays that it makes."""


def total(function, values):
    """Return the sum over what a function makes of plain values."""
    return float(np.sum(function(*values)))


def differences(function, values, up=1, down=-1):
    """Return the derivatives of the sum by every number of every value, by differences: central ones."""
    result = []
    for which, value in enumerate(values):
        slope = np.zeros(np.shape(value))
        for i in np.ndindex(np.shape(value)):
            sides = []
            for sign in (up, down):
                moved = np.array(value, np.float64)
                moved[i] += sign * STEP * abs(moved[i])
                moved = moved if moved.ndim else float(moved)
                sides.append(total(function, [*values[:which], moved, *values[which + 1 :]]))
            slope[i] = (sides[0] - sides[1]) / ((up - down) * STEP * abs(np.asarray(value)[i]))
        result.append(slope)
    return result


def derivatives(function, values):
    """Return a function's plain value, and its derivatives by one backward pass."""
    inputs = [leaf(value, f"x{i}", "given") for i, value in enumerate(values)]
    made = function(*inputs)
    by_leaf = {id(each.leaf): each.derivative for each in slopes(made)}
    return made.value, [by_leaf.get(id(each), np.zeros(np.shape(each.value))) for each in inputs]


def test_every_rule_has_an_example():
    assert set(EXAMPLES) == {*ELEMENTWISE, *REDUCING}


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_operation_gives_the_plain_value_and_its_derivatives(name):
    value, exact = derivatives(EXAMPLES[name], [A, B])
    assert np.array_equal(value, EXAMPLES[name](A, B))
    for one, other in zip(exact, differences(EXAMPLES[name], [A, B]), strict=True):
        assert one == pytest.approx(other, rel=1e-6, abs=1e-7)


UNARY = (
    lambda x: ops.sqrt(x * x + 0.5),
    lambda x: ops.log(x * x + 1.5),
    lambda x: ops.exp(x / 50),
    lambda x: ops.log1p(abs(x)),
    lambda x: -x,
    lambda x: (x * x + 1) ** 0.75,
    lambda x: np.add.accumulate(ops.array(x) * np.array([1.0, 2.0]), axis=-1)[..., 1].item(),
    lambda x: np.maximum.reduce(ops.array([x * 1.0, 3.0, x - 1.0])).item(),
)
BINARY = (
    lambda x, y: x + y,
    lambda x, y: x - y,
    lambda x, y: x * y / 10,
    lambda x, y: x / (y * y + 1),
    ops.maximum,
    ops.minimum,
)


@st.composite
def programs(draw):
    """Draw a function of three numbers, made of a few operations on what was made before."""
    steps = draw(
        st.lists(
            st.one_of(
                st.tuples(st.sampled_from(UNARY), st.integers(0, 20)),
                st.tuples(st.sampled_from(BINARY), st.integers(0, 20), st.integers(0, 20)),
            ),
            min_size=1,
            max_size=8,
        )
    )

    def run(*values):
        known = list(values)
        for operation, *which in steps:
            known.append(operation(*(known[i % len(known)] for i in which)))
        return known

    return run


@given(programs(), st.lists(st.floats(0.1, 10), min_size=3, max_size=3))
def test_any_program_gives_the_plain_values_and_its_derivatives(program, values):
    def last(*numbers):
        return program(*numbers)[-1]

    assert [plain(each) for each in program(*[leaf(x, "x", "given") for x in values])] == program(*values)
    assume(not any(each.is_at_kink for each in slopes(last(*[leaf(x, "x", "given") for x in values]))))
    _, exact = derivatives(last, values)
    scale = max(1.0, *map(abs, program(*values)), *map(abs, map(float, exact)))
    below, above = differences(last, values, 0, -1), differences(last, values, 1, 0)
    assume(np.allclose(below, above, rtol=0, atol=1e-4 * scale))  # else a kink lies within the step
    assert np.allclose(differences(last, values), exact, rtol=0, atol=1e-6 * scale)


@pytest.mark.parametrize(
    "lose",
    [
        float,
        int,
        round,
        hash,
        math.log,
        lambda x: [1, 2][x],
        lambda x: np.asarray(x),
        lambda x: np.array([x, 1.0]),
        lambda x: np.sin(x),
        lambda x: np.interp(x, [0, 1], [0, 1]),
        lambda x: np.add.accumulate(x, axis=-1, out=np.zeros(3)),
    ],
)
def test_nothing_makes_a_traced_number_a_plain_one(lose):
    with pytest.raises(TypeError, match=r"traced number would lose|unhashable"):
        lose(leaf(A, "a", "given") if lose.__name__ == "<lambda>" else leaf(2.0, "a", "given"))


def test_what_something_made_is_no_leaf():
    with pytest.raises(TypeError, match="sum is traced already"):
        leaf(leaf(2.0, "a", "the test") + 1.0, "sum", "the test")


def test_where_only_the_value_matters_it_is_asked_for():
    assert ops.plain(leaf(3, "n", "given")) == 3
    assert ops.plain(3) == 3


def test_both_arms_of_a_tie_are_at_a_kink():
    a, b, c = leaf(2.0, "a", "given"), leaf(1.0, "b", "given"), leaf(5.0, "c", "given")
    found = {each.leaf.leaf.name: each for each in slopes(ops.maximum(a, 2 * b) + c)}
    assert {name: each.is_at_kink for name, each in found.items()} == {"a": True, "b": True, "c": False}
    assert found["c"].derivative == 1
    apart = {each.leaf.leaf.name: each for each in slopes(ops.maximum(a, 3 * b) + c)}
    assert set(apart) == {"b", "c"}
    assert not any(each.is_at_kink for each in apart.values())


def test_a_step_at_its_edge_is_a_kink():
    assert slopes(ops.ceil(leaf(3.0, "a", "given")))[0].is_at_kink
    assert slopes(ops.ceil(leaf(3.1, "a", "given"))) == []


def formulas_of(of):
    """Return the calls of formulas that a number comes from, each before it is needed."""
    calls = [node.call for node in parents_first(of, lambda node: node.parents) if node.call is not None]
    return list({id(call): call for call in calls}.values())


def test_the_outermost_formula_made_it():
    with tracing() as trace:
        a, b = leaf(3.0, "a", "given"), leaf(4.0, "b", "given")
        paced = paced_time(a, traffic_time(b, 1.0))
        whole = iteration_time(forward_time=paced + 1, update_time=0.5)
    assert (whole.value, whole.call.name) == (6.5, "iteration.iteration_time")
    assert [call.name for call in formulas_of(whole)] == [
        "layer_pass.traffic_time",
        "layer_pass.paced_time",
        "iteration.iteration_time",
    ]
    assert trace.calls == formulas_of(whole)
    assert whole.call.arguments["update_time"] == 0.5
    between = whole.call.arguments["forward_time"]
    assert (between.call, between.operation, between.parents) == (None, "add", (paced,))
    assert [each.leaf.name for each in leaves_of(whole)] == ["b", "a"]


def test_a_cache_holds_no_traced_number():
    calls = []

    @remembered(maxsize=4)
    def twice(x):
        calls.append(x)
        return 2 * x

    assert [twice(2.0), twice(2.0), len(calls)] == [4.0, 4.0, 1]
    with tracing():
        assert isinstance(twice(leaf(2.0, "a", "given")), Traced)
        assert twice(2.0) == 4.0
    assert len(calls) == 3
    assert [type(twice(2.0)), len(calls)] == [float, 3]
    twice.cache_clear()
    assert [twice(2.0), len(calls)] == [4.0, 4]


def test_a_search_sees_plain_numbers_and_is_derived_by_differences():
    @numeric
    def root(of, guesses, power):
        assert not isinstance(of, Traced)
        low, high = guesses
        while high - low > 1e-12:
            middle = (low + high) / 2
            low, high = (low, middle) if power(middle) > of else (middle, high)
        return (low + high) / 2, "found"

    with tracing():
        a, e = leaf(4.0, "a", "given"), leaf(2.0, "e", "given")
        found, word = root(a, (0.0, 9.0), lambda x: x**e)
    assert (plain(found), word) == (pytest.approx(2.0), "found")
    (slope,) = slopes(found)
    assert slope.derivative == pytest.approx(0.25, rel=1e-4)
    assert slope.elasticity(2.0) == pytest.approx(0.5, rel=1e-4)
    assert root(4.0, (0.0, 9.0), lambda x: x**2)[0] == plain(found)
