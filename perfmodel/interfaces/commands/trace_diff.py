"""``trace diff``: two traces side by side."""

from typing import TYPE_CHECKING, Annotated, Any

from perfmodel.core.errors import refusal
from perfmodel.core.records.options import Described, OptionInfo
from perfmodel.interfaces.command import Command, Context
from perfmodel.interfaces.commands.trace_summary import AnyTraces, Steps, read_traces, sent

if TYPE_CHECKING:
    from perfmodel.evidence.traces.answer import TraceDifference

_Traces = Annotated[AnyTraces, OptionInfo(sent=sent)]


class TraceDiffRequest(Described):
    """Two files of profilers: a measured step, and one of ``predict --timeline``.

    Parameters
    ----------
    measured : A file of a profiler, or what it holds by its name.
    predicted : Such a file, or one of `predict --timeline`.
    skip : [1] Marked steps of the first to leave out.
    """

    measured: _Traces
    predicted: _Traces
    skip: Steps = 0


def run(request: TraceDiffRequest, context: Context) -> "TraceDifference":
    """Return two traces side by side, a step's part by part: a measured one, and a predicted one.

    Raises
    ------
    InputError : a file that is no trace, or has no marked steps

    Examples
    --------
    >>> from perfmodel import trace_diff
    >>> answer = trace_diff(**COMMAND.bodies["a kernel that got faster"])
    >>> answer.parts[1].part, round(answer.parts[1].ratio, 3)
    ('compute_time', 0.8)
    """
    from perfmodel.evidence.traces.answer import PartOfStep, TraceDifference
    from perfmodel.evidence.traces.diff import difference

    given: list[Any] = [request.measured, request.predicted]
    first, second = sides = [read_traces(each, context)[0] for each in given]
    for each, traces in zip(given, sides, strict=True):
        if not traces:
            name = each if isinstance(each, str) else next(iter(each))
            raise refusal("trace.only_messages", files=name)
    return TraceDifference([PartOfStep(**row) for row in difference(first, second, request.skip)])


def text(answer: "TraceDifference", request: object) -> None:
    """Print a row for each part."""
    from perfmodel.interfaces.cli.trace_render import show_difference

    show_difference(answer.records())


def _trace(duration: int) -> dict[str, Any]:
    """Return a trace of one kernel in a step."""
    kernel = {"ph": "X", "cat": "kernel", "name": "sgemm", "pid": 0, "tid": 7, "ts": 10, "dur": duration}
    step = {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 1, "tid": 1}
    own = {"args": {"device": 0, "stream": 7}}
    return {"trace.json": {"traceEvents": [kernel | own, step | {"ts": 0, "dur": 120}]}}


COMMAND = Command(
    name="trace diff",
    summary="Two traces side by side, a step's part by part: a measured one, and one of predict --timeline.",
    request=TraceDiffRequest,
    answers=("perfmodel.evidence.traces.answer:TraceDifference",),
    run=run,
    text=text,
    arguments=("measured", "predicted"),
    positional=("measured", "predicted"),
    hardware=False,
    examples=("perfmodel trace diff my_trace.json step.json",),
    bodies={"a kernel that got faster": {"measured": _trace(100), "predicted": _trace(80)}},
)
