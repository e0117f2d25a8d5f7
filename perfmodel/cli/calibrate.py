"""``perfmodel calibrate``: learn from measured runs, or from a trace of one's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from perfmodel.cli.options import catalogue_from, scenario_from, scenario_options
from perfmodel.errors import InputError
from perfmodel.specs.scenario import SHORT

if TYPE_CHECKING:
    from perfmodel.profile import Profile


@click.command("calibrate")
@click.option(
    "--trace", "traces", multiple=True, metavar="FILE", help="Profiler's file, or a folder of ranks."
)
@click.option("--times", metavar="FILE", help="Iteration times of one accelerator in seconds, one a line.")
@click.option("--skip", type=click.IntRange(0, 1_000_000), default=0, help="Marked steps to leave out first.")
@click.option(
    "--data", metavar="FILE", help="CSV of measured runs to fit to.  [default: those that come along]"
)
@click.option("--output", metavar="FILE", help="Where the result goes; with --check, what to compare with.")
@click.option("--check", is_flag=True, help="Fit, compare with the file that is there, and write nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print what was learned as JSON.")
@scenario_options()
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
    intervals to the measured runs, in about a minute, the same on every run.  A fit to your own runs or specs
    goes to --output, for ``read_calibration`` of the library; it never replaces the one that comes along.

    \b
    Example:
      perfmodel calibrate --times times.csv --local-batch-size 32 --json
    """
    if traces and times:
        raise InputError("--trace and --times: give one of them")
    if traces or times:
        if data or check:
            raise InputError(
                f"{'--data' if data else '--check'}: of a fit to measured runs; leave --trace and --times out"
            )
        _profile(traces, times, skip, output, as_json, specs, options)
    else:
        _refuse_job_options(options | {"skip": skip or None})
        _fit(data, output, check, as_json, specs)


def _refuse_job_options(options: dict[str, Any]) -> None:
    names = {"scenario_file": "scenario"} | {field: name for name, field in SHORT.items()}
    given = [
        f"--{names.get(key, key).replace('_', '-')}" for key, value in options.items() if value is not None
    ]
    if given:
        raise InputError(
            f"{', '.join(sorted(given))}: of a job that was traced or timed; give --trace or --times too, "
            "or leave it out to fit to measured runs"
        )


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
    from perfmodel.writing import check_writable

    scenario, catalogue = scenario_from(options), catalogue_from(specs)
    if output is not None:
        check_writable(Path(output))
    found: Profile
    if times is not None:
        found = profile_of_times(read_step_times(Path(times), skip), scenario, catalogue, times)
    else:
        from perfmodel.cli.trace import read_all
        from perfmodel.traces.traced_job import NOT_SAID, job_of

        devices, timings = read_all(traces)
        for why in job_of(devices, scenario, catalogue)[1]:
            click.echo(f"note: {why}", err=True)
        found = profile_of_traces(devices, timings, scenario, catalogue, skip)
        left = [name for name in NOT_SAID if name not in scenario.model_fields_set]
        if devices and left:
            taken = ", ".join(f"--{name.replace('_', '-')} {getattr(found, name)}" for name in left)
            click.echo(f"note: a trace does not say {taken}: say it, if that is not the job", err=True)
    if output:
        from perfmodel.writing import write_whole

        write_whole(Path(output), to_toml(found))
        click.echo(f"wrote {output}", err=True)
    if as_json:
        click.echo(found.model_dump_json())
    elif not output:
        click.echo(to_toml(found), nl=False)


def _fit(data: str | None, output: str | None, check: bool, as_json: bool, specs: tuple[str, ...]) -> None:
    from perfmodel.accuracy import read_runs, shipped_runs
    from perfmodel.calibration import FITTED
    from perfmodel.fitting.out_of_sample import OutOfSample, shipped
    from perfmodel.fitting.write import difference, fitted, inputs_of, write_fitted
    from perfmodel.reading import LARGEST_OPTIONS, read_json
    from perfmodel.writing import check_writable

    if (data is not None or specs) and output is None:
        raise InputError(
            f"{'--data' if data else '--specs'}: give --output FILE too; only a fit to the runs and specs "
            "that come along replaces the file that predict reads"
        )
    path = Path(output) if output else FITTED
    written = None
    if check:
        written = read_json(path, LARGEST_OPTIONS)
    else:
        check_writable(path)
    runs = shipped_runs() if data is None else read_runs(data)
    learned = shipped() if data is None and not specs else OutOfSample(runs, catalogue_from(specs))
    inputs = inputs_of(data, specs)
    if check:
        far = difference(learned, written)
        told = f"largest relative difference from {path.name}: {far:.2g}"
        click.echo(json.dumps({"largest_difference": far, **fitted(learned, inputs)}) if as_json else told)
        raise SystemExit(0 if far <= 1e-5 else 1)
    write_fitted(path, learned, inputs)
    counts = learned.counts()
    told = f"from {counts['one accelerator']} runs on one accelerator, {counts['anchored']} on several"
    click.echo(f"wrote {path}: {told}", err=True)
    if as_json:
        click.echo(json.dumps(fitted(learned, inputs)))
