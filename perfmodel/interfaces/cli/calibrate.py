"""``perfmodel calibrate``: learn from measured runs, or from a trace of one's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from perfmodel.core.errors import refusal
from perfmodel.core.problem import Words
from perfmodel.core.records.options import declared
from perfmodel.hardware.calibration_sources import Sources
from perfmodel.interfaces.cli.jobs import jobs_option
from perfmodel.interfaces.cli.options import (
    catalogue_from,
    option_of,
    options_of,
    scenario_from,
    scenario_options,
)
from perfmodel.model.options.scenario import SHORT

_SOURCES = declared(Sources)


@click.command("calibrate")
@option_of(_SOURCES["traces"], type=str, multiple=True)
@options_of(_SOURCES[field] for field in ("times", "skip", "data"))
@option_of(_SOURCES["collectives"], type=str, multiple=True)
@option_of(_SOURCES["refit"])
@click.option("--output", metavar="FILE", help="Where the result goes; with --check, what to compare with.")
@jobs_option("Processes of a fit to measured runs; the result is the same.  [default: 1]")
@click.option("--check", is_flag=True, help="Fit, compare with the file that is there, and write nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print what was learned as JSON.")
@scenario_options
def command(
    traces: tuple[str, ...],
    times: str | None,
    skip: int | None,
    data: str | None,
    collectives: tuple[str, ...],
    refit: bool | None,
    output: str | None,
    jobs: int | None,
    check: bool,
    as_json: bool,
    specs: tuple[str, ...],
    **options: Any,
) -> None:
    """Learn from your own trace or runs, or fit the efficiencies to measured training runs again.

    With --trace or --times, and the options of the job that was measured: writes a profile that
    ``predict --profile`` uses.  With --data, a CSV with a line for each run (workload, accelerator or node,
    world_size, local_batch_size, and samples_per_second or iteration_time; any option of a scenario besides),
    or --collectives: updates the fit that comes along by as much as the runs tell, for
    ``predict --calibration``.  Without any: fits the efficiencies, the cost of scaling and the width of
    intervals to the measured runs, in about a minute, the same on every run.  A --refit to your own runs or
    specs goes to --output; it never replaces the one that comes along.

    \b
    Examples:
      perfmodel calibrate --times times.csv --local-batch-size 32 --json
      perfmodel calibrate --data mine.csv --output mine.json
    """
    if traces and times:
        raise refusal("calibrate.trace_or_times")
    if traces or times:
        if wrong := [
            name
            for name, given in (
                ("--data", data),
                ("--collectives", collectives),
                ("--refit", refit),
                ("--check", check),
                ("--jobs", jobs),
            )
            if given
        ]:
            raise refusal("calibrate.of_runs_shell", wrong=Words(wrong[0]))
        _profile(traces, times, skip or 0, output, as_json, specs, options)
        return
    updates = bool(collectives) or (data is not None and not refit)
    if not collectives:
        _refuse_job_options(options | {"skip": skip})
    if updates:
        if skip:
            raise refusal("calibrate.skip", skip=skip)
        if refit and collectives:
            raise refusal("calibrate.collectives_refit")
        if check or jobs:
            option, by = "--check" if check else "--jobs", "--collectives" if collectives else "--data"
            anew = "" if collectives else " (--refit fits anew)"
            raise refusal("calibrate.of_a_fit", option, by=by, anew=anew)
        _update(data, collectives, output, as_json, specs, options)
    else:
        _fit(data, output, jobs or 1, check, as_json, specs)


def _update(
    data: str | None,
    collectives: tuple[str, ...],
    output: str | None,
    as_json: bool,
    specs: tuple[str, ...],
    options: dict[str, Any],
) -> None:
    from perfmodel.core.files.writing import check_writable
    from perfmodel.interfaces.api.calibrate import own_runs

    if output is not None:
        check_writable(Path(output))
    learned = own_runs(data, collectives, scenario_from(options), catalogue_from(specs))
    if output is not None:
        learned.write(output)
    click.echo(learned.to_json() if as_json else str(learned))
    if output is not None:
        click.echo(f"wrote {output}; use it: perfmodel predict --calibration {output}", err=True)
    elif not as_json:
        click.echo("nothing was written: give --output FILE, for predict --calibration FILE", err=True)


def _refuse_job_options(options: dict[str, Any]) -> None:
    names = {"scenario_file": "scenario"} | {field: name for name, field in SHORT.items()}
    given = [
        f"--{names.get(key, key).replace('_', '-')}" for key, value in options.items() if value is not None
    ]
    if given:
        raise refusal("calibrate.of_a_job_shell", known=Words(", ".join(sorted(given))))


def _profile(
    traces: tuple[str, ...],
    times: str | None,
    skip: int,
    output: str | None,
    as_json: bool,
    specs: tuple[str, ...],
    options: dict[str, Any],
) -> None:
    from perfmodel.core.files.writing import check_writable
    from perfmodel.interfaces.api.calibrate import calibrate, of_traces
    from perfmodel.model.setting.profile import to_toml

    scenario = scenario_from(options)
    if output is not None:
        check_writable(Path(output))
    if times is not None:
        profile = calibrate(scenario, times=times, skip=skip, specs=specs)
    else:
        from perfmodel.interfaces.cli.trace_files import read_all

        profile, notes = of_traces(*read_all(traces), scenario, catalogue_from(specs), skip)
        for note in notes:
            click.echo(f"note: {note}", err=True)
    if output:
        profile.write(output)
        click.echo(f"wrote {output}", err=True)
    if as_json:
        click.echo(profile.to_json())
    elif not output:
        click.echo(to_toml(profile), nl=False)


def _fit(
    data: str | None, output: str | None, jobs: int, check: bool, as_json: bool, specs: tuple[str, ...]
) -> None:
    from perfmodel.core.files.reading import LARGEST_OPTIONS, read_json
    from perfmodel.core.files.writing import check_writable
    from perfmodel.evidence.fitting.fit_everything import difference, fitted
    from perfmodel.interfaces.api.calibrate import fit
    from perfmodel.model.fitted.calibration import FITTED

    if (data is not None or specs) and output is None:
        raise refusal("calibrate.output", value=Words("--data" if data else "--specs"))
    path = Path(output) if output else FITTED
    written = None
    if check:
        written = read_json(path, LARGEST_OPTIONS)
    else:
        check_writable(path)
    answer = fit(data, specs, jobs)
    if check:
        far = difference(answer.learned, written)
        line = f"largest relative difference from {path.name}: {far:.2g}"
        table = {"largest_difference": far, **fitted(answer.learned, answer.inputs)}
        click.echo(json.dumps(table) if as_json else line)
        raise SystemExit(0 if far <= 1e-5 else 1)
    answer.write(path)
    counts = answer.runs
    line = f"from {counts['one accelerator']} runs on one accelerator, {counts['anchored']} on several"
    click.echo(f"wrote {path}: {line}", err=True)
    if as_json:
        click.echo(answer.to_json())
