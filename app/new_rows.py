"""Errors on rows that were new when they were predicted, by kind of job, for the page Validation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

from app.answer_card import Shown
from app.measured_runs import plural_of
from app.plain import markdown, unbroken
from perfmodel.core.sentences import in_a_list
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


def _held(line: Line | None) -> str:
    return "-" if line is None else per_cent(line.today.coverage_80_over_categories or 0.0, 0)


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
                "80 % holds": _held(line),
                "80 % holds of new": _held(new.get(kind)),
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
    most = _percent(max(_of(NEW).values(), key=_off))
    return Shown(f"up to {most}", f"off, by kind of job; of such runs 80 % intervals hold {_held_new()}")


def _held_new() -> str:
    """Return what today's intervals hold of runs with a new accelerator or software, by kind of job."""
    return _range(line.today.coverage_80_over_categories for line in _of(NEW).values())


def where_new_words() -> str:
    """Return the same as a sentence."""
    shown = where_new()
    return f"With an accelerator or software not measured before, plan with {shown.value} {shown.rest}."


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
    return in_a_list(f"“{line.kind}”" for line in lines)


def _compared(new: Sequence[Line]) -> str:
    """Return kinds of job, and how far off they were with an accelerator or software new and known."""
    known = _of(KNOWN)
    errors = (
        _range(line.today.error_over_categories for line in each)
        for each in (new, [known[line.kind] for line in new])
    )
    return f"{_kinds(new)}: {' off instead of '.join(errors)}"


def bullets() -> list[str]:
    """Return what to trust and what not: means over sources, of the best kind of job to the worst."""
    known = _of(KNOWN)
    apart = max((line for kind, line in _of(None).items() if kind not in known), key=_off)
    new = [line for kind, line in _of(NEW).items() if kind in known]
    worse = [line for line in new if _off(line) > _off(known[line.kind])]
    better = [line for line in new if line not in worse]
    experts = max(_of(EXPERTS).values(), key=_off)
    lines = [
        "**Trust most** a job whose accelerator and software were both measured before: "
        f"{_range(line.today.error_over_categories for line in known.values())} off, by kind of job.",
        f"**Trust less** {_kinds([apart])} ({_percent(apart)} off) and mixtures of experts "
        f"({_percent(experts)}, among {_kinds([experts])}).",
    ]
    if worse:
        lines.append(f"**A new accelerator or software was worse** for {_compared(worse)}.")
    if better:
        lines.append(f"**A new one was no worse** for {_compared(better)}.")
    lines.append(
        "**Not known**: the error at the next source. The model was chosen with all of these in view, so "
        "expect more."
    )
    return [unbroken(line) for line in lines]
