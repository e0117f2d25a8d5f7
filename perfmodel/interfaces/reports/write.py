"""``perfmodel.write_report``: an answer as a page in a file."""

from __future__ import annotations

from pathlib import Path

from perfmodel.core.errors import refusal
from perfmodel.core.records.arguments import FILE, TEXT, a, expect
from perfmodel.decide.comparison import Comparison
from perfmodel.decide.diagnosis.answer import Diagnosis
from perfmodel.decide.fits.answer import Fits
from perfmodel.decide.planning.fleets.result import Fleets
from perfmodel.decide.planning.plans import Plans
from perfmodel.decide.quote import Quote, check_quote
from perfmodel.evidence.fitting.own_file import OwnRuns
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.interfaces.api.layouts import Layouts
from perfmodel.interfaces.reports.collected import page_of_collective
from perfmodel.interfaces.reports.compared import page_of_comparison
from perfmodel.interfaces.reports.diagnosed import page_of_diagnosis
from perfmodel.interfaces.reports.fitted import page_of_fits
from perfmodel.interfaces.reports.fleet import page_of_fleets
from perfmodel.interfaces.reports.layouts import page_of_layouts
from perfmodel.interfaces.reports.own_runs import page_of_own_runs
from perfmodel.interfaces.reports.page import Page, check_page, write_page
from perfmodel.interfaces.reports.planned import page_of_plan
from perfmodel.interfaces.reports.predicted import page_of_prediction
from perfmodel.interfaces.reports.quoted import page_of_quote
from perfmodel.interfaces.reports.scaled import page_of_scaling
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.prediction.collectives.by_size import Collectives
from perfmodel.model.prediction.collectives.collective import Collective
from perfmodel.model.prediction.result import Prediction
from perfmodel.model.prediction.scaling import Scaling

ANSWERS = (
    *(Prediction, Comparison, Plans, Fleets, Quote, Layouts, Scaling),
    *(Diagnosis, Fits, Collective, Collectives, OwnRuns),
)
Answer = (
    Prediction
    | Comparison
    | Plans
    | Fleets
    | Quote
    | Layouts
    | Scaling
    | Diagnosis
    | Fits
    | Collective
    | Collectives
    | OwnRuns
)


def write_report(
    answer: Answer,
    path: Path | str,
    *,
    command: str | None = None,
    catalogue: Catalogue | None = None,
    calibration: str | Path | None = None,
) -> None:
    """Write an answer as one page: question, answer with its interval, chart, assumptions and sources.

    The page is self-contained and has no web addresses.

    Parameters
    ----------
    answer : of ``predict``, ``scale``, ``layouts``, ``compare``, ``plan``, ``fleets``, ``diagnose``,
        ``fits``, ``collective``, ``calibrate`` by own runs, or of ``read_quote``, whose claims are checked
    path : FILE.html, or FILE.md for Markdown; written completely or not at all
    command : shell command that repeats it, if the page should show one
    catalogue : of the answer; by default the built-in one
    calibration : for a quote, a fit to the user's own runs with which its claims are checked

    Raises
    ------
    InputError : another ending, or a file that cannot be written; a calibration with anything but a quote

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from perfmodel import predict
    >>> with TemporaryDirectory() as folder:
    ...     write_report(predict(gpus=8), f"{folder}/answer.md")
    ...     print(Path(f"{folder}/answer.md").read_text().splitlines()[0])
    # How long does an iteration take: ResNet-50 on 8 x V100 SXM2 16 GB, amp, batch 64 each, all-reduce?
    """
    expect(a(*ANSWERS), answer=answer)
    expect(FILE, path=path)
    expect(TEXT.or_none, command=command)
    expect(FILE.or_none, calibration=calibration)
    if calibration is not None and not isinstance(answer, Quote):
        raise refusal("report.calibration", "calibration", calibration=str(calibration))
    check_page(Path(path))
    write_page(Path(path), _page(answer, command, Catalogue.of(catalogue), calibration))


def _page(
    answer: Answer,
    command: str | None,
    catalogue: Catalogue,
    calibration: str | Path | None,
) -> Page:
    """Return the page of an answer, by its type."""
    if isinstance(answer, Quote):
        return page_of_quote(answer, check_quote(answer, catalogue, calibration=calibration), command)
    if isinstance(answer, Fleets):
        return page_of_fleets(answer, command, catalogue)
    if isinstance(answer, Plans):
        return page_of_plan(answer.search, command, catalogue)
    if isinstance(answer, Comparison):
        return page_of_comparison(answer, command, catalogue, [Conditions()] * len(answer.names))
    if isinstance(answer, Layouts):
        return page_of_layouts(answer, command, catalogue)
    if isinstance(answer, Scaling):
        return page_of_scaling(answer, command, catalogue)
    if isinstance(answer, Diagnosis):
        return page_of_diagnosis(answer, command, catalogue)
    if isinstance(answer, Fits):
        return page_of_fits(answer, command, catalogue)
    if isinstance(answer, Collective | Collectives):
        return page_of_collective(answer, command)
    if isinstance(answer, OwnRuns):
        return page_of_own_runs(answer, command)
    return page_of_prediction(answer, command, catalogue, Conditions())
