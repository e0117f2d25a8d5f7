"""``perfmodel.compare``: predictions side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from perfmodel.core.errors import InputError, refusal
from perfmodel.core.records.arguments import FLAG, NAMES, TEXT, expect
from perfmodel.decide.comparison import Case, Comparison, case_of
from perfmodel.decide.comparison import compare as beside
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.options.keywords import scenario_from
from perfmodel.model.options.scenario import Scenario


def compare(
    *scenarios: Scenario | Mapping[str, Any] | Case,
    names: Sequence[str] | None = None,
    conditions: Conditions | None = None,
    catalogue: Catalogue | None = None,
    time_to_target: bool = False,
    recipe: str | None = None,
) -> Comparison:
    """Predict several scenarios and set each beside the first.

    Parameters
    ----------
    scenarios : two or more, or mappings of their options; a ``Case`` has a name and costs of its own
    names : of the scenarios; by default A, B, C
    conditions : prices, power and failures; by default prices of the catalogue
    catalogue : hardware to choose from; by default what comes with the package
    time_to_target : whether times and costs of training to a published quality are compared too
    recipe : how training to it goes, which asks for it too; by default what goes with each framework

    Raises
    ------
    InputError : as ``predict``, with the scenario's name before it; fewer than two scenarios; two of one name

    Examples
    --------
    Twice the accelerators, the same batch on each:

    >>> found = compare({"gpus": 8}, {"gpus": 16}, names=["eight", "sixteen"])
    >>> [(entry.option, entry.values) for entry in found.inputs]
    [('world_size', [8, 16])]
    >>> found.verdict.startswith("sixteen is 1.9")
    True
    """
    expect(NAMES.or_none, names=names)
    expect(TEXT.or_none, recipe=recipe)
    expect(FLAG, time_to_target=time_to_target)
    if names is not None and len(names) != len(scenarios):
        raise refusal("compare.names", "names", count=len(names), scenarios=len(scenarios))
    conditions = None if conditions is None else Conditions.model_validate(conditions)
    cases = []
    for index, scenario in enumerate(scenarios):
        if isinstance(scenario, Case):
            cases.append(scenario if names is None else scenario._replace(name=names[index]))
            continue
        name = names[index] if names is not None else _letter(index)
        try:
            cases.append(
                case_of(
                    name,
                    scenario_from(scenario, {}),
                    catalogue,
                    conditions,
                    target=time_to_target,
                    recipe=recipe,
                )
            )
        except InputError as error:
            raise (error if error.inside[:1] == (name,) else error.under(name)) from None
    return beside(cases)


def _letter(index: int) -> str:
    return chr(ord("A") + index) if index < 26 else str(index + 1)
