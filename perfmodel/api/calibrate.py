"""``perfmodel.calibrate``: learn from one's own trace or times, or fit to measured runs again."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, get_type_hints, overload

from perfmodel.accuracy.runs import read_runs, shipped_runs
from perfmodel.arguments import FILE, FILES, FROM_ZERO, expect
from perfmodel.calibration import Calibration
from perfmodel.errors import InputError, unknown_name
from perfmodel.fitting.out_of_sample import OutOfSample, shipped
from perfmodel.fitting.sources import Sources
from perfmodel.fitting.write import Inputs, fitted, inputs_of, write_fitted
from perfmodel.profile import Profile
from perfmodel.specs.keywords import SizedOptions, scenario_from
from perfmodel.specs.options import documented
from perfmodel.specs.scenario import AnyScenario, Scenario
from perfmodel.specs.store import Catalogue
from perfmodel.traces.calibrate import profile_of_times, profile_of_traces
from perfmodel.traces.device_trace import DeviceTrace
from perfmodel.traces.nccl_tests import Timings
from perfmodel.traces.read import read_all
from perfmodel.traces.step_times import read_step_times
from perfmodel.traces.traced_job import NOT_SAID, job_of

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
def calibrate(*, data: str | Path | None = ..., specs: Sequence[str | Path] = ...) -> Fit: ...
@documented(Sources)
def calibrate(
    scenario: AnyScenario | None = None,
    *,
    traces: str | Path | Sequence[str | Path] = (),
    times: str | Path | None = None,
    skip: int = 0,
    data: str | Path | None = None,
    specs: Sequence[str | Path] = (),
    **options: Unpack[SizedOptions],
) -> Profile | Fit:
    """Learn a profile from a trace or from times of one's own job, or without either fit to measured runs.

    Parameters
    ----------
    scenario : the job that was traced or timed, or a mapping of its options
    specs : folders of your own hardware specs, over the built-in
    options : of the job, over what ``scenario`` says

    Returns
    -------
    Profile, whose ``write`` makes the file that a scenario's ``profile`` names; or a Fit, in about a minute

    Warns
    -----
    UserWarning : what a trace does not say of its job, and what was taken instead

    Raises
    ------
    InputError : both traces and times, or either with ``data``; a job without either; a file that cannot be
        read or does not fit the job
    """
    files = [traces] if isinstance(traces, (str, Path)) else traces
    expect(FILES, traces=files, specs=specs)
    expect(FILE.or_none, times=times, data=data)
    expect(FROM_ZERO, skip=skip)
    if files and times is not None:
        raise InputError("traces and times: give one of them")
    if files or times is not None:
        if data is not None:
            raise InputError("data: of a fit to measured runs; leave traces and times out")
        job, catalogue = scenario_from(scenario, options), _catalogue(specs)
        if times is not None:
            return profile_of_times(read_step_times(Path(times), skip), job, catalogue, str(times))
        profile, notes = of_traces(*read_all([str(file) for file in files]), job, catalogue, skip)
        for note in notes:
            warnings.warn(note, stacklevel=2)
        return profile
    given = [*(["scenario"] if scenario is not None else []), *(["skip"] if skip else []), *options]
    known = (*get_type_hints(SizedOptions), "traces", "times", "skip", "data", "specs")
    for name in options:
        if name not in known:
            raise unknown_name("option", name, known)
    if given:
        names = ", ".join(sorted(given))
        raise InputError(f"{names}: of a job that was traced or timed; give traces or times")
    return fit(data, specs)


def fit(data: str | Path | None = None, specs: Iterable[str | Path] = ()) -> Fit:
    """Return the fit to measured runs; to those that come along with the built-in specs, made once.

    Raises
    ------
    InputError : the file cannot be read, or holds nothing to learn from
    """
    folders = [str(folder) for folder in specs]
    file = None if data is None else str(data)
    if file is None and not folders:
        return Fit(shipped(), inputs_of())
    runs = shipped_runs() if file is None else read_runs(file)
    return Fit(OutOfSample(runs, _catalogue(folders)), inputs_of(file, folders))


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
    InputError : a trace without marked steps; another accelerator than the scenario's
    """
    notes = list(job_of(devices, scenario, catalogue)[1])
    profile = profile_of_traces(devices, timings, scenario, catalogue, skip)
    left = [name for name in NOT_SAID if name not in scenario.model_fields_set]
    if devices and left:
        taken = ", ".join(f"--{name.replace('_', '-')} {getattr(profile, name)}" for name in left)
        notes.append(f"a trace does not say {taken}: say it, if that is not the job")
    return profile, notes


def _catalogue(specs: Iterable[str | Path]) -> Catalogue:
    folders = tuple(str(folder) for folder in specs)
    return Catalogue(folders) if folders else Catalogue.built_in()
