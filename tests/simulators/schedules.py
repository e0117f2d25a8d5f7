"""Schedules of the collective algorithms: who sends which elements to whom."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, log2

import numpy as np

from tests.simulators.messages import Message, Schedule, together


def ring_reduce_scatter(ranks: Sequence[int], start: int, stop: int) -> Schedule:
    """Afterwards the rank at place i holds the sum of chunk i+1."""
    n, size = len(ranks), (stop - start) // len(ranks)
    return [
        [Message(ranks[i], ranks[(i + 1) % n], *_chunk(start, size, (i - t) % n), add=True) for i in range(n)]
        for t in range(n - 1)
    ]


def ring_all_gather(ranks: Sequence[int], start: int, stop: int) -> Schedule:
    """Begins with the rank at place i holding chunk i+1."""
    n, size = len(ranks), (stop - start) // len(ranks)
    return [
        [Message(ranks[i], ranks[(i + 1) % n], *_chunk(start, size, (i + 1 - t) % n)) for i in range(n)]
        for t in range(n - 1)
    ]


def _chunk(start: int, size: int, index: int) -> tuple[int, int]:
    return start + index * size, start + (index + 1) * size


def ring_all_reduce(ranks: Sequence[int], start: int, stop: int) -> Schedule:
    return ring_reduce_scatter(ranks, start, stop) + ring_all_gather(ranks, start, stop)


def grid_all_reduce(ranks: np.ndarray, start: int, stop: int) -> Schedule:
    """Reduce-scatter along the first axis of ``ranks``, the rest inside, all-gather along the first axis."""
    lines = [list(line) for line in ranks.reshape(ranks.shape[0], -1).T]
    inner: Schedule = []
    if ranks.ndim > 1:
        n, size = ranks.shape[0], (stop - start) // ranks.shape[0]
        inner = together([grid_all_reduce(ranks[i], *_chunk(start, size, (i + 1) % n)) for i in range(n)])
    scatter = together([ring_reduce_scatter(line, start, stop) for line in lines])
    gather = together([ring_all_gather(line, start, stop) for line in lines])
    return scatter + inner + gather


def _folded(n: int, size: int, core: Schedule) -> Schedule:
    """Let the ranks beyond a power of two hand their buffer in, and get the sum at the end."""
    p = 2 ** int(log2(n))
    before = [[Message(i, i - p, 0, size, add=True) for i in range(p, n)]]
    after = [[Message(i - p, i, 0, size) for i in range(p, n)]]
    return before + core + after


def recursive_doubling(n: int, size: int) -> Schedule:
    p = 2 ** int(log2(n))
    core = [[Message(i, i ^ (1 << bit), 0, size, add=True) for i in range(p)] for bit in range(int(log2(p)))]
    return _folded(n, size, core)


def halving_doubling(n: int, size: int) -> Schedule:
    p = 2 ** int(log2(n))
    owned = [(0, size) for _ in range(p)]
    halving, doubling = [], []
    distance = p // 2
    while distance:
        step = []
        for i in range(p):
            first, last = owned[i]
            middle = (first + last) // 2
            upper = bool(i & distance)
            give = (first, middle) if upper else (middle, last)
            step.append(Message(i, i ^ distance, *give, add=True))
        for i in range(p):
            first, last = owned[i]
            middle = (first + last) // 2
            owned[i] = (middle, last) if i & distance else (first, middle)
        halving.append(step)
        doubling.append([Message(i, i ^ distance, *owned[i]) for i in range(p)])
        distance //= 2
    return _folded(n, size, halving + doubling[::-1])


def binomial_broadcast(ranks: Sequence[int], size: int) -> Schedule:
    n = len(ranks)
    return [
        [Message(ranks[i], ranks[i + 2**s], 0, size) for i in range(min(2**s, n - 2**s))]
        for s in range(ceil(log2(n)))
    ]


def reverse(schedule: Schedule) -> Schedule:
    """Turn a broadcast into the reduce that retraces it."""
    return [[Message(m.target, m.source, m.start, m.stop, add=True) for m in step] for step in schedule[::-1]]


def reduce_broadcast(ranks: Sequence[int], size: int) -> Schedule:
    down = binomial_broadcast(ranks, size)
    return reverse(down) + down


def exchange(n: int, size: int) -> Schedule:
    """Buffers hold the rank's own numbers, then the sum: everybody sends the first half."""
    return [
        [Message(i, (i + t) % n, 0, size, add=True, target_start=size) for i in range(n)] for t in range(1, n)
    ]


