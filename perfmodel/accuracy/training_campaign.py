"""Training iterations by data parallelism, as a campaign."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from perfmodel.accuracy.campaign import Campaign, Command, Outcome, Reading, answered, cells_of
from perfmodel.accuracy.compare import compare
from perfmodel.accuracy.held_out import UNSEEN
from perfmodel.accuracy.measured_table import Line
from perfmodel.accuracy.runs import COLUMNS, Run, run_of
from perfmodel.accuracy.scenarios import CONNECTIONS, Refused, scenario_of_run
from perfmodel.accuracy.software import VARIANTS
from perfmodel.errors import InputError
from perfmodel.planning.launch import command_line
from perfmodel.prediction import predict
from perfmodel.prediction.result import Prediction
from perfmodel.specs.scenario import Scenario
from perfmodel.specs.store import Catalogue

READ = {
    "network": ("workload", "workload"),
    "sequence length": ("seq_len", "sequence_length"),
    "software": ("framework", "framework"),
    "accelerator": ("accelerator", "accelerator"),
    "machine": ("node", "node"),
    "link inside the node": ("intra_link", "intra_link"),
    "link between nodes": ("inter_link", "inter_link"),
    "adapters of a node": ("nics_per_node", "nics"),
    "accelerators": ("world_size", "world_size"),
    "accelerators of a node": ("accelerators_per_node", "accelerators_per_node"),
    "nodes": ("nodes", "nodes"),
    "strategy": ("strategy", "strategy"),
    "parameter servers": ("servers", "servers"),
    "overlap": ("overlap", "overlap"),
    "precision": ("precision", "precision"),
    "samples of an accelerator": ("local_batch_size", "local_batch_size"),
    "micro-batches": ("accumulation_steps", "accumulation_steps"),
    "samples": ("input", "input"),
}
"""What is read -> column of the table, option of the scenario."""
OF_SEVERAL = ("link inside the node", "strategy", "overlap")
OF_SEVERAL_NODES = ("link between nodes", "adapters of a node")
RULES = {
    "machine": "the accelerator's usual machine, or a workstation where that is too small",
    "software": "the catalogue's usual of the accelerator's time",
    "parameter servers": "as many as machines train",
}
"""Why, where the row is silent; elsewhere it is the default of ``predict``."""
DEFAULT = "the default"


def outcomes(runs: Sequence[Run], catalogue: Catalogue) -> list[Outcome]:
    """Predict runs from specs alone."""
    return [
        Outcome(
            row.measured_iteration_time,
            row.predicted_iteration_time,
            row.low_80,
            row.high_80,
            row.reason,
        )
        for row in compare(runs, "specs", catalogue)
    ]


def understood_as(of: Prediction | Scenario) -> Mapping[str, Any]:
    """Return every option as it was understood; of what was refused those that it states."""
    return of.scenario if isinstance(of, Prediction) else of.model_dump(exclude_unset=True)


def scenario_readings(
    line: Line, scenario: Scenario, of: Prediction | Scenario, rule: str = "assumed"
) -> list[Reading]:
    """Return what a row states of a scenario, as it was read, and what was taken for the rest.

    Parameters
    ----------
    line : the row
    scenario : it was read as
    of : its prediction, or itself where that was refused
    rule : why an option is set of which the row is silent
    """
    known = understood_as(of)
    several = int(known.get("world_size") or 1) > 1
    joined = int(known.get("nodes") or line.cells.get("nodes") or 1) > 1
    result = []
    for what, (column, option) in READ.items():
        if (what in OF_SEVERAL and not several) or (what in OF_SEVERAL_NODES and not joined):
            continue
        stated, value = cells_of(line, (column,)) or cells_of(line, (option,)), known.get(option)
        if value is None and not stated:
            continue
        is_set = option in scenario.model_fields_set or option not in Scenario.model_fields
        why = "" if is_set else "left open"
        if not stated:
            why = RULES.get(what, rule if is_set else DEFAULT)
        result.append(Reading(what, stated, "not used" if value is None else str(value), why))
    options = {option for _, option in READ.values()}
    defaults = of.defaults if isinstance(of, Prediction) else []
    for text in defaults:
        option, _, value = text.removeprefix("--").partition(" ")
        if option.replace("-", "_") not in options:
            result.append(Reading(option.replace("-", " "), "", value, DEFAULT))
    return result


def _predicted(scenario: Scenario, catalogue: Catalogue) -> Prediction | Scenario:
    try:
        return predict(scenario, catalogue)
    except InputError:
        return scenario


def _readings(line: Line, run: Run, catalogue: Catalogue) -> list[Reading]:
    try:
        scenario = scenario_of_run(run, catalogue)
    except Refused:
        return []
    result = scenario_readings(line, scenario, _predicted(scenario, catalogue))
    if (variant := VARIANTS.get((run.source, run.workload))) is not None:
        result[0] = result[0]._replace(why=f"the variant that its source's code builds, {variant}")
    if scenario.optimizer == "none":
        result.append(Reading("optimizer", "no optimizer step", "none", "the note says so"))
    if (connections := CONNECTIONS.get(run.source)) is not None:
        why = "its source ran in containers of Kubernetes"
        result.append(Reading("TCP connections", "", str(connections), why))
    if run.iteration_time is None and run.samples_per_second is not None:
        stated = f"{run.samples_per_second:g} samples/s"
        result.append(Reading("measured time", stated, "from the rate", "samples of a step over the rate"))
    return result


def _terms(run: Run, catalogue: Catalogue) -> dict[str, float]:
    terms = predict(scenario_of_run(run, catalogue), catalogue).terms
    return {name: time for name, time in terms.items() if time}


def scenario_command(scenario: Scenario, catalogue: Catalogue) -> Command:
    """Return the command that predicts a scenario.

    It answers otherwise than the row's prediction where ``predict`` has another model for the network.
    """
    options = scenario.model_dump(exclude_unset=True)
    if options.get("world_size") == 1:
        options.pop("strategy", None)
    line = command_line("predict", options)
    of_user = Scenario.model_construct(**options)
    return answered(line, lambda: predict(of_user, catalogue).iteration_time)


CAMPAIGN = Campaign[Run](
    kind="training",
    table="training_runs.csv",
    id_column="run_id",
    columns=tuple(COLUMNS),
    measures="iteration time",
    unit="s",
    is_learned_from=True,
    read=lambda line, catalogue: run_of(line),
    predict=outcomes,
    readings=_readings,
    terms=_terms,
    command=lambda line, run, catalogue: scenario_command(scenario_of_run(run, catalogue), catalogue),
    unseen=UNSEEN,
)
