"""``emulate``: predicted steps in real time, without a GPU."""

from typing import TYPE_CHECKING, Annotated

from perfmodel.core.records.record import Within
from perfmodel.interfaces.command import Command, Context
from perfmodel.interfaces.forms import JSON
from perfmodel.model.options.scenario import Scenario

if TYPE_CHECKING:
    from perfmodel.evidence.traces.emulate import Emulation


class EmulateRequest(Scenario):
    """A training job whose steps are replayed by sleeping.

    Parameters
    ----------
    steps : [1] Iterations.
    seed : [1] Seed of the jitter.
    speed : [1] Speed relative to real time.
    """

    steps: Annotated[int, Within(ge=1, le=1_000_000, strict=True)] = 10
    seed: Annotated[int, Within(ge=0, le=2**32 - 1, strict=True)] = 0
    speed: Annotated[float, Within(gt=0, le=1e9)] = 1.0


def run(request: EmulateRequest, context: Context) -> "Emulation":
    """Return predicted steps as an iterator that sleeps for the time of each step.

    For testing a loop, a scheduler or a dashboard without a GPU; ``Emulator`` also sleeps for single phases.

    Raises
    ------
    InputError : an unknown name or option, or options that do not go together

    Examples
    --------
    >>> from perfmodel import emulate
    >>> [step.number for step in emulate(gpus=8, steps=3, speed=1000)]
    [1, 2, 3]
    """
    from perfmodel.evidence.traces.emulate import Emulation
    from perfmodel.model.prediction import predict

    prediction = predict(request.alone(), context.catalogue)
    return Emulation(prediction, request.steps, request.seed, request.speed)


def text(answer: "Emulation", request: object) -> None:
    """Print a line for each step when it ends, and the phases of the first."""
    import click

    from perfmodel.core.units import show
    from perfmodel.model.step.terms import TERMS

    samples, noun = answer.prediction.scenario["global_batch_size"], answer.prediction.sample
    for step in answer:
        rate = samples / step.iteration_time
        click.echo(f"step {step.number}: {show(step.iteration_time, 's')}, {rate:,.0f} {noun}s/s")
        for phase in step.phases if step.number == 1 else ():
            click.echo(f"  {TERMS[phase.name].label:<36}{show(phase.time, 's')}")


COMMAND = Command(
    name="emulate",
    summary="Replay predicted steps by sleeping: try a loop, a scheduler or a dashboard without a GPU.",
    request=EmulateRequest,
    answers=("perfmodel.evidence.traces.emulate:Emulation",),
    run=run,
    text=text,
    forms={"json": JSON._replace(words="Print JSON, at the end.")},
    examples=(
        "perfmodel emulate --gpus 8 --steps 3 --speed 100",
        "perfmodel emulate --gpus 2 --strategy data-parallel-single-process --steps 2 --speed 100 --json",
    ),
    bodies={"three steps": {"gpus": 8, "steps": 3, "speed": 1000.0}},
    without={"http": "it sleeps as long as the steps take"},
)
