"""Page Validation: predicted against measured times, the largest errors first, each with its source."""

import streamlit as st

from app import charts, measured_runs, scatter_charts
from app.layout import PageRequest, copy_buttons, download_buttons, fold, options_form
from app.options import one_of, options, some_of
from perfmodel.evidence.accuracy import Row
from perfmodel.evidence.accuracy.report.error_statistics import (
    BASELINES,
    GROUPS,
    counted,
    refusals,
    statistics,
    trusted,
)

KNOWN = options("validate")
MODE = KNOWN["mode"]
BY = one_of("by", GROUPS, "source", "What a colour stands for.")._replace(label="Colour by")
FILTERS = [
    some_of(name, measured_runs.known(name), "Only these.")._replace(usual="all", session=f"filter-{name}")
    for name in measured_runs.FILTERS
]
MOST_GROUPS = 8
SHOWN = 300


def picture(result: list[Row], by: str) -> None:
    """Draw the chart of predicted against measured times; the largest groups have their own colours."""
    groups: dict[str, list[Row]] = {}
    for row in result:
        groups.setdefault(str(GROUPS[by](row)), []).append(row)
    largest = sorted(groups, key=lambda name: -len(groups[name]))
    drawn = {name: groups[name] for name in largest[: MOST_GROUPS - 1]}
    rest = [row for name in largest[MOST_GROUPS - 1 :] for row in groups[name]]
    charts.draw(
        scatter_charts.predicted_against_measured(drawn | ({"others": rest} if rest else {})),
        "validation",
        "Predicted against measured iteration time, both logarithmic; out of sample: "
        "each source by a fit to all others",
        height=560,
    )


def page(request: PageRequest) -> None:
    """Draw the page for the chosen options."""
    picked = request.picked
    mode = picked.get("mode", "specs")
    result = measured_runs.filtered(mode, {name: picked.get(name, ()) for name in measured_runs.FILTERS})
    predicted = measured_runs.misses_first(result)
    errors = statistics([row for row in predicted if counted(row)])
    with request.top:
        st.subheader("The model against published measurements", anchor=False)
        if errors["n"]:
            ten, twenty = errors["within_10"], errors["within_20"]
            st.markdown(
                f"**Off by {errors['median_absolute_error']:.1%} in the median of {errors['n']:,} runs "
                f"whose source is trusted: {ten:.0%} of them by at most 10%, {twenty:.0%} by at "
                f"most 20%. The naive answer, {BASELINES[mode]}, is off by "
                f"{errors['baseline']['median_absolute_error']:.1%}.**"
            )
        else:
            st.markdown("**No run of a trusted source passes these filters.**")
        st.caption(
            "Trusted: of trust A or B. Out of sample: each source is predicted by a fit to all others, "
            + ("from specs alone." if mode == "specs" else "anchored on the time of one accelerator.")
        )
        if errors["n"]:
            every = statistics([row for row in predicted if trusted(row)])
            more = (
                f" With {every['n'] - errors['n']:,} runs more whose anchor is ambiguous: "
                f"{every['mean_absolute_error']:.1%}, {every['mean_over_sources']:.1%} and "
                f"{every['median_absolute_error']:.1%} in the median."
            )
            st.caption(
                f"Mean error {errors['mean_absolute_error']:.1%} over runs, "
                f"{errors['mean_over_sources']:.1%} "
                f"over the {errors['sources']} sources.{more if every['n'] > errors['n'] else ''}"
            )
    if predicted:
        picture(predicted, picked.get("by", "source"))
    st.caption(f"The largest misses first ({min(SHOWN, len(predicted)):,} of {len(predicted):,})")
    st.dataframe(
        measured_runs.misses_table(predicted[:SHOWN]),
        hide_index=True,
        column_config={
            "source": st.column_config.LinkColumn(display_text=r"https://(?:github\.com/)?(.*)"),
        },
    )
    with st.container(horizontal=True):
        copy_buttons("validate --out-of-sample", {"mode": mode}, _python(mode))
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
