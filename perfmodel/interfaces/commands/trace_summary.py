"""``trace summary``: where the time of a step goes, from profiler files."""

import json
from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from perfmodel.core.choices import Names, Precision
from perfmodel.core.records.options import Described, OptionInfo
from perfmodel.core.records.record import Within, same_as
from perfmodel.interfaces.command import Command, Context
from perfmodel.model.options.scenario import Scenario

if TYPE_CHECKING:
    from perfmodel.evidence.traces.answer import TraceSummary
    from perfmodel.evidence.traces.device_trace import DeviceTrace
    from perfmodel.evidence.traces.nccl_tests import Timings
    from perfmodel.interfaces.client.files import Files

    AnyTraces: TypeAlias = Mapping[str, Any] | Sequence[str | Path] | str | Path
else:

    class AnyTraces:
        """Files and folders, or the content of each file by its name."""

        @classmethod
        def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
            """Accept a table of contents, or a list of names."""
            from pydantic_core import core_schema

            from perfmodel.interfaces.service.requests import FileName

            names = core_schema.list_schema(core_schema.str_schema(strict=True), min_length=1)
            keys = handler.generate_schema(FileName)
            table = core_schema.dict_schema(keys, core_schema.any_schema(), min_length=1)
            either = core_schema.union_schema([table, names])
            return core_schema.no_info_before_validator_function(_plain, either)


Steps = Annotated[int, Within(ge=0, le=1_000_000, strict=True)]


def _plain(given: Any) -> Any:
    """Return names of files as a list of texts; a table of contents unchanged."""
    if isinstance(given, str | PathLike):
        return [fspath(given)]
    if isinstance(given, list | tuple):
        return [fspath(each) if isinstance(each, PathLike) else each for each in given]
    return given


def sent(given: Any, files: "Files") -> Any:
    """Return the names of files in a request; a folder stands for its files."""
    from perfmodel.evidence.traces.read import files_of

    plain = _plain(given)
    return plain if isinstance(plain, Mapping) else [files.add(file) for file in files_of(plain)]


class TraceRequest(Described):
    """Profiler files of one job.

    Parameters
    ----------
    traces : Content of each file by its name: the text, or the JSON itself of a Chrome trace; or names of
        files.
    skip : [1] Marked steps at the start to leave out.
    accelerators : Accelerators of the job, for files without their names.
    workload : Network of the job: adds recommendations.
    local_batch_size : Samples per accelerator of the job: recommendations try larger ones.
    precision : Precision of the job: recommendations try others.  [default: with a network]
    """

    traces: Annotated[AnyTraces, OptionInfo(sent=sent)]
    skip: Steps = 0
    accelerators: Annotated[Names, OptionInfo(name="accelerator", commas=True)] = ()
    workload: str | None = same_as(Scenario, None)
    local_batch_size: int | None = same_as(Scenario)
    precision: Precision | None = same_as(Scenario)


class TraceTyped(Described):
    """The request in a shell.

    Parameters
    ----------
    files : Profiler files of one job, or folders of them.
    """

    files: Annotated[tuple[str, ...], OptionInfo(form="FILE...")]
    accelerators: Names = same_as(TraceRequest)
    skip: int = same_as(TraceRequest)
    workload: str | None = same_as(TraceRequest)
    local_batch_size: int | None = same_as(TraceRequest)
    precision: Precision | None = same_as(TraceRequest)

    def request(self) -> TraceRequest:
        """Return the request."""
        given = {name: getattr(self, name) for name in self.model_fields_set if name != "files"}
        return TraceRequest.model_construct(traces=self.files, **given)


def run(request: TraceRequest, context: Context) -> "TraceSummary":
    """Return the times of each device: computation, exposed and hidden communication, input, idle time.

    Raises
    ------
    InputError : a file that is not a trace; an unknown name; a batch or precision without the network

    Examples
    --------
    >>> from perfmodel import trace_summary
    >>> kernel = {"ph": "X", "cat": "kernel", "name": "sgemm", "pid": 0, "tid": 7, "ts": 10, "dur": 100}
    >>> trace = {"traceEvents": [kernel | {"args": {"device": 0, "stream": 7}}]}
    >>> round(trace_summary({"trace.json": trace}).devices[0]["totals"]["compute_time"], 6)
    0.0001
    """
    from perfmodel.evidence.traces.answer import TraceSummary
    from perfmodel.evidence.traces.summarised import summary_with_recommendations, with_timings

    read = read_traces(request.traces, context)
    report = summary_with_recommendations(
        *read,
        accelerator=request.accelerators,
        skip=request.skip,
        workload=request.workload,
        local_batch_size=request.local_batch_size,
        precision=request.precision,
        catalogue=context.catalogue,
    )
    return TraceSummary(with_timings(*report))


def read_traces(traces: Any, context: Context) -> tuple[list["DeviceTrace"], list["Timings"]]:
    """Return the traces that a request names or contains, and the message times among them."""
    from perfmodel.core.files.attachments import only_attached
    from perfmodel.evidence.traces.read import read_all
    from perfmodel.interfaces.cli.trace_files import read_all as with_progress

    plain = _plain(traces)
    if not isinstance(plain, Mapping):
        return (with_progress if context.typed else read_all)(plain)
    with only_attached({name: _content(held) for name, held in plain.items()}):
        return read_all(list(plain))


def _content(given: Any) -> bytes:
    """Return the content of a trace that is given as text, bytes, or JSON."""
    from perfmodel.core.files.attachments import content_of

    held = content_of(given)
    return json.dumps(given).encode("utf-8", "replace") if held is None else held


def text(answer: "TraceSummary", request: object) -> None:
    """Print devices, collectives, ranks and marked ranges, and changes that would shorten the step."""
    from perfmodel.interfaces.cli.trace_render import show_summary

    show_summary(answer)


_EVENT = {"ph": "X", "cat": "kernel", "name": "sgemm", "pid": 0, "tid": 7, "ts": 10, "dur": 100}
_TRACE = {"traceEvents": [{**_EVENT, "args": {"device": 0, "stream": 7}}]}

COMMAND = Command(
    name="trace summary",
    summary="Summarise computation, communication, input and idle time of each device of a job.",
    about="Also shares of kernels, copies, runtime, loader and host; GPU occupancy; memory; ranks that "
    "others wait for; time by marked range; and changes that would shorten the step, with the time each "
    "saves.  A folder holds the files of all ranks.\n\n"
    "Export a report of Nsight Systems first, with ``nsys export --type sqlite``.",
    request=TraceRequest,
    typed=TraceTyped,
    answers=("perfmodel.evidence.traces.answer:TraceSummary",),
    run=run,
    text=text,
    arguments=("files",),
    positional=("traces",),
    examples=("perfmodel trace summary my_trace.json",),
    bodies={"one kernel": {"traces": {"trace.json": _TRACE}}},
)
