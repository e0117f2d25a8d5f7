"""Errors on rows that were new when they were predicted, by kind of job, for the page Validation."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from app.answer_card import Shown
from app.measured_runs import plural_of
from app.plain import markdown, unbroken
from perfmodel.core.units import per_cent
from perfmodel.evidence.accuracy.ledger.ledger import Line, lines
from perfmodel.model.fitted.ledger_scales import EXPERTS, KNOWN, NEW


@cache
def _lines() -> tuple[Line, ...]:
    return tuple(lines())


def _of(job: str | None) -> dict[str, Line]:
    """Return kind -> its line for one class of jobs, None for all classes."""
    return {line.kind: line for line in _lines() if line.job == job}


def _errors(line: Line | None) -> str:
    return "-" if line is None else _percent(line)


def table() -> str:
    """Return error and coverage of new rows by kind of job, means over sources, in Markdown."""
    known, new = _of(KNOWN), _of(NEW)
    return markdown(
        [
            {
                "job, with sources and runs": f"{line.kind}: {plural_of(line.today.categories, 'source')}, "
                f"{plural_of(line.today.rows, 'run')}",
                "off by": _errors(line),
                "known": _errors(known.get(kind)),
                "new": _errors(new.get(kind)),
                "80 % holds": per_cent(line.today.coverage_80_over_categories or 0.0, 0),
            }
            for kind, line in _of(None).items()
        ]
    )


def _range(shares: Iterable[float | None]) -> str:
    """Return the least and the most of shares, in whole per cent.

    >>> _range([0.74, 1.0]), _range([0.453])
    ('74 to 100 %', '45 %')
    """
    known = sorted(share for share in shares if share is not None)
    return f"{' to '.join(dict.fromkeys(f'{100 * share:.0f}' for share in (known[0], known[-1])))} %"


def _off(line: Line) -> float:
    """Return the mean over sources of their mean errors."""
    return line.today.error_over_categories or 0.0


def _percent(line: Line) -> str:
    return per_cent(_off(line), 0)


def where_new() -> Shown:
    """Return how far off jobs of a new accelerator or software were, and what their intervals held."""
    new = list(_of(NEW).values())
    held = _range(line.today.coverage_80_over_categories for line in new)
    return Shown(f"up to {_percent(max(new, key=_off))}", f"off, by kind of job; 80 % intervals held {held}")


def where_new_words() -> str:
    """Return the same as a sentence."""
    shown = where_new()
    return f"With an accelerator or software not measured before: {shown.value} {shown.rest}."


def bullets() -> list[str]:
    """Return what to trust and what not: means over sources, of the best kind of job to the worst."""
    every = _of(None).values()
    known = _range(line.today.error_over_categories for line in _of(KNOWN).values())
    new, experts = (_percent(max(_of(job).values(), key=_off)) for job in (NEW, EXPERTS))
    whole = [line for kind, line in _of(None).items() if kind not in _of(KNOWN)]
    apart = max(whole, key=_off)
    stated, today = (
        _range(summary.coverage_80_over_categories for summary in summaries)
        for summaries in ((line.stated for line in every), (line.today for line in every))
    )
    lines = [
        f"**Trust most** a job whose accelerator and software were both measured before: {known} off, by "
        "kind of job.",
        f"**Trust less** a new accelerator or software (up to {new} off), mixtures of experts ({experts}) "
        f"and {apart.kind.replace(',', '')} ({_percent(apart)}).",
        f"**Intervals were too narrow**: as first stated they held {stated} of a new source's runs, by kind "
        f"of job. They are wider now and would have held {today}.",
        "**Not known**: the error at the next source. The model was chosen with all of these in view, so "
        "expect more.",
    ]
    return [unbroken(line) for line in lines]
