"""``diagnose``: a measured run or listing of collectives against the prediction of its job."""

from os import PathLike, fspath
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from perfmodel.core.errors import refusal
from perfmodel.core.records.options import OptionInfo
from perfmodel.core.records.record import Within
from perfmodel.equations.algorithm import CollectiveName
from perfmodel.interfaces.command import Command, Context
from perfmodel.interfaces.forms import card_and_table, forms_of
from perfmodel.interfaces.report import report
from perfmodel.model.options.scenario import Scenario

if TYPE_CHECKING:
    from pathlib import Path

    from perfmodel.decide.diagnosis.answer import Diagnosis
    from perfmodel.interfaces.client.files import Files

    Measured: TypeAlias = str | Path
else:

    class Measured(str):
        """A quantity with its unit, what a file contains, or its name."""

        @classmethod
        def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
            """Take a text, or a path."""
            from pydantic_core import core_schema

            return core_schema.no_info_before_validator_function(_plain, core_schema.str_schema(strict=True))


def _plain(given: Any) -> Any:
    """Return a path as its text."""
    return fspath(given) if isinstance(given, PathLike) else given


def sent(given: Any, files: "Files") -> Any:
    """Return a measurement for a request: its file is sent along."""
    from perfmodel.decide.diagnosis.measured import is_name

    return files.add(given) if is_name(given) else given


class DiagnoseRequest(Scenario):
    """What was measured, and the job or the machines that it was measured on, as they are believed to be.

    Parameters
    ----------
    measured : A time or rate, e.g. 145ms or 1234tok/s/gpu; or the log of a run, a trace, or the output of
        nccl-tests or rccl-tests: the file, or over HTTP what it contains.
    collective : What a listing timed, where it does not say that itself.
    skip : [1] First lines of a log, or marked steps of a trace, to leave out as warm-up.
        [default: a tenth of the lines of a log, no step]
    """

    measured: Annotated[Measured, OptionInfo(sent=sent, form="SPEED|FILE")]
    collective: Annotated[CollectiveName | None, OptionInfo(synonyms={"sendrecv": "send-receive"})] = None
    skip: Annotated[int, Within(ge=0, le=1_000_000, strict=True)] | None = None


def run(request: DiagnoseRequest, context: Context) -> "Diagnosis":
    """Say where a measurement lies in the interval of its job, which cause explains it, and what to do next.

    A cause is the prediction with one input changed: TCP instead of the network's own transport, one network
    adapter, another precision, and so on.  A listing is held against all of them size by size.

    Raises
    ------
    InputError : a quantity or file that cannot be read; a job that cannot be predicted, or is not the one
        that was measured

    Examples
    --------
    >>> from perfmodel import diagnose
    >>> slow = diagnose(measured="400ms", gpus=32)
    >>> slow.verdict, slow.terms[0].name
    ('slow', 'backward_time')
    >>> diagnose(measured="19000 images/s", gpus=32).verdict
    'normal'
    """
    from perfmodel.decide.diagnosis.listing import diagnose_listing
    from perfmodel.decide.diagnosis.measured import Speed, read_measured
    from perfmodel.decide.diagnosis.training import diagnose_training

    measured = read_measured(str(request.measured), request.skip)
    if not isinstance(measured, Speed):
        return diagnose_listing(measured, request.alone(), request.collective, context.catalogue)
    if request.collective is not None:
        raise refusal("diagnose.not_a_listing", "collective")
    return diagnose_training(measured, request.alone(), context.catalogue)


def text(answer: "Diagnosis", request: object) -> None:
    """Print the answer in a sentence, then sizes or terms, causes, published runs, and the next step."""
    from perfmodel.interfaces.cli.diagnosis_render import show_diagnosis

    show_diagnosis(answer)


def _page(answer: "Diagnosis", request: DiagnoseRequest, context: Context) -> Any:
    """Return the page of a diagnosis."""
    from perfmodel.interfaces.reports.diagnosed import page_of_diagnosis

    return page_of_diagnosis(answer, context.typed, context.catalogue, request, request.alone())


_LISTING = """\
# Collective test starting: all_reduce_perf
#       size         count      type   redop    root     time   algbw   busbw
     1048576        262144     float     sum      -1    131.5    7.97   14.95
    67108864      16777216     float     sum      -1     5050   13.29   24.92
  1073741824     268435456     float     sum      -1    78200   13.73   25.75
"""

COMMAND = Command(
    name="diagnose",
    summary="Say whether a measured speed is normal for its job, and what may slow it.",
    about="Of a training run give the options of the job and its speed: a time, a rate, a log of "
    "Megatron-LM, torchtitan, NeMo, DeepSpeed, Horovod's synthetic benchmarks or tf_cnn_benchmarks, or a "
    "profiler's trace.  Of collectives give the machines, and the output of nccl-tests or rccl-tests.",
    request=DiagnoseRequest,
    answers=("perfmodel.decide.diagnosis.answer:Diagnosis",),
    run=run,
    text=text,
    forms=forms_of(markdown=card_and_table),
    positional=("measured",),
    writes={"report": report(_page)},
    examples=(
        "perfmodel diagnose --gpus 32 --measured 400ms",
        "perfmodel diagnose --workload llama-3-8b --node dgx-h100 --gpus 64 --sharding zero3 "
        "--measured 3000tok/s/gpu",
        "perfmodel diagnose --workload vgg16 --gpus 8 --measured train.log",
        "perfmodel diagnose --node dgx-h100 --measured all_reduce.txt --report page.html",
    ),
    bodies={
        "a time": {"gpus": 32, "measured": "400ms"},
        "a listing": {"gpus": 16, "node": "dgx-h100", "measured": _LISTING},
    },
)
