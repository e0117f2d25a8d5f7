"""``scale``: the same job on several numbers of accelerators."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from perfmodel.core.choices import Count
from perfmodel.core.records.options import OptionInfo
from perfmodel.core.records.record import Within
from perfmodel.interfaces.command import Command, Context, Writes
from perfmodel.interfaces.forms import forms_of, with_card
from perfmodel.interfaces.report import report
from perfmodel.model.options.scenario import Scenario, field_of

if TYPE_CHECKING:
    from perfmodel.model.prediction.scaling import Scaling

HEADINGS = {
    "world_size": "GPUs",
    "iteration_time": "iteration [s]",
    "low_80": "80 %, from [s]",
    "high_80": "to [s]",
    "samples_per_second": "samples/s",
    "speedup": "speed-up",
    "scaling_efficiency": "efficiency",
    "exposed_communication_time": "exposed communication [s]",
    "fits": "fits",
}
"""Columns of the Markdown table."""
_Counts = Annotated[
    tuple[Count, ...], Within(min_length=1), OptionInfo("GPUs of each point, e.g. 1,2,4,8 or 1-16", "gpus")
]
_USUAL = (1, 2, 4, 8, 16, 32)


class ScaleRequest(Scenario):
    """The same job on several numbers of accelerators.

    Parameters
    ----------
    world_size : [1] Numbers of accelerators, one for each row; in a shell also ranges: 8-64:8.
        [default: 1,2,4,8,16,32]
    """

    world_size: _Counts = _USUAL  # type: ignore[assignment]  # a number for each row

    @classmethod
    def below(cls, scenario: Mapping[str, Any]) -> dict[str, Any]:
        """Return a scenario's options without the number of accelerators, unless that is a list."""
        return {
            key: value
            for key, value in scenario.items()
            if field_of(key) != "world_size" or isinstance(value, list | tuple)
        }

    def jobs(self) -> list[Scenario]:
        """Return the scenario of each row."""
        counts: Any = self.world_size
        return [self.alone().model_copy(update={"world_size": count}) for count in counts]


def run(request: ScaleRequest, context: Context) -> "Scaling":
    """Return time, throughput and efficiency of the same job on several numbers of accelerators.

    Raises
    ------
    InputError : an unknown name or option, or options that do not go together

    Examples
    --------
    >>> from perfmodel import scale
    >>> scaling = scale(workload="resnet50", gpus=[1, 8, 64])
    >>> [row.world_size for row in scaling.rows]
    [1, 8, 64]
    >>> round(scaling.rows[0].scaling_efficiency, 9)
    1.0
    """
    from perfmodel.core.candidates import tries
    from perfmodel.model.prediction import predict
    from perfmodel.model.prediction.scaling import scaling_of

    jobs = request.jobs()
    tries(len(jobs))
    return scaling_of(jobs, lambda some: [predict(job, context.catalogue, context.constants) for job in some])


def text(answer: "Scaling", request: object) -> None:
    """Print a row for each number of accelerators, and notes."""
    from perfmodel.interfaces.cli.render import show_scaling

    show_scaling(answer)


def _csv(answer: "Scaling", _: object) -> str:
    """Return the rows as CSV, with the card in their last columns."""
    from perfmodel.core.files.tables import csv_text
    from perfmodel.model.prediction.scaling import COLUMNS

    rows = ({name: row[name] for name in COLUMNS} for row in answer.records())
    return csv_text(with_card(rows, answer))


def _markdown(answer: "Scaling", _: object) -> str:
    """Return card, rows and notes as Markdown."""
    from perfmodel.core.files.tables import markdown_table
    from perfmodel.interfaces.cli.card_markdown import card_markdown

    lines = [card_markdown(answer.card), "", markdown_table(answer.records(), HEADINGS), *answer.notes]
    return "\n".join(lines).rstrip()


def _page(answer: "Scaling", request: object, context: Context) -> Any:
    """Return the page of a scaling table."""
    from perfmodel.interfaces.reports.scaled import page_of_scaling

    return page_of_scaling(answer, context.typed, context.catalogue)


def _check_plot(file: Path, request: object) -> None:
    """Check that the figure can be drawn and written."""
    from perfmodel.interfaces.cli.plot import check_plot

    check_plot(file)


def _plot(file: Path, answer: "Scaling", request: object, context: Context) -> None:
    """Write the figure."""
    from perfmodel.interfaces.cli.plot import write_plot

    write_plot(file, answer)


COMMAND = Command(
    name="scale",
    summary="Predict throughput and scaling efficiency for several numbers of accelerators.",
    request=ScaleRequest,
    answers=("perfmodel.model.prediction.scaling:Scaling",),
    json=("perfmodel.interfaces.service.answer_types:ScaleAnswer",),
    run=run,
    text=text,
    constants=True,
    forms=forms_of(csv=_csv, markdown=_markdown),
    writes={
        "plot": Writes("Also draw it: FILE ends in .svg, .png or .html.", _check_plot, _plot, note="drawn"),
        "report": report(_page),
    },
    examples=(
        "perfmodel scale --gpus 1,2,4,8,16,32",
        "perfmodel scale --workload vgg16 --accelerator k80 --gpus 1-8 --csv",
        "perfmodel scale --gpus 1,2,4,8,16,32,64 --plot scaling.svg",
        "perfmodel scale --workload vgg16 --report scaling.html",
    ),
    bodies={"VGG-16 on 1 to 8": {"workload": "vgg16", "gpus": [1, 2, 4, 8]}},
)
