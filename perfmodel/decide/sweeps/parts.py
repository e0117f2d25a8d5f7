"""A sweep in parts that any process can evaluate; the parts do not depend on the number of processes.

A part is a range of groups, or a slice of the values that are crossed within one group.  Numbers round
differently if evaluated in other combinations, so one process evaluates the same parts as many do.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from perfmodel.core.errors import InputError, refusal
from perfmodel.core.problem import Note
from perfmodel.decide.sweeps.axes import COMPUTATION, LAYOUT, PLACE, PLAN, WAY, Axes
from perfmodel.decide.sweeps.columns import Columns, flat_columns
from perfmodel.decide.sweeps.groups import Groups
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.fitted.calibration import Calibration

PART: Final = 2**18
"""Largest number of scenarios of a part, unless an option that is not cut has more."""
CROSSED: Final = (*PLACE, "world_size", *LAYOUT, *PLAN)
"""Options that are crossed within a group."""


class Part(NamedTuple):
    """Some scenarios of a sweep."""

    groups: range
    """Positions of its groups."""
    slices: dict[str, slice]
    """Slices of the values of options in ``CROSSED`` that are cut; empty for whole groups."""


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
        """Length of the slices of every option that is cut."""
        crossed = math.prod(len(axes[name]) for name in CROSSED)
        self._groups_of_part = 1 if self._lengths else max(1, most // crossed)
        self._groups: Groups | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without the groups of this process."""
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
        """Return the number of scenarios of a part, including refused ones."""
        part = self[number]
        cut = {name: piece.stop - piece.start for name, piece in part.slices.items()}
        crossed: int = math.prod(cut.get(name, len(self.axes[name])) for name in CROSSED)
        return len(part.groups) * crossed

    def chunks(self, number: int, refused: dict[str, int]) -> Iterator[Columns]:
        """Yield a part's rows, some thousand at a time; not thread-safe.

        Parameters
        ----------
        number : of the part
        refused : counter of refused scenarios by reason; updated
        """
        part = self[number]
        if part.slices:
            cut = {name: self.axes[name][piece] for name, piece in part.slices.items()}
            groups = Groups(self.axes | cut, self.catalogue, self.constants)
        else:
            # its caches serve the next groups
            groups = self._groups = self._groups or Groups(self.axes, self.catalogue, self.constants)
        groups.refused = refused
        for block in groups.blocks(part.groups):
            yield flat_columns(block, self.columns)


def nothing_to_predict(scenarios: int, refused: dict[str, int]) -> InputError:
    """Return the error for a sweep of which every scenario is refused."""
    return refusal(
        "sweep.none_left", scenarios=scenarios, refused=Note(next(iter(refused)), "sweep.none_left")
    )


def _lengths(axes: Axes, most: int) -> dict[str, int]:
    """Return the length of the slices of each option that is cut, so that one group is small enough.

    Whether any global batch is given decides what all scenarios are scaled by, so global batches of which
    some are open are not cut.
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
    """Return a / b rounded up."""
    return -(-a // b)
