"""Passes of V-shaped pipelines that keep fewer activations: building blocks, repeated and squeezed.

A block has the passes of one micro-batch in slots of equal length; the next micro-batch follows ``PERIOD``
slots later.  While the pipeline fills and drains, passes then move to the first free slot in which what they
need is there and the memory of the blocks suffices: once with the passes to weights in slots of their own,
and once more, while it drains, with these in any free slot.

Validity
--------
The algorithm of Qi et al. (2024), section 4, as in its code (``zbv_greedy.py``), for passes of one length.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import NamedTuple

PERIOD = 6
"""Passes of one micro-batch through the two chunks of a stage."""
TYPES: tuple[tuple[str, int], ...] = (("forward", 0), ("forward", 1), ("inputs", 1), ("inputs", 0))
"""Passes of a block, and their chunks, in the order in which a micro-batch needs them."""
FORWARDS, BACKWARDS, WEIGHTS = (0, 1), (2, 3), 4
"""Indices into ``TYPES``; passes to weights come after those."""
DOWN = 0, 2
"""Types that each stage runs after the stage before; the others come back."""


class _Pass(NamedTuple):
    """A pass, ordered by its slot."""

    slot: int
    stage: int
    type: int
    number: int
    """Micro-batch, of weights the turn on its stage."""


def block(schedule: str, stage: int, stages: int) -> tuple[int, int, int, int]:
    """Return the slots in which a stage runs the passes ``TYPES`` of a first micro-batch.

    The gap keeps passes of several micro-batches apart.

    >>> block("v-min", 0, 4), block("v-half", 0, 4)
    ((0, 7, 8, 15), (0, 10, 14, 25))
    """
    if schedule == "v-min":
        gap = 2 * (stages % 3 == 0)
        back = 4 * stages + gap - stage - 1
        return stage, 2 * stages - stage - 1, 2 * stages + gap + stage, back
    gap = 3 * (stages % 2 == 0)
    back = 6 * stages + gap - stage - 2
    return 2 * stage, 3 * stages - stage - 2, 3 * stages + gap + 2 * stage - 1, back


def squeezed(schedule: str, stages: int, micro_batches: int) -> list[list[tuple[str, int, int]]]:
    """Return the passes of every stage in order: what is computed, chunk and micro-batch.

    >>> ["".join(f"{kind[0]}{chunk}{micro} " for kind, chunk, micro in each)
    ...  for each in squeezed("v-min", 2, 1)]
    ['f00 f10 i10 w10 i00 w00 ', 'f00 f10 i10 i00 w10 w00 ']
    """
    rows = [
        _Row(
            [
                [first + PERIOD * micro for micro in range(micro_batches)]
                for first in block(schedule, stage, stages)
            ]
        )
        for stage in range(stages)
    ]
    for row in rows:
        row.fill()
    _squeeze(rows, weights_move=True)
    _squeeze(rows, weights_move=False)
    return [row.passes() for row in rows]


class _Row:
    """The slots of one stage."""

    def __init__(self, slots: list[list[int]]) -> None:
        self.slots = [*slots, []]
        """By type, of every micro-batch; those of weights by their turn."""

    def types(self) -> dict[int, int]:
        """Return the type of the pass in each taken slot, weights left out."""
        return {slot: type_ for type_, slots in enumerate(self.slots[:WEIGHTS]) for slot in slots}

    def fill(self) -> None:
        """Put passes to weights into the free slots after those to inputs."""
        types = self.types()
        last, owed, slot = max(types), 0, 0
        weights = []
        while slot <= last or owed:
            if slot in types:
                owed += types[slot] in BACKWARDS
            elif owed:
                weights.append(slot)
                owed -= 1
            slot += 1
        self.slots[WEIGHTS] = weights

    def passes(self) -> list[tuple[str, int, int]]:
        """Return the passes in order; of weights those of the second chunk go first."""
        order = sorted(
            (slot, type_, number) for type_, each in enumerate(self.slots) for number, slot in enumerate(each)
        )
        owed: tuple[list[int], list[int]] = [], []
        result = []
        for _, type_, number in order:
            if type_ == WEIGHTS:
                chunk = 1 if owed[1] else 0
                result.append(("weights", chunk, owed[chunk].pop(0)))
                continue
            kind, chunk = TYPES[type_]
            result.append((kind, chunk, number))
            if type_ in BACKWARDS:
                owed[chunk].append(number)
        return result


def _squeeze(rows: list[_Row], weights_move: bool) -> None:
    """Move passes while the pipeline fills and drains, or drains alone, and run all without gaps.

    The pipeline has filled when the first stage has returned a micro-batch, and drains once it has started
    the last one.
    """
    stages, micro_batches = len(rows), len(rows[0].slots[0])
    kept = [_Kept(row) if weights_move else _KeptByFree(row) for row in rows]
    most = max(each.most for each in kept)
    returned = [sorted(row.slots[2] + row.slots[3]) for row in rows]
    taken: list[set[int]] = [set() for _ in rows]
    fills, drains = True, False
    types = WEIGHTS + weights_move
    for slot, stage, type_, number in sorted(_all(rows, types)):
        slots = rows[stage].slots
        if fills and (stage, type_) == (0, 3):
            fills = False
        if not drains and (not fills or not weights_move):
            drains = not fills and (type_, number) == (0, micro_batches - 1)
            taken[stage].add(slot)
            continue
        after = slots[type_][number - 1] if number else -1
        if type_ == WEIGHTS:
            after = max(after, returned[stage][number])
        else:
            neighbour = stage - 1 if type_ in DOWN else stage + 1
            if 0 <= neighbour < stages:
                after = max(after, rows[neighbour].slots[type_][number])
            if type_:
                after = max(after, slots[type_ - 1][number])
        for free in range(after + 1, slot):
            if free not in taken[stage] and kept[stage].allows(type_, slot, free, most):
                kept[stage].move(type_, slot, free)
                if type_ in BACKWARDS:
                    del returned[stage][bisect_left(returned[stage], slot)]
                    insort(returned[stage], free)
                slots[type_][number] = slot = free
                break
        taken[stage].add(slot)
    if not weights_move:
        for row in rows:
            row.fill()
    _close(rows)


def _all(rows: list[_Row], types: int) -> list[_Pass]:
    return [
        _Pass(slot, stage, type_, number)
        for stage, row in enumerate(rows)
        for type_, slots in enumerate(row.slots[:types])
        for number, slot in enumerate(slots)
    ]


def _close(rows: list[_Row]) -> None:
    """Start every pass as soon as it can in the order of the slots."""
    free = [0] * len(rows)
    for _, stage, type_, number in sorted(_all(rows, WEIGHTS + 1)):
        slots, start = rows[stage].slots, free[stage]
        if type_ != WEIGHTS:
            neighbour = stage - 1 if type_ in DOWN else stage + 1
            if 0 <= neighbour < len(rows):
                start = max(start, rows[neighbour].slots[type_][number] + 1)
            if type_:
                start = max(start, slots[type_ - 1][number] + 1)
        slots[type_][number] = start
        free[stage] = start + 1


class _Kept:
    """Activations that a stage keeps after each slot, with passes to weights in slots of their own."""

    def __init__(self, row: _Row) -> None:
        changes = [0] * (1 + max(slots[-1] for slots in row.slots))
        for type_, slots in enumerate(row.slots):
            for slot in slots:
                changes[slot] = (type_ in FORWARDS) - (type_ == WEIGHTS)
        self.after: list[int] = []
        now = 0
        for change in changes:
            now += change
            self.after.append(now)
        self.most = max(self.after)

    def allows(self, type_: int, slot: int, free: int, most: int) -> bool:
        """Whether a pass can move to an earlier slot."""
        return type_ not in FORWARDS or max(self.after[free:slot]) < most

    def move(self, type_: int, slot: int, free: int) -> None:
        """Move a pass to an earlier slot."""
        change = (type_ in FORWARDS) - (type_ == WEIGHTS)
        if change:
            for each in range(free, slot):
                self.after[each] += change


class _KeptByFree:
    """Activations that a stage keeps after each slot, with a pass to weights in every free one."""

    def __init__(self, row: _Row) -> None:
        self.types = row.types()
        self.states: list[tuple[int, int]] = []
        """Activations kept, and passes to weights owed, after each slot."""
        state = 0, 0
        for slot in range(max(self.types) + 1):
            state = self._next(state, self.types.get(slot))
            self.states.append(state)
        self.most = max(kept for kept, _ in self.states)

    @staticmethod
    def _next(state: tuple[int, int], type_: int | None) -> tuple[int, int]:
        kept, owed = state
        if type_ is None:
            return (kept - 1, owed - 1) if owed else state
        return kept + (type_ in FORWARDS), owed + (type_ in BACKWARDS)

    def _changed(self, type_: int, slot: int, free: int) -> list[tuple[int, int]]:
        """Return the states from the earlier slot on, until they are as before."""
        state = self.states[free - 1] if free else (0, 0)
        result = []
        for each in range(free, len(self.states)):
            here = type_ if each == free else None if each == slot else self.types.get(each)
            state = self._next(state, here)
            if each >= slot and state == self.states[each]:
                break
            result.append(state)
        return result

    def allows(self, type_: int, slot: int, free: int, most: int) -> bool:
        """Whether a pass can move to an earlier slot."""
        return all(kept <= most for kept, _ in self._changed(type_, slot, free))

    def move(self, type_: int, slot: int, free: int) -> None:
        """Move a pass to an earlier slot."""
        states = self._changed(type_, slot, free)
        self.states[free : free + len(states)] = states
        del self.types[slot]
        self.types[free] = type_
