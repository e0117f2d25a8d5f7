"""Predict every measured run, and set the two beside each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from perfmodel.accuracy.anchors import Anchors, Measured
from perfmodel.accuracy.baselines import ConstantUtilisation
from perfmodel.accuracy.campaign import ENDS, Outcome
from perfmodel.accuracy.campaign import Mode as Mode
from perfmodel.accuracy.runs import Run, shipped_runs
from perfmodel.accuracy.scenarios import Refused, measured_time, scenario_of_run
from perfmodel.calibration import Calibration
from perfmodel.errors import InputError
from perfmodel.prediction import predict
from perfmodel.specs.store import Catalogue

Constants = Callable[[Run], Calibration | None]


class Row(Outcome):
    """A measured run and what the model says of its iteration; times in seconds."""

    run: Run
    """What was measured."""

    def to_dict(self) -> dict[str, Any]:
        """Return the row as people script against it."""
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
    """Predict each run, in order; a run that must be refused stays in, with the reason.

    Parameters
    ----------
    runs : measured configurations
    mode : ``specs``: from specs alone; ``anchored``: runs on several accelerators from the measured
        iteration of one, which must be among ``runs``; ``anchored-machine``: those on several machines from
        that of one of them, all of whose accelerators ran
    catalogue : hardware to look names up in; by default what comes with the package
    constants : what was learned, for each run; None, the default, is what comes with the package
    """
    catalogue = Catalogue.of(catalogue)
    if mode == "specs":
        naive = ConstantUtilisation({*shipped_runs(), *runs}, catalogue)
        return [_row(run, mode, catalogue, naive.iteration_time(run), None, constants(run)) for run in runs]
    anchors, result = Anchors(runs), []
    for run in runs:
        if mode == "anchored-machine":
            anchor = anchors.of_machine(run) if run.nodes > 1 else None
        else:
            anchor = anchors.of(run) if run.world_size > 1 else None
        result.append(_row(run, mode, catalogue, anchor and anchor.iteration_time, anchor, constants(run)))
    return result


def _row(
    run: Run,
    mode: Mode,
    catalogue: Catalogue,
    naive: float | None,
    anchor: Measured | None,
    constants: Calibration | None,
) -> Row:
    row = Row(measured_time(run), mode=mode, anchor=anchor and anchor.agreement, run=run)
    try:
        of = run.accelerators_per_node if mode == "anchored-machine" else 1
        scenario = scenario_of_run(run, catalogue, anchor and anchor.iteration_time, of)
        if row.measured is None:
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
    except Refused as error:
        return row._replace(reason=str(error))
    except InputError as error:
        return row._replace(reason=f"refused by the model: {error}")
    row = row._replace(predicted=prediction.iteration_time, naive=naive)
    if (interval := prediction.interval) is None:
        return row
    return row._replace(**{name: getattr(interval, name) for name in (*ENDS, "scale")})
