"""What a file of one's own runs teaches, as bounded ``Work``."""

from __future__ import annotations

from pathlib import Path

from app.bounded import Work, undrawn
from perfmodel.evidence.fitting.own_file import OwnRuns, own_runs
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.options.scenario import Scenario

FEW = 3000
"""Characters of a file of some 50 runs, which take less time than starting a process."""


def learned_text(file: Path, catalogue: Catalogue) -> str:
    """Return what the runs of a file teach, as the text of the file that predictions take; draws nothing."""
    answer: OwnRuns = undrawn(work(file, catalogue))
    return answer.to_json()


def work(file: Path, catalogue: Catalogue) -> Work:
    """Return the update of the shipped fit by the runs of a file as ``Work``."""
    return Work(
        call=own_runs,
        arguments=(str(file), (), Scenario(), catalogue),
        noun="calibration",
        doing="Learning from every run, and from the others without it",
        less="hand over fewer runs at once",
        is_quick=file.stat().st_size <= FEW,
    )
