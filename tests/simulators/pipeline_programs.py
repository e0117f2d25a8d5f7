"""Stages of a pipeline that follow the programs that were published for V-shaped schedules and DualPipe.

Imports nothing from perfmodel.  Each stage is a process that runs its program: of ZB-V as PyTorch has it
(``ScheduleZBVZeroBubble``), of V-half and V-min as Qi et al. (2024) make it of building blocks that are
repeated and squeezed, of DualPipe as the eight steps of DeepSeek-AI, of interleaved 1F1B as the counts of
Narayanan et al. (2021).  Passes wait in queues for what other stages send.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from typing import NamedTuple

Turn = tuple[tuple[str, int], ...]
"""Passes that a stage runs together: what each computes, and for which chunk."""
Times = dict[str, list[list[float]]]
"""Of one micro-batch by pass, stage and chunk [s]."""


class Run(NamedTuple):
    """What a simulated step takes."""

    makespan: float
    """From the start of the first pass to the end of the last [s]."""
    most_kept: list[int]
    """Chunks' activations that each stage keeps at most."""


def run(schedule: str, times: Times, micro_batches: int) -> Run:
    """Run a step of stages that hold several chunks.

    Parameters
    ----------
    schedule : "interleaved", "zb-v", "v-half", "v-min" or "dualpipe"
    times : by "forward", "inputs" and "weights"
    micro_batches : of a step
    """
    stages = len(times["forward"])
    programs = programs_of(schedule, stages, len(times["forward"][0]), micro_batches)
    network = _Network(schedule, stages, len(times["forward"][0]))
    workers = [_Worker(stage, iter(program), times) for stage, program in enumerate(programs)]
    waiting = deque(workers)
    idle = 0
    while waiting:
        worker = waiting.popleft()
        if worker.advance(network):
            idle = 0
        else:
            idle += 1
            assert idle <= len(waiting) + 1, f"{schedule}: no stage can go on"
        if worker.turn is not None:
            waiting.append(worker)
    return Run(max(worker.clock for worker in workers), [worker.most for worker in workers])


class _Network:
    """Which chunk follows which, and when results arrived."""

    def __init__(self, schedule: str, stages: int, chunks: int) -> None:
        self.arrived: dict[tuple[str, int, int, int], float] = {}
        self.path: dict[tuple[int, int], tuple[int, int]] = {}
        """Stage and chunk -> copy of the network, and place in it."""
        for stage in range(stages):
            for chunk in range(chunks):
                if schedule == "dualpipe":
                    self.path[stage, chunk] = chunk, stages - 1 - stage if chunk else stage
                elif schedule == "interleaved":
                    self.path[stage, chunk] = 0, chunk * stages + stage
                else:
                    self.path[stage, chunk] = 0, 2 * stages - 1 - stage if chunk else stage
        self.end = max(place for _, place in self.path.values())


