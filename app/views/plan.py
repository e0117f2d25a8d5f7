"""Page Plan: machines to rent within a deadline and a budget; a click on a plan opens its prediction."""

from collections.abc import Iterable, Mapping
from typing import Any

import streamlit as st

from app import (
    answer_card,
    charts,
    file_marks,
    plan_form,
    plan_length,
    plan_prices,
    scatter_charts,
    session_hardware,
    sharing,
    to_compare,
)
from app.backend import backend
from app.layout import (
    PageRequest,
    copy_buttons,
    download_buttons,
    errors_shown,
    fold,
    options_form,
    own_calibration,
    shell_command,
)
from app.looks import begun, for_planners, labelled
from app.plain import markdown, plain
from perfmodel.core.units import dollars, duration
from perfmodel.decide.planning import Goal
from perfmodel.decide.planning.each_kind import COLUMNS, OfKind
from perfmodel.decide.planning.figures import cost_interval, figures_of, time_interval
from perfmodel.decide.planning.table_words import chance_heading, chance_of, short_names, verdict_of
from perfmodel.decide.planning.within import payment
from perfmodel.model.prediction.answer_card import Card

START = {"deadline": "24h", "max-gpus": 64}
BODY = ("deadline", "budget", "confidence", "max-gpus")
NARROW = {"machines": 120, "from": 70, "time": 70, "cost": 68, "chance": 78, "fits": 78}
# Column -> width [px]: a phone shows these at once.
SHOWN = 3
# Sentences before the table; the others are in a fold.
SIDE = ("workload", "accelerator", "instance", "node", "strategy", "precision", "pricing", "price")


