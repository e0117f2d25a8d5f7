"""All-reduce through switches that add: every link of a rank or a switch is its own port."""

from __future__ import annotations

import numpy as np


def switch_tree(
    buffers: np.ndarray, radix: int, blocks: int, delay: float, per_element: float
) -> tuple[np.ndarray, float, int]:
    """Add up a tree of switches and multicast down; return sums, finish, levels.

    A switch sends a block on once it has taken in all of it from all below.
    """
    ranks, size = buffers.shape
    block = size // blocks
    block_time = block * per_element
    result = np.zeros(size)
    finish = 0.0
    widths = [ranks]
    while widths[-1] > 1:
        widths.append(-(-widths[-1] // radix))
    levels = len(widths) - 1
    up_free = [np.zeros(width) for width in widths]
    down_free = [np.zeros(width) for width in widths]
    for b in range(blocks):
        part = slice(b * block, (b + 1) * block)
        values = [row[part].copy() for row in buffers]
        there = np.zeros(ranks)
        for level in range(levels):
            start = np.maximum(there, up_free[level])
            up_free[level] = start + block_time
            arrival = start + block_time + delay
            groups = [range(i, min(i + radix, len(values))) for i in range(0, len(values), radix)]
            values = [sum((values[i] for i in group), np.zeros(block)) for group in groups]
            there = np.array([arrival[list(group)].max() for group in groups])
        result[part] = values[0]
        for level in range(levels - 1, -1, -1):
            at_parent = there[np.arange(widths[level]) // radix]
            start = np.maximum(at_parent, down_free[level])
            down_free[level] = start + block_time
            there = start + block_time + delay
        finish = max(finish, float(there.max()))
    return result, finish, levels


def multicast_switch(
    buffers: np.ndarray, blocks: int, delay: float, per_element: float
) -> tuple[np.ndarray, float, np.ndarray]:
    """One switch that adds what it reads and multicasts what is written; return sums, finish, elements sent.

    Rank i reads the sum of its share of each block, then writes it to all.  Every rank feeds the reads of the
    next block before it writes its share of this one.
    """
    ranks, size = buffers.shape
    part = size // (blocks * ranks)
    part_time = part * per_element
    out_free, in_free, sent = np.zeros(ranks), np.zeros(ranks), np.zeros(ranks)
    result = np.zeros_like(buffers)
    finish = 0.0

    def read(b: int) -> list[tuple[slice, np.ndarray, float]]:
        shares = []
        for i in range(ranks):
            place = slice((b * ranks + i) * part, (b * ranks + i + 1) * part)
            out_free[:] += part_time
            sent[:] += part
            start = max(float(out_free.max()) + delay, in_free[i])
            in_free[i] = start + part_time
            shares.append((place, buffers[:, place].sum(axis=0), float(in_free[i] + delay)))
        return shares

    def write(shares: list[tuple[slice, np.ndarray, float]]) -> float:
        last = 0.0
        for i, (place, value, ready) in enumerate(shares):
            out_free[i] = max(out_free[i], ready) + part_time
            sent[i] += part
            in_free[:] = np.maximum(in_free, out_free[i] + delay) + part_time
            result[:, place] = value
            last = max(last, float(in_free.max()) + delay)
        return last

    waiting = read(0)
    for b in range(1, blocks):
        coming = read(b)
        finish = max(finish, write(waiting))
        waiting = coming
    return result, max(finish, write(waiting)), sent
