"""The result of an update by own runs, and the file that ``--calibration`` reads."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from perfmodel.core.files.reading import LARGEST_TEXT, read_bytes
from perfmodel.core.files.writing import write_whole
from perfmodel.evidence.fitting.components import shipped_components
from perfmodel.evidence.fitting.odd_runs import in_milliseconds, warnings_of
from perfmodel.evidence.fitting.other_sizes import OtherSizes, other_sizes
from perfmodel.evidence.fitting.own_fabric import read_own_fabric
from perfmodel.evidence.fitting.own_runs import Answer, OwnRun, Update
from perfmodel.evidence.fitting.own_summary import Worth, summary_lines, worth_of
from perfmodel.evidence.fitting.own_table import read_own_runs
from perfmodel.evidence.fitting.own_update import update_by_own_runs
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.fitted.calibration import FITTED, Calibration, calibration, with_own_effects
from perfmodel.model.fitted.own_effects import KIND, VERSION, caution_of, fingerprint, seal
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction.answer_card import Card


def file_table(
    learned: Update,
    files: Sequence[str],
    warnings: Sequence[str],
    other_sizes: OtherSizes | None,
    worth: Worth,
) -> dict[str, Any]:
    """Return the content of the file that ``--calibration`` reads; equal runs give equal content.

    Parameters
    ----------
    learned : update by the runs
    files : paths of the files that the runs were read from
    warnings : what to look at in the runs
    other_sizes : the largest run's job on other numbers of accelerators
    worth : what the update is worth
    """
    own = learned.own
    rows = [_row(answer) for answer in learned.answers]
    table = {
        "kind": KIND,
        "version": VERSION,
        "made_by": "perfmodel calibrate",
        "standing": worth.standing,
        "advice": worth.advice,
        "beside": fingerprint(FITTED.read_bytes()),
        "inputs": [Path(file).name for file in files],
        "sha256": fingerprint(b"".join(read_bytes(file, LARGEST_TEXT) for file in files)),
        "rows": rows,
        "warnings": list(warnings),
        "other_sizes": None if other_sizes is None else other_sizes.to_dict(),
        "effects": {
            name: {"logarithm": own.logarithms[name], "deviation_before": before, "deviation": after}
            for name, (before, after) in learned.deviations.items()
        },
        **{
            name: getattr(own, name)
            for name in ("settled", "components", "scale", "noise", "scatter", "seen", "jobs", "transformers")
        },
    }
    return table | {"seal": seal(table)}


def _row(answer: Answer) -> dict[str, Any]:
    """Return a run's errors and interval widths, relative to its measured time, for the file."""
    return {
        "where": answer.where,
        "run": answer.run,
        "measured": answer.time,
        "rate": answer.rate if answer.unit else None,
        "unit": answer.unit,
        **{name: math.expm1(getattr(answer, name)) for name in ("before", "left_out", "after")},
        "width_before": _relative(answer.width_before),
        "width_after": _relative(answer.width_after),
    }


def _relative(half_width: float) -> float | None:
    """Return the upper end of the 80 % interval over the prediction, less 1; None without an interval."""
    return None if math.isnan(half_width) else math.expm1(half_width)


@dataclass(frozen=True, repr=False)
class OwnRuns:
    """The shipped fit, updated by runs of one's own."""

    learned: Update
    """The factors that the runs move, and how far each run is missed."""
    files: tuple[str, ...]
    """They were read from."""
    warnings: tuple[str, ...] = ()
    """What to look at in the runs: those that do not fit the others, units, factors far from 1."""
    other_sizes: OtherSizes | None = None
    """What the runs change for the largest one's job on other numbers of accelerators."""
    unit_in_doubt: bool = False
    """Whether a time may be in another unit than it was read in."""

    @property
    def answers(self) -> list[Answer]:
        """How far each run is missed, before, after, and left out."""
        return self.learned.answers

    @cached_property
    def calibration(self) -> Calibration:
        """What ``predict`` takes as ``constants``; the written file is its ``calibration``."""
        caution = caution_of(self.worth.standing, self.worth.advice)
        return with_own_effects(calibration(), self.learned.own._replace(caution=caution))

    @cached_property
    def worth(self) -> Worth:
        """Whether jobs that were not measured gain by it."""
        return worth_of(self.learned, self.warnings, self.unit_in_doubt)

    @property
    def card(self) -> Card:
        """The answer in short."""
        count = len(self.answers)
        tested = f", each predicted by what the other {count - 1} teach" if self.worth.is_tested else ""
        files = ", ".join(Path(file).name for file in self.files)
        answer = "" if self.other_sizes is None else f" {self.other_sizes.answer}"
        rests_on = f"{count} run{'s' * (count != 1)} of {files}{tested}"
        return Card(advice=f"{self.worth.advice}{answer}", rests_on=rests_on)

    @cached_property
    def _table(self) -> dict[str, Any]:
        return file_table(self.learned, self.files, self.warnings, self.other_sizes, self.worth)

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
        return "\n".join(summary_lines(self.learned, self.worth, self.warnings, self.other_sizes))

    def __repr__(self) -> str:
        return f"<OwnRuns: {len(self.answers)} of {', '.join(self.files)}, beside the shipped fit>"


def own_runs(data: str | None, collectives: Sequence[str], job: Scenario, catalogue: Catalogue) -> OwnRuns:
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
    files = [*([] if data is None else [data]), *collectives]
    runs = [] if data is None else read_own_runs(data, catalogue)
    runs += read_own_fabric(collectives, job, catalogue)
    name = ", ".join(Path(file).name for file in files)

    def learn(some: Sequence[OwnRun]) -> Update:
        return update_by_own_runs(some, calibration(), shipped_components(), name, catalogue)

    learned = learn(runs)
    milliseconds = in_milliseconds(runs, learned.answers)
    warnings = warnings_of(runs, learned, learn, milliseconds)
    in_doubt = bool(milliseconds)
    says_little = in_doubt or len(runs) == 1
    sizes = None if says_little else other_sizes(runs, learned, catalogue)
    return OwnRuns(learned, tuple(files), tuple(warnings), sizes, in_doubt)


def calibration_of_runs(path: str, catalogue: Catalogue | None) -> Calibration:
    """Return the shipped fit, updated by the runs of a CSV file; errors as of ``own_runs``."""
    answer = own_runs(path, (), Scenario(), Catalogue.of(catalogue))
    own = answer.calibration.own
    assert own is not None
    return with_own_effects(calibration(), own._replace(file=path))
