"""``perfmodel trace``: what a profiler saw."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from perfmodel.core.errors import refusal
from perfmodel.core.records.options import declared
from perfmodel.hardware.calibration_sources import Sources
from perfmodel.interfaces.cli.export import export_options, show_rows, take_form
from perfmodel.interfaces.cli.options import catalogue_from, option_of, scenario_option, specs_option

if TYPE_CHECKING:
    from perfmodel.evidence.traces.device_trace import DeviceTrace
    from perfmodel.evidence.traces.nccl_tests import Timings

_SKIP = declared(Sources)["skip"]
NESTED = ("collectives", "memory")
"""Tables of a device, which a row of CSV has no place for."""
LARGE = 20 << 20
"""Bytes of a file from which a progress bar is shown."""


@click.group("trace")
def command() -> None:
    """What happened in a step, from a file of PyTorch Profiler, Nsight Systems or nccl-tests."""


def _job_options(command: Any) -> Any:
    """Give a command the files, and what no trace says of its job."""
    for option in (
        specs_option,
        scenario_option("precision", help="Arithmetic of the job: tries others.  [default: with --workload]"),
        scenario_option("local_batch_size", help="Samples per accelerator of the job: tries larger ones."),
        scenario_option("workload", default=None, help="Network of the job: adds what the model recommends."),
        option_of(_SKIP, default=0),
        click.option("--accelerator", multiple=True, help="What the GPUs are, where the file does not say."),
        click.argument("files", nargs=-1, required=True, metavar="FILE..."),
    ):
        command = option(command)
    return command


@command.command("summary")
@_job_options
@export_options
def summary_command(files: tuple[str, ...], **options: Any) -> None:
    """Computation, exposed and hidden communication, input and idling of each device; a folder is all ranks.

    Also shares of kernels, copies, runtime, loader and host; how well kernels fill the GPU; memory; ranks
    that others wait for; time by marked range; and what would shorten the step by how much.

    A report of Nsight Systems is exported first, by ``nsys export --type sqlite``.

    \b
    Example:
      perfmodel trace summary my_trace.json
    """
    form = take_form(options)
    from perfmodel.evidence.traces.summarised import with_timings

    report = with_timings(*_reported(files, **options))
    if form == "json":
        click.echo(json.dumps(report, allow_nan=False))
        return
    if form is not None:
        show_rows(
            ({k: v for k, v in device.items() if k not in NESTED} for device in report["devices"]), form
        )
        return
    from perfmodel.interfaces.cli.trace_render import show_summary

    show_summary(report)


@command.command("report")
@_job_options
@click.option("--report", "target", required=True, metavar="FILE.html", help="Where to write the page.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: what ``trace summary`` prints.")
def report_command(files: tuple[str, ...], target: str, as_json: bool, **options: Any) -> None:
    """Write what ``trace summary`` shows as one HTML file that opens alone, in any browser.

    \b
    Example:
      perfmodel trace report my_trace.json --report report.html
    """
    from perfmodel.core.files.writing import check_writable, write_whole
    from perfmodel.evidence.traces.trace_page import html_report

    path = Path(target)
    check_writable(path)
    report, _ = _reported(files, **options)
    if not report["devices"]:
        raise refusal("trace.only_messages", files=files[0])
    write_whole(path, html_report(report))
    click.echo(json.dumps(report, allow_nan=False) if as_json else f"written: {target}")


def _reported(
    files: tuple[str, ...], specs: tuple[str, ...], **options: Any
) -> tuple[dict[str, Any], list[Timings]]:
    """The summary of the traces with recommendations, and what nccl-tests timed."""
    from perfmodel.evidence.traces.summarised import summarised

    return summarised(*read_all(files), catalogue=catalogue_from(specs), **options)


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
    from perfmodel.evidence.traces.diff import difference

    form = take_form(options)
    sides = [read_all((name,))[0] for name in (first, second)]
    for name, traces in zip((first, second), sides, strict=True):
        if not traces:
            raise refusal("trace.only_messages", files=name)
    rows = difference(sides[0], sides[1], skip)
    if form == "json":
        click.echo(json.dumps({"parts": rows}, allow_nan=False))
        return
    if form is not None:
        show_rows(rows, form)
        return
    from perfmodel.interfaces.cli.trace_render import show_difference

    show_difference(rows)


def read_all(names: tuple[str, ...]) -> tuple[list[DeviceTrace], list[Timings]]:
    """Read every file, with a progress bar on the terminal's error stream for large ones.

    Raises
    ------
    InputError : a file that cannot be read or is none of the kinds
    """
    from perfmodel.evidence.traces import read

    return read.read_all(names, lambda path: _read(path, read.read_trace))


def _read(path: Path, read: Any) -> Any:
    if path.stat().st_size < LARGE:
        return read(path)
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(path.name, total=path.stat().st_size)
        return read(path, lambda position: bar.update(task, completed=position))
