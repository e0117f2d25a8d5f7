"""The functions that serve number, array and symbol alike."""

from __future__ import annotations

import numpy as np
import pytest
import sympy

from perfmodel.core import ops

X = sympy.Symbol("x", positive=True)
KINDS = [(2.0, 3.0), (np.array([2.0, 5.0]), 3.0), (X, 3.0), (X, X**2)]


@pytest.mark.parametrize(("a", "b"), KINDS)
def test_a_plain_condition_gives_the_very_branch(a, b):
    """No copy of it, which would be another object for who records what became of it."""
    assert ops.where(True, a, b) is a
    assert ops.where(False, a, b) is b


@pytest.mark.parametrize(("a", "b"), KINDS)
def test_an_array_or_a_relation_chooses_among_both(a, b):
    if isinstance(a, sympy.Expr):
        chosen = ops.where(X > 4, a, b)
        assert [chosen.subs(X, 5), chosen.subs(X, 3)] == [a.subs(X, 5), sympy.sympify(b).subs(X, 3)]
    else:
        condition = np.array([True, False])
        assert ops.where(condition, a, b).tolist() == np.where(condition, a, b).tolist()
