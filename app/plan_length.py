"""How long the run of the page Plan is: epochs of a network, or tokens and examples of a transformer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from app import session_hardware
from app.options import Option
from app.plan_form import goal_of_form, length_missing
from perfmodel.core.errors import InputError
from perfmodel.core.units import many
from perfmodel.decide.planning import Goal
from perfmodel.decide.planning.goal import TUNED as TRAINS_ADAPTERS
from perfmodel.model.options.run import Run
from perfmodel.model.setting.named import id_of
from perfmodel.model.setting.sharing import predicts_tokens
from perfmodel.model.transformers.layout_words import short
from perfmodel.workloads import workload
from perfmodel.workloads.recipes.token_recipes import token_recipe
from perfmodel.workloads.workload import Workload

OF_TOKENS = ("tokens", "samples")
"""Options of the length of a transformer's run."""
TUNED = tuple(name.replace("_", "-") for name in TRAINS_ADAPTERS)
"""Options of a fine-tuning that trains adapters alone."""


def current(option: Option, page: str = "plan", start: str | None = None) -> Workload | None:
    """Return the network that a page is about; None of one uploaded or unknown.

    Parameters
    ----------
    option : of the network
    page : its name in the URL
    start : network with which the page opens without an address of its own
    """
    session, query = st.session_state, st.query_params.to_dict()
    seen = session.get("seen")
    stays = seen and seen[0] == page and seen[1] == query
    name = session.get(f"option-{option.key}") if stays else query.get(option.name)
    name = name or session.get("chosen", {}).get(option.key)
    is_opening = not query and not (seen and seen[0] == page)
    name = name or (start if is_opening else None) or Run.model_fields["workload"].value
    try:
        return workload(id_of("workloads", name, session_hardware.catalogue()))
    except InputError:
        return None


def arranged(known: Mapping[str, Option]) -> tuple[tuple[str, ...], tuple[str, ...], dict[str, Option]]:
    """Return options of the length, those of fine-tuning to show at once, and all with usual values.

    Parameters
    ----------
    known : options of the page, by name
    """
    network = current(known["workload"])
    if network is None or not predicts_tokens(network):
        return ("epochs",), (), dict(known)
    tokens = token_recipe(network).tokens
    assert tokens is not None
    changed = {
        "tokens": known["tokens"]._replace(label="Tokens of the run", usual=f"{many(tokens)} (default)"),
        "samples": known["samples"]._replace(label="Or examples", usual="instead of tokens"),
        "lora": known["lora"]._replace(usual="all weights (default)"),
    }
    return OF_TOKENS, TUNED, {**known, **changed}


def with_length(picked: Mapping[str, Any], known: Mapping[str, Option]) -> Goal:
    """Return the goal that the chosen options define.

    Raises
    ------
    InputError : an invalid value; a run whose length is neither given nor usual
    """
    goal = goal_of_form(picked, known)
    missing = length_missing(goal.by_id(session_hardware.catalogue()))
    if missing is not None:
        raise InputError(missing)
    return goal


def columns(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a plan's layout, tokens of a step and of the run, for a table; empty without a layout."""
    length = row["sequence_length"]
    if not row["layout"] or not length:
        return {}
    return {
        "layout": short(row["layout"]),
        "tokens in a step": many(row["global_batch_size"] * length),
        "tokens": many(row["samples"] * length),
    }
