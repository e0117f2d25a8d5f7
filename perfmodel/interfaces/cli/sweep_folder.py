"""``perfmodel sweep --output DIR/``: progress on the terminal, and a summary at the end."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as Bar

    from perfmodel.decide.sweeps import Sweep
    from perfmodel.decide.sweeps.part_files import PartSummary
    from perfmodel.decide.sweeps.running import Progress

MOST_REASONS = 3
"""Reasons for refusals that are shown."""


def is_folder(output: str) -> bool:
    """Whether a name is that of a folder: one that is there, or ends in a slash."""
    return output.endswith(("/", os.sep)) or os.path.isdir(output)


def write_folder(result: Sweep, output: str, jobs: int | None, dask: str | None, as_json: bool) -> None:
    """Write a sweep to a folder and print a summary; an interruption says how to go on."""
    import json

    from perfmodel.core.units import show

    if dask is not None:
        from perfmodel.decide.sweeps.dask_jobs import waiting_words

        click.echo(waiting_words(dask), err=True)
    try:
        with _shown(len(result)) as progress:
            answer = result.to_dataset(output, jobs, dask, progress)
    except (KeyboardInterrupt, SystemExit):
        click.echo(f"{output}: the same command goes on with what is complete there", err=True)
        raise
    if as_json:
        summary = {"output": output, "rows_written": answer.rows, **result.summary()}
        kept = ("parts", "continued", "seconds", "peak_bytes")
        click.echo(json.dumps(summary | {name: getattr(answer, name) for name in kept}))
        return
    parts = f"{answer.parts:,} part{'s' if answer.parts > 1 else ''}"
    click.echo(f"{answer.rows:,} of {answer.scenarios:,} scenarios written to {output} in {parts}")
    if answer.continued:
        click.echo(f"{answer.continued:,} of the parts were there already")
    most = f", at most {show(answer.peak_bytes, 'B')} of memory in a process" if answer.peak_bytes else ""
    click.echo(f"{show(answer.seconds, 's')}{most}")
    for line in (*notes_of(result), *refusals_of(result)):
        click.echo(line)


@contextmanager
def _shown(scenarios: int) -> Iterator[Progress]:
    """Give what takes each complete part, and shows on a terminal how far the sweep is."""
    from perfmodel.decide.sweeps.running import silent

    if not sys.stderr.isatty():
        yield silent
        return
    from rich.console import Console

    with bar_on(Console(stderr=True)) as bar:
        task = bar.add_task("", total=scenarios, rate="")

        def advance(part: PartSummary | None, count: int) -> None:
            if part is None:  # what an earlier run completed tells nothing of this one's pace
                bar.reset(task, total=scenarios, completed=count)
                return
            bar.update(task, advance=count)
            speed = bar.tasks[0].speed
            bar.update(task, rate=f"{speed:,.0f}/s" if speed else "")

        yield advance


def bar_on(console: Console) -> Bar:
    """Return a bar with scenarios done and in all, how many a second, and the time that is left.

    A billion scenarios have room in 80 columns.
    """
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    return Bar(
        BarColumn(bar_width=16),
        TextColumn("{task.completed:,.0f} of {task.total:,.0f}"),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        TextColumn("left"),
        console=console,
        transient=True,
    )


def notes_of(result: Sweep) -> list[str]:
    """Return what names that fit several things were taken to be, a line each."""
    return [f"note: {note}" for note in result.notes]


def refusals_of(result: Sweep) -> list[str]:
    """Return lines about the scenarios that cannot be, with the reasons of most of them."""
    total = sum(result.refused.values())
    if not total:
        return []
    most = sorted(result.refused.items(), key=lambda item: -item[1])
    lines = [f"left out: {total:,} scenarios, that cannot be"]
    lines += [f"  {count:,}: {reason}" for reason, count in most[:MOST_REASONS]]
    if len(most) > MOST_REASONS:
        lines.append(f"  and {len(most) - MOST_REASONS} more reasons")
    return lines
