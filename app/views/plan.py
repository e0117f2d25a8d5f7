"""Plan: what to hire, by when and for how much; a point leads to its prediction."""

from typing import Any

import streamlit as st

from app import charts, plan_form, session_hardware
from app.answering import answering
from app.layout import Asked, ask, downloads, fold, mistakes_shown, sentence, shell_command, ways_out
from app.looks import labelled
from perfmodel.errors import InputError
from perfmodel.units import dollars, show

START = {"deadline": "24h", "max-gpus": 64}
BODY = ("epochs", "deadline", "budget", "max-gpus")
SIDE = ("workload", "accelerator", "instance", "node", "strategy", "precision", "price")


def rows_of(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the front, then the best plan of every rejected machine."""
    return [*result["front"], *result["lost"]]


def table(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return plans as a table people read."""
    return [
        {
            "machines": f"{row['nodes']} x {row['name']}",
            "GPUs": row["world_size"],
            "accelerator": row["accelerator"],
            "time": show(row["run_time"], "s"),
            "cost [USD]": row["cost"],
            "strategy": row["strategy"],
            "precision": row["precision"],
            "epochs": row["epochs"],
            "batch per GPU": row["local_batch_size"],
            "why not": row.get("why", ""),
        }
        for row in rows
    ]


def load(rows: list[dict[str, Any]], chosen: Any, workload: str) -> None:
    """Open Predict with the plan somebody clicked."""
    picked = chosen.selection.get("points") or []
    indices = [point["customdata"] for point in picked if point.get("customdata") is not None]
    indices += [[index] for index in chosen.selection.get("rows", [])]
    if indices:
        index = indices[0][0] if isinstance(indices[0], list) else indices[0]
        st.switch_page("views/predict.py", query_params=plan_form.as_query(rows[int(index)], workload))


def page(asked: Asked) -> None:
    """Draw the answer."""
    with mistakes_shown():
        goal = plan_form.goal(asked.picked, OFFERED)
        missing = plan_form.length_missing(goal.by_id(session_hardware.catalogue()))
        if missing:
            raise InputError(missing)
        searched = answering().plan(goal)
    result = searched.report
    with asked.top:
        st.subheader(f"What to hire to train {goal.workload}", anchor=False)
        first, *more = result["verdict"]
        st.markdown(f"**{first}**")
        for line in (*more, *map(sentence, result["convergence"])):
            st.markdown(labelled(line))
    rows = rows_of(result)
    if result["front"]:
        figure = charts.pareto(result["front"], result["lost"], result["chosen"], goal.deadline, goal.budget)
        st.caption("Click a point, or a row below, to load it into Predict")
        load(rows, charts.draw(figure, "plan", first, height=440, on_select="rerun"), goal.workload)
    if result["chosen"] and st.button("Load the chosen plan into Predict"):
        st.switch_page("views/predict.py", query_params=plan_form.as_query(result["chosen"], goal.workload))
    event = st.dataframe(
        table(rows),
        hide_index=True,
        on_select="rerun",
        selection_mode="single-row",
        key="plans",
        column_config={
            "cost [USD]": st.column_config.NumberColumn(format="%.2f"),
            "epochs": st.column_config.NumberColumn(format="%.4g"),
        },
    )
    load(rows, event, goal.workload)
    once, each = plan_form.as_words(asked.picked)
    with st.container(horizontal=True):
        ways_out("plan", once, plan_form.as_python(goal), each)
        command = shell_command("plan", once, each)
        downloads("plan", table(rows), result, plan_form.report_page(goal, searched, command))
    with fold("How it would be started") as is_open:
        if is_open and result["launch"]:
            for text in filter(None, result["launch"].values()):
                st.code(text, language="shell", wrap_lines=True)
    with fold("Machines without a price, plans left out, what was assumed") as is_open:
        if is_open:
            for row in result["unpriced"]:
                worth = row["worth_usd_per_hour"]
                priced = f"worth up to {dollars(worth)}/h each" if worth else "not in time"
                st.markdown(f"* {row['name']}: no price is known; {priced}")
            for reason, count in result["left_out"].items():
                st.markdown(f"* {count:,} plans left out: {labelled(reason)}")
            for note in result["notes"]:
                st.markdown(f"* {labelled(note)}")


OFFERED = plan_form.known(session_hardware.catalogue())
page(
    ask(
        "plan",
        {
            "": [OFFERED[name] for name in SIDE],
            "More options": [option for name, option in OFFERED.items() if name not in (*BODY, *SIDE)],
        },
        body=[OFFERED[name] for name in BODY],
        start=START,
    )
)
