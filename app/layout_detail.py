"""Details of one layout of a transformer: terms, memory, launch command, and links to other pages."""

from __future__ import annotations

import streamlit as st

from app import charts, file_marks, layout_search, memory_chart, pipeline_chart, session_hardware, to_compare
from app.layout import PageRequest, fold, sentence
from app.looks import labelled, show_warnings
from app.options import as_command, written
from perfmodel.core.units import per_cent, three_digits
from perfmodel.decide.planning.launch import OF_JAX, torchrun_line
from perfmodel.hardware.software import parts
from perfmodel.interfaces.api.layout_row import LayoutRow
from perfmodel.interfaces.api.layouts import Layouts
from perfmodel.model.prediction import Prediction
from perfmodel.model.transformers.flops import NOMINAL_WORDS
from perfmodel.model.transformers.layout_words import in_full

UTILISATION = (
    "Share of the GPUs' peak that the model's own arithmetic takes as it is computed, without masked scores "
    f"(model FLOP utilisation). Nominal is {NOMINAL_WORDS}. HFU counts what is computed again too."
)


def _figures(row: LayoutRow) -> None:
    """Draw the numbers of a layout that are not in its charts: throughput and MFU."""
    with st.container(horizontal=True):
        tokens = row.tokens_per_second * row.iteration_time
        computed_again = f", HFU {per_cent(row.hfu)}" if row.hfu != row.mfu else ""
        below_mfu = f"nominal {per_cent(row.mfu_nominal)}{computed_again}"
        slow, fast = (three_digits(tokens / row.interval[end]) for end in ("high_80", "low_80"))
        for label, value, below, words in (
            ("Tokens a second", f"{row.tokens_per_second:,.0f}", f"80 %: {slow}-{fast}", None),
            ("MFU", per_cent(row.mfu), below_mfu, UTILISATION),
        ):
            st.metric(
                label, value, delta=below, delta_color="off", delta_arrow="off", width="content", help=words
            )


def _started(row: LayoutRow, prediction: Prediction) -> None:
    """Draw the shell command that starts training with a layout."""
    with fold("How it would be started") as is_open:
        job = prediction.scenario
        software = parts(str(job["framework"]))[0]
        if is_open and row.flags and software not in OF_JAX:
            ranks = job["world_size"] // job["nodes"]
            whole = row.flags[0].startswith("cat ")  # a file and the line that starts it
            line = torchrun_line(job["workload"], job["nodes"], ranks, row.flags)
            line = "\n".join(row.flags) if whole else line
            st.code(line, language="shell", wrap_lines=True)
            st.caption("On each machine; the script's own options (data, checkpoints, its model) are yours.")
        elif is_open:
            st.markdown("The options by which this software takes a layout are not known.")


def show_layout(
    request: PageRequest, row: LayoutRow, answer: Layouts, prediction: Prediction, own: str | None
) -> None:
    """Draw the details of one layout.

    Parameters
    ----------
    request : options of the page
    row : the layout, a row of ``answer``
    answer : of the search for layouts
    prediction : of the layout
    own : name of the user's own network file, which other pages cannot use; None for a known network
    """
    best = answer.rows[0]
    slower = row.iteration_time / best.iteration_time - 1
    st.subheader(f"Layout {layout_search.name_of(row.layout)}", anchor=False)
    sentences = [
        in_full(row.layout),
        "the fastest" if row is best else f"{per_cent(slower)} slower than the fastest",
    ]
    st.markdown(labelled(" ".join(map(sentence, sentences))))
    show_warnings([] if row is best else row.caveats)
    _figures(row)
    with fold("Where the time of a step goes") as is_open:
        if is_open:
            st.markdown(labelled(sentence(prediction.verdict)))
            alt = f"Terms of one step: {prediction.verdict}"
            charts.draw(charts.waterfall(prediction), "layout-step", alt)
    with fold("What fills the memory") as is_open:
        if is_open:
            bars = {"": memory_chart.of_layout(row)}
            if row is not best:
                bars = {"this layout": bars[""], "the fastest": memory_chart.of_layout(best)}
            memory_chart.draw_memory(bars, "layout-memory")
    if row.layout["pipeline_parallel"] != 1:
        with fold("What each pipeline stage does when") as is_open:
            if is_open:
                pipeline_chart.draw_schedule(prediction.scenario, prediction, "layout-pipeline")
    _started(row, prediction)
    priced = layout_search.as_link(request.picked, row, own)
    priced |= layout_search.money_options(request.picked, prediction.scenario["sequence_length"])
    with st.container(horizontal=True):
        if own is None:
            query = {name: written(value) for name, value in priced.items()}
            if st.button("Open in Predict", key="to-predict"):
                file_marks.go_to("predict", query)
            if st.button("What would change it (Sensitivity)", key="to-sensitivity"):
                file_marks.go_to("sensitivity", query)
        with st.popover("Commands of this layout"):
            specs = [("specs", file.name) for file in session_hardware.specs()]
            lines = [as_command(name, priced, specs) for name in ("predict", "explain")]
            st.code("\n".join(lines), language="shell", wrap_lines=True)
        if own is None:
            to_compare.offer({layout_search.name_of(row.layout): priced}, titles=True)
