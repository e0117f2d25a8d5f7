"""The campaign of data-parallel training runs: how each row was read and predicted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perfmodel.core.command_line import command_line
from perfmodel.core.errors import InputError
from perfmodel.core.problem import Note, python
from perfmodel.evidence.accuracy.campaign import Campaign, Command, Details, run_command
from perfmodel.evidence.accuracy.ledger.held_out import UNSEEN
from perfmodel.evidence.accuracy.measured_table import Line
from perfmodel.evidence.accuracy.readings import Reading, cells_of, facts
from perfmodel.evidence.accuracy.scenarios import CONNECTIONS, Refused, scenario_of_run
from perfmodel.evidence.accuracy.software import variants
from perfmodel.evidence.accuracy.training_compare import Row, compare
from perfmodel.evidence.accuracy.training_rows import COLUMNS, Run, run_of
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import predict
from perfmodel.model.prediction.result import Prediction

DEFAULT = "the default"


def scenario_readings(
    line: Line, scenario: Scenario, of: Prediction | Scenario, rule: str = "assumed"
) -> list[Reading]:
    """Return for each option of a scenario what the row states, the value, and why that was assumed.

    Parameters
    ----------
    line : the row
    scenario : the scenario that the row was read as
    of : prediction of the scenario, or the scenario itself if that was refused
    rule : reason to show for an option that is set although the row does not state it
    """
    known: Mapping[str, Any] = (
        of.scenario if isinstance(of, Prediction) else of.model_dump(exclude_unset=True)
    )
    result = []
    for fact in facts("training"):
        option, most = fact.value, fact.only_above_one
        if most and int(known.get(most) or line.cells.get(most) or 1) == 1:
            continue
        stated, value = fact.stated(line) or cells_of(line, (option,)), known.get(option)
        if value is None and not stated:
            continue
        is_set = option in scenario.model_fields_set or option not in Scenario.model_fields
        why = "" if is_set else "left open"
        if not stated:
            why = fact.rule or (rule if is_set else DEFAULT)
        result.append(Reading(fact.what, stated, "not used" if value is None else str(value), why))
    options = {fact.value for fact in facts("training")}
    defaults = of.defaults if isinstance(of, Prediction) else []
    others = [line for line in defaults if isinstance(line, Note) and python(line.about) not in options]
    return result + [Reading(line.about.replace("-", " "), "", line.said, DEFAULT) for line in others]


def _details(line: Line, run: Run, outcome: Row, catalogue: Catalogue) -> Details:
    """Return how a row was read, the terms of its iteration time, and the command that predicts it."""
    try:
        scenario = scenario_of_run(run, catalogue)
    except Refused:
        return Details()
    try:
        of: Prediction | Scenario = predict(scenario, catalogue)
    except InputError:
        of = scenario
    result = scenario_readings(line, scenario, of)
    if (variant := variants().get((run.source, run.workload))) is not None:
        result[0] = result[0]._replace(why=f"the variant that its source's code builds, {variant}")
    if scenario.optimizer == "none":
        result.append(Reading("optimizer", "no optimizer step", "none", "the note says so"))
    if (connections := CONNECTIONS.get(run.source)) is not None:
        why = "its source ran in containers of Kubernetes"
        result.append(Reading("TCP connections", "", str(connections), why))
    if run.iteration_time is None and run.samples_per_second is not None:
        stated = f"{run.samples_per_second:g} samples/s"
        result.append(Reading("measured time", stated, "from the rate", "samples of a step over the rate"))
    if outcome.predicted is None or isinstance(of, Scenario):
        return Details(result)
    terms = {name: time for name, time in of.terms.items() if time}
    return Details(result, terms, scenario_command(scenario, catalogue))


def scenario_command(scenario: Scenario, catalogue: Catalogue) -> Command:
    """Return the command line that predicts a scenario, with its answer.

    The answer differs from the row's prediction if ``predict`` has another model for the network.
    """
    options = scenario.model_dump(exclude_unset=True)
    if options.get("world_size") == 1:
        options.pop("strategy", None)
    line = command_line("predict", options)
    of_user = Scenario.model_construct(**options)
    return run_command(line, lambda: predict(of_user, catalogue).iteration_time)


CAMPAIGN = Campaign[Run](
    kind="training",
    table="training_runs.csv",
    id_column="run_id",
    columns=COLUMNS,
    measures="iteration time",
    unit="s",
    is_learned_from=True,
    read=lambda line, catalogue: run_of(line),
    predict=lambda runs, catalogue: compare(runs, "specs", catalogue),
    details=_details,
    unseen=UNSEEN,
)
