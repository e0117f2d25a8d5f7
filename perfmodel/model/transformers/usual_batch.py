"""The samples of a step of a transformer that is shared out, where nobody says how many."""

from __future__ import annotations

import math

TOKENS_OF_A_STEP = 4e6
"""Of a transformer that is shared out: those of Llama 2 from 7 to 70 billion parameters (Touvron et al. 2023,
table 1)."""


def usual_batch(world_size: int, sequence_length: int, most: float = math.inf) -> int:
    """Return the samples that hold about ``TOKENS_OF_A_STEP``: a power of two times the odd part of the job.

    Published batches are powers of two (4 M tokens are 1,024 sequences of 4,096), which divide among replicas
    and micro-batches in every way that a job of a power of two can be shared out; a job of 24 accelerators
    can be so only in batches with a factor of three.  The nearest in ratio is taken.

    Parameters
    ----------
    world_size : accelerators of the job
    sequence_length : tokens of a sample
    most : samples that no batch exceeds

    Examples
    --------
    Samples of 8,192 tokens: 4.2 M of them on 64 accelerators, 3.1 M on 24.

    >>> usual_batch(64, 8192), usual_batch(24, 8192), usual_batch(64, 8192, most=300)
    (512, 384, 256)
    """
    samples = TOKENS_OF_A_STEP / sequence_length
    odd = world_size // (world_size & -world_size)
    if odd > min(samples, most):
        odd = 1
    power = max(0, round(math.log2(samples / odd)))
    if odd * 2**power > most:
        power = max(0, math.floor(math.log2(most / odd)))
    return int(odd * 2**power)
