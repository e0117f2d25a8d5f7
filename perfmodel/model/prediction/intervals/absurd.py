"""What is said of numbers so large or so small that arithmetic on them fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from perfmodel.core.errors import InputError, refusal
from perfmodel.core.problem import Words

_T = TypeVar("_T")


def absurd(error: Exception) -> InputError:
    """Return what a person is told of arithmetic that failed."""
    return refusal("job.absurd", error=Words(error))


@np.errstate(over="raise", divide="raise", invalid="raise")
def checked(work: Callable[..., _T], *of: object) -> _T:
    """Return what a function makes of its arguments.

    Raises
    ------
    InputError : a number overflows, is none, or is divided by nothing
    """
    try:
        return work(*of)
    except ArithmeticError as error:
        raise absurd(error) from error
