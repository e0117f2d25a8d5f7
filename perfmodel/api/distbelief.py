"""``perfmodel.downpour`` and ``perfmodel.model_parallel``: DistBelief's two ways to use many machines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal

from perfmodel.arguments import COUNT, FLAG, FROM_ZERO, TEXT, expect
from perfmodel.equations.model_parallel import DISTBELIEF, FittedModel
from perfmodel.errors import InputError, unknown_name
from perfmodel.prediction.distbelief import (
    OPTIMIZER_COPIES,
    Downpour,
    ModelSpeedups,
    model_speedups,
)
from perfmodel.prediction.distbelief import downpour as predicted
from perfmodel.specs.scenario import LARGEST_WORLD_SIZE, Scenario
from perfmodel.specs.store import Catalogue
from perfmodel.units import parse

MOST_REPLICAS: Final = 100_000
MACHINES: Final = (1, 2, 4, 8, 16, 32, 64, 81, 128)
LONGEST_STEP: Final = 1e6
"""[s]"""
MOST_ROWS: Final = 100_000


def downpour(
    workload: str = "resnet50",
    *,
    replicas: int = 10,
    servers: int = 1,
    push_every: int = 1,
    fetch_every: int = 1,
    lost: int = 0,
    step_time: float | str | None = None,
    server_optimizer: Literal["sgd", "momentum", "adagrad", "adam"] = "adagrad",
    replica_model: str | None = None,
    replica_machines: int = 1,
    accelerator: str | None = None,
    precision: str | None = None,
    local_batch_size: int | None = None,
    inter_link: str | None = None,
    catalogue: Catalogue | None = None,
) -> Downpour:
    """Return what Downpour SGD reaches: replicas that never wait for each other, over sharded servers.

    Parameters
    ----------
    workload : network
    replicas : of the model, each of which trains on its own
    servers : that hold the model in equal shards
    push_every : steps between two pushes of gradients, summed up meanwhile
    fetch_every : steps between two fetches of parameters
    lost : replicas that have failed
    step_time : of a replica on one machine, a number [s] or a text such as ``"0.1s"``; by default predicted
    server_optimizer : whose state servers hold
    replica_model : ``speech`` or ``image``: how a replica speeds up over ``replica_machines``, fitted to
        DistBelief
    replica_machines : that each replica is spread over
    accelerator, precision, local_batch_size : of a replica; by default as of ``predict``
    inter_link : of each replica and each server; by default that of the accelerator's machine
    catalogue : hardware to choose from; by default what comes with the package

    Raises
    ------
    InputError : an unknown name, a number out of range, more replicas lost than there are

    Examples
    --------
    Parameters used for three steps and a push each step: nine others make 18 updates meanwhile.

    >>> downpour(replicas=10, servers=4, fetch_every=3).mean_staleness
    18.0
    """
    expect(TEXT, workload=workload, server_optimizer=server_optimizer)
    expect(TEXT.or_none, replica_model=replica_model, accelerator=accelerator, precision=precision)
    expect(TEXT.or_none, inter_link=inter_link)
    counts = {"replicas": replicas, "servers": servers, "replica_machines": replica_machines}
    expect(COUNT, **counts, push_every=push_every, fetch_every=fetch_every)
    expect(COUNT.or_none, local_batch_size=local_batch_size)
    expect(FROM_ZERO, lost=lost)
    for name, count in (*counts.items(), ("push_every", push_every), ("fetch_every", fetch_every)):
        if count > MOST_REPLICAS:
            raise InputError(f"{name} = {count}: expected at most {MOST_REPLICAS:,}")
    if lost >= replicas:
        raise InputError(f"lost = {lost}: expected fewer than the {replicas} replicas")
    if server_optimizer not in OPTIMIZER_COPIES:
        raise unknown_name("optimizer", server_optimizer, OPTIMIZER_COPIES)
    if (replica_model is None) != (replica_machines == 1):
        raise InputError("replica_model and replica_machines go together; give both or neither")
    asked: dict[str, Any] = {
        "workload": workload,
        "accelerator": accelerator,
        "precision": precision,
        "local_batch_size": local_batch_size,
        "inter_link": inter_link,
    }
    return predicted(
        Scenario(**{name: value for name, value in asked.items() if value is not None}),
        Catalogue.of(catalogue),
        replicas=int(replicas),
        servers=int(servers),
        push_every=int(push_every),
        fetch_every=int(fetch_every),
        lost=int(lost),
        step_time=_step_time(step_time),
        optimizer=server_optimizer,
        replica=None if replica_model is None else _known(replica_model),
        replica_machines=int(replica_machines),
    )


def model_parallel(
    model: str = "speech",
    machines: Sequence[int] = MACHINES,
    *,
    point: tuple[int, float] | None = None,
    peak: bool = False,
) -> ModelSpeedups:
    """Return how one replica speeds up over machines, by a closed form through one reported point.

    Parameters
    ----------
    model : ``speech`` (2.2 times on 8 machines, the peak) or ``image`` (12 times on 81), of DistBelief
    machines : to list
    point : machines and speed-up of a model of your own, in place of ``model``
    peak : whether the speed-up of ``point`` is the largest there is

    Raises
    ------
    InputError : an unknown model, or a point that no such law goes through

    Examples
    --------
    The law restates the point it was fitted to, and falls beyond its peak.

    >>> [round(row.speedup, 2) for row in model_parallel("speech", [8, 16]).rows]
    [2.2, 2.0]
    """
    expect(TEXT, model=model)
    expect(FLAG, peak=peak)
    if isinstance(machines, (str, bytes)) or not isinstance(machines, Sequence) or not machines:
        raise InputError(f"machines = {machines!r:.60}: expected a list of whole numbers, e.g. [1, 8, 16]")
    if len(machines) > MOST_ROWS:
        raise InputError(f"machines: {len(machines)} numbers; expected at most {MOST_ROWS:,}")
    for each in machines:
        expect(COUNT, machines=each)
        if each > LARGEST_WORLD_SIZE:
            raise InputError(f"machines = {each}: expected at most {LARGEST_WORLD_SIZE:,}")
    if point is None and peak:
        raise InputError("peak goes with point, the machines and the speed-up of a model of your own")
    fitted = _known(model) if point is None else _own(point, peak)
    return model_speedups(fitted, [int(each) for each in machines])


def _step_time(given: object) -> float | None:
    if given is None:
        return None
    time = parse(given, "s") if isinstance(given, (str, int, float)) and not isinstance(given, bool) else 0.0
    if not 0 < time <= LONGEST_STEP:
        raise InputError(f"step_time = {given!r:.60}: expected a time above 0, e.g. '0.1s'")
    return time


def _known(name: str) -> FittedModel:
    if name not in DISTBELIEF:
        raise unknown_name("model", name, DISTBELIEF)
    return DISTBELIEF[name]


def _own(point: object, peak: bool) -> FittedModel:
    if not (isinstance(point, (tuple, list)) and len(point) == 2):
        raise InputError(f"point = {point!r:.60}: expected machines and speed-up, e.g. (8, 2.2)")
    machines, speedup = point
    expect(COUNT, point=machines)
    numbers = isinstance(speedup, (int, float)) and not isinstance(speedup, bool)
    if not (numbers and 2 <= machines <= LARGEST_WORLD_SIZE and 1 <= speedup <= machines):
        raise InputError(
            f"point = {machines}:{speedup!r:.30}: expected at least 2 machines, and a speed-up from 1 to as "
            "many"
        )
    model = FittedModel(
        f"your model: {speedup:g} times on {machines} machines{', the peak' if peak else ''}",
        int(machines),
        float(speedup),
        peak,
    )
    contention, _ = model.contention_and_coherency()
    if contention < 0:
        most = machines**2 / (2 * machines - 1)
        raise InputError(f"point = {machines}:{speedup:g}: the law peaks at {most:.2f} at most there")
    return model
