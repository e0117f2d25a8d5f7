"""Errors on rows that were new when they were predicted, by kind of job, for the page Validation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

from app.answer_card import Shown
from app.measured_runs import plural_of, whole
from app.plain import markdown, unbroken
from perfmodel.core.sentences import NO_BREAK, in_a_list
from perfmodel.core.units import per_cent
from perfmodel.evidence.accuracy import Row
from perfmodel.evidence.accuracy.ledger.ledger import Line, lines
from perfmodel.evidence.accuracy.report.error_statistics import statistics
from perfmodel.model.fitted.ledger_scales import EXPERTS, KNOWN, NEW

COLUMNS = ("kind of job (sources)", "off by (new)", "80 % intervals held (new)")
TOO_NARROW = 0.7
"""Share of runs inside 80 % intervals below which they are called too narrow (a choice)."""


@cache
def _lines() -> tuple[Line, ...]:
    return tuple(lines())


def _of(job: str | None) -> dict[str, Line]:
    """Return kind -> its line for one class of jobs, None for all classes."""
    return {line.kind: line for line in _lines() if line.job == job}


def _name(line: Line) -> str:
    """Return the kind of job of a line in short: from specs, where it does not say otherwise."""
    return line.kind.replace(", from specs", "")


def _if_new(others: str, new: str | None) -> str:
    """Return a number of jobs, and in parentheses that of jobs with a new accelerator or software."""
    return others if new is None else f"{others} ({new})"


def _held(line: Line) -> str:
    """Return the share of runs inside their intervals, in bold where that is far below 80 %."""
    share = line.today.coverage_80_over_categories or 0.0
    words = whole(share).replace(" ", NO_BREAK)
    return words if share >= TOO_NARROW else f"**{words}: too narrow**"


def table(above: Sequence[Row]) -> str:
    """Return error and coverage by kind of job, of new rows, means over sources, in Markdown.

    Parameters
    ----------
    above : rows of the page's mean error, which are the first line
    """
    known, new, errors = _of(KNOWN), _of(NEW), statistics(above)
    rows = [
        (
            f"**All runs above, by today's model** ({errors['sources']})",
            whole(errors["mean_over_sources"]),
            whole(errors["coverage_80_over_sources"]),
        )
    ]
    for line in _of(None).values():
        before, other = known.get(line.kind, line), new.get(line.kind)
        rows.append(
            (
                f"{_name(line)} ({line.today.categories})",
                _if_new(_percent(before), other and _percent(other)),
                _if_new(_held(before), other and _held(other)),
            )
        )
    return markdown([dict(zip(COLUMNS, row, strict=True)) for row in rows])


def another_test(mean_error: str) -> str:
    """Return why the lines below the first of ``table`` do not add up to it."""
    return (
        f"A harder test than that of the {mean_error} above: each run was predicted by the version of its "
        "day, before any had learned from it, and other kinds of job are here too. New: the accelerator or "
        "the software had not been measured before; of such kinds the figure in front is of jobs where both "
        "had."
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
    most = _percent(max(_of(NEW).values(), key=_off))
    return Shown(f"up to {most}", f"off, by kind of job; their 80 % intervals held {_held_new()}")


def _held_new() -> str:
    """Return what today's intervals hold of runs with a new accelerator or software, by kind of job."""
    return _range(line.today.coverage_80_over_categories for line in _of(NEW).values())


def history() -> str:
    """Return what intervals held of new runs as first stated, and what those of today would have held."""
    every = _of(None).values()
    stated, today = (
        _range(summary.coverage_80_over_categories for summary in summaries)
        for summaries in ((line.stated for line in every), (line.today for line in every))
    )
    return unbroken(
        f"As first stated, 80 % intervals held {stated} of a new source's runs, by kind of job: they were "
        f"too narrow. They are wider now and would have held {today}, as the table has it; of runs with a "
        f"new accelerator or software alone, {_held_new()}."
    )


def _kinds(lines: Iterable[Line]) -> str:
    """Return kinds of job as the table names them, in quotes."""
    return in_a_list(f"“{_name(line)}”" for line in lines)


def _where_worse() -> str:
    """Return in how many kinds of job a new accelerator or software was worse, and how much."""
    known = _of(KNOWN)
    new = [line for kind, line in _of(NEW).items() if kind in known]
    worse = [line for line in new if _off(line) > _off(known[line.kind])]
    errors = (
        _range(line.today.error_over_categories for line in each)
        for each in (worse, [known[line.kind] for line in worse])
    )
    kinds = f"{len(worse)} of {plural_of(len(new), 'kind')} of job"
    return f"{kinds}: {' off instead of '.join(errors)}" if worse else f"none of {kinds}"


def lean(rows: Sequence[Row]) -> list[str]:
    """Return which way most far misses of runs go, in a sentence; none without any, or where they go both.

    Parameters
    ----------
    rows : the runs of the page, each predicted
    """
    errors = [row.error for row in rows if row.error is not None]
    fast, slow = sum(error < -0.5 for error in errors), sum(error > 1 for error in errors)
    if fast == slow:
        return []
    way = "fast" if fast > slow else "slow"
    return [
        f"**Most far misses are too {way}**: {fast:,} of {len(rows):,} runs took over twice as long as "
        f"predicted, {slow:,} less than half as long."
    ]


def bullets(rows: Sequence[Row]) -> list[str]:
    """Return what to trust and what not: means over sources, of the best kind of job to the worst.

    Parameters
    ----------
    rows : as of ``lean``
    """
    known = _of(KNOWN)
    apart = max((line for kind, line in _of(None).items() if kind not in known), key=_off)
    experts = max(_of(EXPERTS).values(), key=_off)
    lines = [
        "**Trust most** a job whose accelerator and software were both measured before: "
        f"{_range(line.today.error_over_categories for line in known.values())} off, by kind of job.",
        f"**Trust less** {_kinds([apart])} ({_percent(apart)} off) and mixtures of experts "
        f"({_percent(experts)}, among {_kinds([experts])}).",
        f"**A new accelerator or software was worse** for {_where_worse()}.",
        *lean(rows),
        "**Not known**: the error at the next source. The model was chosen with all of these in view, so "
        "expect more.",
    ]
    return [unbroken(line) for line in lines]