def hub(n: int, size: int) -> Schedule:
    down = [[Message(0, i, 0, size)] for i in range(1, n)]
    return reverse(down) + down


def all_to_all(n: int, chunk: int) -> Schedule:
    """The first half of a buffer holds what to send, the second takes in."""
    return [
        [
            Message(i, (i + t) % n, *_chunk(0, chunk, (i + t) % n), target_start=(n + i) * chunk)
            for i in range(n)
        ]
        for t in range(1, n)
    ]


def chain_broadcast(n: int, size: int, blocks: int) -> Schedule:
    block = size // blocks
    return [[Message(i, i + 1, *_chunk(0, block, b))] for b in range(blocks) for i in range(n - 1)]


def scatter_all_gather(n: int, size: int) -> Schedule:
    return _scatter(0, n, size // n) + ring_all_gather([*range(1, n), 0] if n > 1 else [0], 0, size)[: n - 1]


def _scatter(first: int, last: int, chunk: int) -> Schedule:
    if last - first < 2:
        return []
    half = 2 ** (ceil(log2(last - first)) - 1)
    step = [Message(first, first + half, (first + half) * chunk, last * chunk)]
    return [step, *together([_scatter(first, first + half, chunk), _scatter(first + half, last, chunk)])]


def _parents(n: int) -> dict[int, int]:
    """Return a tree whose odd places are leaves, read in order: place 0 is the root and has one child."""
    parents = {}
    for place in range(1, n):
        bit = place & -place
        above = (place ^ bit) | (bit << 1)
        parents[place] = above if above < n else place ^ bit
    return parents


Edge = tuple[int, int, int]
"""Tree, parent, child."""


def double_tree_edges(n: int) -> list[Edge]:
    """Return two trees over all n ranks in which the inner ranks of one are leaves of the other."""
    place = (lambda r: n - 1 - r) if n % 2 == 0 else (lambda r: (r + 1) % n)
    parents = _parents(n)
    return [(0, p, c) for c, p in parents.items()] + [(1, place(p), place(c)) for c, p in parents.items()]


def rooted_double_tree_edges(n: int) -> list[Edge]:
    """Return two trees over the ranks 1..n-1, each hung below rank 0."""
    count = n - 1
    rank = (lambda r: n - r) if count % 2 == 0 else (lambda r: r - 1 if r > 1 else count)
    second = {0: 0} | {place: rank(place) for place in range(1, n)}
    parents = _parents(n)
    return [(0, p, c) for c, p in parents.items()] + [(1, second[p], second[c]) for c, p in parents.items()]


def _colours(edges: list[Edge]) -> dict[Edge, int]:
    """Give two colours to the edges so that no rank sends, or takes in, over two of the same colour."""
    colours: dict[Edge, int] = {}
    for seed in edges:
        pending = [] if seed in colours else [(seed, 0)]
        while pending:
            edge, colour = pending.pop()
            if edge in colours:
                assert colours[edge] == colour
                continue
            colours[edge] = colour
            pending += [
                (other, 1 - colour)
                for other in edges
                if other != edge and (other[1] == edge[1] or other[2] == edge[2])
            ]
    return colours


def two_tree_broadcast(edges: list[Edge], size: int, blocks: int) -> Schedule:
    """Send ``blocks`` blocks of half the buffer down each tree, an edge in every other step."""
    colours = _colours(edges)
    roots = {
        tree: next(p for t, p, _ in edges if t == tree and all(c != p for u, _, c in edges if u == tree))
        for tree in (0, 1)
    }
    block = size // (2 * blocks)
    holds = {(tree, child): 0 for tree, _, child in edges} | dict.fromkeys(roots.items(), blocks)
    schedule: Schedule = []
    while any(count < blocks for count in holds.values()):
        step = [
            edge
            for edge in edges
            if colours[edge] == len(schedule) % 2 and holds[edge[0], edge[2]] < holds[edge[0], edge[1]]
        ]
        schedule.append(
            [
                Message(parent, child, *_chunk(tree * size // 2, block, holds[tree, child]))
                for tree, parent, child in step
            ]
        )
        for tree, _, child in step:
            holds[tree, child] += 1
    return schedule
