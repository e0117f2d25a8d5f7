"""Read submissions to MLPerf Training, which are training runs timed to a target; make scenarios of them."""

from __future__ import annotations

from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

from perfmodel.core.errors import refusal
from perfmodel.core.records.names import word_of
from perfmodel.evidence.accuracy.ledger.held_out import learned_part
from perfmodel.evidence.accuracy.measured_table import Line, measured_lines, number, one_of
from perfmodel.evidence.accuracy.mlperf.mlperf_rules import (
    BENCHMARKS,
    ROUNDS,
    YEARS,
    Rules,
    configuration_of,
    rules_of,
    system_of,
)
from perfmodel.evidence.accuracy.scenarios import Refused, named, scenario_of_run, with_options
from perfmodel.evidence.accuracy.software import software_of
from perfmodel.evidence.accuracy.training_rows import COUNTS, Run, run_of
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.formats import OPERANDS
from perfmodel.hardware.software import parts, with_year
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import predict
from perfmodel.model.setting.link_caveats import GENERIC_NODE
from perfmodel.workloads.recipes.recipes import benchmarks

SUBMITTED = "mlperf-"
"""Beginning of the ids of code that NVIDIA wrote for MLPerf."""
LARGEST_FIGURE = 1e12
"""Largest number of seconds or samples that a row may state; more indicates a wrong unit."""


class Submission(NamedTuple):
    """One system's result in one benchmark."""

    job: Run
    """The training run: what its row states, and what the rules fix for all submissions."""
    round: str
    benchmark: str
    """``resnet50`` (v1.5) or ``bert`` (large)."""
    submitter: str
    system: str
    time_to_train: float
    """Time from the start of the run to the target [s]."""
    samples_to_target: float | None
    """Samples trained on until the target was met, median of the successful runs; None if not stated."""

    @property
    def source(self) -> str:
        """Organisation that submitted it."""
        return self.submitter

    @property
    def batch(self) -> int:
        """Global batch size: samples of one iteration."""
        assert self.job.global_batch_size is not None
        return self.job.global_batch_size

    @property
    def iteration_time(self) -> float | None:
        """Measured iteration time [s], None if the row states no rate; the rate may include evaluations."""
        rate = self.job.samples_per_second
        return None if rate is None else self.batch / rate

    @property
    def rules(self) -> Rules:
        """Rules of its benchmark in its round."""
        return rules_of(self.benchmark, self.round)


_figure = number(high=LARGEST_FIGURE)
DECISIVE = ("round", "accelerator", "global_batch_size", "time_to_train")
"""Columns that a submission must fill in; ``world_size`` is needed, too, but can follow from other
columns."""
COLUMNS = (*DECISIVE, "run_id", "workload", *COUNTS, "year")


def submission_of(line: Line) -> Submission:
    """Return a row as a ``Submission``, with the network, precision and input that MLPerf's rules fix.

    Raises
    ------
    Refused : the benchmark is unknown, or the row states too little
    InputError : a cell does not fit its column
    """
    benchmark = word_of(line.text("workload"), BENCHMARKS)
    if benchmark not in BENCHMARKS:
        raise Refused("unknown benchmark", benchmark) if benchmark else Refused("no workload")
    if unstated := next((column for column in DECISIVE if not line.text(column)), None):
        raise Refused(f"no {unstated.replace('_', ' ')}")
    round_, run = line.checked("round", line.text("round"), one_of(ROUNDS)), run_of(line)
    if not all(getattr(run, name) for name in COUNTS):
        raise Refused("no " + " and ".join(name.replace("_", " ") for name in COUNTS if not line.text(name)))
    rules, batch = rules_of(benchmark, round_), run.global_batch_size or 0
    configured = configuration_of(benchmark, round_, *_size_of(run))
    length = int(configured.sequence_length or 0) or benchmarks()[benchmark].sample_tokens
    run = run._replace(
        workload=rules.workload,
        sequence_length=length,
        precision=configured.precision or "fp16",  # fp32 weights, half-precision gradients in the all-reduce
        local_batch_size=max(round(batch / run.world_size), 1),
        strategy="all-reduce",
        overlap=configured.overlap or rules.overlap,
        input="synthetic",  # DALI decodes ahead of training, on the accelerator
        year=run.year or YEARS[round_],
    )
    time = line.checked("time_to_train", line.text("time_to_train"), _figure)
    samples = line.read("samples_to_target", _figure)
    return Submission(run, round_, benchmark, line.text("submitter"), line.text("system"), time, samples)


