"""DistBelief on given hardware: Downpour SGD over sharded servers, and replicas over several machines."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Final, Literal

from perfmodel.core.files.tables import Record, Rows, aligned
from perfmodel.core.units import per_cent, show
from perfmodel.equations.downpour import (
    async_throughput_kept,
    downpour_staleness,
    downpour_step_rate,
    extra_parameter_age,
    fetch_load,
    push_load,
)
from perfmodel.equations.model_parallel import FittedModel, halo_of_point, tiled_speedup
from perfmodel.equations.scaling import usl_peak_world_size
from perfmodel.equations.server_load import server_memory_bytes
from perfmodel.equations.update_times import server_update_rate
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.fitted.calibration import calibration
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction.assemble import predict
from perfmodel.model.step.ports import bulk_bandwidth
from perfmodel.workloads import workload

WEIGHT_BYTES: Final = 4
OPTIMIZER_COPIES: Final = {"sgd": 0, "momentum": 1, "adagrad": 1, "adam": 2}
"""Optimizer states of a server, over the size of the model."""
Binding = Literal["computation", "the servers' ports", "the replicas' ports"]


@dataclass(frozen=True, repr=False)
class Downpour:
    """Downpour SGD: replicas that push and fetch during computation, and servers with shards of the model."""

    workload: str
    """Network."""
    accelerator: str | None
    """Accelerator of each replica; None if its step time was given."""
    link: str
    """Link of replicas and servers, each with its own port."""
    replicas: int
    """Replicas at the start."""
    servers: int
    push_every: int
    """Steps of a replica between two pushes."""
    fetch_every: int
    """Steps of a replica between two fetches."""
    step_time: float
    """Step time of a replica without waits [s]."""
    replica_speedup: float
    """Speed-up of a replica by several machines; 1 on one."""
    gradient_bytes: float
    """[B]"""
    link_bandwidth: float
    """Bandwidth of a port in each direction [B/s]."""
    push_load: float
    """Rate of all pushes if no port were a limit [B/s]."""
    fetch_load: float
    """[B/s]"""
    server_load: float
    """Share of a server's port needed in the fuller direction; above 1 the servers are the limit."""
    binds: Binding
    """The bottleneck."""
    steps_per_second: float
    """Steps per second of all replicas."""
    steps_per_second_waiting: float
    """The same if each replica waited for its own exchange, in a queue of exponential times."""
    samples_per_second: float
    low_80: float | None
    """Lower end of samples per second by the step's interval; None with a given step or if ports bind."""
    high_80: float | None
    """Upper end of samples per second."""
    updates_per_second: float
    """Pushes that a server applies."""
    mean_staleness: float
    """Updates of other replicas between fetching parameters and applying a gradient taken at them."""
    extra_parameter_age: float
    """Steps of a replica by which its parameters are older than fetched ones."""
    server_memory: float
    """Memory of one server, with the optimizer's state [B]."""
    optimizer: str
    """Optimizer whose state the servers hold."""
    lost: int
    """Replicas that fail."""
    replicas_kept: float
    """Share of the replicas that remain."""
    throughput_kept: float
    """Share of the steps that remain: more than ``replicas_kept`` if ports bind; synchronous SGD stops."""

    def to_json(self) -> str:
        """Return the answer as JSON, as ``perfmodel downpour --json`` prints it."""
        return json.dumps(asdict(self))

    def records(self) -> list[Record]:
        """Return the answer as a table of one row."""
        return [asdict(self)]

    @property
    def headline(self) -> str:
        """The job in one line."""
        on = self.accelerator or "machines of your own"
        return f"{self.workload}, {self.replicas} replicas on {on}, {self.link}, Downpour SGD"

    def __repr__(self) -> str:
        return "\n".join([self.headline, *(f"  {label:<20}{value}" for label, value in downpour_lines(self))])


