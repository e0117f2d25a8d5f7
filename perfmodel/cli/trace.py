"""``perfmodel trace``: what a profiler saw."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from perfmodel.cli.export import export_options, show_rows, take_form
from perfmodel.cli.options import option_of
from perfmodel.errors import InputError
from perfmodel.fitting.sources import Sources
from perfmodel.specs.options import declared

if TYPE_CHECKING:
    from pathlib import Path

    from perfmodel.traces.device_trace import DeviceTrace
    from perfmodel.traces.nccl_tests import Timings

_SKIP = declared(Sources)["skip"]
LARGE = 20 << 20
"""Bytes of a file from which a progress bar is shown."""


@click.group("trace")
def command() -> None:
    """What happened in a step, from a file of PyTorch Profiler, Nsight Systems or nccl-tests."""


@command.command("summary")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--accelerator", multiple=True, help="What the GPUs are, where the file does not say.")
@option_of(_SKIP, default=0)
@export_options
def summary_command(files: tuple[str, ...], accelerator: tuple[str, ...], skip: int, **options: Any) -> None:
    """Computation, exposed and hidden communication, input and idling of each device; a folder is all ranks.

    A report of Nsight Systems is exported first, by ``nsys export --type sqlite``.

    \b
    Example:
      perfmodel trace summary my_trace.json
    """
    from perfmodel.specs.store import Catalogue
    from perfmodel.traces.summary import summary

    form = take_form(options)
    accelerator = tuple(Catalogue.built_in().accelerator(name).id for name in accelerator)
    traces, timings = read_all(files)
    report: dict[str, Any] = summary(traces, skip, accelerator)
    if timings:
        report["nccl_tests"] = [timing.rows and _timing(timing) for timing in timings]
    if form == "json":
        click.echo(json.dumps(report, allow_nan=False))
        return
    if form is not None:
        show_rows(
            ({k: v for k, v in device.items() if k != "collectives"} for device in report["devices"]), form
        )
        return
    from perfmodel.cli.trace_render import show_summary

    show_summary(report)


@command.command("diff")
@click.argument("first", metavar="MEASURED")
@click.argument("second", metavar="PREDICTED")
@option_of(_SKIP, default=0, help="Steps of the first to leave out.")
@export_options
def diff_command(first: str, second: str, skip: int, **options: Any) -> None:
    """Two traces side by side, a step's part by part: a measured one, and one of ``predict --timeline``.

    \b
    Example:
      perfmodel trace diff my_trace.json step.json
    """
    from perfmodel.traces.diff import difference

    form = take_form(options)
    sides = [read_all((name,))[0] for name in (first, second)]
    for name, traces in zip((first, second), sides, strict=True):
        if not traces:
            raise InputError(f"{name}: times of messages, and no trace of a step")
    rows = difference(sides[0], sides[1], skip)
    if form == "json":
        click.echo(json.dumps({"parts": rows}, allow_nan=False))
        return
    if form is not None:
        show_rows(rows, form)
        return
    from perfmodel.cli.trace_render import show_difference

    show_difference(rows)


def _timing(timings: Timings) -> dict[str, Any]:
    return {
        "file": timings.file,
        "group_size": timings.group_size,
        "collective": timings.collective,
        "rows": [row._asdict() for row in timings.rows],
    }


def read_all(names: tuple[str, ...]) -> tuple[list[DeviceTrace], list[Timings]]:
    """Read every file, with a progress bar on the terminal's error stream for large ones.

    Raises
    ------
    InputError : a file that cannot be read or is none of the kinds
    """
    from perfmodel.traces import read

    return read.read_all(names, lambda path: _read(path, read.read_trace))


def _read(path: Path, read: Any) -> Any:
    if path.stat().st_size < LARGE:
        return read(path)
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(path.name, total=path.stat().st_size)
        return read(path, lambda position: bar.update(task, completed=position))
