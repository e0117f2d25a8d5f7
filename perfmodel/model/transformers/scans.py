"""Times of what mixes the tokens of a layer: attention, a scan in its place, the indexer before it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from perfmodel.core import ops
from perfmodel.equations.scans import (
    chunked_scan_flops,
    convolution_flops,
    delta_rule_flops,
    index_flops,
    recurrence_flops,
    scan_time,
    scan_traffic_bytes,
)
from perfmodel.equations.transformer import attended_positions
from perfmodel.equations.transformer_pipeline import time_of_parts
from perfmodel.model.transformers.hybrid import by_type
from perfmodel.model.transformers.job import Job
from perfmodel.model.transformers.parameters import Values
from perfmodel.workloads.scan import DELTA, Scan

STATE_OPERATIONS, DELTA_OPERATIONS = 6, 8
"""FLOP of a scan, and of one by the delta rule, for each state of a token."""
SCORE_BYTES = 8
"""Bytes moved for a score of an indexer: written and read in 32 bits."""


def mixing_times(
    job: Job, p: Values, rates: Any, attention: Callable[[Job, Values, Any], tuple[Any, Any]]
) -> tuple[Any, Any]:
    """Return the times of what mixes tokens, products with weights left out, forward and backward [s].

    Parameters
    ----------
    job, p, rates : of layers that are alike
    attention : computes the times of attention
    """
    model = job.model
    if model.scan is not None:
        return scan_times(job, p, rates)
    if model.mixes is False:
        return 0.0, 0.0
    core, backward = attention(job, p, rates)
    if model.index_heads is None:
        return core, backward
    return tuple(
        time_of_parts(attention=each, indexer=indexer)
        for each, indexer in zip((core, backward), _index_times(job, p, rates), strict=True)
    )  # type: ignore[return-value]


def _mean_width(shares: list[Any], widths: list[Any]) -> Any:
    return sum(share * width for share, width in zip(shares, widths, strict=True))


@partial(by_type, merge=_mean_width)
def context_width(job: Job) -> Any:
    """Return the features of keys, or values, that context parallelism passes on for a token.

    A scan needs all tokens of its heads: two all-to-alls exchange its projections and its output, of which
    a rank holds the share of one of the ranks; half of them count, as keys and values are two.
    """
    model = job.model
    if model.scan is None:
        return model.kv_heads * model.head_size
    exchanged = model.projected_width + model.heads * model.value_size
    return exchanged / (2 * job.layout.context_parallel)


def scan_times(job: Job, p: Values, rates: Any) -> tuple[Any, Any]:
    """Return the times of a scan with its convolution and gate, forward and backward [s]."""
    scan, tensor = job.model.scan, job.layout.tensor_parallel
    assert scan is not None
    inner, keys, heads, convolved = (
        each / tensor for each in (scan.inner, scan.keys, scan.heads, scan.convolved)
    )
    if scan.chunk is not None:
        flops = chunked_scan_flops(inner, keys, scan.state, scan.chunk)
        if scan.follows_delta_rule:
            flops = flops + delta_rule_flops(inner, keys, scan.state, heads, scan.chunk)
        states = inner * scan.state / scan.chunk
    else:
        flops, states = recurrence_flops(inner, scan.state, STATE_OPERATIONS), 0.0
    if scan.taps is not None:
        flops = flops + convolution_flops(convolved, scan.taps)
    moved = scan_traffic_bytes(inner, convolved, states)
    return _both(job, p, rates, flops, moved)


def _index_times(job: Job, p: Values, rates: Any) -> tuple[Any, Any]:
    """Return the times of an indexer's scores and its selection, forward and backward [s]."""
    length = job.sequence_length
    positions = attended_positions(length, length)
    flops = index_flops(positions, job.model.index_heads, job.model.index_size)
    return _both(job, p, rates, flops, SCORE_BYTES * positions)


def _both(job: Job, p: Values, rates: Any, flops: Any, moved: Any) -> tuple[Any, Any]:
    forward = scan_time(job.tokens, flops, moved, rates.attention, rates.elementwise)
    backward = scan_time(
        job.tokens,
        p["flash_backward"] * flops,
        p["element_backward"] * moved,
        rates.attention,
        rates.elementwise,
    )
    return forward, backward


def recurrences(scan: Scan) -> Any:
    """Return the FLOP of a scan for a token, step by step with the convolution, forward."""
    operations = DELTA_OPERATIONS if scan.type in DELTA else STATE_OPERATIONS
    flops = recurrence_flops(ops.number(scan.inner), ops.number(scan.state), operations)
    if not scan.convolution:
        return flops
    return flops + convolution_flops(ops.number(scan.convolved), ops.number(scan.convolution))
