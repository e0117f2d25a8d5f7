"""``explain``: the equations of a prediction with its numbers in them."""

from typing import TYPE_CHECKING, Annotated, Any

from perfmodel.core.records.options import OptionInfo
from perfmodel.interfaces.command import Command, Context
from perfmodel.interfaces.forms import JSON, Form
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.options.scenario import Scenario

if TYPE_CHECKING:
    from perfmodel.decide.explanations.write import Explanation


class ExplainRequest(Scenario):
    """A training job, with or without its costs.

    Parameters
    ----------
    conditions : Also money, energy and carbon, by prices, power and failures.
    """

    conditions: Annotated[Conditions | None, OptionInfo(flag="cost")] = None


def run(request: ExplainRequest, context: Context) -> "Explanation":
    """Return the equations of a prediction, term by term, with every number and every source.

    Raises
    ------
    InputError : an unknown name or option, or options that do not go together

    Examples
    --------
    >>> from perfmodel import explain
    >>> explain(gpus=4).equations[-1].term
    'iteration_time'
    """
    from perfmodel.decide.explanations import explain

    return explain(request.alone(), context.catalogue, context.constants, request.conditions)


def text(answer: "Explanation", request: object) -> None:
    """Print the equations."""
    import click

    click.echo(str(answer), nl=False)


def _latex(answer: Any, _: object) -> str:
    """Return the explanation as a LaTeX document."""
    words: str = answer.to_latex()
    return words


def _markdown(answer: Any, _: object) -> str:
    """Return the explanation as Markdown."""
    words: str = answer.to_markdown()
    return words


COMMAND = Command(
    name="explain",
    summary="Explain a prediction: its equations, term by term, with every number and every source.",
    about="With --cost, or any option of prices, power and failures, also those of money, energy and carbon.",
    request=ExplainRequest,
    answers=("perfmodel.decide.explanations.write:Explanation",),
    run=run,
    constants=True,
    text=text,
    forms={
        "latex": Form("Print a LaTeX document.", _latex),
        "markdown": Form("Print Markdown, equations in LaTeX.", _markdown),
        "json": JSON._replace(words="Print JSON, every number in full."),
    },
    examples=(
        "perfmodel explain --gpus 32",
        "perfmodel explain --workload vgg16 --accelerator k80 --gpus 4",
        "perfmodel explain --gpus 16 --strategy parameter-server --servers 2",
        "perfmodel explain --gpus 16 --node aws-p3.16xlarge --cost --epochs 90",
    ),
    bodies={"ResNet-50 on 8 GPUs": {"workload": "resnet50", "gpus": 8}},
)
