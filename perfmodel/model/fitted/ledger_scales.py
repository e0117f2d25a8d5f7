"""Scales of intervals, learned from rows that were new to the model when it predicted them.

The shape of an interval comes from development rows, each source predicted by a fit to the others.  Their
errors are too small nevertheless, since the form of the model was chosen in view of them.  A scale for
each class of jobs comes from the ledger, ``validation/ledger.csv``: errors of shipped versions on rows that
they had not seen.  ``python -m perfmodel.evidence.accuracy.ledger.levels`` writes the
scales, which ``evidence/accuracy/ledger/ledger.py`` computes, and the levels of errors that jobs of
one source share.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from perfmodel.core import ops
from perfmodel.core.units import per_cent, plural

RESULT = Path(__file__).parent / "evidence.json"
TRANSFORMERS, COLLECTIVES, DATA_PARALLEL = "transformers", "collectives", "data parallel"
"""Kinds of predictions."""
KNOWN, NEW, EXPERTS = "known", "new", "experts"
"""Classes of jobs: software and accelerator were measured; one of them was not; mixtures of experts."""
SEVERAL, ONE, SMALL = "several nodes", "one node", "below 1 MiB"
"""Classes of collectives."""
TOGETHER, ANCHORED = "several accelerators", "anchored"
"""Classes of data-parallel jobs: on several accelerators, of measured software; and those that start from a
measured run on one accelerator."""
YEAR = "framework year"
"""Name of the option for software stated without a year."""
REPEAT = 0.02
"""Standard deviation of the logarithm of a time when the same job is measured again (assumed)."""
FREEDOM = 4.0
"""Weight of a learned variance, and of the variance of repeats, as a number of runs (assumed)."""
FEW = 5
"""Number of sources below which a scale is called rough."""


def sources_for(confidence: float) -> int:
    """Return the sources that a confidence takes.

    The largest of n errors bounds a new one in n of n + 1 cases.

    >>> sources_for(0.95), sources_for(0.8)
    (19, 4)
    """
    return math.ceil(round(confidence / (1 - confidence), 6))


FOR_95 = sources_for(0.95)
"""Sources needed for a 95 % interval."""


def repeat_noise(squares: float, count: int) -> float:
    """Return the standard deviation of the logarithm of a time when the same job is measured again.

    Parameters
    ----------
    squares : sum of the squared deviations of ``count`` repeats from their mean

    >>> round(repeat_noise(0.0, 1), 6)
    0.02
    """
    return math.sqrt((FREEDOM * REPEAT**2 + squares) / (FREEDOM + count - 1))


class Scale(NamedTuple):
    """Factor on the half-widths of a class of jobs, in log time; for many jobs both fields are arrays."""

    factor: float
    sources: int
    """Number of sources in the ledger; with few, the factor is close to that of all classes."""

    @property
    def words(self) -> str:
        """The number of sources behind the scale, as text.

        >>> Scale(2.0, 1).words, Scale(2.0, 9).words
        ('1 source says so: rough', '9 sources say so')
        """
        return f"{sources_words(self.sources, 'so')}{': rough' if self.sources < FEW else ''}"

    @property
    def no_95(self) -> str | None:
        """Why no interval of 95 % is stated; None if one is.

        >>> Scale(2.0, 12).no_95, Scale(2.0, 19).no_95
        ('12 sources say how far off such jobs are; 95 % needs 19 sources', None)
        """
        if self.sources >= FOR_95:
            return None
        return f"{sources_words(self.sources)}; 95 % needs {FOR_95} sources"

    def ends(self, time: Any, factor_80: Any, factor_95: Any) -> dict[str, Any]:
        """Return the ends of both intervals by name; None (NaN in arrays) for intervals that are not stated.

        Parameters
        ----------
        time : predicted [s]
        factor_80, factor_95 : errors up or down, as factors, with 80 and 95 % confidence
        """
        ends = {"low_80": time / factor_80, "high_80": time * factor_80, "low_95": None, "high_95": None}
        stated: Any = self.sources >= FOR_95
        if stated is False:
            return ends
        far = ops.where(stated, factor_95, math.nan)
        return ends | {"low_95": time / far, "high_95": time * far}


def sources_words(count: int, what: str = "how far off such jobs are") -> str:
    """Return how many published sources say something, as text.

    >>> sources_words(1), sources_words(0, "so")
    ('1 source says how far off such jobs are', 'no source says so')
    """
    return f"{count or 'no'} {plural('source', count or 1)} {'say' if count > 1 else 'says'} {what}"


@cache
def _scales() -> Mapping[tuple[str, str], Scale]:
    """Return the ledger's scales by kind of prediction and class of jobs."""
    table = json.loads(RESULT.read_text("utf-8"))["scales"]
    return {
        (kind, each): Scale(of["factor"], of["sources"])
        for kind, classes in table.items()
        for each, of in classes.items()
    }


