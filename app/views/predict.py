"""Page Predict: the time of one iteration by terms, its memory and costs, and links to other pages."""

from itertools import groupby
from typing import Any

import streamlit as st

from app import (
    answer_card,
    assumed,
    cases,
    charts,
    layout_options,
    memory_chart,
    money,
    no_effect,
    pipeline_chart,
    report_pages,
    session_hardware,
    sharing,
    similar_runs,
    tables,
    to_compare,
)
from app.backend import backend
from app.layout import (
    PageRequest,
    copy_buttons,
    download_buttons,
    errors_shown,
    fold,
    scenario_form,
    sentence,
    shell_command,
)
from app.looks import for_planners, labelled, main_number, show_warnings
from app.options import MONEY, options, values
from app.plain import plain
from app.titles import job_of
from perfmodel.core.units import duration, per_cent, percent, show, show_range
from perfmodel.interfaces.api.predict import Predicted
from perfmodel.interfaces.reports.figures import interval_95, notes_of, target_words
from perfmodel.model.options.risk import PLANNING_CONFIDENCE, Risk
from perfmodel.model.prediction import Prediction, card
from perfmodel.model.prediction.alone import efficiency_range, predicted_alone
from perfmodel.model.prediction.card import at_confidence
from perfmodel.model.prediction.intervals.bound import clipped_words
from perfmodel.model.step.terms import TERMS, added


def speeds(prediction: Prediction, confidence: float) -> dict[str, answer_card.Shown]:
    """Return the throughput to plan with and the likely one as figures of the card; {} if it does not fit."""
    if not prediction.memory.fits:
        return {}
    rates, median = card.throughput_range(prediction), prediction.samples_per_second
    rest = "" if rates is None else "; half of jobs like it are faster"
    known = {"Likely": (median, rest)}
    if rates is not None and confidence > card.EVEN and not card.is_too_wide(prediction):
        sure = median / card.slowest(median / rates[0], confidence)
        known = {"Plan with": (sure, f"; {percent(confidence)} of jobs like it are faster"), **known}
    result = {}
    for label, (rate, rest) in known.items():
        result[label] = answer_card.with_unit(f"{card.per_second(prediction, rate)}{rest}")
    return result


def figures(prediction: Prediction, request: PageRequest) -> None:
    """Draw the numbers that the card has no field for; a caption where it does not fit."""
    if not prediction.memory.fits:
        fast = card.per_second(prediction, prediction.samples_per_second)
        st.caption(f"If it fitted, an iteration would take {show(prediction.iteration_time, 's')}: {fast}")
        return
    alone = predicted_alone(request.scenario(), prediction, backend().predict_each)
    ends = efficiency_range(prediction, alone)
    between = None if ends is None or ends[0] == ends[1] else " to ".join(per_cent(end, 0) for end in ends)
    with st.container(horizontal=True):
        main_number(
            f"Efficiency ({prediction.scaling} scaling)", per_cent(prediction.scaling_efficiency), between
        )
        over = "1 GPU" if prediction.layout is None else "1 replica"
        st.metric(f"Speed-up over {over}", speed_up(prediction.speedup), width="content")
        if prediction.epoch_time is not None:
            st.metric("Epoch", show(prediction.epoch_time, "s"), width="content")


def width_words(prediction: Prediction) -> str:
    """Return what else is known of the interval: that of 95 %, where it is cut, and why it is wider."""
    spread = prediction.interval
    if spread is None:
        return ""
    wider = f" Wider because: {labelled('; '.join(spread.wider_because))}." if spread.wider_because else ""
    if spread.clipped_at is not None:
        wider = f" The lower ends are cut at {clipped_words(spread)}.{wider}"
    return f"The 95 % interval is {interval_95(spread)}.{wider}"


def speed_up(value: float) -> str:
    """Return a speed-up as text: two decimals, or whole from 1000 on."""
    return f"{value:.2f}" if value < 1000 else f"{value:,.0f}"


def behind(request: PageRequest) -> None:
    """Draw the folded section of the equations behind each term, with their numbers."""
    with fold("Equations behind the bars") as is_open:
        if not is_open:
            return
        from perfmodel.decide.explanations.write import value_text

        with errors_shown():
            result = backend().explain(request.scenario())
        for term, equations in groupby(result.equations, lambda equation: equation.term):
            st.markdown(f"**{TERMS[term].label if term in TERMS else 'iteration time'}**")
            if made := result.arithmetic(term):
                st.caption(plain(made))
            for each in equations:
                given = value_text(each.value, each.unit, each.quantity)
                st.caption(plain(f"({each.number}) {each.title} {each.quantity} = {given}"))
                st.latex(each.latex)