def rows_of(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the plans of the Pareto front, then the best plan of each rejected machine."""
    return [*result["front"], *lost(result)]


def lost(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the best plan of each rejected machine that is not on the front too."""
    return [row for row in result["lost"] if not any(row | plan == row for plan in result["front"])]


def table(rows: list[dict[str, Any]], result: dict[str, Any]) -> list[dict[str, Any]]:
    """Return plans of an answer as a table, with what speaks for or against each.

    Machines, who has them, time and cost come first, so that a phone shows them.
    """
    names = short_names(rows)
    return [
        {
            "machines": name.accelerators,
            "from": name.offered_by,
            "time": duration(row["run_time"]),
            "cost": "" if row["cost"] is None else dollars(payment(row)),
            chance_heading(result["goal"]): chance_of(row),
            "verdict": verdict_of(row, result),
            **({"price": name.price_kind or "on demand"} if any(each.price_kind for each in names) else {}),
            "time (80 %)": time_interval(row),
            "cost (80 %)": cost_interval(row),
            "strategy": name.servers or row["strategy"],
            "precision": row["precision"],
            **({"epochs": row["epochs"]} if any(each["epochs"] for each in rows) else {}),
            **plan_length.columns(row),
            "batch per GPU": row["local_batch_size"],
            "machine": row["name"],
            "why not": row.get("why", ""),
        }
        for name, row in zip(names, rows, strict=True)
    ]


def in_question_first(rows: list[dict[str, Any]], plan: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """Return plans with the one in question before all others."""
    return [dict(plan), *(row for row in rows if row | dict(plan) != row)] if plan else rows


def load(rows: list[dict[str, Any]], chosen: Any, workload: str, picked: dict[str, Any]) -> None:
    """Open the page Predict with the plan that was clicked in the chart or the table.

    Parameters
    ----------
    rows : the plans
    chosen : Streamlit's event
    workload, picked : network and options of the search
    """
    points = chosen.selection.get("points") or []
    indices = [point["customdata"] for point in points if point.get("customdata") is not None]
    indices += [[index] for index in chosen.selection.get("rows", [])]
    if indices:
        index = indices[0][0] if isinstance(indices[0], list) else indices[0]
        query = plan_form.as_query(rows[int(index)], workload, picked)
        file_marks.go_to("predict", query)


def plans_to_compare(
    rows: list[dict[str, Any]], workload: str, picked: dict[str, Any]
) -> dict[str, dict[str, Any]]:
    """Return plan's name -> options of its scenario."""
    result: dict[str, dict[str, Any]] = {}
    for row in rows:
        result.setdefault(row["machines"], plan_form.as_picked(row, workload, picked))
    return result


def draw_front(
    result: dict[str, Any], plan: Mapping[str, Any] | None, goal: Goal, request: PageRequest
) -> None:
    """Draw the chart of plans, if there are any."""
    if not result["front"]:
        return
    mark = "chosen" if result["met"] else "surest"
    drawn = scatter_charts.pareto(result["front"], lost(result), plan, goal.deadline, goal.budget, mark)
    event = charts.draw(drawn, "plan", result["verdict"][0], height=400, on_select="rerun")
    st.caption("Click a point, or a row below, to load it into Predict")
    load(rows_of(result), event, goal.workload, request.picked)


def draw_kinds(result: dict[str, Any]) -> None:
    """Draw the best plan at each kind of price, where several were asked for."""
    rows = [dict(zip(COLUMNS, OfKind(**each).cells, strict=True)) for each in result["by_kind"]]
    if rows:
        with st.container(key="wrapped-kinds"):
            st.markdown(markdown([{name: plain(cell) for name, cell in row.items()} for row in rows]))


def words(plan: Mapping[str, Any]) -> str:
    """Return the figures of a plan that its card does not have, with their labels, as a sentence."""
    return begun("; ".join(f"{label} {value}".strip() for label, value in figures_of(plan))) + "."


def listed(lines: Iterable[str]) -> str:
    """Return sentences as a list in Markdown."""
    return "\n".join(f"* {plain(for_planners(line))}" for line in lines)


def page(request: PageRequest) -> None:
    """Draw the page for the chosen options."""
    with errors_shown():
        goal = plan_length.with_length(request.picked, OFFERED)
        searched = backend().plan(goal)
        result = searched.report
    with request.top:
        st.subheader(plain(f"What to rent to {goal.purpose}?"), anchor=False)
        _, *more = result["verdict"]
        card = Card(**result["card"])
        answer_card.show(card)
        plan = result["chosen"] or result["surest"]
        draw_kinds(result)
    draw_front(result, plan, goal, request)
    st.markdown(listed(more[:SHOWN]))
    if plan is None:
        plan_prices.draw(result["unpriced"], request.picked)
    rows, mark = in_question_first(rows_of(result), plan), "chosen" if result["met"] else "surest"
    with st.container(horizontal=True):
        if plan and st.button(f"Predict the {mark} plan"):
            query = plan_form.as_query(plan, goal.workload, request.picked)
            file_marks.go_to("predict", query)
        to_compare.offer(plans_to_compare(rows, goal.workload, request.picked), titles=True)
    if rows:
        event = st.dataframe(
            table(rows, result),
            hide_index=True,
            on_select="rerun",
            selection_mode="single-row",
            key="plans",
            column_config={
                **{name: st.column_config.TextColumn(width=width) for name, width in NARROW.items()},
                "epochs": st.column_config.NumberColumn(format="localized"),
            },
        )
        load(rows, event, goal.workload, request.picked)
    once, each = plan_form.as_words(request.picked)
    with st.container(horizontal=True):
        copy_buttons("plan", once, plan_form.as_python(goal), each, card=card)
        command = shell_command("plan", once, each)
        download_buttons(
            "plan", sharing.csv_of_plans(result), result, plan_form.report_page(goal, searched, command)
        )
    with fold("More on this plan, and others to consider") as is_open:
        if is_open:
            st.markdown(listed([*more[SHOWN:], *([words(plan)] if plan else [])]))
    with fold("How it would be started") as is_open:
        if is_open and result["launch"]:
            own = "".join(f" --specs {file.name}" for file in session_hardware.specs())
            for name, text in result["launch"].items():
                if text:
                    line = session_hardware.without_folder(text) + own * (name == "predict")
                    st.code(line, language="shell", wrap_lines=True)
    with fold("Machines without a price, plans left out, what was assumed") as is_open:
        if is_open:
            if plan is not None:
                plan_prices.draw(result["unpriced"], request.picked)
            for reason, count in result["left_out"].items():
                st.markdown(f"* {count:,} plans left out: {labelled(reason)}")
            for note in result["notes"]:
                st.markdown(f"* {labelled(note)}")


LENGTH, TUNED, OFFERED = plan_length.arranged(plan_form.known())
request = options_form(
    "plan",
    {
        "": [OFFERED[name] for name in (*SIDE, *TUNED)],
        "More options": [
            option for name, option in OFFERED.items() if name not in (*LENGTH, *BODY, *SIDE, *TUNED)
        ],
    },
    body=[OFFERED[name] for name in (*LENGTH, *BODY)],
    start=START,
)
with st.sidebar:
    own_calibration()
page(request)
