"""Page Validation: how far predicted times are off measured ones, by source and by kind of job."""

import streamlit as st

from app import answer_card, charts, error_chart, measured_runs, new_rows, sharing
from app.layout import PageRequest, copy_buttons, download_buttons, fold, options_form
from app.options import one_of, options, some_of
from app.plain import unbroken
from perfmodel.evidence.accuracy import Row
from perfmodel.evidence.accuracy.report.error_statistics import GROUPS, counted, refusals
from perfmodel.evidence.accuracy.source_titles import short_title
from perfmodel.model.prediction.names import accelerator_name, network_name

KNOWN = options("validate")
MODE = KNOWN["mode"]
BY = one_of("by", GROUPS, "source", "What the runs of one strip have in common.")._replace(label="Group by")
FILTERS = [
    some_of(name, measured_runs.known(name), "Only these.")._replace(usual="all", session=f"filter-{name}")
    for name in measured_runs.FILTERS
]
MOST_GROUPS = 7
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
    """Draw the errors of runs, a strip for each group; of many groups the smaller share one."""
    groups: dict[str, list[Row]] = {}
    for row in result:
        groups.setdefault(label_of(row, by), []).append(row)
    largest = sorted(groups, key=lambda name: -len(groups[name]))
    drawn = {name: groups[name] for name in largest[: MOST_GROUPS - 1]}
    if rest := [row for name in largest[MOST_GROUPS - 1 :] for row in groups[name]]:
        drawn["all others"] = rest
    charts.draw(
        error_chart.strips(drawn),
        "validation",
        "Predicted over measured time of each run, by group, logarithmic; each source predicted by a fit "
        "to all others",
        height=error_chart.height(len(drawn)),
    )
    left_out = sum(not counted(row) for row in result)
    st.caption(
        "Dots: runs. Bar: from a tenth of them to nine tenths; diamond: the median. Frame: within 20 %. "
        + f"{left_out} of the {len(result):,} runs drawn are not in the numbers above, as their source "
        "leaves the setup open." * bool(left_out)
    )


def page(request: PageRequest) -> None:
    """Draw the page for the chosen options."""
    picked = request.picked
    mode = picked.get("mode", "specs")
    result = measured_runs.filtered(mode, {name: picked.get(name, ()) for name in measured_runs.FILTERS})
    predicted = measured_runs.misses_first(result)
    card, figures = measured_runs.in_short(mode, predicted)
    if figures:
        figures["New accelerator or software"] = new_rows.where_new()
    with request.top:
        st.subheader("How far off are the predictions?", anchor=False)
        answer_card.show(card, figures)
        if predicted:
            picture(predicted, picked.get("by", "source"))
        st.markdown("\n".join(f"* {line}" for line in new_rows.bullets(predicted)))
    if figures:
        st.markdown("**By kind of job: runs predicted while they were new**")
        st.markdown(unbroken(new_rows.another_test(figures["Mean error"].value)))
        with st.container(key="wrapped-kinds"):
            st.markdown(new_rows.table([row for row in predicted if counted(row)]))
    sharing.here()
    with fold("The largest misses, and why") as is_open:
        if is_open:
            st.markdown(measured_runs.families_listed(filter(counted, predicted), FAMILIES))
            st.caption(f"{min(SHOWN, len(predicted)):,} of {len(predicted):,} runs, the largest misses first")
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
        with sharing.place():
            st.download_button(
                "Download report", measured_runs.report, "report.md", "text/markdown", on_click="ignore"
            )
    with fold("The report in short: errors, their limits, and the coverage of intervals") as is_open:
        if is_open:
            st.markdown(measured_runs.section("In short"))
            st.markdown("**On rows that nobody had seen**")
            st.markdown(measured_runs.section("On rows that nobody had seen"))
    with fold("How intervals were widened") as is_open:
        if is_open:
            st.markdown(new_rows.history())
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
