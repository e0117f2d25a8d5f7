"""Transformers: how to share one out over accelerators; a layout leads to its details and its prediction."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

import streamlit as st

from app import (
    charts,
    decisions,
    file_marks,
    layout_detail,
    layout_map,
    layout_search,
    money,
    own_uploads,
    report_pages,
    session_hardware,
)
from app.answering import answering
from app.layout import Asked, ask, downloads, fold, mistakes_shown, sentence, shell_command, ways_out
from app.layout_search import FILTERS, LAYOUT, PRICES, QUESTION, RUN, known
from app.looks import labelled, show_warnings
from app.memory_chart import GIB
from app.options import scenario
from app.plain import plain
from app.state import choose, show_mistake
from perfmodel.core.errors import InputError
from perfmodel.decide.economics import economics
from perfmodel.interfaces.api.layouts import LayoutRow, Layouts
from perfmodel.interfaces.api.run_costs import Costs
from perfmodel.model.options.laid_out import laid_out
from perfmodel.model.prediction import Prediction
from perfmodel.model.prediction.intervals.ratio import ratio_between
from perfmodel.model.step.terms import sent
from perfmodel.model.transformers.flops import NOMINAL_WORDS

START = {"workload": "llama-3-70b", "gpus": 512, "global-batch-size": 1024, "node": "dgx-h100"}
PRESETS: dict[str, dict[str, str]] = {
    "Llama 70B on 512 H100": {name: str(value) for name, value in START.items()},
    "Which layout? Mixtral 8x7B on 64 H100": {
        "workload": "mixtral-8x7b",
        "gpus": "64",
        "global-batch-size": "256",
        "node": "dgx-h100",
    },
    "How many days for 1 T tokens?": {
        "workload": "llama-3-70b",
        "gpus": "512",
        "global-batch-size": "1024",
        "node": "aws-p5.48xlarge",
        "tokens": "1T",
    },
}
BODY = ("workload", "gpus", "global-batch-size", "tokens")
SIDE = tuple(name for name in QUESTION if name not in BODY)
SHOWN = 500
# Rows of the list.
NEAR = 3
# Layouts that are named beside the fastest.


def presets() -> None:
    """Offer questions to start from."""
    with st.container(horizontal=True):
        for question, query in PRESETS.items():
            if st.button(question, key=f"preset-{question}"):
                file_marks.go("transformers", query)


def uploaded() -> tuple[str, str] | None:
    """Return the file of a network of one's own, and what its owner calls it; None without one."""
    with st.sidebar, fold("A network of your own") as is_open:
        if is_open:
            own_uploads.field("network", "Its config.json", "config")
    for path in session_hardware.files("network"):
        own_uploads.in_use_line("network", "In place of the transformer chosen, the network of")
        return str(path), path.name
    return None


def predicted(picked: Mapping[str, Any], row: LayoutRow, network: str | None) -> Prediction:
    """Return the prediction of one layout."""
    asked = scenario(layout_search.as_options(picked, row, network))
    return answering().predict(laid_out(asked))


def table(rows: list[tuple[LayoutRow, int]]) -> list[dict[str, Any]]:
    """Return layouts as a table people read and sort."""
    return [
        {
            "layout": layout_search.name_of(row.layout),
            "step [s]": row.iteration_time,
            "80 % from [s]": row.interval["low_80"],
            "to [s]": row.interval["high_80"],
            "MFU": row.mfu,
            "MFU, nominal": row.mfu_nominal,
            "HFU": row.hfu,
            "memory [GiB]": row.memory["bytes"] / GIB,
            "of memory": row.memory["bytes"] / row.memory["capacity"],
            "fits, probability": row.memory["fits_probability"],
            "pipeline idle [%]": 100 * row.bubble_fraction,
            "waits for messages [%]": 100 * sent(row.terms) / row.iteration_time,
            "tokens/s": row.tokens_per_second,
            "others as fast": more,
            **{word: row.layout[name] for name, word in COLUMNS.items()},
        }
        for row, more in rows
    ]


