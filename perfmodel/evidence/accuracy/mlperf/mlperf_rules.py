"""Rules of MLPerf Training by benchmark and round, and facts about submitted systems, from CSV tables."""

from __future__ import annotations

import math
from functools import cache
from typing import Any, NamedTuple

from perfmodel.core.files.resources import folder
from perfmodel.evidence.accuracy.measured_table import records

YEARS = {row["round"]: int(row["year"]) for row in records(folder("validation") / "mlperf_rounds.csv")}
"""Year of each round, in chronological order."""
ROUNDS = tuple(YEARS)


class Rules(NamedTuple):
    """How a benchmark is trained and evaluated from a round on: a line of ``mlperf_benchmarks.csv``."""

    workload: str
    optimizer: str
    overlap: str
    target: str
    """Quality at which training stops."""
    evaluated_samples: float
    """Samples of one evaluation."""
    first_evaluation: float
    """Samples trained on before the first evaluation; 0: as many as between two evaluations."""
    evaluation_interval: float
    """Samples trained on between two evaluations; 0: by the formula of the batch size of newer rounds."""

    def evaluations(self, samples_to_target: float, global_batch_size: float) -> int:
        """Return the number of evaluations until the target is met, including the last one.

        Examples
        --------
        Every 4 epochs of 1,281,167 images over 40 epochs:

        >>> rules_of("resnet50", "v0.6").evaluations(40 * 1_281_167, 1024)
        10

        BERT in batches of 448: 5 % of 3,103,143 is 155,157, rounded down to 150,000.

        >>> rules_of("bert", "v1.1").evaluations(3e6, 448)
        20
        """
        interval = (
            self.evaluation_interval or math.floor(0.05 * (230.23 * global_batch_size + 3e6) / 25e3) * 25e3
        )
        start = self.first_evaluation or interval
        return 1 + max(math.ceil((samples_to_target - start) / interval), 0)

    def evaluation_time(
        self, samples_to_target: float, global_batch_size: float, forward_time: float
    ) -> float:
        """Return the time of all evaluations until the target is met [s].

        Parameters
        ----------
        samples_to_target : samples trained on until then
        global_batch_size : samples of one iteration, and of one batch of an evaluation
        forward_time : time of a batch's forward pass, and so of its evaluation [s]
        """
        batches = -(-self.evaluated_samples // global_batch_size)
        return self.evaluations(samples_to_target, global_batch_size) * batches * forward_time


@cache
def _table() -> dict[str, list[tuple[int, Rules]]]:
    """Return by benchmark the index of the first round of each set of rules, and the rules, in order."""
    result: dict[str, list[tuple[int, Rules]]] = {}
    for row in records(folder("validation") / "mlperf_benchmarks.csv"):
        cells: dict[str, Any] = {name: row[name] for name in Rules._fields}
        cells |= {name: float(cells[name] or 0) for name in Rules._fields[4:]}
        result.setdefault(row["benchmark"], []).append((ROUNDS.index(row["first_round"]), Rules(**cells)))
    return result


BENCHMARKS = tuple(_table())


@cache
def rules_of(benchmark: str, round_: str) -> Rules:
    """Return the rules of a benchmark in a round."""
    return [rules for first, rules in _table()[benchmark] if first <= ROUNDS.index(round_)][-1]


class System(NamedTuple):
    """Facts about systems whose names contain a text: a line of ``mlperf_systems.csv``."""

    system: str
    """The text."""
    node: str
    """Id of the machine if it is not the usual one of the accelerator; else empty."""
    in_network_from: str
    """First round in which its switches between nodes reduced gradients; empty if they never did."""
    why: str
    """Where the facts come from."""


@cache
def system_of(name: str) -> System:
    """Return the facts about the system of that name; all fields are empty if there are none."""
    known = (System(**row) for row in records(folder("validation") / "mlperf_systems.csv"))
    return next((each for each in known if each.system in name), System("", "", "", ""))


class Configuration(NamedTuple):
    """How submitted code is configured for a size of job: a line of ``mlperf_configurations.csv``.

    Empty fields are as the rules of the benchmark have them.
    """

    benchmark: str
    first_round: str
    last_round: str
    """Rounds it holds for, from the first to the last; no last one if that is empty."""
    accelerators: str
    """What the ids of its accelerators begin with; empty: any."""
    least_nodes: str
    """Fewest machines; empty: one."""
    most_per_node: str
    """Most accelerators of a machine; empty: any number."""
    software: str
    """Id of the software, where a row's is NVIDIA's submitted code."""
    precision: str
    sequence_length: str
    """Tokens that are computed of a sample."""
    overlap: str
    why: str
    """The configurations that say so."""

    def fits(self, benchmark: str, round_: str, accelerator: str, nodes: int, per_node: int) -> bool:
        """Whether it holds for a submission."""
        at = ROUNDS.index(round_)
        return (
            benchmark == self.benchmark
            and ROUNDS.index(self.first_round) <= at <= ROUNDS.index(self.last_round or ROUNDS[-1])
            and accelerator.startswith(self.accelerators)
            and nodes >= int(self.least_nodes or 1)
            and per_node <= int(self.most_per_node or per_node)
        )


AS_RULED = Configuration(*[""] * len(Configuration._fields))
"""Configuration of a submission of which nothing is known but the rules."""


@cache
def configuration_of(
    benchmark: str, round_: str, accelerator: str, nodes: int, per_node: int
) -> Configuration:
    """Return the configuration of a submission: the first line that fits.

    >>> configuration_of("bert", "v1.1", "a100-sxm4-80gb", 128, 8).sequence_length
    '512'
    """
    rows = records(folder("validation") / "mlperf_configurations.csv")
    known = (Configuration(**row) for row in rows)
    return next(
        (each for each in known if each.fits(benchmark, round_, accelerator, nodes, per_node)), AS_RULED
    )