class _Worker:
    def __init__(self, stage: int, program: Iterator[Turn], times: Times) -> None:
        self.stage, self.program, self.times = stage, program, times
        self.clock, self.kept, self.most = 0.0, 0, 0
        self.counts: dict[tuple[str, int], int] = defaultdict(int)
        self.turn = next(program, None)

    def advance(self, network: _Network) -> bool:
        """Run all passes whose inputs are there; return whether any was run."""
        before = self.turn, self.clock
        while self.turn is not None:
            jobs = []
            for kind, chunk in self.turn:
                copy, place = network.path[self.stage, chunk]
                as_run = "inputs" if kind == "backward" else kind
                jobs.append((kind, as_run, chunk, copy, place, self.counts[as_run, chunk]))
            arrivals = [self._needed(network, *job[1:2], *job[3:]) for job in jobs]
            if None in arrivals:
                break
            start = max([self.clock, *(each for each in arrivals if each is not None)])
            lasts = 0.0
            for kind, _, chunk, *_ in jobs:
                parts = ("inputs", "weights") if kind == "backward" else (kind,)
                lasts += sum(self.times[part][self.stage][chunk] for part in parts)
            self.clock = start + lasts
            for kind, as_run, chunk, copy, place, micro in jobs:
                network.arrived[as_run, copy, place, micro] = self.clock
                self.counts[as_run, chunk] += 1
                if kind == "forward":
                    self.kept += 1
                    self.most = max(self.most, self.kept)
                elif kind != "inputs":
                    self.kept -= 1
                if kind == "backward":
                    self.counts["weights", chunk] += 1
            self.turn = next(self.program, None)
        return before != (self.turn, self.clock)

    @staticmethod
    def _needed(network: _Network, kind: str, copy: int, place: int, micro: int) -> float | None:
        """When the input of a pass arrived; None if it has not."""
        if kind == "forward":
            return network.arrived.get(("forward", copy, place - 1, micro)) if place else 0.0
        if kind == "weights":
            return network.arrived.get(("inputs", copy, place, micro))
        if place == network.end:
            return network.arrived.get(("forward", copy, place, micro))
        return network.arrived.get(("inputs", copy, place + 1, micro))


def programs_of(schedule: str, stages: int, chunks: int, micro_batches: int) -> list[list[Turn]]:
    """Return what each stage runs, turn by turn."""
    if schedule in ("v-half", "v-min"):
        return _squeezed_blocks(schedule, stages, micro_batches)
    if schedule == "interleaved":
        return [list(_interleaved(stage, stages, chunks, micro_batches)) for stage in range(stages)]
    program = {"zb-v": _zero_bubble_v, "dualpipe": _dualpipe}[schedule]
    return [list(program(stage, stages, micro_batches)) for stage in range(stages)]


def _interleaved(stage: int, stages: int, chunks: int, micro_batches: int) -> Iterator[Turn]:
    """Groups of as many micro-batches as stages, chunk after chunk; Megatron-LM's warm-up count."""
    total = micro_batches * chunks
    warm = min(total, (stages - stage - 1) * 2 + (chunks - 1) * stages)
    if chunks == 1:
        warm = min(total, stages - stage - 1)

    def chunk_of(number: int, backward: bool) -> int:
        at = number % (stages * chunks) // stages
        return chunks - 1 - at if backward else at

    for number in range(warm):
        yield (("forward", chunk_of(number, False)),)
    for number in range(total - warm):
        yield (("forward", chunk_of(warm + number, False)),)
        yield (("backward", chunk_of(number, True)),)
    for number in range(total - warm, total):
        yield (("backward", chunk_of(number, True)),)


def _zero_bubble_v(stage: int, stages: int, micro_batches: int) -> Iterator[Turn]:
    """Warm-up, steady state and cool-down of at least 2 p - 1 micro-batches; those beyond the step leave."""
    many = max(2 * stages - 1, micro_batches)
    number: dict[tuple[str, int], int] = defaultdict(int)

    def each(*passes: tuple[str, int]) -> Iterator[Turn]:
        for one in passes:
            if number[one] < micro_batches:
                yield (one,)
            number[one] += 1

    f0, f1, b0, b1, w0, w1 = ((kind, chunk) for kind in ("forward", "inputs", "weights") for chunk in (0, 1))
    for _ in range(2 * (stages - stage) - 1):
        yield from each(f0)
    for _ in range(stage):
        yield from each(f1, f0)
    for _ in range(stages - stage):
        yield from each(f1, b1, w1)
    while number[f1] < number[f0] or number[f0] < many:
        if number[f0] < many:
            yield from each(f0)
        yield from each(b0, w0, f1, b1, w1)
    for _ in range(stage):
        yield from each(b0, b1)
    for _ in range(stages - stage):
        yield from each(b0, w0)
    while number[w1] < number[b1]:
        yield from each(w1)
    while number[w0] < number[b0]:
        yield from each(w0)