def scale_of(kind: str, job: str) -> Scale:
    """Return the scale of a class of jobs.

    >>> scale_of(TRANSFORMERS, KNOWN).factor > 1
    True
    """
    return _scales()[kind, job]


def reason(words: str, factor: float, scale: Scale | None = None) -> str:
    """Return the reason for a wider interval as text, with its factor and the sources of its scale.

    >>> reason("no measured run on x1", 1.81, Scale(2.0, 6))
    'no measured run on x1 (x1.8; 6 sources say so)'
    """
    return f"{words} (x{factor:.1f}{f'; {scale.words}' if scale else ''})"


class Open(NamedTuple):
    """The widening of an interval by an option left to its default; numbers or arrays."""

    option: str
    factor: Any
    """Factor by which the interval is wider, in log time."""
    narrows: Any
    """Share by which it narrows once the option is stated."""
    deviation: float
    """Standard deviation of the logarithm of time due to the default."""
    sources: int
    """Number of sources whose published jobs determine it."""

    @property
    def words(self) -> str:
        """A note that names the option and by how much stating it narrows the interval.

        >>> Open("framework", 1.25, 0.2, 0.21, 20).words
        '--framework is left to its default; stated, the interval is 20 % narrower'
        """
        left = (
            "--framework states no year" if self.option == YEAR else f"--{self.option} is left to its default"
        )
        return f"{left}; stated, the interval is {per_cent(float(self.narrows), 0)} narrower"


def left_open(kind: str, options: Mapping[str, Any], spread: Any) -> list[Open]:
    """Return the widening of the interval by each option that a job leaves to its default.

    The variances of the defaults add to that of a job with all options stated.

    Parameters
    ----------
    kind : of the prediction
    options : names, or ``YEAR`` -> whether each is left to its default, a number or an array
    spread : standard deviation of ln(measured / predicted) of a job with all options stated, number or array

    >>> framework, = left_open(DATA_PARALLEL, {"framework": True}, 0.2)
    >>> framework.factor > 1 and round(framework.factor * (1 - framework.narrows), 9) == 1
    True
    """
    table, before, result = _option_facts()[kind], spread**2, []
    variances = _variances(kind, options)
    whole = before + sum(variances.values())
    for option, variance in variances.items():
        fact = table[option]
        factor = ops.sqrt((before + variance) / before)
        narrows = 1 - ops.sqrt((whole - variance) / whole)
        result.append(Open(option, factor, narrows, fact["deviation"], len(fact["sources"])))
        before = before + variance
    return result


def wider_by_open(kind: str, options: Mapping[str, Any], spread: Any) -> Any:
    """Return the factor by which all options left to their defaults widen a job's interval together.

    Parameters as for ``left_open``.

    >>> framework, = left_open(DATA_PARALLEL, {"framework": True}, 0.2)
    >>> wider_by_open(DATA_PARALLEL, {"framework": True}, 0.2) == framework.factor
    True
    """
    variance = spread**2
    return ops.sqrt((variance + sum(_variances(kind, options).values())) / variance)


def _variances(kind: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the variance that each option left to its default adds, by option."""
    table = _option_facts()[kind]
    known = [(option, is_open) for option, is_open in options.items() if option in table]
    return {option: table[option]["deviation"] ** 2 * is_open for option, is_open in known}


def worth_stating(kind: str) -> list[str]:
    """Return the options that narrow the interval of a kind of prediction if they are stated."""
    return list(_option_facts()[kind])


@cache
def _option_facts() -> Mapping[str, Mapping[str, Any]]:
    """Return the learned deviations of options left to their defaults, by kind of prediction and option."""
    table: Mapping[str, Mapping[str, Any]] = json.loads(RESULT.read_text("utf-8"))["facts"]
    return table


@cache
def levels_of(kind: str) -> Mapping[str, Any]:
    """Return the variance levels of errors of a kind of prediction, and the same ``without`` each source."""
    table: Mapping[str, Any] = json.loads(RESULT.read_text("utf-8"))["levels"][kind]
    return table
