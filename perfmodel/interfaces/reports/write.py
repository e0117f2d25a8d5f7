"""``perfmodel.write_report``: an answer as one page in a file."""

from __future__ import annotations

from pathlib import Path

from perfmodel.core.errors import refusal
from perfmodel.core.records.arguments import FILE, TEXT, a, expect
from perfmodel.decide.comparison import Comparison
from perfmodel.decide.planning.fleets.result import Fleets
from perfmodel.decide.planning.plans import Plans
from perfmodel.decide.quote import Quote, check_quote
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.interfaces.api.layouts import Layouts
from perfmodel.interfaces.reports.compared import page_of_comparison
from perfmodel.interfaces.reports.fleet import page_of_fleets
from perfmodel.interfaces.reports.page import Page, check_page, write_page
from perfmodel.interfaces.reports.planned import page_of_plan
from perfmodel.interfaces.reports.predicted import page_of_prediction
from perfmodel.interfaces.reports.quoted import page_of_quote
from perfmodel.interfaces.reports.scaled import page_of_scaling
from perfmodel.interfaces.reports.shared_out import page_of_layouts
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.prediction.result import Prediction
from perfmodel.model.prediction.scaling import Scaling

Answer = Prediction | Comparison | Plans | Fleets | Quote | Layouts | Scaling


def write_report(
    answer: Answer,
    path: Path | str,
    *,
    command: str | None = None,
    catalogue: Catalogue | None = None,
    calibration: str | Path | None = None,
) -> None:
    """Write an answer as one page: question, answer with its interval, chart, assumptions and sources.

    The page opens alone, and names no address outside.

    Parameters
    ----------
    answer : of ``predict``, ``scale``, ``layouts``, ``compare``, ``plan``, ``fleets``, or of
        ``read_quote``, whose claims are checked
    path : FILE.html, or FILE.md for Markdown; written whole or not at all
    command : the line that repeats it, if the page shall show one
    catalogue : hardware the answer was made with; by default what comes with the package
    calibration : of a quote, what your own runs taught: its claims are checked with it, as by ``check_quote``

    Raises
    ------
    InputError : another ending, or the file cannot be written; a calibration of an answer that was made
        already

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from perfmodel import predict
    >>> with TemporaryDirectory() as folder:
    ...     write_report(predict(gpus=8), f"{folder}/answer.md")
    ...     print(Path(f"{folder}/answer.md").read_text().splitlines()[0])
    # How long does an iteration take: resnet50 on 8 x v100-sxm2-16gb, amp, batch 64 each, all-reduce?
    """
    expect(a(Prediction, Comparison, Plans, Fleets, Quote, Layouts, Scaling), answer=answer)
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
    if isinstance(answer, Quote):
        return page_of_quote(answer, check_quote(answer, catalogue, calibration=calibration), command)
    if isinstance(answer, Fleets):
        return page_of_fleets(answer, command, catalogue)
    if isinstance(answer, Plans):
        return page_of_plan(answer.search, command, catalogue)
    if isinstance(answer, Comparison):
        return page_of_comparison(answer, command, catalogue, Conditions())
    if isinstance(answer, Layouts):
        return page_of_layouts(answer, command, catalogue)
    if isinstance(answer, Scaling):
        return page_of_scaling(answer, command, catalogue)
    return page_of_prediction(answer, command, catalogue, Conditions())
