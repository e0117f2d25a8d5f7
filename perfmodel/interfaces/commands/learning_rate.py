"""``learning-rate``: the learning rate for a batch size by published rules."""

import math
from typing import TYPE_CHECKING, Annotated

from perfmodel.core.choices import Samples
from perfmodel.core.errors import refusal
from perfmodel.core.records.options import Described
from perfmodel.core.records.record import Within
from perfmodel.core.units import per_cent
from perfmodel.interfaces.command import Command, Context

if TYPE_CHECKING:
    from perfmodel.model.prediction.training.learning_rates import LearningRates

_Above = Annotated[float, Within(gt=0, le=1e12)]
_From = Annotated[float, Within(ge=0, le=1e12)]
_Epochs = Annotated[float, Within(ge=0, le=1000)]


class LearningRateRequest(Described):
    """A batch size for which to find a learning rate.

    Parameters
    ----------
    base : [1] Good learning rate at --base-batch.
    base_batch : [samples] Samples of an update at --base.
    global_batch_size : [samples] Samples of an update for which to find a rate.
    staleness : [1] Mean updates between reading parameters and applying a gradient (perfmodel stragglers).
    warm_up_epochs : [1] Epochs over which the rate rises from --base; 0 for none.
    distance_constant : [1] Learning rate times --squared-distance.
    squared_distance : [1] Squared distance between the present parameters and those read.
    squared_gradient_sum : [1] Sum of squared gradients of one parameter so far, for Adagrad.
    noise_scale : [samples] Noise scale of the gradient.
    """

    base: _Above = 0.1
    base_batch: Samples = 256
    global_batch_size: Samples
    staleness: _From | None = None
    warm_up_epochs: _Epochs = 5.0
    distance_constant: _Above | None = None
    squared_distance: _From | None = None
    squared_gradient_sum: _Above | None = None
    noise_scale: _Above | None = None


def run(request: LearningRateRequest, context: Context) -> "LearningRates":
    """Return the learning rate for a batch size by published rules, each with its validity and source.

    Raises
    ------
    InputError : a number out of its range

    Examples
    --------
    32 times the batch of 256: 32 times the rate, or its square root.

    >>> from perfmodel import learning_rate
    >>> [(row.rule, round(row.learning_rate, 3)) for row in learning_rate(0.1, 256, 8192).rows]
    [('linear', 3.2), ('square root', 0.566)]
    """
    from perfmodel.model.prediction.training.learning_rates import learning_rates

    if (request.distance_constant is None) != (request.squared_distance is None):
        raise refusal("learning_rate.distance", "distance_constant", "squared_distance")
    result = learning_rates(
        request.base,
        float(request.base_batch),
        float(request.global_batch_size),
        staleness=request.staleness,
        warm_up_epochs=request.warm_up_epochs,
        distance_constant=request.distance_constant,
        squared_distance=request.squared_distance,
        squared_gradient_sum=request.squared_gradient_sum,
        noise_scale=request.noise_scale,
    )
    if not all(math.isfinite(row.learning_rate) for row in result.rows):
        raise refusal("learning_rate.overflow")
    return result


def text(answer: "LearningRates", request: object) -> None:
    """Print the rates, the warm-up, and where each rule is valid."""
    from rich.text import Text

    from perfmodel.decide.explanations.sources import cited
    from perfmodel.interfaces.cli.render import console, lines_to, table

    out = console()
    out.print(Text(f"learning rates {answer.headline}"), style="bold")
    rows = table("rule", "rate", "published range")
    for row in answer.rows:
        inside = {None: "none known", True: "inside", False: "outside"}[row.within_published]
        rows.add_row(row.rule, f"{row.learning_rate:.4g}", inside)
    out.print(rows)
    if answer.warm_up:
        points = ", ".join(f"{point.learning_rate:.4g}" for point in answer.warm_up)
        times = ", ".join(f"{point.epochs_done:g}" for point in answer.warm_up)
        lines_to(out, points, "warm-up, by the linear rule  ")
        lines_to(out, times, "              after epochs  ")
    if answer.by_staleness:
        listed = (
            f"{stale.staleness} late {stale.learning_rate:.4g} ({per_cent(stale.share)})"
            for stale in answer.by_staleness
        )
        lines_to(out, ", ".join(listed), "own staleness, by gradient  ")
    for row in answer.rows:
        lines_to(out, f"{row.validity} ({cited(row.source)})", f"{row.rule}: ")
    for rule, needed in answer.left_out.items():
        lines_to(out, f"{rule} needs {needed}", "note: ")


COMMAND = Command(
    name="learning-rate",
    summary="Learning rate for a batch size by published rules: linear, square root, by staleness, Adagrad.",
    request=LearningRateRequest,
    answers=("perfmodel.model.prediction.training.learning_rates:LearningRates",),
    run=run,
    text=text,
    positional=("base", "base_batch", "global_batch_size"),
    hardware=False,
    cost="cheap",
    examples=(
        "perfmodel learning-rate --base 0.1 --base-batch 256 --global-batch-size 8192",
        "perfmodel learning-rate --global-batch-size 2048 --staleness 15",
        "perfmodel learning-rate --global-batch-size 1024 --distance-constant 0.01 --squared-distance 0.5",
    ),
    bodies={"a batch of 8,192": {"base": 0.1, "base_batch": 256, "global_batch_size": 8192}},
)
