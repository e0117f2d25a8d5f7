"""``perfmodel validate --leave-out`` and ``--learning-curve``: rows judged by fits without them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from perfmodel.interfaces.cli.export import show_rows

if TYPE_CHECKING:
    from perfmodel.evidence.fitting.leave_out import LeaveOut
    from perfmodel.interfaces.cli.export import Form

LEGEND = """of: categories left out in turn, or the sources judged where one fit judges
all; none where fewer than three sources are left to fit to.  80, 95: percent
of rows inside that interval, then its mean over categories.  error: mean and
median of rows in percent.  width: median half-width of 80 % intervals in log
time.  score: of 80 % intervals in log time (Winkler), mean over categories."""


def leave_out(tests: tuple[str, ...], curve: bool, write: str | None, jobs: int, form: Form | None) -> None:
    """Run leave-out tests; print what each says, and write it.

    Parameters
    ----------
    tests : what is left out in each
    curve : whether the learning curve is among them
    write : CSV file whose lines of the same tests are replaced
    jobs : processes that fit
    form : to print; None: tables for people

    Raises
    ------
    InputError : an unknown test, a file that cannot be written
    """
    from perfmodel.core.files.writing import check_writable
    from perfmodel.evidence.accuracy.leave_out import check_test
    from perfmodel.evidence.accuracy.report.leave_out_file import write_lines

    for test in tests:
        check_test(test)
    if write is not None:
        check_writable(Path(write))
    from perfmodel.evidence.fitting.leave_out import evidence_of_all_kinds, run_test

    evidence = evidence_of_all_kinds(jobs) if tests else []
    answers = [run_test(test, evidence) for test in dict.fromkeys(tests)]
    if curve:
        from perfmodel.evidence.fitting.learning_curve import learning_curve

        answers.append(learning_curve(jobs))
    lines = [line for answer in answers for line in answer.records()]
    if form == "json":
        click.echo(json.dumps([answer.to_dict() for answer in answers], allow_nan=False))
    elif form is not None:
        show_rows(lines, form)
    else:
        for answer in answers:
            _show(answer)
        click.echo(LEGEND)
    if write is not None:
        write_lines(Path(write), lines)
        click.echo(f"wrote {write}", err=True)


def _show(answer: LeaveOut) -> None:
    from rich.text import Text

    from perfmodel.evidence.accuracy.report.leave_out_file import title
    from perfmodel.interfaces.cli.render import console, table

    out = console()
    out.print(Text(title(answer.test)), style="bold")
    heads = ("by", "of", "rows", "80", "mean", "95", "mean", "error", "med", "width", "score")
    shown = table("", *heads, left=2)
    shown.padding = (0, 1, 0, 0)
    kind = None
    for each in answer.summaries:
        if kind not in (None, each.kind):
            shown.add_section()
        held = (
            each.coverage_80,
            each.coverage_80_over_categories,
            each.coverage_95,
            each.coverage_95_over_categories,
        )
        percents = ["-" if of is None else f"{of:.0%}" for of in (*held, each.mean_error, each.median_error)]
        widths = ["-" if of is None else f"{of:.2f}" for of in (each.half_width, each.score)]
        counts = str(each.categories), str(each.rows)
        shown.add_row("" if each.kind == kind else each.kind, each.by, *counts, *percents, *widths)
        kind = each.kind
    out.print(shown)
