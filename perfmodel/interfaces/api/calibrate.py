"""``perfmodel.calibrate``: learn from one's own trace, times or runs, or fit to measured runs again."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_type_hints, overload

from perfmodel.core.errors import refusal, unknown_name
from perfmodel.core.files.writing import write_whole
from perfmodel.core.records.arguments import COUNT, FILE, FILES, FLAG, FROM_ZERO, expect
from perfmodel.core.records.options import documented
from perfmodel.evidence.accuracy.training_rows import shipped_runs
from perfmodel.evidence.fitting.components import shipped_components
from perfmodel.evidence.fitting.fit_everything import Inputs, fitted, inputs_of, write_fitted
from perfmodel.evidence.fitting.out_of_sample import OutOfSample, shipped
from perfmodel.evidence.fitting.own_fabric import read_own_fabric
from perfmodel.evidence.fitting.own_file import file_table, summary_lines
from perfmodel.evidence.fitting.own_runs import Answer, Update
from perfmodel.evidence.fitting.own_table import read_measured_runs, read_own_runs
from perfmodel.evidence.fitting.own_update import update_by_own_runs
from perfmodel.evidence.traces.calibrate import profile_of_times, profile_of_traces
from perfmodel.evidence.traces.device_trace import DeviceTrace
from perfmodel.evidence.traces.nccl_tests import Timings
from perfmodel.evidence.traces.read import read_all
from perfmodel.evidence.traces.step_times import read_step_times
from perfmodel.evidence.traces.traced_job import NOT_IN_TRACE, job_of
from perfmodel.hardware.calibration_sources import Sources
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.fitted.calibration import Calibration, beside, calibration
from perfmodel.model.options.keywords import SizedOptions, scenario_from
from perfmodel.model.options.scenario import AnyScenario, Scenario
from perfmodel.model.setting.profile import Profile

if TYPE_CHECKING:
    from typing import Unpack


@dataclass(frozen=True, repr=False)
class Fit:
    """A fit to measured runs."""

    learned: OutOfSample
    """The fit to all runs, and one without each source."""
    inputs: Inputs
    """Files it rests on."""

    @cached_property
    def calibration(self) -> Calibration:
        """What ``predict`` takes as ``constants``."""
        return self.learned.calibration()

    @property
    def runs(self) -> dict[str, int]:
        """How many runs each part was fitted to."""
        return self.learned.counts()

    def to_json(self) -> str:
        """Return what ``perfmodel calibrate --json`` prints."""
        return json.dumps(fitted(self.learned, self.inputs))

    def write(self, path: str | Path) -> None:
        """Write a file that ``read_calibration`` reads, whole or not at all.

        Raises
        ------
        InputError : it cannot be written
        """
        write_fitted(Path(path), self.learned, self.inputs)

    def __repr__(self) -> str:
        runs = self.runs
        return (
            f"<Fit to {', '.join(self.inputs.names)}: {runs['one accelerator']} runs on one accelerator, "
            f"{runs['anchored']} on several>"
        )


@dataclass(frozen=True, repr=False)
class OwnRuns:
    """The shipped fit, updated by runs of one's own."""

    learned: Update
    """The factors that the runs move, and how far each run is missed."""
    files: tuple[str, ...]
    """They were read from."""

    @property
    def answers(self) -> list[Answer]:
        """How far each run is missed, before, after, and left out."""
        return self.learned.answers

    @cached_property
    def calibration(self) -> Calibration:
        """What ``predict`` takes as ``constants``; the written file is its ``calibration``."""
        return beside(calibration(), self.learned.own)

    @cached_property
    def _table(self) -> dict[str, Any]:
        return file_table(self.learned, self.files)

    def to_json(self) -> str:
        """Return what ``perfmodel calibrate --json`` prints, and the file holds."""
        return json.dumps(self._table)

    def write(self, path: str | Path) -> None:
        """Write the file that a scenario's ``calibration`` names, whole or not at all.

        Raises
        ------
        InputError : it cannot be written
        """
        write_whole(Path(path), json.dumps(self._table, indent=1) + "\n")

    def __str__(self) -> str:
        """Return what ``perfmodel calibrate`` prints."""
        return "\n".join(summary_lines(self.learned))

    def __repr__(self) -> str:
        return f"<OwnRuns: {len(self.answers)} of {', '.join(self.files)}, beside the shipped fit>"


