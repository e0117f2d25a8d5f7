"""Page Transformers: the layouts of a transformer on accelerators, with the details of one."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

import streamlit as st

from app import (
    answer_card,
    charts,
    file_marks,
    layout_detail,
    layout_map,
    layout_search,
    money,
    own_uploads,
    report_pages,
    session_hardware,
    sharing,
)
from app.backend import backend
from app.layout import (
    PageRequest,
    copy_buttons,
    download_buttons,
    errors_shown,
    fold,
    options_form,
    sentence,
    shell_command,
)
from app.layout_search import FILTERS, LAYOUT, PRICES, QUESTION, RUN, page_options
from app.looks import show_warnings
from app.memory_chart import GIB
from app.options import scenario
from app.plain import plain
from app.state import choose, show_mistake
from app.titles import job_of
from perfmodel.core.errors import InputError
from perfmodel.decide.economics import economics
from perfmodel.interfaces.api.layout_card import with_amounts
from perfmodel.interfaces.api.layout_row import LayoutRow
from perfmodel.interfaces.api.layouts import Layouts
from perfmodel.interfaces.api.run_costs import Costs
from perfmodel.interfaces.reports.figures import run_and_cost
from perfmodel.interfaces.reports.layout_comparison import tie_lines
from perfmodel.model.options.laid_out import laid_out
from perfmodel.model.prediction import Prediction
from perfmodel.model.step.terms import sent
from perfmodel.model.transformers.flops import NOMINAL_WORDS

START = {"workload": "llama-3-70b", "gpus": 512, "global-batch-size": 1024, "node": "dgx-h100"}
PRESETS: dict[str, dict[str, str]] = {
    "Llama 3 70B on 512 H100": {name: str(value) for name, value in START.items()},
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
FIRST = ("workload", "gpus", "global-batch-size", "tokens")
SIDE = (*FIRST, *(name for name in QUESTION if name not in FIRST))
SHOWN = 500
# Most rows of the list.


def uploaded() -> tuple[str, str] | None:
    """Draw the upload field for a network; return path and name of the uploaded file, None without one."""
    with st.sidebar, fold("A network of your own") as is_open:
        if is_open:
            own_uploads.field("network", "Its config.json", "config")
    for path in session_hardware.files("network"):
        own_uploads.in_use_line("network", "In place of the transformer chosen, the network of")
        return str(path), path.name
    return None


def predicted(picked: Mapping[str, Any], row: LayoutRow, network: str | None) -> Prediction:
    """Return the prediction of one layout; ``network`` is the path of an uploaded network or None."""
    job = scenario(layout_search.as_options(picked, row, network))
    return backend().predict(laid_out(job))


def table(rows: list[tuple[LayoutRow, int]], marks: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return layouts as a table for display, each with the number of others as fast.

    Parameters
    ----------
    rows : layouts and numbers of others as fast
    marks : name of a layout -> what it is, such as the fastest
    """
    recomputes = any(row.hfu != row.mfu for row, _ in rows)
    return [
        {
            "layout": layout_search.name_of(row.layout),
            "step [s]": row.iteration_time,
            "note": marks.get(layout_search.name_of(row.layout), "close" if row.ties_with_first else ""),
            "80 % from [s]": row.interval["low_80"],
            "to [s]": row.interval["high_80"],
            "MFU [%]" if recomputes else "MFU = HFU [%]": 100 * row.mfu,
            "MFU, nominal [%]": 100 * row.mfu_nominal,
            "memory [GiB]": row.memory["bytes"] / GIB,
            "of memory": row.memory["bytes"] / row.memory["capacity"],
            "fits, probability": row.memory["fits_probability"],
            **({"HFU [%]": 100 * row.hfu} if recomputes else {}),
            "pipeline idle [%]": 100 * row.bubble_fraction,
            "waits for messages [%]": 100 * sent(row.terms) / row.iteration_time,
            "tokens/s": row.tokens_per_second,
            "others as fast": more,
            **{word: row.layout[name] for name, word in COLUMNS.items()},
        }
        for row, more in rows
    ]


