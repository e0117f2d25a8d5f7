"""Throughputs of own runs: the unit that a user counts in, and numbers short enough for a table."""

from __future__ import annotations

from perfmodel.core.units import plural, thousands, three_digits
from perfmodel.model.setting.resolve import Setting

LONG = 1e6
"""Rate from which on it is written in thousands or millions."""


def unit_of(setting: Setting, quantity: str) -> tuple[str, int]:
    """Return the unit of a job's throughput, and how many of it a sample has.

    Parameters
    ----------
    setting : of the job
    quantity : that its file has; sequences count as tokens, unless it has ``samples_per_second``
    """
    tokens = setting.workload.sequence_length
    if setting.workload.sample == "sequence" and tokens and quantity != "samples_per_second":
        return "tokens/s", tokens
    return f"{plural(setting.workload.sample, 2)}/s", 1


def rate_number(value: float) -> str:
    """Return a throughput as text without its unit.

    >>> rate_number(14496.2), rate_number(1_234_567)
    ('14,496', '1.23M')
    """
    return three_digits(value) if value < LONG else thousands(value)