@overload
def calibrate(
    scenario: AnyScenario | None = ...,
    *,
    traces: str | Path | Sequence[str | Path],
    skip: int = ...,
    specs: Sequence[str | Path] = ...,
    **options: Unpack[SizedOptions],
) -> Profile: ...
@overload
def calibrate(
    scenario: AnyScenario | None = ...,
    *,
    times: str | Path,
    skip: int = ...,
    specs: Sequence[str | Path] = ...,
    **options: Unpack[SizedOptions],
) -> Profile: ...
@overload
def calibrate(
    *,
    data: str | Path | None = ...,
    refit: Literal[True],
    specs: Sequence[str | Path] = ...,
    jobs: int = ...,
) -> Fit: ...
@overload
def calibrate(
    scenario: AnyScenario | None = ...,
    *,
    data: str | Path | None = ...,
    collectives: str | Path | Sequence[str | Path] = ...,
    specs: Sequence[str | Path] = ...,
    jobs: int = ...,
    **options: Unpack[SizedOptions],
) -> OwnRuns | Fit: ...
@documented(Sources)
def calibrate(
    scenario: AnyScenario | None = None,
    *,
    traces: str | Path | Sequence[str | Path] = (),
    times: str | Path | None = None,
    skip: int = 0,
    data: str | Path | None = None,
    collectives: str | Path | Sequence[str | Path] = (),
    refit: bool = False,
    specs: Sequence[str | Path] = (),
    jobs: int = 1,
    **options: Unpack[SizedOptions],
) -> Profile | OwnRuns | Fit:
    """Learn from one's own trace, times, runs or all-reduces, or without any fit to measured runs again.

    Parameters
    ----------
    scenario : the job that was traced, timed, or whose network was, or a mapping of its options
    specs : folders of your own hardware specs, over the built-in
    jobs : processes of a fit to measured runs; the fit is the same however many
    options : of the job, over what ``scenario`` says

    Returns
    -------
    Profile, whose ``write`` makes the file that a scenario's ``profile`` names; OwnRuns, whose ``write``
    makes the file that its ``calibration`` names; or a Fit, in about a minute

    Warns
    -----
    UserWarning : what a trace does not say of its job, and what was taken instead

    Raises
    ------
    InputError : both traces and times, or either with ``data``; a job without any of them; a file that cannot
        be read or does not fit the job
    """
    files = [traces] if isinstance(traces, (str, Path)) else traces
    fabrics = [collectives] if isinstance(collectives, (str, Path)) else collectives
    expect(FILES, traces=files, collectives=fabrics, specs=specs)
    expect(FLAG, refit=refit)
    expect(FILE.or_none, times=times, data=data)
    expect(FROM_ZERO, skip=skip)
    expect(COUNT, jobs=jobs)
    if files and times is not None:
        raise refusal("calibrate.traces_or_times", "traces", "times")
    if files or times is not None:
        if data is not None or fabrics or refit:
            what = "data" if data is not None else "collectives" if fabrics else "refit"
            raise refusal("calibrate.of_runs", "traces", "times", what=what)
        job, catalogue = scenario_from(scenario, options), _catalogue(specs)
        if times is not None:
            return profile_of_times(read_step_times(Path(times), skip), job, catalogue, str(times))
        profile, notes = of_traces(*read_all([str(file) for file in files]), job, catalogue, skip)
        for note in notes:
            warnings.warn(note, stacklevel=2)
        return profile
    if fabrics:
        if refit:
            raise refusal("calibrate.refit_collectives", "collectives", "refit")
        if skip:
            raise refusal("calibrate.no_steps", "skip")
        catalogue, job = _catalogue(specs), scenario_from(scenario, options)
        return own_runs(data, [str(file) for file in fabrics], job, catalogue)
    given = [*(["scenario"] if scenario is not None else []), *(["skip"] if skip else []), *options]
    sources = ("traces", "times", "skip", "data", "collectives", "refit", "specs")
    known = (*get_type_hints(SizedOptions), *sources)
    for name in options:
        if name not in known:
            raise unknown_name("option", name, known)
    if given:
        names = ", ".join(sorted(given))
        raise refusal("calibrate.of_a_job", "traces", "times", "collectives", names=names)
    if data is None or refit:
        return fit(data, specs, jobs)
    return own_runs(data, [], Scenario(), _catalogue(specs))


def own_runs(
    data: str | Path | None, collectives: Sequence[str], job: Scenario, catalogue: Catalogue
) -> OwnRuns:
    """Return the shipped fit, updated by measured runs and by all-reduces.

    Parameters
    ----------
    data : CSV of runs; None for all-reduces alone
    collectives : output of nccl-tests on the network of ``job``
    job, catalogue : the network's, and hardware that rows name

    Raises
    ------
    InputError : a file that cannot be read; lines that cannot be, each named
    """
    files = [*([] if data is None else [str(data)]), *collectives]
    runs = [] if data is None else read_own_runs(str(data), catalogue)
    runs += read_own_fabric(collectives, job, catalogue)
    name = ", ".join(Path(file).name for file in files)
    return OwnRuns(update_by_own_runs(runs, calibration(), shipped_components(), name), tuple(files))


def fit(data: str | Path | None = None, specs: Iterable[str | Path] = (), jobs: int = 1) -> Fit:
    """Return the fit to measured runs; to those that come along with the built-in specs, made once.

    Raises
    ------
    InputError : the file cannot be read, or holds nothing to learn from
    """
    folders = [str(folder) for folder in specs]
    file = None if data is None else str(data)
    if file is None and not folders:
        return Fit(shipped(jobs), inputs_of())
    catalogue = _catalogue(folders)
    runs = shipped_runs() if file is None else read_measured_runs(file, catalogue)
    return Fit(OutOfSample(runs, catalogue, jobs), inputs_of(file, folders))


def of_traces(
    devices: Sequence[DeviceTrace],
    timings: Sequence[Timings],
    scenario: Scenario,
    catalogue: Catalogue,
    skip: int = 0,
) -> tuple[Profile, list[str]]:
    """Return the profile of traces that were read, and what they do not say of their job.

    Raises
    ------
    InputError : a trace without marked steps; another accelerator, precision or batch than the scenario's
    """
    job, notes = job_of(devices, scenario, catalogue)
    profile = profile_of_traces(devices, timings, scenario, catalogue, skip)
    said = {*job.model_fields_set, *(["local_batch_size"] if job.global_batch_size else [])}
    left = [name for name in NOT_IN_TRACE if name not in said]
    if devices and left:
        taken = ", ".join(f"--{name.replace('_', '-')} {getattr(profile, name)}" for name in left)
        notes.append(f"a trace does not say {taken}: say it, if that is not the job")
    return profile, notes


def _catalogue(specs: Iterable[str | Path]) -> Catalogue:
    folders = tuple(str(folder) for folder in specs)
    return Catalogue(folders) if folders else Catalogue.built_in()
