"""Whether a measured time is so far from the specs that its unit was meant otherwise."""

from __future__ import annotations

from perfmodel.core.units import rate, show
from perfmodel.model.setting.anchor import parse_anchor

FAR = 10.0
"""Times as long or short as the specs say, which no measured run of a catalogue's hardware comes near."""
SLIP = 1000.0
"""Between a unit and the next."""


def slip_note(text: str, ratio: float) -> str | None:
    """Return what is doubted of an anchor; None where it is near enough to what the specs say.

    Parameters
    ----------
    text : as it was written
    ratio : time measured over the time that the specs say

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
    said = (
        f"{times} what the specs say" if ratio > 1 else f"1/{times.partition(' ')[0]} of what the specs say"
    )
    meant = anchor.value / SLIP if ratio > 1 else anchor.value * SLIP
    near = 1 / FAR <= ratio * meant / anchor.value <= FAR
    doubt = f"{show(meant, 's')}?" if near else "check its unit and batch"
    return f"{written} is {said}; {doubt}"
