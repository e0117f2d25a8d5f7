"""``perfmodel calibrate``: learn from measured runs, or from a trace of one's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from perfmodel.cli.options import catalogue_from, scenario_from, scenario_options
from perfmodel.errors import InputError

if TYPE_CHECKING:
    from perfmodel.profile import Profile


@click.command("calibrate")
@click.option(
    "--trace", "traces", multiple=True, metavar="FILE", help="Profiler's file, or a folder of ranks."
)
@click.option("--times", metavar="FILE", help="Iteration times of one accelerator in seconds, one a line.")
@click.option("--skip", type=click.IntRange(0, 1_000_000), default=0, help="Marked steps to leave out first.")
@click.option(
    "--gpus", "world_size", type=click.IntRange(1, 1_000_000), help="Accelerators in the traced job."
)
@click.option(
    "--data", metavar="FILE", help="CSV of measured runs to fit to.  [default: those that come along]"
)
@click.option("--output", metavar="FILE", help="Where the result goes.")
@click.option("--check", is_flag=True, help="Fit, compare with the file that is there, and write nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print what was learned as JSON.")
@scenario_options
def command(
    traces: tuple[str, ...],
    times: str | None,
    skip: int,
    data: str | None,
    output: str | None,
    check: bool,
    as_json: bool,
    specs: tuple[str, ...],
    **options: Any,
) -> None:
    """Learn from your own trace, or fit the efficiencies to measured training runs again.

    With --trace or --times, and the options of the job that was measured: writes a profile that
    ``predict --profile`` uses.  Without: fits the efficiencies, the cost of scaling and the width of
    intervals to the measured runs, in half a minute, the same on every run.

    \b
    Example:
      perfmodel calibrate --times times.csv --local-batch-size 32 --json
    """
    if traces and times:
        raise InputError("--trace and --times: give one of them")
    if traces or times:
        _profile(traces, times, skip, output, as_json, specs, options)
    else:
        _fit(data, output, check, as_json, specs)


def _profile(
    traces: tuple[str, ...],
    times: str | None,
    skip: int,
    output: str | None,
    as_json: bool,
    specs: tuple[str, ...],
    options: dict[str, Any],
) -> None:
    from perfmodel.profile import to_toml
    from perfmodel.traces.calibrate import profile_of_times, profile_of_traces
    from perfmodel.traces.step_times import read_step_times

    scenario, catalogue = scenario_from(options), catalogue_from(specs)
    found: Profile
    if times is not None:
        found = profile_of_times(read_step_times(Path(times))[skip:], scenario, catalogue, times)
    else:
        from perfmodel.cli.trace import read_all

        devices, timings = read_all(traces)
        found = profile_of_traces(devices, timings, scenario, catalogue, skip)
    if output:
        from perfmodel.writing import write_whole

        write_whole(Path(output), to_toml(found))
        click.echo(f"wrote {output}", err=True)
    if as_json:
        click.echo(found.model_dump_json())
    elif not output:
        click.echo(to_toml(found), nl=False)


def _fit(data: str | None, output: str | None, check: bool, as_json: bool, specs: tuple[str, ...]) -> None:
    from perfmodel.calibrate.out_of_sample import OutOfSample, shipped
    from perfmodel.calibrate.write import difference, fitted, write_fitted
    from perfmodel.calibration import FITTED
    from perfmodel.validate import read_runs, shipped_runs

    runs = shipped_runs() if data is None else read_runs(data)
    learned = shipped() if data is None and not specs else OutOfSample(runs, catalogue_from(specs))
    if check:
        far = difference(learned)
        told = f"largest relative difference from {FITTED.name}: {far:.2g}"
        click.echo(json.dumps({"largest_difference": far, **fitted(learned)}) if as_json else told)
        raise SystemExit(0 if far <= 1e-5 else 1)
    path = Path(output) if output else FITTED
    write_fitted(path, learned)
    click.echo(f"wrote {path}", err=True)
    if as_json:
        click.echo(json.dumps(fitted(learned)))
