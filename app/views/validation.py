"""Page Validation: predicted against measured times, the largest errors first, each with its source."""

import streamlit as st

from app import answer_card, charts, measured_runs, scatter_charts
from app.layout import PageRequest, copy_buttons, download_buttons, fold, options_form
from app.options import one_of, options, some_of
from perfmodel.evidence.accuracy import Row
from perfmodel.evidence.accuracy.report.error_statistics import GROUPS, refusals
from perfmodel.evidence.accuracy.source_titles import short_title
from perfmodel.model.prediction.names import accelerator_name, network_name

KNOWN = options("validate")
MODE = KNOWN["mode"]
BY = one_of("by", GROUPS, "source", "What a colour stands for.")._replace(label="Colour by")
FILTERS = [
    some_of(name, measured_runs.known(name), "Only these.")._replace(usual="all", session=f"filter-{name}")
    for name in measured_runs.FILTERS
]
MOST_GROUPS = 8
SHOWN = 300
FAMILIES = 8
# Families of misses of the page's table.


def label_of(row: Row, by: str) -> str:
    """Return the label of a row's group as people call it."""
    label = GROUPS[by](row)
    if by == "source":
        return short_title(str(label))
    names = {"workload": network_name, "accelerator": accelerator_name}
    if by in names:
        return str(names[by](label))
    return f"{label} GPUs" if by == "world-size" else str(label)


def picture(result: list[Row], by: str) -> None:
    """Draw the chart of predicted against measured times; the largest groups have their own colours."""
    groups: dict[str, list[Row]] = {}
    for row in result:
        groups.setdefault(label_of(row, by), []).append(row)
    largest = sorted(groups, key=lambda name: -len(groups[name]))
    drawn = {name: groups[name] for name in largest[: MOST_GROUPS - 1]}
    rest = [row for name in largest[MOST_GROUPS - 1 :] for row in groups[name]]
    charts.draw(
        scatter_charts.predicted_against_measured(drawn | ({"others": rest} if rest else {})),
        "validation",
        "Predicted against measured iteration time, both logarithmic; out of sample: "
        "each source by a fit to all others",
        height=520,
    )


def page(request: PageRequest) -> None:
    """Draw the page for the chosen options."""
    picked = request.picked
    mode = picked.get("mode", "specs")
    result = measured_runs.filtered(mode, {name: picked.get(name, ()) for name in measured_runs.FILTERS})
    predicted = measured_runs.misses_first(result)
    card, figures = measured_runs.in_short(mode, predicted)
    with request.top:
        st.subheader("How far off are the predictions?", anchor=False)
        answer_card.show(card, figures)
        if predicted:
            picture(predicted, picked.get("by", "source"))
    with st.container(key="wrapped-kinds"):
        st.caption(
            "By kind, on rows that nobody had seen when they were predicted; means over sources / rows"
        )
        st.markdown(measured_runs.by_kind())
    if predicted:
        with st.container(key="wrapped-misses"):
            st.caption("The largest misses, each family of runs by its worst, and why")
            st.markdown(measured_runs.families_table(predicted, FAMILIES))
    with fold("Every run, the largest misses first") as is_open:
        if is_open:
            st.caption(f"{min(SHOWN, len(predicted)):,} of {len(predicted):,}")
            st.dataframe(
                measured_runs.misses_table(predicted[:SHOWN]),
                hide_index=True,
                column_config={
                    "case": st.column_config.TextColumn(width="medium"),
                    "source": st.column_config.LinkColumn(display_text=r"https://(?:github\.com/)?(.*)"),
                },
            )
    with st.container(horizontal=True):
        copy_buttons("validate --out-of-sample", {"mode": mode}, _python(mode), card=card)
        download_buttons(
            "validation", lambda: measured_runs.table(predicted), lambda: [row.to_dict() for row in result]
        )
        st.download_button(
            "Download report", measured_runs.report, "report.md", "text/markdown", on_click="ignore"
        )
    with fold("The report in short: errors, their limits, and the coverage of intervals") as is_open:
        if is_open:
            st.markdown(measured_runs.section("In short"))
    with fold("What the model does not cover") as is_open:
        if is_open:
            for count, reason in refusals(row.reason for row in result):
                st.markdown(f"* {count} runs refused: {reason}")
            st.markdown(measured_runs.misses())


def _python(mode: str) -> str:
    """Return Python code that gives the page's answer."""
    return (
        "from perfmodel.evidence.accuracy.report.out_of_sample_file import shipped_rows\n\n"
        f'for row in shipped_rows("{mode}"):\n'
        "    print(row.run.run_id, row.error)"
    )


page(options_form("validation", {"": [MODE, BY, *FILTERS]}, start={"mode": "specs", "by": "source"}))
