"""``validate``: the model against measured runs."""

from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Annotated, Any, Literal

from perfmodel.core.choices import Jobs
from perfmodel.core.errors import refusal
from perfmodel.core.records.options import Described, OptionInfo
from perfmodel.core.records.record import Within
from perfmodel.interfaces.command import Command, Context, Writes
from perfmodel.interfaces.commands import explain_row
from perfmodel.interfaces.commands.explain_row import ExplainRowRequest

if TYPE_CHECKING:
    from perfmodel.evidence.accuracy.campaign import Mode
    from perfmodel.evidence.fitting.leave_out import LeaveOutTests
    from perfmodel.evidence.validation import Validation
    from perfmodel.hardware.catalogue.store import Catalogue

_By = Literal[
    "source", "accelerator", "workload", "strategy", "world-size", "link", "collective", "nodes", "class"
]
GROUPS = ("source", "accelerator", "workload", "strategy", "world-size")
GROUPS_OF = {
    "collectives": ("source", "accelerator", "link", "collective", "nodes"),
    "transformers": ("source", "accelerator", "class", "world-size"),
}
"""Of the kinds that have others."""
JUDGED = {"claims": "validate.claims_data", "diagnose": "validate.diagnose_data"}
"""Kinds of which nothing is learned, what others said and what the model says of listings -> why they take no
data."""


class ValidateRequest(Described):
    """Measured runs to be predicted.

    Parameters
    ----------
    kind : What was measured; transformers under any parallelism; mlperf is time to train, claims are figures
        others published, diagnose is listings of collectives that are normal or known to be wrong.
    mode : Predict from specs alone, or from the measured iteration of one accelerator, of transformers of
        another run; training on several machines also from that of one of them.
    data : CSV of measured runs; of training also a file that calibrate learns from.  [default: those that
        come along]
    out_of_sample : Predict each source by a fit to all the others. Of training that takes some 40 s on one
        core, of other kinds up to 5; a service that allows less answers 504.
    jobs : [1] Processes of --out-of-sample, of training; the answer is the same. A service starts one.
        [default: 1]
    """

    kind: Literal["training", "transformers", "collectives", "mlperf", "claims", "diagnose"] = "training"
    mode: Literal["specs", "anchored", "anchored-machine"] = "specs"
    data: Annotated[str | None, OptionInfo(file=True)] = None
    out_of_sample: Annotated[bool, Within(strict=True), OptionInfo(denied=False)] = False
    jobs: Jobs = None


class LeaveOutRequest(Described):
    """Leave-out tests.

    Parameters
    ----------
    tests : What is left out in each.
    learning_curve : Whether the learning curve is among them.
    jobs : [1] Processes that fit.
    write : File whose lines of the same tests are replaced.
    """

    tests: tuple[str, ...] = ()
    learning_curve: bool = False
    jobs: int = 1
    write: str | None = None


class Typed(ValidateRequest):
    """What the shell takes: also other answers about measured runs, and files.

    Parameters
    ----------
    by : Group the errors; collectives also by link, collective or nodes, transformers by class.  [default:
        source]
    explain_row : How one measured row was read: what it states, what was assumed, what came of it; of any
        kind.
    leave_out : Predict rows of every kind by fits that saw none of their source, publisher, network,
        accelerator (generation), software or fabric; year:2024: by what was published before; size: by
        smaller jobs.  May be repeated.
    learning_curve : Predict runs with 0, 1, 3 and 6 runs of their source given, drawn at random.
    plots : Figures next to the report (needs matplotlib).
    report : Where the report goes.
    ledger : Where entries of the ledger go.
    write : Where leave-out tests go.
    """

    by: Annotated[tuple[_By, ...], OptionInfo(commas=True)] = ()
    explain_row: Annotated[str | None, OptionInfo(form="ID")] = None
    leave_out: Annotated[tuple[str, ...], OptionInfo(commas=True, form="WHAT")] = ()
    learning_curve: Annotated[bool, OptionInfo(denied=False)] = False
    plots: Annotated[bool, OptionInfo(denied=False)] = False
    report: Annotated[str | None, OptionInfo(shell=False)] = None
    ledger: Annotated[str | None, OptionInfo(shell=False)] = None
    write: Annotated[str | None, OptionInfo(shell=False)] = None

    def request(self) -> Described:
        """Return the request, or that of another command or test."""
        if self.leave_out or self.learning_curve:
            self._alone("validate.leave_out_rows", "data", "kind", "mode", "by", "out_of_sample", *_FILES)
            return LeaveOutRequest.model_construct(
                tests=self.leave_out,
                learning_curve=self.learning_curve,
                jobs=self.jobs or 1,
                write=self.write,
            )
        if self.write is not None:
            raise refusal("validate.write")
        if self.explain_row is not None:
            self._alone("validate.explain_row", "out_of_sample", "by", "mode", *_FILES)
            given = {name: getattr(self, name) for name in ("kind", "data") if name in self.model_fields_set}
            return ExplainRowRequest.model_construct(row=self.explain_row, **given)
        if self.by and self.kind in JUDGED:
            raise refusal("validate.claims_by", kind=self.kind)
        able = GROUPS_OF.get(self.kind, GROUPS)
        if unable := [each for each in self.by if each not in able]:
            raise refusal("validate.by", unable=unable[0], kind=self.kind, known=tuple(able))
        if self.plots and self.report is None:
            raise refusal("validate.plots")
        fits = self.kind == "training" and (self.out_of_sample or self.report is not None)
        if self.jobs is not None and not fits:
            raise refusal("validate.jobs")
        return self

    def _alone(self, code: str, *others: str) -> None:
        """Refuse options that say nothing of what else is wanted."""
        usual = Typed.model_construct()
        for name in others:
            if getattr(self, name) != getattr(usual, name):
                raise refusal(code, name.replace("_", "-"))


