"""The default global batch of a transformer with a layout."""

from __future__ import annotations

import math

TOKENS_OF_A_STEP = 4e6
"""Tokens of a step: those of Llama 2 from 7 to 70 billion parameters (Touvron et al. 2023, table 1)."""


def usual_batch(
    world_size: int, sequence_length: int, most: float = math.inf, tokens: float = TOKENS_OF_A_STEP
) -> int:
    """Return the samples that hold about so many tokens: a power of two times the odd part of the job.

    Published batches are powers of two (4 M tokens are 1,024 sequences of 4,096), which divide among the
    replicas and micro-batches of any layout on a power of two accelerators; 24 accelerators need a factor of
    three in the batch.  The nearest in ratio is taken.

    Parameters
    ----------
    world_size : accelerators of the job
    sequence_length : tokens of a sample
    most : largest number of samples
    tokens : of a step

    Examples
    --------
    Samples of 8,192 tokens: 4.2 M of them on 64 accelerators, 3.1 M on 24.

    >>> usual_batch(64, 8192), usual_batch(24, 8192), usual_batch(64, 8192, most=300)
    (512, 384, 256)
    """
    samples = tokens / sequence_length
    odd = world_size // (world_size & -world_size)
    if odd > min(samples, most):
        odd = 1
    power = max(0, round(math.log2(samples / odd)))
    if odd * 2**power > most:
        power = max(0, math.floor(math.log2(most / odd)))
    return int(odd * 2**power)
