"""Accelerators crossed with layouts and batches, in parts: the options of a row follow from its position."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from perfmodel.decide.sweeps.axes import LAYOUT, PLAN, Axes
from perfmodel.model.options.layout import CONTEXT_METHODS, NEUTRAL, RECOMPUTE, SHARDING
from perfmodel.model.options.scenario import Scenario

if TYPE_CHECKING:
    from numpy.typing import NDArray

Codes: TypeAlias = "dict[str, NDArray[np.intp]]"
"""For each option, the index of every row's value among the values of the option."""

ROWS = 2**14
"""Rows of a part."""
_WORDS: dict[str, tuple[str, ...]] = {
    "sharding": SHARDING,
    "recompute": RECOMPUTE,
    "context_method": CONTEXT_METHODS,
}


def _asks(name: str, value: Any) -> bool:
    """Return whether a value of an option of ``LAYOUT`` requests a layout."""
    return name in NEUTRAL and value not in NEUTRAL[name]


def plain_layouts(axes: Axes) -> list[tuple[Any, ...]]:
    """Return the crossed values of ``LAYOUT`` with which a data-parallel job is possible."""
    plain = ([value for value in axes[name] if not _asks(name, value)] for name in LAYOUT)
    return list(itertools.product(*plain))


def kinds_of_layouts(axes: Axes) -> dict[bool, tuple[Any, ...]]:
    """Return example values of ``LAYOUT`` that request a layout (True), and that do not (False).

    The kind of the first row comes first.  The example without a layout has as many defaults as possible,
    since other options of data-parallel jobs may be refused.
    """
    usual = tuple(Scenario.model_fields[name].default for name in LAYOUT)
    first = tuple(axes[name][0] for name in LAYOUT)
    requesting = [
        (*first[:place], value, *first[place + 1 :])
        for place, name in enumerate(LAYOUT)
        for value in axes[name]
        if _asks(name, value)
    ]
    plain = sorted(plain_layouts(axes), key=lambda values: sum(map(operator.ne, values, usual)))
    kinds = [(True, requesting), (False, plain)]
    if not any(map(_asks, LAYOUT, first)):
        kinds.reverse()
    return {kind: layouts[0] for kind, layouts in kinds if layouts}


class LayoutRows:
    """Accelerators crossed with layouts and batches; the accelerators vary slowest.

    Parameters
    ----------
    world_sizes : numbers of accelerators
    axes : of layouts and batches
    copies : whether rows without a requested layout are included
    """

    def __init__(self, world_sizes: tuple[int, ...], axes: Axes, copies: bool) -> None:
        self._values = {"world_size": world_sizes} | {name: axes[name] for name in (*LAYOUT, *PLAN)}
        self._numbers = {name: _numbers(name, values) for name, values in self._values.items()}
        self._asks: dict[str, NDArray[np.bool_]] = {}
        if not copies and plain_layouts(axes):
            for name in LAYOUT:
                self._asks[name] = np.array([_asks(name, value) for value in axes[name]])

    def __len__(self) -> int:
        crossed = math.prod(map(len, self._values.values()))
        if not self._asks:
            return crossed
        plain = math.prod(int((~asks).sum()) for asks in self._asks.values())
        return crossed - crossed // math.prod(map(len, self._asks.values())) * plain

    def parts(self) -> Iterator[Codes]:
        """Yield all rows in order, ``ROWS`` at a time."""
        shape = tuple(map(len, self._values.values()))
        crossed = math.prod(shape)
        for first in range(0, crossed, ROWS):
            rows = np.arange(first, min(first + ROWS, crossed))
            codes = dict(zip(self._values, np.unravel_index(rows, shape), strict=True))
            if self._asks:
                asks = np.any([self._asks[name][codes[name]] for name in LAYOUT], axis=0)
                codes = {name: code[asks] for name, code in codes.items()}
            yield codes

    def numbers(self, codes: Codes) -> dict[str, Any]:
        """Return the options of rows as whole numbers, 0 for None; one number for a single value."""
        return {
            name: each[codes[name]] if len(each) > 1 else int(each[0]) for name, each in self._numbers.items()
        }

    def of(self, codes: Codes, row: int) -> dict[str, Any]:
        """Return the options of one row as given."""
        return {name: values[codes[name][row]] for name, values in self._values.items()}

    def options(self, codes: Codes) -> dict[str, Any]:
        """Return the options of rows without batches: columns of shape (rows, 1), or a common value."""
        return {
            name: _column(self._values[name])[codes[name], None]
            if len(self._values[name]) > 1
            else self._values[name][0]
            for name in ("world_size", *LAYOUT)
        }


def _column(values: tuple[Any, ...]) -> NDArray[Any]:
    """Return values as an array: of whole numbers, or of objects where some are texts or None."""
    return np.array(values, dtype=None if all(isinstance(each, int) for each in values) else object)


def _numbers(name: str, values: tuple[Any, ...]) -> NDArray[np.int64]:
    """Return values of an option as whole numbers: 0 for None, the index of a word, -1 for no word."""
    words = _WORDS.get(name)
    if words is not None:
        return np.array([-1 if each is None else words.index(each) for each in values])
    return np.array([each or 0 for each in values])


def numbers_of(options: dict[str, Any]) -> dict[str, int]:
    """Return options of one layout as numbers, as ``LayoutRows.numbers`` does for many."""
    return {name: int(_numbers(name, (value,))[0]) for name, value in options.items()}


def picked(codes: Codes, which: NDArray[Any]) -> Codes:
    """Return the codes of some of the rows."""
    return {name: code[which] for name, code in codes.items()}