def network_question(prediction: Prediction) -> str:
    """Return the question about the network to offer for a job that waits for it; "" for any other job."""
    waits = added(prediction.terms) / prediction.iteration_time >= card.WORTH_SAYING
    return cases.NETWORK if waits and prediction.scenario["nodes"] > 1 else ""


def to_target(reached: dict[str, Any] | None, prediction: Prediction) -> None:
    """Draw the time to the target of the chosen recipe, with its interval, length and source."""
    if reached is None or not prediction.memory.fits:
        return
    time, ends, spread = reached["time"], None, prediction.interval
    if spread is not None and not reached["phases"]:  # phases with other samples have other intervals
        low, high = (time * end / prediction.iteration_time for end in (spread.low_80, spread.high_80))
        ends = show_range(low, high, "s")
    main_number("Time to target", duration(time), ends)
    words = target_words(reached)
    counted = [f"counted: {words.counted}"] if words.counted else []
    st.caption(plain("; ".join([*counted, words.recipe, *words.more])))
    if not reached["within_range"]:
        low, high = reached["batch_sizes"]
        st.warning(f"The batch is outside the {low:,.0f} to {high:,.0f} samples of its publication.")


def page(request: PageRequest) -> None:
    """Draw the page for the chosen options."""
    with errors_shown():
        recipe, reached = request.picked.get("recipe"), None
        if recipe is None:
            prediction = request.predict()
        else:
            prediction, reached = backend().to_target(request.scenario(), recipe)
        costs = money.costs(prediction, request.picked, session_hardware.catalogue())
        sure = values(request.picked, (CONFIDENCE.name,)).get("confidence", PLANNING_CONFIDENCE)
        if sure != PLANNING_CONFIDENCE:
            prediction = at_confidence(prediction, Risk(confidence=sure))
    result = prediction.scenario
    priced = any(name in request.picked for name in MONEY)
    costed = costs if priced or costs["price"] else None
    answer = Predicted(prediction, reached, economics=costed, confidence=sure)
    remedy = "" if prediction.memory.fits else layout_options.remedy(request.picked)
    with request.top:
        st.subheader(plain(f"How fast is {job_of(result['workload'], answer.card)}?"), anchor=False)
        answer_card.show(answer.card, speeds(prediction, sure))
        if remedy:
            st.markdown(f"What would fit: {remedy}.")
        alt = f"Terms of one iteration: {prediction.verdict}"
        charts.draw(charts.waterfall(prediction), "iteration", alt)
        st.caption(labelled(sentence(prediction.verdict)))
        figures(prediction, request)
        sharing.here()
    to_target(reached, prediction)
    show_warnings([*notes_of(prediction), *no_effect.without_effect(prediction, request.picked)])
    sent_in_all = f"Communication takes {show(prediction.communication_time, 's')} in all"
    st.caption(
        f"{for_planners(prediction.placement)}, by the {prediction.model} model. {sent_in_all}"
        + ("; what the backward pass hides is hatched." if prediction.layout is None else ".")
    )
    if words := width_words(prediction):
        st.caption(words)
    pipeline_chart.draw_schedule(request.scenario(), prediction, "pipeline")
    memory_chart.draw_memory({"": memory_chart.of_prediction(prediction)}, "memory")
    to_compare.offer({"this job": request.picked}, question=network_question(prediction))
    with st.container(horizontal=True):
        command = "predict --cost" if costs["price"] and not priced else "predict"
        copy_buttons(command, request.picked, card=answer.card)
        report = report_pages.of_prediction(
            prediction,
            shell_command(command, request.picked),
            request.picked,
            reached,
            answer.economics,
            sure,
        )
        download_buttons("prediction", sharing.csv_of("predict", answer), answer.to_json, report)
    behind(request)
    money.show_costs(costs)
    with fold("Nearest measured runs") as is_open:
        if is_open:
            near = similar_runs.family(result)
            st.caption(f"{len(near)} of {result['workload']} on {result['accelerator']}, the nearest first")
            tables.ready()
            st.dataframe(similar_runs.rows(near[: similar_runs.SHOWN]), hide_index=True)
    assumed.draw(prediction.defaults)


RECIPE = options()["recipe"]._replace(label="Time to train, by recipe", usual="not computed")
CONFIDENCE = options()["confidence"]._replace(label="How sure to reach the throughput")
page(scenario_form("predict", body=[RECIPE, CONFIDENCE], money=True))