LEGEND = (
    "Click a row for the details of its layout, a heading to sort. tp is tensor, pp pipeline, cp context, ep "
    "expert, dp data parallelism, v chunks of layers on each stage; zero1 shares the optimizer out over "
    "replicas, zero2 gradients too, zero3 weights too; 1 x 32: samples of a pass x passes of a step"
)
COLUMNS = {
    "tensor_parallel": "tensor",
    "pipeline_parallel": "stages",
    "virtual_stages": "chunks",
    "context_parallel": "context",
    "expert_parallel": "expert",
    "data_parallel": "data",
    "sharding": "sharding",
    "recompute": "recompute",
    "micro_batch_size": "micro-batch",
    "accumulation_steps": "passes",
}
_SHARE = st.column_config.NumberColumn(format="%.1f")
_SECONDS = st.column_config.NumberColumn(format="%.4g")
CONFIG = {
    "step [s]": _SECONDS,
    "80 % from [s]": st.column_config.NumberColumn(format="%.4g", help="of the interval of 80 %"),
    "to [s]": st.column_config.NumberColumn(format="%.4g", help="of the interval of 80 %"),
    "MFU": st.column_config.NumberColumn(
        format="percent", help="model FLOP that are computed, over the peak's"
    ),
    "MFU, nominal": st.column_config.NumberColumn(format="percent", help=NOMINAL_WORDS),
    "HFU": st.column_config.NumberColumn(format="percent", help="with what is computed again"),
    "memory [GiB]": st.column_config.NumberColumn(format="%.1f", help="of the fullest GPU"),
    "fits, probability": st.column_config.NumberColumn(format="percent"),
    "of memory": st.column_config.ProgressColumn(format="percent", min_value=0.0, max_value=1.0),
    "pipeline idle [%]": _SHARE,
    "waits for messages [%]": _SHARE,
    "tokens/s": st.column_config.NumberColumn(format="localized"),
    "others as fast": st.column_config.NumberColumn(
        help="further layouts that take as long and no less memory"
    ),
}


def take_row(names: list[str], key: str) -> None:
    """Show the details of the layout whose row somebody clicked."""
    session = st.session_state
    rows = session[key].selection.get("rows", [])
    session["layouts-clicked"] = (names[rows[0]] if rows else None, names)
    choose({LAYOUT: names[rows[0]]} if rows else {})


def the_list(rows: list[tuple[LayoutRow, int]], chosen: LayoutRow) -> None:
    """Draw the table, with the layout chosen selected."""
    session, names = st.session_state, [layout_search.name_of(row.layout) for row, _ in rows]
    here = layout_search.name_of(chosen.layout)
    if session.get("layouts-clicked") != (here, names):  # a list somebody selects in cannot be told what is
        session["layouts-clicked"] = (here, names)
        session["layouts-lists"] = session.get("layouts-lists", 0) + 1
    key = f"layouts-list-{session['layouts-lists']}"
    st.caption(LEGEND)
    st.dataframe(
        table(rows),
        hide_index=True,
        key=key,
        height=320,
        column_config=CONFIG,
        on_select=lambda: take_row(names, key),
        selection_mode="single-row",
        selection_default={"selection": {"rows": [names.index(here)] if here in names else []}},
    )


def take_cell(answer: Layouts) -> None:
    """Show the details of the fastest layout of the cell that somebody clicked."""
    points = st.session_state["layouts-map"].selection.get("points") or []
    for tensor, stages in (point["customdata"] for point in points if point.get("customdata")):
        for row in answer.rows:
            if (row.layout["tensor_parallel"], row.layout["pipeline_parallel"]) == (tensor, stages):
                choose({LAYOUT: layout_search.name_of(row.layout)})
                return
    choose({})


def the_map(answer: Layouts, chosen: LayoutRow) -> None:
    """Draw which pairs of tensor and pipeline parallelism are fast, and which fit not."""
    charts.draw(
        layout_map.figure_of(answer, chosen.layout),
        "layouts-map",
        layout_map.in_words(answer),
        height=layout_map.height_of(answer),
        on_select=lambda: take_cell(answer),
        selection_mode="points",
    )
    st.caption(
        "Each cell is the fastest step by its tensor and pipeline parallelism; hatched: nothing fits into "
        "memory; empty: GPUs, layers or batch do not divide by so many. Framed: the layout shown below; "
        "click a cell to see its fastest"
    )


