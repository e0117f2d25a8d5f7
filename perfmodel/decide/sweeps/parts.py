"""A sweep in parts that any process can evaluate: the same parts however many processes there are.

A part is a range of groups, or of one group a slice of the values that are crossed in it.  What is evaluated
together decides how numbers round, so one process evaluates the same parts as many do.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from perfmodel.core.errors import InputError, refusal
from perfmodel.core.problem import Words
from perfmodel.decide.sweeps.axes import COMPUTATION, LAYOUT, PLACE, PLAN, WAY, Axes
from perfmodel.decide.sweeps.columns import Columns, flat_columns
from perfmodel.decide.sweeps.groups import Groups
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.fitted.calibration import Calibration

PART: Final = 2**18
"""Scenarios of a part at most, unless what is not cut has more."""
CROSSED: Final = (*PLACE, "world_size", *LAYOUT, *PLAN)
"""What is crossed inside a group."""


class Part(NamedTuple):
    """Some scenarios of a sweep."""

    groups: range
    """By their places among all."""
    slices: dict[str, slice]
    """Of the values of options in ``CROSSED`` that are cut; empty where whole groups make the part."""


class Parts:
    """The parts of a sweep.

    Parameters
    ----------
    axes : of the sweep
    catalogue, constants : as for ``predict``
    columns : of the table
    most : scenarios of a part
    """

    def __init__(
        self,
        axes: Axes,
        catalogue: Catalogue,
        constants: Calibration,
        columns: tuple[str, ...],
        most: int = PART,
    ) -> None:
        self.axes, self.catalogue, self.constants = axes, catalogue, constants
        self.columns, self.most = columns, most
        self._count = math.prod(len(axes[name]) for name in COMPUTATION + WAY)
        self._lengths = _lengths(axes, most)
        """Of the slices of every option that is cut."""
        crossed = math.prod(len(axes[name]) for name in CROSSED)
        self._groups_of_part = 1 if self._lengths else max(1, most // crossed)
        self._groups: Groups | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Go to another process without what was worked out in this one."""
        return Parts, (self.axes, self.catalogue, self.constants, self.columns, self.most)

    def __len__(self) -> int:
        pieces = [_ceil(len(self.axes[name]), length) for name, length in self._lengths.items()]
        count: int = math.prod([_ceil(self._count, self._groups_of_part), *pieces])
        return count

    def __getitem__(self, number: int) -> Part:
        if not 0 <= number < len(self):
            raise IndexError(number)
        slices = {}
        for name in reversed(self._lengths):
            values = len(self.axes[name])
            pieces = _ceil(values, self._lengths[name])
            number, piece = divmod(number, pieces)
            slices[name] = slice(piece * values // pieces, (piece + 1) * values // pieces)
        first = number * self._groups_of_part
        return Part(range(first, min(first + self._groups_of_part, self._count)), slices)

    def scenarios(self, number: int) -> int:
        """Return how many scenarios a part crosses, those included that are refused."""
        part = self[number]
        cut = {name: piece.stop - piece.start for name, piece in part.slices.items()}
        crossed: int = math.prod(cut.get(name, len(self.axes[name])) for name in CROSSED)
        return len(part.groups) * crossed

    def chunks(self, number: int, refused: dict[str, int]) -> Iterator[Columns]:
        """Yield a part's rows, some thousand at a time; not for two threads at once.

        Parameters
        ----------
        number : of the part
        refused : takes how many scenarios ``predict`` refuses, by what it says of them
        """
        part = self[number]
        if part.slices:
            cut = {name: self.axes[name][piece] for name, piece in part.slices.items()}
            groups = Groups(self.axes | cut, self.catalogue, self.constants)
        else:
            # what one group works out serves the next ones
            groups = self._groups = self._groups or Groups(self.axes, self.catalogue, self.constants)
        groups.refused = refused
        for block in groups.blocks(part.groups):
            yield flat_columns(block, self.columns)


def nothing_to_predict(scenarios: int, refused: dict[str, int]) -> InputError:
    """Return the error about a sweep all of whose scenarios are refused."""
    return refusal("sweep.none_left", scenarios=scenarios, refused=Words(next(iter(refused))))


def _lengths(axes: Axes, most: int) -> dict[str, int]:
    """Return of how many values the slices of each option are that is cut, so that one group is small enough.

    Whether any batch of the job is given decides what all are scaled by, so batches some of which are left
    open stay together.
    """
    able = [name for name in CROSSED if name != "global_batch_size" or None not in axes[name]]
    below = math.prod(len(axes[name]) for name in CROSSED)
    result = {}
    for name in able:
        if below <= most:
            break
        below //= len(axes[name])
        result[name] = min(len(axes[name]), max(1, most // below))
        below *= result[name]
    return {name: length for name, length in result.items() if length < len(axes[name])}


def _ceil(a: int, b: int) -> int:
    return -(-a // b)
