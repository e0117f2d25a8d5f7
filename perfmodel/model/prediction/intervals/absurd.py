"""Errors for numbers so large or small that arithmetic on them fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from perfmodel.core.errors import InputError, refusal
from perfmodel.core.problem import Words

_T = TypeVar("_T")


def absurd(error: Exception) -> InputError:
    """Return the error for arithmetic that failed."""
    return refusal("job.absurd", error=Words(error))


@np.errstate(over="raise", divide="raise", invalid="raise")
def checked(work: Callable[..., _T], *of: object) -> _T:
    """Call a function and return its result, with failed arithmetic as an ``InputError``.

    Raises
    ------
    InputError : an overflow, an invalid operation, or a division by zero
    """
    try:
        return work(*of)
    except ArithmeticError as error:
        raise absurd(error) from error
