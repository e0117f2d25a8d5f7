"""``perfmodel sweep --output DIR/``: progress on the terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as Bar

    from perfmodel.decide.sweeps import Sweep
    from perfmodel.decide.sweeps.data_set import DataSet
    from perfmodel.decide.sweeps.part_files import PartSummary
    from perfmodel.decide.sweeps.running import Progress


def write_folder(answer: Sweep, output: str, jobs: int | None, dask: str | None) -> DataSet:
    """Write a sweep to a folder; an interruption says how to go on."""
    if dask is not None:
        from perfmodel.decide.sweeps.dask_jobs import waiting_words

        click.echo(waiting_words(dask), err=True)
    try:
        with _shown(len(answer)) as progress:
            return answer.to_dataset(output, jobs, dask, progress)
    except (KeyboardInterrupt, SystemExit):
        click.echo(f"{output}: the same command goes on with what is complete there", err=True)
        raise


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