_FILES = ("report", "plots", "ledger")


def run(request: ValidateRequest, context: Context) -> Any:
    """Predict measured runs and compare: signed errors, next to a naive answer's.

    Collectives and claims have no anchor; claims, of which nothing is learned, take no data; neither they nor
    mlperf are predicted out of sample.  Diagnoses are of shipped listings, always out of sample.

    Raises
    ------
    InputError : an unknown kind or mode; a file that cannot be read

    Examples
    --------
    >>> from perfmodel import validate
    >>> found = validate("collectives")
    >>> found.errors.median_absolute_error < found.naive.median_absolute_error
    True
    """
    from perfmodel.core.files.attachments import attached, is_request

    if isinstance(request, ExplainRowRequest):
        return explain_row.run(request, context)
    if isinstance(request, LeaveOutRequest):
        return _left_out(request, context)
    kind, mode = request.kind, request.mode
    if kind != "training" and mode == "anchored-machine":
        raise refusal("validate.anchored_machine", "mode", "kind", kind=kind)
    if kind in ("collectives", *JUDGED) and mode == "anchored":
        raise refusal("validate.anchored", "mode", "kind", kind=kind)
    if kind in JUDGED and request.data is not None:
        raise refusal(JUDGED[kind], "kind", "data")
    if request.data is not None:
        attached(request.data)  # a service reads none but those that came with the request
    jobs = 1 if is_request() or request.jobs is None else request.jobs
    catalogue = context.catalogue
    if isinstance(request, Typed) and request.report is not None:
        from perfmodel.evidence.validation import reported

        return reported(request.data, mode, catalogue, jobs)
    return _answer(kind, mode, request.data, request.out_of_sample, jobs, catalogue)


def _answer(
    kind: str, mode: "Mode", data: str | None, out_of_sample: bool, jobs: int, catalogue: "Catalogue"
) -> "Validation[Any]":
    from perfmodel.evidence import validation

    if kind == "training":
        return validation.training(data, (mode,), catalogue, out_of_sample, jobs)[0]
    if kind == "transformers":
        return validation.transformers(data, mode, catalogue, out_of_sample)
    if kind == "collectives":
        return validation.collectives(data, catalogue, out_of_sample)
    if kind == "mlperf":
        return validation.mlperf(data, mode, catalogue)
    if kind == "diagnose":
        from perfmodel.decide.diagnosis.validation import diagnoses

        return diagnoses()
    from perfmodel.decide.quote.published import claims

    return claims(catalogue)


def _left_out(request: LeaveOutRequest, context: Context) -> "LeaveOutTests":
    from perfmodel.evidence.accuracy.leave_out import check_test
    from perfmodel.evidence.fitting import leave_out
    from perfmodel.evidence.fitting.learning_curve import learning_curve

    if context.catalogue.has_own:
        raise refusal("validate.leave_out_rows", "specs")
    tests = dict.fromkeys(request.tests)
    for test in tests:
        check_test(test)
    evidence = leave_out.evidence_of_all_kinds(request.jobs) if tests else []
    answers = [leave_out.run_test(test, evidence) for test in tests]
    curve = [learning_curve(request.jobs)] if request.learning_curve else []
    return leave_out.LeaveOutTests((*answers, *curve))


def _read(answer: Any, request: ValidateRequest) -> "Validation[Any]":
    result: Validation[Any] = resolve_name(_ANSWERS[request.kind]).of_json(answer)
    return result


def text(answer: Any, request: Any) -> None:
    """Print errors by group, what leave-out tests say, or a row; where a report was written, nothing."""
    from perfmodel.interfaces.cli import validate_render

    if isinstance(request, ExplainRowRequest):
        explain_row.text(answer, request)
    elif isinstance(request, LeaveOutRequest):
        validate_render.show_leave_out(answer)
    elif getattr(request, "report", None) is None:
        validate_render.show(answer, getattr(request, "by", ()), request.out_of_sample)


