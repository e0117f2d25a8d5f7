"""``perfmodel calibrate``: learn efficiencies from measured runs."""

from __future__ import annotations

import json
from pathlib import Path

import click

from perfmodel.cli.options import catalogue_from


@click.command("calibrate")
@click.option("--data", metavar="FILE", help="CSV of measured runs.  [default: those that come along]")
@click.option("--output", metavar="FILE", help="Where the fit goes.  [default: what predict reads]")
@click.option("--check", is_flag=True, help="Fit, compare with the file that is there, and write nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print what was learned as JSON.")
@click.option(
    "--specs", "specs", multiple=True, metavar="DIR", help="Your own hardware specs, over the built-in."
)
def command(data: str | None, output: str | None, check: bool, as_json: bool, specs: tuple[str, ...]) -> None:
    """Fit the efficiencies, the cost of scaling and the width of intervals to measured training runs.

    The result is the same on every run; it names the hash of the runs it was fitted to.  Takes about
    half a minute.

    \b
    Example:
      perfmodel calibrate --check
    """
    from perfmodel.calibrate.out_of_sample import OutOfSample
    from perfmodel.calibrate.write import difference, fitted, write_fitted
    from perfmodel.calibration import FITTED
    from perfmodel.validate import read_runs, shipped_runs

    runs = shipped_runs() if data is None else read_runs(data)
    learned = OutOfSample(runs, catalogue_from(specs))
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
