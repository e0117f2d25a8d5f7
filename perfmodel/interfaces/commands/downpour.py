"""``downpour``: asynchronous replicas over sharded parameter servers."""

from typing import TYPE_CHECKING, Annotated, Literal

from perfmodel.core.choices import Precision
from perfmodel.core.errors import refusal
from perfmodel.core.records.options import Described, OptionInfo
from perfmodel.core.records.record import Within, same_as
from perfmodel.interfaces.command import Command, Context
from perfmodel.model.options.scenario import Scenario

if TYPE_CHECKING:
    from perfmodel.model.prediction.training.distbelief import Downpour

MOST_REPLICAS = 100_000
LONGEST_STEP = 1e6
"""Longest accepted time of a step [s]."""
_Count = Annotated[int, Within(ge=1, le=MOST_REPLICAS, strict=True)]
_Lost = Annotated[int, Within(ge=0, le=MOST_REPLICAS, strict=True)]
_OF_SCENARIO = ("workload", "accelerator", "precision", "local_batch_size", "inter_link")


class DownpourRequest(Described):
    """Asynchronous replicas of a model, and the servers of its parameters.

    Parameters
    ----------
    replicas : [1] Replicas of the model, each of which trains independently.
    servers : [1] Parameter servers with equal shards of the model.
    push_every : [1] Steps between two pushes of gradients, summed up meanwhile.
    fetch_every : [1] Steps between two fetches of parameters.
    lost : [1] Replicas that have failed.
    step_time : Step time of a replica on one machine, e.g. 0.1s.  [default: predicted]
    server_optimizer : Optimizer whose state the servers hold.
    replica_model : Speed-up law of a replica over --replica-machines, fitted to DistBelief.
    replica_machines : [1] Machines of each replica.
    inter_link : Link of each replica and server.  [default: the machine's]
    """

    workload: str = same_as(Scenario)
    replicas: _Count = 10
    servers: Annotated[_Count, OptionInfo("Parameter servers")] = 1
    push_every: _Count = 1
    fetch_every: _Count = 1
    lost: _Lost = 0
    step_time: Annotated[Annotated[float, Within(gt=0, le=LONGEST_STEP)] | None, OptionInfo(unit="s")] = None
    server_optimizer: Literal["sgd", "momentum", "adagrad", "adam"] = "adagrad"
    replica_model: Literal["speech", "image"] | None = None
    replica_machines: _Count = 1
    accelerator: str | None = same_as(Scenario)
    precision: Precision | None = same_as(Scenario)
    local_batch_size: int | None = same_as(Scenario)
    inter_link: str | None = same_as(Scenario)


def run(request: DownpourRequest, context: Context) -> "Downpour":
    """Return throughput, staleness and server load of Downpour SGD, with asynchronous replicas.

    Raises
    ------
    InputError : an unknown name, a number out of range, more replicas lost than there are

    Examples
    --------
    Parameters are used for three steps, with a push each step: nine other replicas make 18 updates meanwhile.

    >>> from perfmodel import downpour
    >>> downpour(replicas=10, servers=4, fetch_every=3).mean_staleness
    18.0
    """
    from perfmodel.equations.model_parallel import DISTBELIEF
    from perfmodel.model.prediction.training.distbelief import downpour

    if request.lost >= request.replicas:
        raise refusal("distbelief.lost", "lost", "replicas", lost=request.lost, replicas=request.replicas)
    if (request.replica_model is None) != (request.replica_machines == 1):
        raise refusal("distbelief.replica", "replica_model", "replica_machines")
    given = {name: getattr(request, name) for name in _OF_SCENARIO}
    return downpour(
        Scenario(**{name: value for name, value in given.items() if value is not None}),
        context.catalogue,
        replicas=request.replicas,
        servers=request.servers,
        push_every=request.push_every,
        fetch_every=request.fetch_every,
        lost=request.lost,
        step_time=request.step_time,
        optimizer=request.server_optimizer,
        replica=None if request.replica_model is None else DISTBELIEF[request.replica_model],
        replica_machines=request.replica_machines,
    )


def text(answer: "Downpour", request: object) -> None:
    """Print throughput, staleness and server load."""
    import click

    from perfmodel.interfaces.cli.render import LABEL, filled
    from perfmodel.model.prediction.training.distbelief import downpour_lines

    click.echo(answer.headline)
    for label, value in downpour_lines(answer):
        click.echo(filled(value, 80, f"  {label:<{LABEL}}"))
    if answer.replica_speedup != 1:
        times = f"{answer.replica_speedup:.2f} times"
        click.echo(f"note: a replica is {times} as fast as on one machine: fitted, not predicted")


COMMAND = Command(
    name="downpour",
    summary="Predict throughput, staleness and server load of Downpour SGD, with lost replicas.",
    request=DownpourRequest,
    answers=("perfmodel.model.prediction.training.distbelief:Downpour",),
    run=run,
    text=text,
    positional=("workload",),
    examples=(
        "perfmodel downpour --replicas 20 --servers 4 --inter-link ethernet-25g-tcp",
        "perfmodel downpour --replicas 100 --servers 10 --push-every 5 --fetch-every 5 --lost 3",
        "perfmodel downpour --replicas 20 --step-time 2s --replica-model speech --replica-machines 8",
    ),
    bodies={"a hundred replicas": {"replicas": 100, "servers": 10, "push_every": 5, "lost": 3}},
)