def _check_report(file: Path, request: Typed) -> None:
    from perfmodel.core.errors import needed
    from perfmodel.core.files.writing import check_writable
    from perfmodel.evidence.accuracy.report.plots import MATPLOTLIB

    check_writable(file)
    if request.plots:
        needed(*MATPLOTLIB)
    if request.kind != "training":
        raise refusal("validate.report_kind", kind=request.kind)
    if request.mode == "anchored-machine":
        raise refusal("validate.report_mode")


def _write_report(file: Path, answer: Any, request: Typed, context: Context) -> None:
    """Write the report, the rows that its ratios are judged by, and its figures."""
    import click

    from perfmodel.decide.quote.published import published_claims, section
    from perfmodel.evidence.accuracy.report.measured_report import write_report
    from perfmodel.evidence.accuracy.report.out_of_sample_file import NAME, write_rows
    from perfmodel.evidence.accuracy.report.plots import write_plots

    specs, anchored = ([*each.rows] for each in answer.by_mode)
    claims = section(published_claims(context.catalogue)) if request.data is None else ""
    write_rows(file.parent / NAME, (*specs, *anchored))
    write_report(file, specs, anchored, claims)
    if request.plots:
        write_plots(file.parent / "plots", specs, anchored)
    click.echo(f"wrote {file} and {NAME} next to it", err=True)


def _check_ledger(file: Path, request: Typed) -> None:
    from perfmodel.core.files.writing import check_writable

    fitted = request.out_of_sample or request.report is not None or request.mode != "specs"
    if request.data is None or fitted or request.kind in ("mlperf", *JUDGED):
        raise refusal("validate.ledger")
    check_writable(file)


def _write_ledger(file: Path, answer: Any, request: Typed, context: Context) -> None:
    import click

    from perfmodel import __version__
    from perfmodel.evidence.accuracy.ledger.ledger_rows import append

    fresh, held = append(file, answer.rows, __version__, context.catalogue)
    click.echo(f"{file}: {fresh} rows appended, {held} were there", err=True)


def _check_write(file: Path, request: LeaveOutRequest) -> None:
    from perfmodel.core.files.writing import check_writable

    check_writable(file)


def _write_tests(file: Path, answer: Any, request: LeaveOutRequest, context: Context) -> None:
    import click

    from perfmodel.evidence.accuracy.report.leave_out_file import write_lines

    write_lines(file, answer.records())
    click.echo(f"wrote {file}", err=True)


_ANSWERS = {
    "training": "perfmodel.evidence.validation:TrainingValidation",
    "transformers": "perfmodel.evidence.validation:TransformerValidation",
    "collectives": "perfmodel.evidence.validation:CollectiveValidation",
    "mlperf": "perfmodel.evidence.validation:MlperfValidation",
    "claims": "perfmodel.decide.quote.published:ClaimValidation",
    "diagnose": "perfmodel.decide.diagnosis.validation:DiagnosisValidation",
}
"""Types of the answer, by kind."""

COMMAND = Command(
    name="validate",
    summary="Hold the model against measured training runs: signed errors, next to a naive answer's.",
    about="--json has every row and the summary, --csv and --markdown the rows.  With --out-of-sample or "
    "--report, the runs of --data are judged by a fit to them and those that come along, each without its "
    "own source; --leave-out software, or another category, takes minutes.",
    request=ValidateRequest,
    typed=Typed,
    answers=tuple(_ANSWERS.values()),
    several="kind",
    json=("perfmodel.interfaces.service.answer_types:ValidateAnswer",),
    read=_read,
    run=run,
    text=text,
    positional=("kind",),
    writes={
        "report": Writes(
            "Write the whole report as Markdown; next to it, its rows: out_of_sample.csv.",
            _check_report,
            _write_report,
        ),
        "ledger": Writes(
            "Append by how much the rows of --data are missed, before anything learns from them; of this "
            "project's rows to validation/ledger.csv.",
            _check_ledger,
            _write_ledger,
        ),
        "write": Writes(
            "CSV of leave-out tests and learning curve to put the answer in.", _check_write, _write_tests
        ),
    },
    examples=(
        "perfmodel validate --mode anchored --by strategy",
        "perfmodel validate --data my_runs.csv --json",
        "perfmodel validate --kind collectives --out-of-sample",
        "perfmodel validate --kind transformers --by class",
        "perfmodel validate --mode anchored --by accelerator",
        "perfmodel validate --kind mlperf --mode anchored",
        "perfmodel validate --kind claims",
        "perfmodel validate --kind diagnose",
        "perfmodel validate --explain-row titan-0006",
    ),
    bodies={"collectives": {"kind": "collectives"}},
)
