"""Costs, energy and carbon of a prediction, as a section of a page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from app import tables
from app.layout import fold
from app.looks import for_planners
from app.options import MONEY, values
from perfmodel.core.units import per_cent, show
from perfmodel.decide.commitments import commitment_words
from perfmodel.decide.economics import economics, spans
from perfmodel.decide.prices import Price, hour_words
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.prediction import Prediction


def costs(prediction: Prediction, picked: Mapping[str, Any], catalogue: Catalogue) -> dict[str, Any]:
    """Return the costs of a prediction, as of ``perfmodel predict --cost``, under the chosen conditions.

    Raises
    ------
    InputError : prices that exclude each other, failures without a checkpoint time
    """
    return economics(prediction, Conditions(**values(picked, MONEY)), catalogue)


def show_costs(result: Mapping[str, Any]) -> None:
    """Draw the folded section of costs, with assumptions and unknown prices."""
    with fold("Money, energy, carbon") as is_open:
        if is_open:
            _show_costs(result)


def _show_costs(result: Mapping[str, Any]) -> None:
    """Draw the content of that section."""
    price = result["price"]
    if price:
        st.markdown(f"{hour_words(Price(**price))}, {price['basis']}")
    tables.ready()
    st.dataframe(
        [
            {
                "of one": name,
                "time": show(span["time"], "s"),
                "cost [USD]": span["cost"],
                "energy [kWh]": span["energy"],
                "carbon [g CO2]": span["carbon"],
            }
            for name, span in spans(result).items()
        ],
        hide_index=True,
    )
    if price and price["source"]:
        st.caption(f"{price['instance']} in {price['region']} on {price['date']}: {price['source']}")
    if result["commitment"]:
        st.markdown(f"The price needs {commitment_words(result['commitment'])}.")
    failures = result["reliability"]
    if failures:
        interval = failures["checkpoint_interval"]
        best = (
            f"a checkpoint every {show(interval, 's')}" if interval else "the run too short for a checkpoint"
        )
        st.markdown(
            f"{per_cent(failures['goodput'])} of the time is work kept; a failure every "
            f"{show(failures['failure_interval'], 's')}, {best}."
        )
    for line in result["unknown"]:
        st.markdown(for_planners(f"Unknown: {line}"))
    if result["assumed"]:
        st.caption(for_planners("Assumed: " + "; ".join(result["assumed"])))
