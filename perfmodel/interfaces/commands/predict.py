"""``predict``: one training iteration."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from perfmodel.core.choices import Names, Recipe
from perfmodel.core.records.options import OptionInfo
from perfmodel.core.records.record import Within, same_as
from perfmodel.interfaces.command import Command, Context, Writes
from perfmodel.interfaces.forms import Form, forms_of
from perfmodel.interfaces.report import report
from perfmodel.model.options.conditions import MOST_TOKENS, Conditions
from perfmodel.model.options.risk import PLANNING_CONFIDENCE, Risk
from perfmodel.model.options.scenario import Scenario

if TYPE_CHECKING:
    from perfmodel.interfaces.api.predict import Predicted

_Tokens = Annotated[float, Within(gt=0, le=MOST_TOKENS)]
_Loss = Annotated[float, Within(gt=0, le=2)]


class PredictRequest(Scenario):
    """A training job, and what to predict in addition to one iteration.

    Parameters
    ----------
    conditions : Also money, energy and carbon, by prices, power and failures.
    time_to_target : Also the time to a published accuracy.
    recipe : Recipe of the training to the target; perfmodel workloads recipes lists them.
        [default: that of --framework; without one stock, for BERT mlperf]
    tokens : Tokens for --recipe tokens, or of the run whose costs are wanted, e.g. 15T.
        [default: those of the recipe, or 20 for each parameter]
    time_to_loss : [1] Also the time to this loss with every update strategy; the bound starts at 2.
    confidence : [1] How sure to be of the throughput to plan with, and of time and cost of the run at most,
        e.g. 0.5, 0.8 or 0.95.
    fields : Keys of the answer to send, e.g. ["iteration_time", "interval"]; explanations are then not
        computed.  [default: all]
    """

    conditions: Annotated[Conditions | None, OptionInfo(flag="cost")] = None
    time_to_target: Annotated[bool, OptionInfo(denied=False)] = False
    recipe: Recipe | None = None
    tokens: Annotated[_Tokens | None, OptionInfo("Tokens of the run", unit="count of tokens")] = None
    time_to_loss: _Loss | None = None
    confidence: float = same_as(Risk, PLANNING_CONFIDENCE)
    fields: Annotated[Names | None, OptionInfo(shell=False)] = None


def run(request: PredictRequest, context: Context) -> "Predicted":
    """Return a prediction of one training iteration, and further results as requested.

    Raises
    ------
    InputError : an unknown option or name, a batch that does not divide, a precision the accelerator lacks
    """
    from perfmodel.interfaces.api.predict import predicted

    check_fields(request.fields)
    return predicted(
        request.alone(),
        context.catalogue,
        target=request.time_to_target,
        recipe=request.recipe,
        tokens=request.tokens,
        loss=request.time_to_loss,
        conditions=request.conditions,
        confidence=request.confidence,
    )


def check_fields(fields: Sequence[str] | None) -> None:
    """Raise an InputError for a key that no prediction has."""
    if fields is None:
        return
    from perfmodel.core.errors import unknown_name
    from perfmodel.interfaces.service.answer_types import PredictAnswer

    for name in fields:
        if name not in PredictAnswer.model_fields:
            raise unknown_name("field", name, PredictAnswer.model_fields)


def table(answer: "Predicted", request: PredictRequest) -> Mapping[str, Any]:
    """Return the answer over HTTP: everything, or the requested keys."""
    if request.fields is None:
        return answer.prediction.table() | answer.extras
    chosen = dict.fromkeys(request.fields)
    return {name: answer.extras.get(name, getattr(answer.prediction, name, None)) for name in chosen}


def text(answer: "Predicted", request: object, verbose: bool = False) -> None:
    """Print the answer card and the terms of the iteration, then further results."""
    from perfmodel.interfaces.cli.render import show_prediction

    show_prediction(answer.prediction, answer.card, answer.time_to_target, verbose)
    if answer.time_to_loss is not None:
        from perfmodel.interfaces.cli.time_to_loss import show_time_to_loss

        show_time_to_loss(answer.time_to_loss)
    if answer.economics is not None:
        from perfmodel.interfaces.cli.economics import show_economics

        show_economics(answer.economics)


def _verbose(answer: "Predicted", request: object) -> str:
    """Print everything that is known about the iteration; the text is empty."""
    text(answer, request, verbose=True)
    return ""


def _csv(answer: "Predicted", request: object) -> str:
    """Return the prediction as one row of CSV."""
    import json

    from perfmodel.core.files.tables import csv_text

    return csv_text([json.loads(answer.to_json())])


def _markdown(answer: "Predicted", request: object) -> str:
    """Return the prediction as Markdown."""
    from perfmodel.interfaces.cli.prediction_markdown import prediction_markdown

    return prediction_markdown(answer.prediction, answer.card, answer.time_to_target, answer.economics)


def _check_timeline(path: Path, request: PredictRequest) -> None:
    """Check that the timeline can be written."""
    from perfmodel.core.files.writing import check_writable

    check_writable(path)


def _write_timeline(path: Path, answer: "Predicted", request: PredictRequest, context: Context) -> None:
    """Write the predicted step as a Chrome trace."""
    import click

    from perfmodel.evidence.traces.timeline import write_timeline
    from perfmodel.model.prediction.pipeline import pipeline_of_scenario

    shared = answer.prediction.layout is not None
    pipeline = pipeline_of_scenario(request.alone(), context.catalogue) if shared else None
    write_timeline(path, answer.prediction, pipeline)
    if pipeline is not None and pipeline.words:
        click.echo(f"{path}: {pipeline.words}", err=True)


def _page(answer: "Predicted", request: PredictRequest, context: Context) -> Any:
    """Return the page of a prediction."""
    from perfmodel.interfaces.reports.predicted import page_of_prediction

    priced = request.conditions or Conditions()
    prediction, reached, _, money, sure = answer
    return page_of_prediction(prediction, context.typed, context.catalogue, priced, reached, money, sure)


COMMAND = Command(
    name="predict",
    summary="Predict the time of one training iteration, where the time goes, and how well it scales.",
    request=PredictRequest,
    answers=("perfmodel.interfaces.service.answer_types:PredictAnswer",),
    run=run,
    text=text,
    table=table,
    cost="cheap",
    forms=forms_of(csv=_csv, markdown=_markdown) | {"verbose": Form("Print every figure.", _verbose)},
    writes={
        "timeline": Writes(
            "Also write the predicted step as a Chrome trace.", _check_timeline, _write_timeline
        ),
        "report": report(_page),
    },
    examples=(
        "perfmodel predict --gpus 32",
        "perfmodel predict --workload vgg16 --accelerator p100-sxm2-16gb --gpus 8",
        "perfmodel predict --gpus 16 --strategy parameter-server --servers 2",
        "perfmodel predict --gpus 64 --global-batch-size 4096 --time-to-target",
        "perfmodel predict --workload llama-2-7b --gpus 64 --time-to-target --recipe tokens --tokens 300B",
        "perfmodel predict --gpus 16 --strategy k-async --k 4 --time-to-loss 0.1",
        "perfmodel predict --gpus 4 --timeline step.json",
        "perfmodel predict --gpus 32 --report answer.html",
        "perfmodel predict --gpus 16 --node aws-p3.16xlarge --cost --epochs 90",
        "perfmodel predict --gpus 64 --node aws-p4d.24xlarge --pricing spot --epochs 90 --confidence 95%",
        "perfmodel predict --workload llama-3-8b --gpus 64 --node dgx-h100 --sharding zero3 --cost "
        "--tokens 15T",
    ),
    bodies={
        "ResNet-50 on 32 GPUs": {"workload": "resnet50", "gpus": 32},
        "a transformer": {"workload": "llama-3-8b", "gpus": 64, "tensor_parallel": 4},
        "two numbers alone": {"gpus": 8, "fields": ["iteration_time", "interval"]},
    },
)
