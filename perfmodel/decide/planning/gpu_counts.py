"""The GPU counts on which a search tries plans."""

from perfmodel.core.choices import LARGEST_WORLD_SIZE

LARGEST_COUNTS = 8
"""GPU counts tried because they divide a given global batch (a choice)."""


def doubled(max_gpus: int, held: int) -> tuple[int, ...]:
    """Return the GPU counts on which layouts are tried: powers of two, 1.5 times each, and the maximum.

    >>> doubled(64, 8), doubled(40, 8)
    ((1, 2, 4, 8, 16, 24, 32, 48, 64), (1, 2, 4, 8, 16, 24, 32, 40))
    """
    part = [2**i for i in range(held.bit_length()) if 2**i < held]
    octaves = range(1, LARGEST_WORLD_SIZE.bit_length())
    nodes = (count for octave in octaves for count in (2**octave, 3 * 2 ** (octave - 1)))
    offered = (*part, held, *(held * count for count in nodes), max_gpus // held * held)
    return tuple(sorted({n for n in offered if 0 < n <= max_gpus}))


def dividing(global_batch_size: int, max_gpus: int, held: int) -> tuple[int, ...]:
    """Return the largest GPU counts that divide a given global batch and are no powers of two.

    Only whole machines, at most ``LARGEST_COUNTS``: for each odd divisor of the batch its largest multiple by
    a power of two.

    >>> dividing(480, 256, 8), dividing(512, 256, 8)
    ((160, 192, 240), ())
    """
    counts = set()
    for odd in range(3, min(global_batch_size, max_gpus) + 1, 2):
        if global_batch_size % odd == 0:
            count = odd * 2 ** ((max_gpus // odd).bit_length() - 1)
            counts.add(count if count % held == 0 else 0)
    return tuple(sorted(counts - {0})[-LARGEST_COUNTS:])


def sized(max_gpus: int, held: int) -> tuple[int, ...]:
    """Return the GPU counts to try on machines of ``held``: powers of two within one, then whole machines.

    Every count of machines up to 32, then sixteen counts per octave, so that the nearest is at most 1/16 off.

    >>> sized(40, 8)
    (1, 2, 4, 8, 16, 24, 32, 40)
    >>> sized(100, 1)[29:36]
    (30, 31, 32, 34, 36, 38, 40)
    """
    part = [2**i for i in range(held.bit_length()) if 2**i < held]
    counts, nodes = [], 1
    while nodes <= LARGEST_WORLD_SIZE and nodes * held <= max_gpus:
        counts.append(nodes * held)
        nodes += max(1, 2 ** (nodes.bit_length() - 5))
    return tuple(n for n in (*part, *counts) if n <= max_gpus)
