"""Predict every measured run, and set the two beside each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from perfmodel.accuracy.anchors import Anchors, Measured
from perfmodel.accuracy.baselines import ConstantUtilisation
from perfmodel.accuracy.runs import Run, shipped_runs
from perfmodel.accuracy.scenarios import Refused, measured_time, scenario_of_run
from perfmodel.calibration import Calibration
from perfmodel.errors import InputError
from perfmodel.prediction import predict
from perfmodel.prediction.result import Interval
from perfmodel.specs.scenario import Scenario
from perfmodel.specs.store import Catalogue

Mode = Literal["specs", "anchored", "anchored-machine"]
Constants = Callable[[Run], Calibration | None]


class _NoInterval(NamedTuple):
    low_80: None = None
    high_80: None = None
    scale: None = None


NO_INTERVAL = _NoInterval()
"""Placeholder for a missing interval."""


class Row(NamedTuple):
    """A measured run and what the model says of it; times in seconds."""

    run: Run
    """What was measured."""
    mode: Mode
    """Whether it is predicted from specs or from an anchor."""
    measured_iteration_time: float | None
    """None where the source states no time and no batch."""
    predicted_iteration_time: float | None
    """None where the model must refuse."""
    naive_iteration_time: float | None
    """Constant utilisation, or linear scaling from the anchor."""
    low_80: float | None
    high_80: float | None
    anchor: Literal["unique", "ambiguous"] | None
    """Whether the measurements on one accelerator agree; None without one, or where none was asked for."""
    reason: str | None
    """Why there is no prediction."""
    input_share: float | None = None
    """Share of the predicted iteration that waits for samples."""
    scale: float | None = None
    """Factor of the ledger in the interval."""

    @property
    def error(self) -> float | None:
        """Signed error: predicted over measured, less 1; positive where we say too slow."""
        return _error(self.predicted_iteration_time, self.measured_iteration_time)

    @property
    def naive_error(self) -> float | None:
        """The same of the naive answer."""
        return _error(self.naive_iteration_time, self.measured_iteration_time)

    def to_dict(self) -> dict[str, Any]:
        """Return the row as people script against it."""
        return {
            "run_id": self.run.run_id,
            "source": self.run.source,
            "measured_iteration_time": self.measured_iteration_time,
            "predicted_iteration_time": self.predicted_iteration_time,
            "low_80": self.low_80,
            "high_80": self.high_80,
            "mode": self.mode,
            "anchor": self.anchor,
            "reason": self.reason,
        }


def _error(said: float | None, measured: float | None) -> float | None:
    return None if said is None or measured is None else said / measured - 1


def compare(
    runs: Sequence[Run],
    mode: Mode = "specs",
    catalogue: Catalogue | None = None,
    constants: Constants = lambda run: None,
    changed: Mapping[str, object] | None = None,
) -> list[Row]:
    """Predict each run, in order; a run that must be refused stays in, with the reason.

    Parameters
    ----------
    runs : measured configurations
    mode : ``specs``: from specs alone; ``anchored``: runs on several accelerators from the measured
        iteration of one, which must be among ``runs``; ``anchored-machine``: those on several machines from
        that of one of them, all of whose accelerators ran
    catalogue : hardware to look names up in; by default what comes with the package
    constants : what was learned, for each run; None, the default, is what comes with the package
    changed : options of a scenario that every run is given instead of its own, for ablations
    """
    catalogue = Catalogue.of(catalogue)
    if mode != "specs":
        anchors = Anchors(runs)
        return [_anchored(run, mode, anchors, catalogue, constants(run), changed or {}) for run in runs]
    naive = ConstantUtilisation({*shipped_runs(), *runs}, catalogue)
    return [
        _row(run, mode, catalogue, naive.iteration_time(run), None, constants(run), changed or {})
        for run in runs
    ]


def _anchored(
    run: Run,
    mode: Mode,
    anchors: Anchors,
    catalogue: Catalogue,
    constants: Calibration | None,
    changed: Mapping[str, object],
) -> Row:
    anchor: Measured | None = None
    if mode == "anchored-machine":
        anchor = anchors.of_machine(run) if run.nodes > 1 else None
    elif run.world_size > 1:
        anchor = anchors.of(run)
    return _row(run, mode, catalogue, anchor and anchor.iteration_time, anchor, constants, changed)


def _row(
    run: Run,
    mode: Mode,
    catalogue: Catalogue,
    naive: float | None,
    anchor: Measured | None,
    constants: Calibration | None,
    changed: Mapping[str, object],
) -> Row:
    measured = measured_time(run)
    predicted, reason, input_share, scale = None, None, None, None
    interval: Interval | _NoInterval = NO_INTERVAL
    try:
        of = run.accelerators_per_node if mode == "anchored-machine" else 1
        scenario = scenario_of_run(run, catalogue, anchor and anchor.iteration_time, of)
        if changed:
            scenario = _with(scenario, changed)
        if measured is None:
            raise Refused("no measured time")
        if mode == "anchored" and run.world_size == 1:
            raise Refused("one accelerator", "it is what others are anchored on")
        if mode == "anchored" and anchor is None:
            raise Refused("unanchored", "no run of the same plan on one accelerator")
        if mode == "anchored-machine" and run.nodes <= 1:
            raise Refused("one machine", "it is what others are anchored on")
        if mode == "anchored-machine" and anchor is None:
            raise Refused("unanchored", "no run of the same plan on one whole machine")
        prediction = predict(scenario, catalogue, constants)
        predicted, interval = prediction.iteration_time, prediction.interval or NO_INTERVAL
        input_share = prediction.terms["input_time"] / predicted
        scale = interval.scale
    except (Refused, InputError) as error:
        reason = str(error) if isinstance(error, Refused) else f"refused by the model: {error}"
    return Row(
        run,
        mode,
        measured,
        predicted,
        naive if predicted is not None else None,
        interval.low_80,
        interval.high_80,
        None if anchor is None else "unique" if anchor.unique else "ambiguous",
        reason,
        input_share,
        scale,
    )


def _with(scenario: Scenario, changed: Mapping[str, object]) -> Scenario:
    """The scenario with options replaced; a strategy that knows one kind of overlap keeps it."""
    if scenario.strategy == "data-parallel-single-process":
        changed = {key: value for key, value in changed.items() if key != "overlap"}
    return type(scenario).model_construct(**{**scenario.model_dump(exclude_unset=True), **changed})
