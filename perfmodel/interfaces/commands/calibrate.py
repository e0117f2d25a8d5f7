"""``calibrate``: learn from one's own trace, times, runs or all-reduces, or fit to measured runs again."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from perfmodel.core.choices import Jobs
from perfmodel.core.errors import refusal
from perfmodel.core.problem import Words
from perfmodel.core.records.options import OptionInfo
from perfmodel.core.records.record import Within
from perfmodel.interfaces.command import Command, Context, Writes
from perfmodel.interfaces.forms import JSON
from perfmodel.interfaces.report import report
from perfmodel.model.fitted.calibration import FITTED
from perfmodel.model.options.scenario import SHORT, Scenario

if TYPE_CHECKING:
    from perfmodel.evidence.fitting.fit_everything import Comparison, Fit
    from perfmodel.evidence.fitting.own_file import OwnRuns
    from perfmodel.interfaces.reports.page import Page
    from perfmodel.model.setting.profile import Profile

NEAR = 1e-5
"""Relative difference between a fit and a file that holds the same."""


class CalibrateRequest(Scenario):
    """What to learn from: traces or times of one job, or else measured runs of many.

    Parameters
    ----------
    traces : Profiler's file, or a folder of ranks.
    times : Iteration times of one accelerator in seconds, one a line.
    skip : [1] Marked steps to leave out first.
    data : CSV of measured runs of your own, by which the shipped fit is updated.
    collectives : Output of nccl-tests on your own machines, which tells of their network; say of which job.
    refit : Whether everything is fitted again, to the runs of --data or else those that come along.
    jobs : [1] Processes of a fit to measured runs; the result is the same.  [default: 1]
    specs : Folders of your own hardware specs, over the built-in.
    """

    traces: Annotated[tuple[str, ...], OptionInfo(name="trace", file=True, commas=True)] = ()
    times: Annotated[str | None, OptionInfo(file=True)] = None
    skip: Annotated[int, Within(ge=0, le=1_000_000, strict=True)] = 0
    data: Annotated[str | None, OptionInfo(file=True)] = None
    collectives: Annotated[tuple[str, ...], OptionInfo(file=True, commas=True)] = ()
    refit: bool = False
    jobs: Jobs = None
    specs: Annotated[tuple[str, ...], OptionInfo(file=True, shell=False)] = ()

    @property
    def of_a_job(self) -> bool:
        """Whether steps of one job were measured."""
        return bool(self.traces) or self.times is not None

    @property
    def updates(self) -> bool:
        """Whether the shipped fit is updated."""
        return bool(self.collectives) or (self.data is not None and not self.refit)


class Typed(CalibrateRequest):
    """What the shell takes: also where the result goes.

    Parameters
    ----------
    check : Fit, compare with the file that is there, and write nothing.
    output : Where the result goes.
    """

    check: Annotated[bool, OptionInfo(denied=False)] = False
    output: Annotated[str | None, OptionInfo(shell=False)] = None

    def request(self) -> "Typed":
        """Return the request; a fit to what comes along replaces the file that comes along."""
        of_a_fit = ["--check"] if self.check else ["--jobs"] if self.jobs is not None else []
        if self.of_a_job:
            if of_a_fit:
                raise refusal("calibrate.of_runs", wrong=Words(of_a_fit[0]))
        elif self.updates:
            if of_a_fit:
                by = "--collectives" if self.collectives else "--data"
                anew = "" if self.collectives else " (--refit fits anew)"
                raise refusal("calibrate.of_a_fit", of_a_fit[0], by=by, anew=anew)
        elif self.output is None:
            if self.data is not None:
                raise refusal("calibrate.output", value=Words("--data"))
            return self.model_copy(update={"output": str(FITTED)})
        return self


def run(request: CalibrateRequest, context: Context) -> "Profile | OwnRuns | Fit | Comparison":
    """Learn from one's own trace, times, runs or all-reduces, or without any fit to measured runs again.

    A trace or times make a Profile, whose ``write`` makes the file that a scenario's ``profile`` names; runs
    or all-reduces make OwnRuns, whose ``write`` makes the file that its ``calibration`` names; ``refit``, or
    nothing, makes a Fit, in about a minute.

    Raises
    ------
    InputError : both traces and times, or either with ``data``; a job without any of them; a file that cannot
        be read or does not fit the job

    Warns
    -----
    UserWarning : what a trace does not say of its job, and what was taken instead
    """
    from perfmodel.evidence.fitting import fit_everything, own_file
    from perfmodel.evidence.traces.calibrate import of_traces, profile_of_times
    from perfmodel.evidence.traces.step_times import read_step_times
    from perfmodel.hardware.catalogue.store import Catalogue
    from perfmodel.interfaces.commands.trace_summary import read_traces

    catalogue = Catalogue(request.specs) if request.specs else context.catalogue
    job, times, data = request.alone(), request.times, request.data
    if request.traces and times is not None:
        raise refusal("calibrate.traces_or_times", "traces", "times")
    if request.of_a_job:
        for name in ("data", "collectives", "refit"):
            if getattr(request, name):
                raise refusal("calibrate.of_runs", "traces", "times", wrong=Words(f"--{name}"))
        if times is not None:
            return profile_of_times(read_step_times(Path(times), request.skip), job, catalogue, times)
        profile, notes = of_traces(*read_traces(request.traces, context), job, catalogue, request.skip)
        _say(notes, context)
        return profile
    if request.collectives:
        if request.refit:
            raise refusal("calibrate.refit_collectives", "collectives", "refit")
        if request.skip:
            raise refusal("calibrate.no_steps", "skip", skip=request.skip)
        return own_file.own_runs(data, request.collectives, job, catalogue)
    names = {field: name for name, field in SHORT.items()}
    if given := [names.get(field, field) for field in job.model_fields_set] + ["skip"] * bool(request.skip):
        known = sorted(f"--{name.replace('_', '-')}" for name in given)
        raise refusal("calibrate.of_a_job", "traces", "times", "collectives", names=Words(", ".join(known)))
    if data is not None and not request.refit:
        return own_file.own_runs(data, [], Scenario(), catalogue)
    if isinstance(request, Typed) and request.output is not None:
        if request.output == str(FITTED) and catalogue.has_own:
            raise refusal("calibrate.output", value=Words("--specs"))
        if request.check:
            return fit_everything.compared(data, catalogue, Path(request.output), request.jobs or 1)
    return fit_everything.fit(data, catalogue, request.jobs or 1)


def _say(notes: list[str], context: Context) -> None:
    """Warn of what a trace does not say; the shell on stderr, without the line of the code."""
    import warnings

    import click

    for note in notes:
        if context.typed:
            click.echo(f"note: {note}", err=True)
        else:
            warnings.warn(note, stacklevel=4)  # of who calls the function


def text(answer: Any, request: Typed) -> None:
    """Print a profile that was not written, what runs moved, or how far a fit is from a file."""
    import click

    from perfmodel.evidence.fitting.fit_everything import Fit
    from perfmodel.evidence.fitting.own_file import OwnRuns
    from perfmodel.model.setting.profile import Profile, to_toml

    if isinstance(answer, Profile):
        if request.output is None:
            click.echo(to_toml(answer), nl=False)
    elif not isinstance(answer, Fit):
        click.echo(str(answer))
        if isinstance(answer, OwnRuns) and request.output is None and answer.worth.standing != "worse":
            taken = request.data if request.data and not request.collectives else "FILE"
            words = f"nothing was written: give --output FILE, for predict --calibration {taken}"
            click.echo(words, err=True)


def _check(file: Path, request: Typed) -> None:
    from perfmodel.core.files.writing import check_writable

    if not request.check:
        check_writable(file)


def _write(file: Path, answer: Any, request: Typed, context: Context) -> None:
    import click

    from perfmodel.evidence.fitting.fit_everything import Fit
    from perfmodel.evidence.fitting.own_file import OwnRuns

    if request.check:
        return
    answer.write(file)
    more = ""
    if isinstance(answer, OwnRuns):
        how = {"worse": "do not use it: it predicts worse", "unchecked": "check the runs before you use it"}
        use = f"use it: perfmodel predict --calibration {file}"
        more = f"; {how.get(answer.worth.standing, use)}"
    if isinstance(answer, Fit):
        counts = answer.runs
        more = f": from {counts['one accelerator']} runs on one accelerator, {counts['anchored']} on several"
    click.echo(f"wrote {file}{more}", err=True)


def _page(answer: Any, request: Typed, context: Context) -> "Page":
    """Return the page of what own runs teach."""
    from perfmodel.interfaces.reports.own_runs import page_of_own_runs

    return page_of_own_runs(answer, context.typed, request)


_REPORT = report(_page)


def _check_report(file: Path, request: Typed) -> None:
    """Check that a report can be written: one of runs, not of a profile or of a fit to everything."""
    if request.of_a_job or not request.updates:
        raise refusal("calibrate.report", "report")
    _REPORT.check(file, request)


def _status(answer: Any) -> int:
    """Return 1 where a file is not what the fit makes."""
    return int(getattr(answer, "difference", 0.0) > NEAR)


COMMAND = Command(
    name="calibrate",
    summary="Learn from your own trace or runs, or fit the efficiencies to measured training runs again.",
    about="With --trace or --times, and the options of the job that was measured: writes a profile that "
    "``predict --profile`` uses.  With --data, a CSV with a line for each run (workload, accelerator or "
    "node, world_size, local_batch_size, and samples_per_second or iteration_time; any option of a scenario "
    "besides), or --collectives: updates the fit that comes along by as much as the runs tell, for "
    "``predict --calibration``.  Without any: fits the efficiencies, the cost of scaling and the width of "
    "intervals to the measured runs, in about a minute, the same on every run.  A --refit to your own runs "
    "or specs goes to --output; it never replaces the one that comes along.",
    request=CalibrateRequest,
    typed=Typed,
    answers=(
        "perfmodel.model.setting.profile:Profile",
        "perfmodel.evidence.fitting.own_file:OwnRuns",
        "perfmodel.evidence.fitting.fit_everything:Fit",
    ),
    given={"traces": (0,), "times": (0,), "refit": (2,), "": (1, 2)},
    run=run,
    text=text,
    forms={"json": JSON._replace(words="Print what was learned as JSON.")},
    writes={
        "report": _REPORT._replace(check=_check_report),
        "output": Writes("Where the result goes; with --check, what to compare with.", _check, _write),
    },
    status=_status,
    examples=(
        "perfmodel calibrate --times times.csv --local-batch-size 32 --json",
        "perfmodel calibrate --data mine.csv --output mine.json --report mine.html",
    ),
    bodies={"times of one accelerator": {"times": "times.csv"}},
    without={"http": "it learns from files of one's own machine, and writes one that requests take along"},
)
