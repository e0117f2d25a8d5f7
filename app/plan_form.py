"""Conversions of the page Plan: options to a goal, a goal to Python, a plan to options of a prediction."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import click

from app import bounded, names, searches, session_hardware
from app.goal_keywords import keywords_of
from app.options import Option, convert, options, written
from app.search_worker import PlanAnswer
from perfmodel.decide.planning import Goal
from perfmodel.decide.planning.goal import SHARED, options_of
from perfmodel.interfaces.commands.plan import COMMAND, OF_FLEETS
from perfmodel.interfaces.reports.page import Page
from perfmodel.interfaces.shell import request_of
from perfmodel.model.options.scenario import SHORT
from perfmodel.model.setting.sharing import predicts_tokens

PRICES = ("price", "purchase-price")
CALIBRATION = "calibration"
BETWEEN = re.compile(r",(?!\d{3}(?:\D|$))")
"""Matches a comma between machines with prices, not one between thousands."""


def known() -> dict[str, Option]:
    """Return the options of ``perfmodel plan`` that the page has, by name."""
    result = {}
    for name, option in options("plan").items():
        if option.parameter.metavar == "FILE" or name == "specs":  # files would be the server's
            continue
        if option.parameter.name in OF_FLEETS:  # options of another question, about machines that exist
            continue
        if option.kind == "choices":
            option = option._replace(usual="on demand (default)" if name == "pricing" else "any")
        if name == "pricing":
            option = option._replace(shows=names.price_kind)
        if name in PRICES:
            option = joined_by_commas(option, "e.g. dgx-1v=12,dgx-a100=30")
        result[name] = option if name == "workload" else option._replace(session=f"plan-{name}")
    return result


class _Prices(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """Type of several prices in one field, where the command line may repeat the option."""

    name = "prices"

    def __init__(self, one: Option) -> None:
        self.one = one

    def convert(self, value: Any, param: Any, ctx: Any) -> list[tuple[tuple[str, float], ...]]:
        return [convert(self.one, str(value))]


def joined_by_commas(option: Option, usual: str) -> Option:
    """Return an option that a shell has once for each machine or link, for several of them in one field."""
    names = [f"--{option.name}", str(option.parameter.name)]
    parameter = click.Option(names, type=_Prices(option), help=option.help)
    return option._replace(parameter=parameter, kind="text", usual=usual)


def goal_of_form(picked: Mapping[str, Any], known: Mapping[str, Option]) -> Goal:
    """Return the goal that the chosen options define.

    Parameters
    ----------
    picked : chosen options, by name
    known : all options of the page

    Raises
    ------
    InputError : an invalid value
    """
    given: dict[str, Any] = {}
    for name, value in picked.items():
        option = known[name]
        given[str(option.parameter.name)] = convert(option, value) if option.kind == "text" else value
    mine = session_hardware.calibration()
    asked: Goal = request_of(COMMAND, given | ({} if mine is None else {CALIBRATION: mine})).goal()
    return asked


def length_missing(goal: Goal) -> str | None:
    """Return the message that the length of the run is missing; None if it or a target is known."""
    goal = goal.completed()
    if not goal.to_target or goal.target is not None or goal.chosen_recipe() is not None:
        return None
    if predicts_tokens(goal.network()):
        return "How long is the fine-tuning? Fill in “Tokens of the run” or “Or examples”."
    return (
        f"How long is the run? Nothing is published of the epochs that {goal.workload} takes: fill in "
        "“Epochs”, or the samples of the run under “More options”."
    )


def as_python(goal: Goal) -> str:
    """Return Python code for the search of a goal, with the arguments that differ from the defaults.

    >>> print(as_python(Goal(deadline=3600.0, options={"input": "real"})))
    import perfmodel
    <BLANKLINE>
    result = perfmodel.plan(deadline=3600.0, input='real')
    print(result)
    """
    given = keywords_of(goal)
    if CALIBRATION in given:  # the file's own name, without the server's folder
        given[CALIBRATION] = session_hardware.own_names()[CALIBRATION]
    texts = {name: repr(value) for name, value in given.items()}
    conditions = [
        f"{name}={value!r}" for name, value in goal.conditions.model_dump().items() if value is not None
    ]
    if conditions:
        texts["conditions"] = f"perfmodel.Conditions({', '.join(conditions)})"
    if own := session_hardware.catalogue_words("perfmodel."):
        texts["catalogue"] = own
    words = ", ".join(f"{name}={value}" for name, value in texts.items())
    return f"import perfmodel\n\nresult = perfmodel.plan({words})\nprint(result)"


def report_page(goal: Goal, result: PlanAnswer, command: str) -> Callable[[], Page]:
    """Return a function that makes the report of a search; after an answer by a service it searches here."""
    catalogue = session_hardware.catalogue()

    def page() -> Page:
        here = result
        if here.page is None:
            with bounded.slot():
                here, _ = bounded.by_a_process(searches.work(goal, catalogue), lambda text: None)
            assert here.page is not None
        return replace(here.page, command=command)

    return page


def as_picked(row: Mapping[str, Any], workload: str, picked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a prediction for one plan.

    Parameters
    ----------
    row : the plan
    workload : the network
    picked : options of the search, some of which apply to every plan
    """
    short = {field: name for name, field in SHORT.items()}
    decided = {
        short.get(field, field).replace("_", "-"): value
        for field, value in options_of(row, workload, {}).items()
    }
    same = {name: value for name, value in picked.items() if name.replace("-", "_") in SHARED}
    if row["sequence_length"]:
        same["sequence-length"] = row["sequence_length"]
    return same | decided


def as_query(row: Mapping[str, Any], workload: str, picked: Mapping[str, Any]) -> dict[str, str]:
    """Return the query of a plan on the page Predict; parameters as of ``as_picked``."""
    return {name: written(value) for name, value in as_picked(row, workload, picked).items()}


def as_words(
    picked: Mapping[str, Any], repeated: Iterable[str] = PRICES
) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """Return the options of a shell command, and those repeated for each machine or link, as pairs."""
    once = {name: value for name, value in picked.items() if name not in repeated}
    more = [(name, part) for name in repeated for part in BETWEEN.split(str(picked.get(name, ""))) if part]
    return once, more
