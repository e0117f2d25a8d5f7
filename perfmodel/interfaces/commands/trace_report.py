"""``trace report``: the content of ``trace summary`` as a page."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from perfmodel.core.errors import refusal
from perfmodel.interfaces.command import Context, Writes
from perfmodel.interfaces.commands import trace_summary
from perfmodel.interfaces.commands.trace_summary import TraceRequest
from perfmodel.interfaces.forms import JSON


def text(answer: object, request: object) -> None:
    """Print no answer: the command's note on the written file is enough."""


def _check(file: Path, request: TraceRequest) -> None:
    """Check that the page can be written."""
    from perfmodel.core.files.writing import check_writable

    check_writable(file)


def _write(file: Path, answer: Any, request: TraceRequest, context: Context) -> None:
    """Write the page.

    Raises
    ------
    InputError : files with times of messages only
    """
    from perfmodel.core.files.writing import write_whole
    from perfmodel.evidence.traces.trace_page import html_report

    if not answer["devices"]:
        traces: Any = request.traces
        raise refusal("trace.only_messages", "traces", files=traces[0])
    write_whole(file, html_report(answer))


COMMAND = replace(
    trace_summary.COMMAND,
    name="trace report",
    summary="Write the content of ``trace summary`` as one self-contained HTML file.",
    about="",
    text=text,
    forms={"json": JSON._replace(words="Print the JSON of ``trace summary``.")},
    writes={
        "report": Writes(
            "File to write the page to.", _check, _write, metavar="FILE.html", required=True, note="written"
        )
    },
    examples=("perfmodel trace report my_trace.json --report report.html",),
    without=dict.fromkeys(("python", "http"), "it writes a page of what trace summary answers"),
)
