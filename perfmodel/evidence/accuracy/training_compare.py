"""Predict measured data-parallel runs, from specs or from an anchor; pair predicted and measured times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from perfmodel.core.errors import InputError
from perfmodel.evidence.accuracy.anchors import Anchors, Measured
from perfmodel.evidence.accuracy.baselines import constant_utilisation
from perfmodel.evidence.accuracy.campaign import ENDS, Outcome
from perfmodel.evidence.accuracy.campaign import Mode as Mode
from perfmodel.evidence.accuracy.scenarios import Refused, measured_time, scenario_of_run
from perfmodel.evidence.accuracy.training_rows import Run, shipped_runs
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.fitted.calibration import Calibration
from perfmodel.model.prediction import predict

Constants = Callable[[Run], Calibration | None]
"""From a run to the learned numbers that predict it; None for the shipped ones."""
ONE = {
    "anchored": ("one accelerator", "one accelerator"),
    "anchored-machine": ("one machine", "one whole machine"),
}
"""Mode -> the anchor as reasons name it, and the run that must have been measured."""


class Row(Outcome):
    """Measured and predicted iteration time of a run; times in seconds."""

    run: Run
    """The measured run."""

    def to_dict(self) -> dict[str, Any]:
        """Return the row as a dictionary for JSON; times in seconds."""
        return {
            "run_id": self.run.run_id,
            "source": self.run.source,
            "measured_iteration_time": self.measured,
            "predicted_iteration_time": self.predicted,
            **self.ends,
            "mode": self.mode,
            "anchor": self.anchor,
            "reason": self.reason,
        }


def compare(
    runs: Sequence[Run],
    mode: Mode = "specs",
    catalogue: Catalogue | None = None,
    constants: Constants = lambda run: None,
) -> list[Row]:
    """Predict each run, in order; a refused run stays in, with the reason.

    Parameters
    ----------
    runs : measured configurations
    mode : ``specs``: from specs alone; ``anchored``: runs on several accelerators from the measured
        iteration of one, which must be among ``runs``; ``anchored-machine``: those on several machines from
        that of one of them, all of whose accelerators ran
    catalogue : hardware; by default the built-in catalogue
    constants : from a run to the learned numbers that predict it; by default the shipped ones
    """
    catalogue = Catalogue.of(catalogue)
    if mode == "specs":
        naive = constant_utilisation({*shipped_runs(), *runs}, catalogue)
        return [_row(run, mode, catalogue, naive(run), None, constants(run)) for run in runs]
    anchors, result = Anchors(runs), []
    for run in runs:
        anchor = None if _is_alone(run, mode) else anchors.of(run, mode == "anchored-machine")
        result.append(_row(run, mode, catalogue, anchor and anchor.iteration_time, anchor, constants(run)))
    return result


def _is_alone(run: Run, mode: Mode) -> bool:
    """Whether a run is on one accelerator (or one machine), so that it is itself an anchor."""
    return (run.nodes if mode == "anchored-machine" else run.world_size) <= 1


def _row(
    run: Run,
    mode: Mode,
    catalogue: Catalogue,
    naive: float | None,
    anchor: Measured | None,
    constants: Calibration | None,
) -> Row:
    """Return a run with its prediction, or with the reason why there is none."""
    row = Row(measured_time(run), mode=mode, anchor=anchor and anchor.agreement, run=run)
    try:
        of = run.accelerators_per_node if mode == "anchored-machine" else 1
        scenario = scenario_of_run(run, catalogue, anchor and anchor.iteration_time, of)
        if row.measured is None:
            raise Refused("no measured time")
        if mode != "specs" and anchor is None:
            one, whole = ONE[mode]
            if _is_alone(run, mode):
                raise Refused(one, "it is what others are anchored on")
            raise Refused("unanchored", f"no run of the same plan on {whole}")
        prediction = predict(scenario, catalogue, constants)
    except Refused as error:
        return row._replace(reason=str(error))
    except InputError as error:
        return row._replace(reason=f"refused by the model: {error.note()}")
    row = row._replace(predicted=prediction.iteration_time, naive=naive)
    if (interval := prediction.interval) is None:
        return row
    return row._replace(**{name: getattr(interval, name) for name in (*ENDS, "scale")})
