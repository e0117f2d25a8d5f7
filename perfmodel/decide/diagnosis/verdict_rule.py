"""The verdict of a diagnosis: where the measurement lies, and whether nothing is wrong rather than anything.

It is about the job and the machines as they were taken: that they may be others, and nothing wrong, is no
fault.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from perfmodel.decide.diagnosis.answer import DiagnosedCause, Pace, Verdict


def verdict_of(pace: Pace, normal: float, unknown: float, faults: Sequence[float]) -> Verdict:
    """Return the verdict about a measurement, of a job and machines that are as they were taken.

    Parameters
    ----------
    pace : where it lies
    normal, unknown, faults : probabilities that nothing is wrong, of something that no cause names, and of
        the causes that something is wrong; not of those that something was assumed

    Examples
    --------
    >>> verdict_of("slow", 0.2, 0.1, [0.4, 0.3]), verdict_of("slow", 0.34, 0.1, [0.3, 0.26])
    ('slow', 'unclear')
    """
    if pace == "fast":
        return "fast"
    nothing = is_nothing_likeliest(normal, unknown, faults)
    return pace if nothing == (pace == "normal") else "unclear"


def is_nothing_likeliest(normal: float, unknown: float, faults: Sequence[float]) -> bool:
    """Return whether nothing is wrong rather than any one thing; parameters as of ``verdict_of``."""
    return normal >= max(unknown, *faults, 0.0)


def faults_of(causes: Iterable[DiagnosedCause]) -> list[float]:
    """Return the probabilities of the causes that something is wrong."""
    return [cause.probability for cause in causes if not cause.is_assumption]