def _size_of(run: Run) -> tuple[str, int, int]:
    """Return what decides the configuration of a run: accelerator, machines, and accelerators of each."""
    return run.accelerator, run.nodes, run.accelerators_per_node


def read_submissions(path: Path, before: str | None = None) -> tuple[list[Submission], list[str]]:
    """Return the submissions of a CSV file with the columns of ``validation/measured/mlperf.csv``.

    The second list has the reasons why other rows are skipped: another benchmark, or too little stated.

    Parameters
    ----------
    path : of the file
    before : id of the submission to stop before; None reads the file to its end

    Raises
    ------
    InputError : the file cannot be read, lacks a column, has a cell that does not fit, or has no rows
    """
    known: list[Submission] = []
    skipped: list[str] = []
    for line in measured_lines(path, COLUMNS, before):
        try:
            known.append(submission_of(line))
        except Refused as error:
            skipped.append(str(error))
    if not known and not skipped:
        raise refusal("table.no_submissions").under(path)
    return known, skipped


@cache
def shipped_submissions() -> tuple[Submission, ...]:
    """Return the shipped ResNet-50 and BERT submissions that are not held out; read once."""
    return tuple(read_submissions(*learned_part("mlperf.csv"))[0])


@cache
def held_out_submissions() -> tuple[Submission, ...]:
    """Return the shipped submissions that are held out, in order: rounds that were added later."""
    path, _ = learned_part("mlperf.csv")
    known = {each.job.run_id for each in shipped_submissions()}
    return tuple(each for each in read_submissions(path)[0] if each.job.run_id not in known)


def framework_of(submission: Submission) -> str | None:
    """Return the software of a submission as ``NAME@YEAR`` or None.

    ``mlperf_software.csv`` says whose code it is; of NVIDIA's, ``mlperf_configurations.csv`` how it is run.
    """
    run = submission.job._replace(framework=f"{submission.job.framework} {submission.system}")
    software = software_of(run, submission.benchmark, "mlperf_software.csv")
    configured = configuration_of(submission.benchmark, submission.round, *_size_of(run)).software
    if not software or not configured or not software.startswith(SUBMITTED):
        return software
    return with_year(configured, parts(software)[1])


@lru_cache(maxsize=1024)
def scenario_of_submission(submission: Submission, catalogue: Catalogue) -> Scenario:
    """Return the scenario of a submission, from its configuration alone.

    A local batch that does not fit into memory is split into the fewest micro-batches that fit; if none fits,
    into single samples.

    Raises
    ------
    Refused : the catalogue has no such accelerator, or no machine that large
    """
    named("accelerators", submission.job.accelerator, catalogue)
    run = submission.job._replace(node=_node(submission, catalogue))
    scenario = with_options(
        scenario_of_run(run, catalogue),
        framework=framework_of(submission),
        optimizer=submission.rules.optimizer,
        overlap=run.overlap,
        compression="fp16" if run.precision in OPERANDS else None,
        algorithm=_algorithm(submission),
    )
    local = run.local_batch_size or 1
    for steps in (steps for steps in range(1, local + 1) if local % steps == 0):
        scenario = with_options(scenario, local_batch_size=local // steps, accumulation_steps=steps)
        if predict(scenario, catalogue).memory.fits:
            break
    return scenario


def _algorithm(submission: Submission) -> str:
    """Return ``switch-tree`` if the system's switches between nodes reduce, else ``auto``: NCCL's choice."""
    first = system_of(submission.system).in_network_from
    adds = first and submission.job.nodes > 1 and ROUNDS.index(submission.round) >= ROUNDS.index(first)
    return "switch-tree" if adds else "auto"


def _node(submission: Submission, catalogue: Catalogue) -> str:
    """Return the id of a submission's machine: its own, or the usual one of its accelerator if large enough.

    Raises
    ------
    Refused : no machine has that many accelerators
    """
    if own := system_of(submission.system).node:
        return own
    run = submission.job
    usual = catalogue.accelerator(run.accelerator).usual_node
    for node in (usual, GENERIC_NODE):
        if node and catalogue.node(node).accelerators >= run.accelerators_per_node:
            return node
    raise Refused("no machine that large", f"{run.accelerators_per_node} accelerators")
