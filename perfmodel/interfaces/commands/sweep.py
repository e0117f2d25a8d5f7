"""``sweep``: every combination of options, each with a value or a list of values."""

import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from perfmodel.core.choices import Jobs
from perfmodel.core.errors import refusal
from perfmodel.core.records.options import OptionInfo
from perfmodel.core.records.record import Within, same_as
from perfmodel.core.units import per_cent
from perfmodel.interfaces.command import Command, Context
from perfmodel.interfaces.forms import forms_of
from perfmodel.model.options.scenario import field_of
from perfmodel.model.setting.crossed import Crossed

if TYPE_CHECKING:
    from perfmodel.decide.sweeps import Sweep

SHOWN = 20
"""Rows of the table on the screen."""
FIGURES = ("iteration_time", "samples_per_second", "scaling_efficiency")
"""Shown next to what is varied."""
TITLES = {
    "world_size": "GPUs",
    "samples_per_second": "samples/s",
    "iteration_time": "iteration",
    "scaling_efficiency": "efficiency",
}
MOST_REASONS = 3
"""Reasons for refusals that are shown."""


class SweepRequest(Crossed):
    """Scenarios crossed: every option of a scenario is a value or a list of values.

    Parameters
    ----------
    columns : Of the table, e.g. ["gpus", "iteration_time"].  [default: the options given and every result
        except startup_time, epoch_start_time and memory_known]
    """

    columns: Annotated[tuple[str, ...], Within(strict=False, min_length=1)] | None = None


class Typed(SweepRequest, heading="Files and forms of the answer"):
    """A sweep in a shell, which also writes it.

    Parameters
    ----------
    columns : Of the table, e.g. gpus,iteration_time,low_80.  [default: all]
    output : Write every row to a .csv or .parquet file, or to a folder of Parquet files, which the same
        command completes where it was stopped.
    jobs : [1] Processes that write --output or --csv.  [default: all cores for a folder, else 1]
    dask : Let the workers of a Dask cluster write the folder of --output, e.g. tcp://10.0.0.1:8786.
    """

    columns: tuple[str, ...] | None = same_as(SweepRequest)
    output: Annotated[str | None, OptionInfo(form="FILE|DIR/")] = None
    jobs: Jobs = None
    dask: Annotated[str | None, OptionInfo(form="ADDRESS")] = None

    @property
    def folder(self) -> bool:
        """Whether the output is a folder: one that is there, or a name that ends in a slash."""
        import os

        name = self.output
        return name is not None and (name.endswith(("/", os.sep)) or os.path.isdir(name))

    def request(self) -> "Typed":
        """Return the request, with what the shell does of its answer."""
        if self.dask is not None and not self.folder:
            raise refusal("sweep.dask_output")
        if self.dask is not None and self.jobs is not None:
            raise refusal("sweep.jobs_and_dask")
        return self

    def refuse(self, form: str) -> None:
        """Refuse what does not go with a form of the answer."""
        if self.output is not None and form not in ("text", "json"):
            raise refusal("sweep.form_and_output", form)
        if self.jobs is not None and self.output is None and form != "csv":
            raise refusal("sweep.jobs")


def run(request: SweepRequest, context: Context) -> "Sweep":
    """Cross options and predict every scenario.

    Nothing is computed until the result is read: by ``chunks``, ``table``, ``to_csv`` or ``to_parquet``.

    Raises
    ------
    InputError : an unknown option, name or column, or a value of the wrong type

    Examples
    --------
    Two networks on 1 to 64 accelerators, over two links: 2 x 7 x 2 scenarios.

    >>> from perfmodel import sweep
    >>> answer = sweep(
    ...     workload=["resnet50", "vgg16"],
    ...     gpus=[1, 2, 4, 8, 16, 32, 64],
    ...     inter_link=["ethernet-25g-tcp", "ib-edr-100g"],
    ... )
    >>> len(answer)
    28
    >>> table = answer.table()
    >>> bool((table["iteration_time"] > 0).all())
    True
    """
    from perfmodel.decide.sweeps import Sweep
    from perfmodel.model.fitted.calibration import constants_of

    return Sweep(request, context.catalogue, constants_of(context.constants), request.columns)


def text(answer: "Sweep", request: Typed) -> None:
    """Print the first rows at 80 columns, or what was written."""
    import click

    request.refuse("text")
    if request.output is None:
        _show(answer, request)
        return
    report = _write(answer, request)
    parts = f" in {_counted(report['parts'], 'part')}" if "parts" in report else ""
    click.echo(f"{report['rows_written']:,} of {len(answer):,} scenarios written to {request.output}{parts}")
    if report.get("continued"):
        click.echo(f"{report['continued']:,} of the parts were there already")
    if "seconds" in report:
        click.echo(_effort(report["seconds"], report["peak_bytes"]))
    for line in _remarks(answer):
        click.echo(line)


def _json(answer: "Sweep", request: Typed) -> str:
    import json

    request.refuse("json")
    return answer.to_json() if request.output is None else json.dumps(_write(answer, request))


def _csv(answer: "Sweep", request: Typed) -> str:
    request.refuse("csv")
    answer.to_csv("-", request.jobs or 1)
    return ""


def _markdown(answer: "Sweep", request: Typed) -> str:
    from perfmodel.core.files.tables import markdown_table
    from perfmodel.decide.sweeps.table import MOST_IN_JSON

    request.refuse("markdown")
    if len(answer) > MOST_IN_JSON:
        raise refusal("sweep.too_many_for", "markdown", count=len(answer))
    return markdown_table(answer.records(), answer.columns)