def _dualpipe(rank: int, ranks: int, micro_batches: int) -> Iterator[Turn]:
    """The eight steps; phase 0 is the direction whose first stage is in a rank's own half."""
    half, near = ranks // 2, min(rank, ranks - 1 - rank)
    swap = rank >= half
    owed: deque[int] = deque()

    def forward(phase: int) -> tuple[str, int]:
        return "forward", phase ^ swap

    def backward(phase: int, split: bool = False) -> tuple[str, int]:
        if split:
            owed.append(phase ^ swap)
        return "inputs" if split else "backward", phase ^ swap

    for _ in range(2 * (half - near - 1)):  # 1
        yield (forward(0),)
    for _ in range(near + 1):  # 2
        yield (forward(0),)
        yield (forward(1),)
    for _ in range(half - near - 1):  # 3
        yield (backward(1, True),)
        yield (("weights", owed.popleft()),)
        yield (forward(1),)
    for turn in range(micro_batches // 2 - ranks + near + 1):  # 4
        if turn == 0 and near == half - 1:
            yield (forward(0),)
            yield (backward(1),)
        else:
            yield forward(0), backward(1)
        yield forward(1), backward(0)
    for _ in range(half - near - 1):  # 5
        yield (backward(1),)
        yield forward(1), backward(0)
    split = False
    for turn in range(near + 1):  # 6
        split = split or (turn == (near + 1) // 2 and near % 2 == 1)
        yield (backward(1, split),)
        split = split or (turn == (near + 1) // 2 and near % 2 == 0)
        yield (backward(0, split),)
    for _ in range(half - near - 1):  # 7
        yield (("weights", owed.popleft()),)
        yield (backward(0, True),)
    while owed:  # 8
        yield (("weights", owed.popleft()),)


# --- building blocks, repeated and squeezed (Qi et al. 2024, section 4 and its code)

EVERY = 6
"""Slots after which the next micro-batch follows: six passes of a micro-batch on a stage."""
F0, F1, B1, B0 = range(4)
NAMES = {F0: ("forward", 0), F1: ("forward", 1), B1: ("inputs", 1), B0: ("inputs", 0)}


def _squeezed_blocks(schedule: str, stages: int, micro_batches: int) -> list[list[Turn]]:
    """Place passes on a grid of equal slots, move them forward within the memory of the blocks."""
    wait = 2 * (stages % 3 == 0) if schedule == "v-min" else 3 * (stages % 2 == 0)

    def block(stage: int) -> list[int]:
        if schedule == "v-min":
            down, up = stage, 2 * stages - 1 - stage
            return [down, up, 2 * stages + wait + stage, 4 * stages + wait - 1 - stage]
        return [
            2 * stage,
            3 * stages - 2 - stage,
            3 * stages + wait - 1 + 2 * stage,
            6 * stages + wait - 2 - stage,
        ]

    grids = [
        _Grid(
            {
                kind: [at + EVERY * micro for micro in range(micro_batches)]
                for kind, at in enumerate(block(stage))
            }
        )
        for stage in range(stages)
    ]
    for grid in grids:
        grid.fill_weights()
    _squeeze(grids, with_weights=True)
    for grid in grids:
        grid.weights = []
    _squeeze(grids, with_weights=False)
    for grid in grids:
        grid.fill_weights()
    return [grid.program() for grid in grids]


class _Grid:
    """The slots of one stage."""

    def __init__(self, slots: dict[int, list[int]]) -> None:
        self.slots = slots
        self.weights: list[int] = []

    def taken(self) -> dict[int, int]:
        return {at: kind for kind, every in self.slots.items() for at in every}

    def fill_weights(self) -> None:
        """Put passes to weights into free slots after those to inputs."""
        taken, owed, at = self.taken(), 0, 0
        self.weights = []
        last = max(taken)
        while at <= last or owed:
            if at in taken:
                owed += taken[at] in (B0, B1)
            elif owed:
                self.weights.append(at)
                owed -= 1
            at += 1

    def most_kept(self) -> int:
        """Activations at most; where weights have no slots, they take every free one."""
        taken, kept, most, owed = self.taken(), 0, 0, 0
        own = set(self.weights)
        for at in range(max([*taken, *self.weights]) + 1):
            if at in taken:
                kept += taken[at] in (F0, F1)
                owed += taken[at] in (B0, B1)
            elif at in own or (not own and owed):
                kept, owed = kept - 1, owed - 1
            most = max(most, kept)
        return most

    def program(self) -> list[Turn]:
        owed = [0, 0]
        taken, own, turns = self.taken(), set(self.weights), []
        for at in range(max([*taken, *own]) + 1):
            if at in taken:
                turns.append((NAMES[taken[at]],))
                if taken[at] in (B0, B1):
                    owed[NAMES[taken[at]][1]] += 1
            elif at in own:
                chunk = int(owed[1] > 0)  # the second chunk's first
                owed[chunk] -= 1
                turns.append((("weights", chunk),))
        return turns


def _squeeze(grids: list[_Grid], with_weights: bool) -> None:
    """Move passes to the first free slot after what they need, in the order of their slots.

    Those between the first backward pass that ends on the first stage and its last forward pass stay, and
    without weights also those before.
    """
    stages = len(grids)
    limit = max(grid.most_kept() for grid in grids)
    micro_batches = len(grids[0].slots[F0])
    weights = 4
    every = [
        (at, stage, kind, micro)
        for stage, grid in enumerate(grids)
        for kind, slots in [*grid.slots.items(), (weights, grid.weights)]
        for micro, at in enumerate(slots)
    ]
    phase = 0
    placed: list[set[int]] = [set() for _ in grids]
    for at, stage, kind, micro in sorted(every):
        grid = grids[stage]
        slots = grid.weights if kind == weights else grid.slots[kind]
        if phase == 0 and (stage, kind) == (0, B0):
            phase = 1
        if phase == 1 or (phase == 0 and not with_weights):
            if phase == 1 and kind == F0 and micro == micro_batches - 1:
                phase = 2
            placed[stage].add(at)
            continue
        after = [slots[micro - 1]] if micro else []
        if kind in (F0, B1) and stage:
            after.append(grids[stage - 1].slots[kind][micro])
        if kind in (F1, B0) and stage + 1 < stages:
            after.append(grids[stage + 1].slots[kind][micro])
        if kind in (F1, B1, B0):
            after.append(grid.slots[kind - 1][micro])
        if kind == weights:
            after.append(sorted(grid.slots[B0] + grid.slots[B1])[micro])
        for slot in range(max(after, default=-1) + 1, at):
            if slot in placed[stage]:
                continue
            slots[micro] = slot
            if grid.most_kept() <= limit:
                break
        else:
            slots[micro] = at
        placed[stage].add(slots[micro])
    if not with_weights:
        for grid in grids:
            grid.fill_weights()
    _run_on_grid(grids)


def _run_on_grid(grids: list[_Grid]) -> None:
    """Start every pass as soon as it can in the order that was made, all as long as a slot."""
    stages = len(grids)
    order = sorted(
        (at, stage, kind, micro)
        for stage, grid in enumerate(grids)
        for kind, slots in [*grid.slots.items(), (4, grid.weights)]
        for micro, at in enumerate(slots)
    )
    ends: dict[tuple[int, int, int], int] = {}
    free = [0] * stages
    for _, stage, kind, micro in order:
        start = free[stage]
        if kind in (F0, B1) and stage:
            start = max(start, ends[stage - 1, kind, micro])
        if kind in (F1, B0) and stage + 1 < stages:
            start = max(start, ends[stage + 1, kind, micro])
        if 0 < kind < 4:
            start = max(start, ends[stage, kind - 1, micro])
        free[stage] = ends[stage, kind, micro] = start + 1
        (grids[stage].weights if kind == 4 else grids[stage].slots[kind])[micro] = start