def downpour(
    scenario: Scenario,
    catalogue: Catalogue,
    *,
    replicas: int,
    servers: int,
    push_every: int,
    fetch_every: int,
    lost: int,
    step_time: float | None,
    optimizer: str,
    replica: FittedModel | None,
    replica_machines: int,
) -> Downpour:
    """Return the throughput and staleness of Downpour SGD; the caller has checked the numbers.

    Parameters
    ----------
    scenario : network, accelerator, batch, precision and link between machines
    catalogue : of hardware
    step_time : of a replica on one machine [s]; None predicts it
    replica, replica_machines : the speed-up of a replica over machines, and the number of its machines

    Raises
    ------
    InputError : an unknown name, or options that do not go together
    """
    one = predict(scenario.model_copy(update={"world_size": 1}), catalogue)
    link = catalogue.link(str(one.scenario["inter_link"]))
    rate = bulk_bandwidth(link, calibration(), 1)
    size = WEIGHT_BYTES * float(
        workload(
            one.scenario["workload"], one.scenario["sequence_length"], one.scenario["image_tokens"]
        ).parameters
    )
    speedup = float(replica.speedup_on(replica_machines)) if replica else 1.0
    step = (one.iteration_time if step_time is None else step_time) / speedup
    batch = one.scenario["local_batch_size"] * one.scenario["accumulation_steps"]

    def steps(count: int, time: float) -> float:
        return float(downpour_step_rate(count, time, size, push_every, fetch_every, servers, rate))

    pushed = float(push_load(replicas, size, push_every, step))
    fetched = float(fetch_load(replicas, size, fetch_every, step))
    often = min(push_every, fetch_every)
    ports: dict[Binding, float] = {
        "computation": replicas / step,
        "the servers' ports": servers * rate / size * often,
        "the replicas' ports": replicas * rate / size * often,
    }
    binds: Binding = min(ports, key=lambda name: ports[name])
    interval = one.interval if step_time is None and binds == "computation" else None
    now = steps(replicas, step)
    return Downpour(
        workload=one.scenario["workload"],
        accelerator=one.scenario["accelerator"] if step_time is None else None,
        link=link.id,
        replicas=replicas,
        servers=servers,
        push_every=push_every,
        fetch_every=fetch_every,
        step_time=step,
        replica_speedup=speedup,
        gradient_bytes=size,
        link_bandwidth=rate,
        push_load=pushed,
        fetch_load=fetched,
        server_load=max(pushed, fetched) / (servers * rate),
        binds=binds,
        steps_per_second=now,
        steps_per_second_waiting=float(server_update_rate(replicas, step, size / (servers * rate) / often)),
        samples_per_second=now * batch,
        low_80=steps(replicas, interval.high_80 / speedup) * batch if interval else None,
        high_80=steps(replicas, interval.low_80 / speedup) * batch if interval else None,
        updates_per_second=now / push_every,
        mean_staleness=float(downpour_staleness(replicas, push_every, fetch_every)),
        extra_parameter_age=float(extra_parameter_age(fetch_every)),
        server_memory=float(server_memory_bytes(1, servers, size, OPTIMIZER_COPIES[optimizer])),
        optimizer=optimizer,
        lost=lost,
        replicas_kept=float(async_throughput_kept(replicas, lost)),
        throughput_kept=steps(replicas - lost, step) / now,
    )


@dataclass(frozen=True)
class ModelSpeedup:
    """The speed-up of one replica on a number of machines."""

    machines: int
    """Machines of the replica."""
    speedup: float
    """Speed-up by the universal scalability law through the reported point."""
    efficiency: float
    """Speed-up over machines."""
    tiled_speedup: float | None
    """Speed-up of square tiles through the same point; None if the model peaks there, or no square number."""
    fitted: bool
    """Whether this is the reported point that the law was fitted to."""


@dataclass(frozen=True, repr=False)
class ModelSpeedups(Rows):
    """Speed-ups of one replica by machines: a closed form through one reported point."""

    facts: str
    """The reported point and its source."""
    contention: float
    """Share of the work that machines do in sequence."""
    coherency: float
    """Cost of synchronising two machines, over the work of one."""
    peak_machines: float | None
    """Number of machines at the peak of the law; None without a peak."""
    rows: tuple[ModelSpeedup, ...]
    status: Literal["fitted"] = "fitted"
    """Basis of the numbers."""

    def __repr__(self) -> str:
        rows = [(str(row.machines), f"{row.speedup:.2f}", per_cent(row.efficiency)) for row in self.rows]
        return aligned(f"fitted to: {self.facts}", ("machines", "speed-up", "efficiency"), rows, left=0)


def model_speedups(model: FittedModel, machines: Sequence[int]) -> ModelSpeedups:
    """Return the speed-up of a fitted model on each number of machines."""
    contention, coherency = model.contention_and_coherency()
    halo = None if model.peaks_there else float(halo_of_point(model.machines, model.speedup))
    rows = []
    for count in machines:
        speedup = float(model.speedup_on(count))
        square = round(count**0.5) ** 2 == count
        tiled = float(tiled_speedup(count, halo)) if halo is not None and square else None
        rows.append(ModelSpeedup(count, speedup, speedup / count, tiled, count == model.machines))
    peak = float(usl_peak_world_size(contention, coherency)) if coherency > 0 else None
    return ModelSpeedups(model.facts, contention, coherency, peak, tuple(rows))


def downpour_lines(answer: Downpour) -> list[tuple[str, str]]:
    """Return the lines of a summary of Downpour: label and text."""
    ports = f"{answer.servers} x {show(answer.link_bandwidth, 'B/s')}"
    often = f"pushed every {answer.push_every}, parameters fetched every {answer.fetch_every} steps"
    waiting = f"{answer.steps_per_second_waiting:.4g} if each waits for its exchange"
    lines = [
        ("a replica's step", show(answer.step_time, "s")),
        ("gradients", f"{show(answer.gradient_bytes, 'B')}, {often}"),
        ("servers' ports", f"{per_cent(answer.server_load)} of {ports} needed"),
        ("what binds", answer.binds),
        ("steps", f"{answer.steps_per_second:.4g} a second, {waiting}"),
        ("throughput", f"{answer.samples_per_second:,.1f} samples a second"),
    ]
    if answer.low_80 is not None:
        lines.append(("80 % interval", f"{answer.low_80:,.1f} to {answer.high_80:,.1f}"))
    lines += [
        ("updates", f"{answer.updates_per_second:.4g} a second"),
        ("mean staleness", f"{answer.mean_staleness:.2f} updates of other replicas"),
        ("a server's memory", f"{show(answer.server_memory, 'B')} with {answer.optimizer}"),
    ]
    if answer.lost:
        lines.append(
            (
                f"{answer.lost} lost",
                f"{per_cent(answer.throughput_kept)} of the steps continue; synchronous training stops",
            )
        )
    return lines