def _write(answer: "Sweep", request: Typed) -> dict[str, Any]:
    """Write the output and return what JSON says of it."""
    output, jobs = str(request.output), request.jobs
    if request.folder:
        from perfmodel.interfaces.cli.sweep_folder import write_folder

        data = write_folder(answer, output, jobs, request.dask)
        rows, more = data.rows, {name: getattr(data, name) for name in _OF_FOLDER}
    else:
        writers = {".csv": answer.to_csv, ".parquet": answer.to_parquet}
        if (suffix := Path(output).suffix) not in writers:
            raise refusal("sweep.output", output=output)
        rows, more = writers[suffix](output, jobs or 1), {}
    return {"output": output, "rows_written": rows, **answer.summary(), **more}


_OF_FOLDER = ("parts", "continued", "seconds", "peak_bytes")


def _counted(count: int, thing: str) -> str:
    return f"{count:,} {thing}{'s' if count > 1 else ''}"


def _effort(seconds: float, peak_bytes: float | None) -> str:
    from perfmodel.core.units import show

    most = f", at most {show(peak_bytes, 'B')} of memory in a process" if peak_bytes else ""
    return f"{show(seconds, 's')}{most}"


def _show(answer: "Sweep", request: Typed) -> None:
    """Print some rows; all are computed, to count those refused and those that do not fit.

    Columns are those of the request, or what varies and the usual figures; whether a job fits is shown where
    one does not, too.
    """
    from rich.text import Text

    from perfmodel.interfaces.cli.render import console, table

    varied = [name for name, values in request.options().items() if len(values) > 1]
    wanted = [*map(field_of, request.columns or (*varied, *FIGURES))]
    answer = answer.with_columns(dict.fromkeys([*wanted, "fits"]))
    out = console()
    rows = answer.rows()
    first = list(itertools.islice(rows, SHOWN))
    left, lacking = 0, sum(not row["fits"] for row in first)
    names = [name for name in answer.columns if name != "fits" or name in wanted or lacking]
    shown = table(*(TITLES.get(name, name.replace("_", " ")) for name in names), left=0)
    for row in first:
        shown.add_row(*(_cell(name, row[name]) for name in names))
    for row in rows:
        left += 1
        lacking += not row["fits"]
    out.print(shown)
    if lacking:
        out.print(Text(f"DO NOT FIT: {lacking:,} of {len(first) + left:,}, by memory"), style="bold")
    if left:
        out.print(Text(f"and {left:,} more; --csv or --output FILE gives every row and every column"))
    for line in _remarks(answer):
        out.print(Text(line))


def _cell(name: str, value: Any) -> str:
    from perfmodel.core.units import rate, show

    if value is None:
        return "-"
    if name.endswith("_time") or name in ("low_80", "high_80", "low_95", "high_95", "clipped_at"):
        return show(value, "s")
    if name.startswith("memory_"):
        return show(value, "B")
    if name in ("scaling_efficiency", "mfu", "mfu_nominal", "communication_overhead"):
        return per_cent(value)
    if isinstance(value, bool):
        return "yes" if value else "NO"
    return rate(value) if isinstance(value, float) else str(value)


def _remarks(answer: "Sweep") -> list[str]:
    """Return lines of what ambiguous names mean, and of the scenarios that were refused and most reasons."""
    lines = [f"note: {note}" for note in answer.notes]
    if not answer.refused:
        return lines
    most = sorted(answer.refused.items(), key=lambda item: -item[1])
    lines.append(f"left out: {sum(answer.refused.values()):,} scenarios, that cannot be")
    lines += [f"  {count:,}: {reason}" for reason, count in most[:MOST_REASONS]]
    if len(most) > MOST_REASONS:
        lines.append(f"  and {len(most) - MOST_REASONS} more reasons")
    return lines


COMMAND = Command(
    name="sweep",
    summary="Predict every combination of options given as lists or ranges, a million a second.",
    about="""Numbers may be ranges: 1-8, or 8-64:8 with a step.  Scenarios that cannot be
(a batch that does not divide, a network the machine lacks) are left out and counted.""",
    request=SweepRequest,
    typed=Typed,
    answers=("perfmodel.decide.sweeps:Sweep",),
    json=("perfmodel.interfaces.service.answer_types:SweepAnswer",),
    of_client="perfmodel.interfaces.client.report:TableReport",
    streams=True,
    run=run,
    text=text,
    constants=True,
    forms=forms_of(json=_json, csv=_csv, markdown=_markdown),
    examples=(
        "perfmodel sweep --gpus 1-64 --inter-link ethernet-10g-tcp,ethernet-25g-tcp",
        "perfmodel sweep --workload resnet50,vgg16 --local-batch-size 32-256:32 --gpus 8,64 --csv",
        "perfmodel sweep --accelerator v100-sxm2-16gb,t4 --gpus 1-100 --output sweep.csv",
        "perfmodel sweep --gpus 1-512 --local-batch-size 8-64:8 --columns gpus,iteration_time --output all/",
    ),
    bodies={
        "two links": {
            "gpus": [8, 16, 32],
            "inter_link": ["ethernet-10g-tcp", "ethernet-25g-tcp"],
            "columns": ["gpus", "inter_link", "iteration_time"],
        }
    },
)
