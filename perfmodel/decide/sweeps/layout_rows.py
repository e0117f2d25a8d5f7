"""Accelerators crossed with layouts and batches, a part at a time: a row is worked out of its position."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from perfmodel.decide.sweeps.axes import LAYOUT, PLAN, Axes
from perfmodel.model.options.layout import NEUTRAL, RECOMPUTE, SHARDING
from perfmodel.model.options.scenario import Scenario

if TYPE_CHECKING:
    from numpy.typing import NDArray

Codes: TypeAlias = "dict[str, NDArray[np.intp]]"
"""Of each row, where every option's value stands among those it is given."""

ROWS = 2**14
"""Of a part."""
_WORDS: dict[str, tuple[str, ...]] = {"sharding": SHARDING, "recompute": RECOMPUTE}


def _asks(name: str, value: Any) -> bool:
    """Whether a value of an option of ``LAYOUT`` asks for a layout."""
    return name in NEUTRAL and value not in NEUTRAL[name]


def plain_layouts(axes: Axes) -> list[tuple[Any, ...]]:
    """Return the values of ``LAYOUT`` by which copies of a network may be trained, crossed."""
    plain = ([value for value in axes[name] if not _asks(name, value)] for name in LAYOUT)
    return list(itertools.product(*plain))


def kinds_of_layouts(axes: Axes) -> dict[bool, tuple[Any, ...]]:
    """Return whether a layout is asked for, as it is in any row, each with values of ``LAYOUT`` that do so.

    What the first row does comes first.  The layout that says least stands for all that are not asked for: an
    option of others may be refused.
    """
    usual = tuple(Scenario.model_fields[name].default for name in LAYOUT)
    first = tuple(axes[name][0] for name in LAYOUT)
    asked = [
        (*first[:place], value, *first[place + 1 :])
        for place, name in enumerate(LAYOUT)
        for value in axes[name]
        if _asks(name, value)
    ]
    plain = sorted(plain_layouts(axes), key=lambda values: sum(map(operator.ne, values, usual)))
    kinds = [(True, asked), (False, plain)]
    if not any(map(_asks, LAYOUT, first)):
        kinds.reverse()
    return {kind: layouts[0] for kind, layouts in kinds if layouts}


class LayoutRows:
    """Accelerators crossed with layouts and batches; the accelerators vary slowest.

    Parameters
    ----------
    world_sizes : accelerators
    axes : of layouts and batches
    copies : whether layouts that nobody asks for are among the rows
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
        """Yield all rows in order, some thousand at a time."""
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
        """Return the options of rows as whole numbers, 0 for None; one number of an option with one value."""
        return {
            name: each[codes[name]] if len(each) > 1 else int(each[0]) for name, each in self._numbers.items()
        }

    def of(self, codes: Codes, row: int) -> dict[str, Any]:
        """Return the options of one row as they were given."""
        return {name: values[codes[name][row]] for name, values in self._values.items()}

    def options(self, codes: Codes) -> dict[str, Any]:
        """Return the options of rows but for their batches as columns, shape (rows, 1), or as their value."""
        return {
            name: _column(self._values[name])[codes[name], None]
            if len(self._values[name]) > 1
            else self._values[name][0]
            for name in ("world_size", *LAYOUT)
        }


def _column(values: tuple[Any, ...]) -> NDArray[Any]:
    """Return values as an array: of whole numbers, or of objects where some are words or None."""
    return np.array(values, dtype=None if all(isinstance(each, int) for each in values) else object)


def _numbers(name: str, values: tuple[Any, ...]) -> NDArray[np.int64]:
    words = _WORDS.get(name)
    if words is not None:
        return np.array([-1 if each is None else words.index(each) for each in values])
    return np.array([each or 0 for each in values])


def numbers_of(options: dict[str, Any]) -> dict[str, int]:
    """Return options of one layout as ``LayoutRows.numbers`` has those of many."""
    return {name: int(_numbers(name, (value,))[0]) for name, value in options.items()}


def picked(codes: Codes, which: NDArray[Any]) -> Codes:
    """Return some of the rows."""
    return {name: code[which] for name, code in codes.items()}