def chosen_of(rows: tuple[LayoutRow, ...], name: str | None) -> LayoutRow:
    """Return the layout that the address names, or the fastest."""
    for row in rows:
        if name in (None, layout_search.name_of(row.layout)):
            return row
    st.info(plain(f"{name} is not among the layouts that fit here; shown is the fastest."))
    return rows[0]


def answer_of(asked: Asked, path: str | None) -> Layouts:
    """Return the answer; where nothing fits, offer the number of GPUs on which something would.

    Raises
    ------
    InputError : as ``layout_search.searched``
    """
    try:
        with st.spinner("Timing every layout ..."):  # a stop inside would leave it turning
            return layout_search.searched(asked.picked, path)
    except InputError as error:
        gpus = error.problems[0].values.get("enough")
        if gpus is None:
            raise
        with asked.top:
            st.subheader("No layout fits into memory", anchor=False)
        show_mistake(error)
        st.button(f"Take {gpus} GPUs", on_click=choose, args=({OPTIONS["gpus"]: gpus},), key="take-enough")
        st.stop()


def page(asked: Asked) -> None:
    """Draw the answer."""
    with asked.top:
        presets()
    with mistakes_shown():
        own = uploaded()
        path, file_name = own or (None, None)
        answer = answer_of(asked, path)
        rows = layout_search.listed(answer, asked.picked)
        best = answer.rows[0]
        prediction = predicted(asked.picked, best, path)
        conditions = layout_search.conditions(asked.picked)
        costs = economics(prediction, conditions, session_hardware.catalogue())
        near = answer.distinct()[1 : 1 + NEAR]
        second = predicted(asked.picked, near[0][0], path) if near else None
    with asked.top:
        st.subheader(plain(f"{answer.workload} on {answer.machine}"), anchor=False)
        st.markdown(f"**{decisions.of_layouts(prediction)}** {labelled(sentence(prediction.verdict))}")
        if answer.wider_because:
            st.caption(plain(labelled(f"The interval is wider because: {'; '.join(answer.wider_because)}.")))
        alike = [(layout_search.name_of(row.layout), row.iteration_time) for row, _ in near]
        ratio = None if second is None else ratio_between(prediction, second, "the next")
        st.markdown(plain(decisions.of_runners_up(best.iteration_time, alike, ratio)))
        if "tokens" in asked.picked:
            st.markdown(f"**{decisions.of_run(plain(asked.picked['tokens']), costs, prediction)}**")
    show_warnings(best.caveats)
    whole = answer.capacity / GIB
    fit = f"{answer.fitting:,} of {answer.candidates:,} layouts fit into the {whole:.1f} GiB of a GPU"
    st.caption(fit if len(rows) == answer.fitting else f"{fit}; listed are {len(rows):,} of them")
    if not rows:
        st.info("No layout that fits is of those asked for: clear a field of “Which layouts are listed”.")
        st.stop()
    distinct = layout_search.distinct(answer, rows)[:SHOWN]
    chosen = chosen_of(rows, asked.picked.get("layout"))
    the_map(answer, chosen)
    the_list(distinct, chosen)
    shown = prediction if chosen is best else predicted(asked.picked, chosen, path)
    layout_detail.show_layout(asked, chosen, answer, shown, file_name)
    with st.container(horizontal=True):
        question = {name: asked.picked[name] for name in layout_search.QUESTION if name in asked.picked}
        question |= {} if file_name is None else {"workload": file_name}
        run = {name: asked.picked[name] for name in RUN if name in asked.picked}
        command = "layouts --cost" if costs["price"] and not run else "layouts"
        ways_out(command, question | run, layout_search.as_python(asked.picked, file_name))
        priced = replace(answer, economics=cast(Costs, costs)) if costs["price"] or run else answer
        report = report_pages.of_layouts(priced, shell_command(command, question | run), conditions)
        downloads("layouts", table(distinct), priced.to_json, report)
    money.show_costs(costs)


OPTIONS = known()
page(
    ask(
        "transformers",
        {
            "": [OPTIONS[name] for name in SIDE],
            "Prices, power, failures": [OPTIONS[name] for name in PRICES],
            "Which layouts are listed": FILTERS,
        },
        body=[OPTIONS[name] for name in BODY],
        start=START,
        picture=[LAYOUT],
    )
)