LEGEND = (
    "tp is tensor, pp pipeline, cp context, ep expert, etp expert tensor, dp data parallelism, v virtual "
    "stages of each; zero1 shards the optimizer over replicas, zero2 gradients too, zero3 weights too; "
    "1 x 32: samples of a pass x passes of a step"
)
COLUMNS = {
    "tensor_parallel": "tensor",
    "pipeline_parallel": "stages",
    "virtual_stages": "virtual stages",
    "context_parallel": "context",
    "expert_parallel": "expert",
    "expert_tensor_parallel": "expert tensor",
    "data_parallel": "data",
    "sharding": "sharding",
    "recompute": "recompute",
    "micro_batch_size": "micro-batch",
    "accumulation_steps": "passes",
}
_SHARE = st.column_config.NumberColumn(format="%.1f")
FIRST_COLUMNS = ("step [s]", "layout", "note", "memory [GiB]")
# Columns that are drawn at once, a phone shows the first three; the table's menu has the others.
CONFIG = {
    "step [s]": st.column_config.NumberColumn(format="%.3g", width=52),
    "note": st.column_config.TextColumn(
        width=62, help="close: too close to the fastest to tell, with 80 % confidence"
    ),
    "layout": st.column_config.TextColumn(width=200),
    **dict.fromkeys(
        ("80 % from [s]", "to [s]"),
        st.column_config.NumberColumn(format="%.3g", help="of the interval of 80 %"),
    ),
    **dict.fromkeys(
        ("MFU [%]", "MFU = HFU [%]"),
        st.column_config.NumberColumn(format="%.1f", help="model FLOP that are computed, over the peak's"),
    ),
    "MFU, nominal [%]": st.column_config.NumberColumn(format="%.1f", help=NOMINAL_WORDS),
    "HFU [%]": st.column_config.NumberColumn(format="%.1f", help="with what is computed again"),
    "memory [GiB]": st.column_config.NumberColumn(
        label="mem. [GiB]", format="%.1f", width=80, help="memory of the fullest GPU"
    ),
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
    """Choose the layout whose row was clicked; the callback of the list."""
    session = st.session_state
    rows = session[key].selection.get("rows", [])
    session["layouts-clicked"] = (names[rows[0]] if rows else None, names)
    choose({LAYOUT: names[rows[0]]} if rows else {})


def the_list(answer: Layouts, rows: list[tuple[LayoutRow, int]], chosen: LayoutRow) -> None:
    """Draw the table of layouts, with the chosen one selected."""
    session, names = st.session_state, [layout_search.name_of(row.layout) for row, _ in rows]
    here = layout_search.name_of(chosen.layout)
    fastest, taken = (layout_search.name_of(row.layout) for row in (answer.rows[0], answer.taken))
    marks = {here: "shown", fastest: "fastest", taken: "to take"}
    if session.get("layouts-clicked") != (here, names):  # Streamlit cannot change a table's selection
        session["layouts-clicked"] = (here, names)
        session["layouts-lists"] = session.get("layouts-lists", 0) + 1
    key = f"layouts-list-{session['layouts-lists']}"
    st.dataframe(
        table(rows, marks),
        hide_index=True,
        key=key,
        height=250,
        column_config=CONFIG,
        column_order=FIRST_COLUMNS,
        on_select=lambda: take_row(names, key),
        selection_mode="single-row",
        selection_default={"selection": {"rows": [names.index(here)] if here in names else []}},
    )
    st.caption(f"{LEGEND}. The eye above the table shows more columns.")


def take_cell(answer: Layouts) -> None:
    """Choose the fastest layout of the cell that was clicked; the callback of the map."""
    points = st.session_state["layouts-map"].selection.get("points") or []
    for tensor, stages in (point["customdata"] for point in points if point.get("customdata")):
        for row in answer.rows:
            if (row.layout["tensor_parallel"], row.layout["pipeline_parallel"]) == (tensor, stages):
                choose({LAYOUT: layout_search.name_of(row.layout)})
                return
    choose({})


def the_map(answer: Layouts, chosen: LayoutRow) -> None:
    """Draw the map of tensor and pipeline parallelism, coloured by speed."""
    charts.draw(
        layout_map.figure_of(answer, chosen),
        "layouts-map",
        layout_map.in_words(answer),
        height=layout_map.height_of(answer),
        on_select=lambda: take_cell(answer),
        selection_mode="points",
    )
    st.caption(
        plain(f"{layout_map.frame_words(answer, chosen)}.")
        + " Each cell has its fastest step; an empty one does not divide GPUs, layers or batch. "
        "Click a cell for its fastest layout."
    )


def chosen_of(rows: tuple[LayoutRow, ...], name: str | None, taken: LayoutRow) -> LayoutRow:
    """Return the layout of a name, or the one to take; the fastest, with a note, if it is not listed."""
    wanted = name or layout_search.name_of(taken.layout)
    for row in rows:
        if layout_search.name_of(row.layout) == wanted:
            return row
    if name is not None:
        st.info(plain(f"{name} is not among the layouts that fit here; shown is the fastest."))
    return rows[0]


def answer_of(request: PageRequest, path: str | None) -> Layouts:
    """Return the search's answer; if nothing fits, draw a button for a sufficient number of GPUs and stop.

    Raises
    ------
    InputError : as of ``layout_search.fitting_layouts``
    """
    try:
        with st.spinner("Timing every layout ..."):  # st.stop inside would leave the spinner on
            return layout_search.fitting_layouts(request.picked, path)
    except InputError as error:
        gpus = error.problems[0].values.get("enough")
        if gpus is None:
            raise
        with request.top:
            st.subheader("No layout fits into memory", anchor=False)
        show_mistake(error)
        st.button(f"Take {gpus} GPUs", on_click=choose, args=({OPTIONS["gpus"]: gpus},), key="take-enough")
        st.stop()


def page(request: PageRequest) -> None:
    """Draw the page for the chosen options."""
    with errors_shown():
        own = uploaded()
        path, file_name = own or (None, None)
        answer = answer_of(request, path)
        rows = layout_search.filtered(answer, request.picked)
        taken = answer.taken
        prediction = predicted(request.picked, taken, path)
        conditions = layout_search.conditions(request.picked)
        costs = economics(prediction, conditions, session_hardware.catalogue())
        run = {name: request.picked[name] for name in RUN if name in request.picked}
        if costs["price"] or run:
            card = with_amounts(answer.card.model_copy(update=run_and_cost(prediction, costs)))
            answer = replace(answer, economics=cast(Costs, costs), card=card)
    with request.top:
        job = job_of(None, answer.card)._replace(network=answer.workload)
        st.subheader(plain(f"Which layout for {job}?"), anchor=False)
        answer_card.show(answer.card, without=("chance",))  # as likely as not to be the fastest
        place = st.container()
    show_warnings(taken.caveats)
    whole = answer.capacity / GIB
    fit = f"{answer.fitting:,} of {answer.candidates:,} layouts fit into the {whole:.1f} GiB of a GPU"
    listed = fit if len(rows) == answer.fitting else f"{fit}; listed are {len(rows):,} of them"
    st.caption(f"{listed}. Click a row for its details, a heading to sort.")
    if not rows:
        st.info("No layout that fits passes the filters: clear a field of “Which layouts are listed”.")
        st.stop()
    chosen = chosen_of(rows, request.picked.get("layout"), taken)
    every = layout_search.distinct_rows(answer, rows)
    distinct = every[:SHOWN] + [each for each in every[SHOWN:] if each[0] == chosen]
    with place:
        the_map(answer, chosen)
    the_list(answer, distinct, chosen)
    sharing.here()
    shown = prediction if chosen == taken else predicted(request.picked, chosen, path)
    layout_detail.show_layout(request, chosen, answer, shown, file_name)
    with fold("Which layouts tie, and which of them is taken") as is_open:
        if is_open:
            st.markdown(plain(" ".join(map(sentence, tie_lines(answer)))))
    with st.container(horizontal=True):
        question = {name: request.picked[name] for name in layout_search.QUESTION if name in request.picked}
        question |= {} if file_name is None else {"workload": file_name}
        command = "layouts --cost" if costs["price"] and not run else "layouts"
        python = layout_search.as_python(request.picked, file_name)
        copy_buttons(command, question | run, python, card=answer.card)
        report = report_pages.of_layouts(answer, shell_command(command, question | run), conditions)
        download_buttons("layouts", sharing.csv_of("layouts", answer), answer.to_json, report)
    money.show_costs(costs)
    with fold("Other questions to start from") as is_open:
        if is_open:
            file_marks.examples({question: ("transformers", query) for question, query in PRESETS.items()})


OPTIONS = page_options()
page(
    options_form(
        "transformers",
        {
            "": [OPTIONS[name] for name in SIDE],
            "Prices, power, failures": [OPTIONS[name] for name in PRICES],
            "Which layouts are listed": FILTERS,
        },
        start=START,
        picture=[LAYOUT],
    )
)
