"""Detection of anchors whose unit is probably wrong, as they are far from the specs."""

from __future__ import annotations

from perfmodel.core.units import rate, show
from perfmodel.model.setting.anchor import parse_anchor

FAR = 10.0
"""Ratio of measured and predicted time that no measured run of the catalogue's hardware reaches."""
SLIP = 1000.0
"""Ratio of a unit and the next."""


def slip_note(text: str, ratio: float) -> str | None:
    """Return a warning of an implausible anchor; None if it is near the prediction from specs.

    Parameters
    ----------
    text : the anchor as written
    ratio : measured time over the time predicted from specs

    >>> slip_note("iteration_time=145@1", 1450.0)
    '145 s is 1,450 times what the specs say; 145 ms?'
    >>> slip_note("samples_per_second=20@1", 30.0)
    '--anchor samples_per_second=20@1 is 30 times as slow as the specs say; check its unit and batch'
    """
    if 1 / FAR <= ratio <= FAR:
        return None
    anchor = parse_anchor(text)
    times = f"{rate(float(f'{max(ratio, 1 / ratio):.3g}'))} times"
    if anchor.quantity != "iteration_time":
        how = "slow" if ratio > 1 else "fast"
        return f"--anchor {text.strip()} is {times} as {how} as the specs say; check its unit and batch"
    written = f"{float(f'{anchor.value:.3g}'):,g} s" if anchor.value >= 1 else show(anchor.value, "s")
    comparison = (
        f"{times} what the specs say" if ratio > 1 else f"1/{times.partition(' ')[0]} of what the specs say"
    )
    meant = anchor.value / SLIP if ratio > 1 else anchor.value * SLIP
    near = 1 / FAR <= ratio * meant / anchor.value <= FAR
    doubt = f"{show(meant, 's')}?" if near else "check its unit and batch"
    return f"{written} is {comparison}; {doubt}"
