"""Page Stragglers: update times, staleness and error bounds of SGD variants under random worker times."""

from collections.abc import Sequence
from dataclasses import asdict
from itertools import pairwise
from math import ceil, isfinite, log
from typing import TYPE_CHECKING, Any

import streamlit as st

from app import answer_card, charts, line_charts, own_uploads, session_hardware, sharing
from app.answer_card import Shown
from app.axes import linear_ticks
from app.backend import backend
from app.figure import Figure
from app.layout import PageRequest, copy_buttons, download_buttons, errors_shown, fold, options_form, sentence
from app.options import Option, options, values
from app.state import newest
from perfmodel.core.units import per_cent, show, three_digits
from perfmodel.decide.explanations.sources import cited
from perfmodel.equations.distribution import Distribution
from perfmodel.equations.laws import LAWS
from perfmodel.equations.sgd_variants import StragglerPrediction
from perfmodel.interfaces.calls import adaptive_synchrony
from perfmodel.model.prediction.training.learning_rates import LearningRate
from perfmodel.model.prediction.training.straggler_card import (
    FRESH,
    STRATEGIES,
    best,
    card_of,
    gain_of,
    times_words,
    waiting_share,
)
from perfmodel.model.prediction.training.stragglers import USUAL, Stragglers, law_from, with_params

if TYPE_CHECKING:
    from perfmodel.model.prediction.training.sgd_error_bound import ErrorCurve, ErrorCurves

START = {"workers": 16, "k": 8}
# Default parameters of each distribution.
EXAMPLES = {
    **USUAL,
    "uniform": "low=0.5,high=1.5",
    "normal": "mean=1,std=0.1",
    "lognormal": "mean=1,cv=0.1",
    "stalling": "cv=0.02,probability=0.01,length=0.5",
    "pareto": "scale=1,shape=3",
    "weibull": "scale=1,shape=2",
    "gamma": "shape=4,scale=0.25",
    "two-point": "fast=1,slow=3,probability=0.05",
}
NO_BREAK = "\u2011"
ERROR = "Error against wall clock, of an example objective"
KNOWN = options("stragglers")
LAW = KNOWN["distribution"]._replace(
    choices=tuple(name for name in EXAMPLES if name in LAWS), kind="choice", session="straggler-law"
)
PARAM = KNOWN["param"]._replace(label="Parameters of the distribution")
# Own session keys: a scenario has options of these names for its strategy.
K = KNOWN["k"]._replace(kind="slider", session="straggler-k")
LOCAL_STEPS = KNOWN["local-steps"]._replace(session="straggler-local-steps")
RATE = KNOWN["learning-rate"]
NAMED = ("workers", "k", "local-steps", "communication-time", "server-time")
"""Options of ``perfmodel stragglers`` in addition to the distribution."""


def law(picked: dict[str, Any]) -> tuple[Distribution, dict[str, Any]]:
    """Return the distribution of a worker's time, and the options that define it."""
    sample = session_hardware.sample()
    if sample is not None:
        return sample, {"distribution": str(sample)}
    name: str = picked.get("distribution", getattr(LAW.parameter, "usual", ""))
    params: str = picked.get("param", EXAMPLES[name])
    return law_from(with_params(name, (params,))), {"distribution": f"{name}:{params}"}


def variants(picked: dict[str, Any], times: Distribution) -> Stragglers:
    """Return the predictions of all variants, as of ``perfmodel stragglers``."""
    return backend().stragglers(distribution=times, **values(picked, NAMED, "stragglers"))


def least_error(curves: "ErrorCurves") -> str:
    """Return text on the variant with the least error bound in each period."""
    leaders = [
        min(curves.variants, key=lambda curve: curve.error[index]) for index in range(len(curves.times))
    ]
    until = [
        f"{before.variant} up to some {rounded(overtaken(curves.times, before, after, index))}"
        for index, (before, after) in enumerate(pairwise(leaders))
        if before is not after
    ]
    last = leaders[-1].variant
    return ", ".join([*until, f"then {last}"]) if until else f"{last} all the time"


def overtaken(times: Sequence[float], before: "ErrorCurve", after: "ErrorCurve", index: int) -> float:
    """Return the time after ``times[index]`` at which one curve falls below another [s], interpolated."""
    ahead, behind = (log(after.error[i] / before.error[i]) for i in (index, index + 1))
    share = ahead / (ahead - behind) if ahead > behind else 1.0
    return float(times[index] * (times[index + 1] / times[index]) ** share)


def rounded(seconds: float) -> str:
    """Return a time as text with two digits.

    >>> rounded(0.123), rounded(95.4), rounded(272.0), rounded(2735.0), rounded(9000.0)
    ('120 ms', '95 s', '4.5 min', '46 min', '2.5 h')
    """
    for unit, name in ((3600, "h"), (60, "min")):
        if seconds >= 2 * unit:
            count = seconds / unit
            return f"{count:,.0f} {name}" if count >= 10 else f"{count:.2g} {name}"
    return show(float(f"{seconds:.2g}"), "s")


def times_of(result: Sequence[StragglerPrediction], taken: str) -> Figure:
    """Return the chart of each variant's time per gradient, the shortest first, with its proven bounds.

    Parameters
    ----------
    result : of all variants
    taken : the variant that the card takes, which has a colour of its own
    """
    figure = Figure()
    rows = sorted(
        (row for row in result if isfinite(row.time_per_gradient)), key=lambda row: row.time_per_gradient
    )
    others = [row for row in rows if row.variant != taken]
    groups = {
        "to take": (charts.ORANGE, [row for row in rows if row.variant == taken]),
        "without stale gradients": (charts.BLUE, [row for row in others if row.mean_staleness < FRESH]),
        "with stale gradients, which may train worse": (
            charts.SKY,
            [row for row in others if row.mean_staleness >= FRESH],
        ),
    }
    for name, (colour, some) in groups.items():
        if not some:
            continue
        times = [row.time_per_gradient for row in some]
        low, high = (
            [end / row.gradients_per_update for row, end in zip(some, ends, strict=True)]
            for ends in ([row.low for row in some], [row.high for row in some])
        )
        figure.add_bar(
            y=[label_of(row) for row in some],
            x=times,
            name=name,
            orientation="h",
            width=0.5,
            marker={"color": colour},
            error_x={
                "type": "data",
                "symmetric": False,
                "array": [end - time for end, time in zip(high, times, strict=True)],
                "arrayminus": [time - end for end, time in zip(low, times, strict=True)],
                "color": charts.GREY,
                "thickness": 3,
                "width": 0,
            },
            customdata=[[show(row.update_time, "s"), row.gradients_per_update, row.status] for row in some],
            hovertemplate="%{y}: an update of %{customdata[1]} gradients every %{customdata[0]}, "
            "%{customdata[2]}<extra></extra>",
        )
    figure.update_layout(legend=dict(charts.UNDER))
    ends = [max(row.time_per_gradient, row.high / row.gradients_per_update) for row in rows]
    figure.update_xaxes(title="time until the next gradient [s]", range=[0, 1.02 * beyond(ends)])
    order = [label_of(row) for row in rows]
    figure.update_yaxes(autorange="reversed", automargin=True, categoryorder="array", categoryarray=order)
    return figure


def beyond(times: Sequence[float]) -> float:
    """Return the first tick of an axis from 0 that no time exceeds [s].

    >>> beyond([0.125, 0.274])
    0.3
    """
    most = max((time for time in times if isfinite(time)), default=1.0)
    first, second, *_ = linear_ticks(0.0, most, "s")
    return float(f"{ceil(most / (second - first) - 1e-9) * (second - first):.12g}")


def label_of(row: StragglerPrediction) -> str:
    """Return a variant's name, the expert's name and its time per gradient, on two lines."""
    time = show(row.time_per_gradient, "s")
    return f"{STRATEGIES[row.variant].name}<br>({row.variant}) <b>{time}</b>"


def figures(answer: Stragglers) -> dict[str, Shown]:
    """Return the main numbers of the card: what waiting loses, the gain, and the time of a gradient."""
    rows = {row.variant: row for row in answer.rows}
    together = f"of all {answer.workers} workers together"
    every, taken = rows["sync"], best(answer)
    share = f"{100 * waiting_share(answer):.0f} %"
    lost = {"Lost by waiting for all": Shown(share, "of the workers' time and cost")}
    if taken is None:
        return lost | {"A gradient every": Shown(show(every.time_per_gradient, "s"), together)}
    time, waiting = (show(row.time_per_gradient, "s") for row in (taken.row, every))
    shown = lost | {
        "Gain in gradients per hour": Shown(
            times_words(taken.gain), f"those of waiting for all: {_named(taken.row)}"
        ),
        "A gradient every": Shown(time, f"{together}; {waiting} where all wait"),
    }
    stale = rows.get("async")
    if stale is not None and stale.mean_staleness >= FRESH:
        age = f"{_named(stale)}, from parameters {three_digits(stale.mean_staleness)} updates old"
        shown["Largest gain"] = Shown(times_words(gain_of(answer, stale)), age)
    return shown


def _named(row: StragglerPrediction) -> str:
    """Return the name of a strategy with the expert's, at whose hyphens no line breaks."""
    return f"{STRATEGIES[row.variant].name} ({row.variant.replace('-', NO_BREAK)})"


def error_against_time(answer: Stragglers, picked: dict[str, Any]) -> None:
    """Draw the bound on the error of each variant against wall clock, and who leads until when."""
    with errors_shown():
        curves = answer.error_curves(**values(picked, (RATE.name,), "stragglers"))
    st.markdown(f"The least error, by this bound: {least_error(curves)}.")
    lines = {curve.variant: (curves.times, curve.error) for curve in curves.variants}
    charts.draw(
        line_charts.lines(lines, "time [s]", "bound on the error [1]", log_y=True),
        "error",
        "Error against wall clock",
    )
    if curves.left_out:
        st.caption(sentence(f"left out: {'; '.join(curves.left_out.values())}"))
    st.caption(sentence(curves.note))


def page(request: PageRequest) -> None:
    """Draw the page for the chosen options."""
    picked = request.picked
    with errors_shown():
        times, law_options = law(picked)
        answer = variants(picked, times)
        result, workers, card = answer.rows, answer.workers, card_of(answer)
    taken = best(answer)
    with request.top:
        st.subheader(f"What do {workers} workers lose by waiting for the slowest?", anchor=False)
        answer_card.show(card, figures(answer))
        charts.draw(
            times_of(result, "sync" if taken is None else taken.row.variant),
            "variants",
            "Time per gradient, by strategy",
            height=120 + 42 * len(result),
        )
        bounds = any(row.status != "exact" for row in result)
        st.caption(
            "Times are exact for this distribution of one worker's time, so they have no interval"
            + ("; with a grey line, they are proven to lie between its ends." if bounds else ".")
        )
        sharing.here()
    rows = [asdict(row) for row in result]
    command = {
        k: v for k, v in picked.items() if k not in ("distribution", "param", "learning-rate")
    } | law_options
    with st.container(horizontal=True):
        copy_buttons("stragglers", command, _python(law_options, picked), card=card)
        download_buttons("stragglers", rows, rows)
    with fold("What each strategy does, in numbers") as is_open:
        if is_open:
            st.dataframe(strategies(answer), hide_index=True)
    with fold(ERROR) as is_open:
        if is_open:
            error_against_time(answer, picked)
    with fold("What staleness leaves of the learning rate") as is_open:
        if is_open:
            rates(result)
    with fold("How much to synchronise as the error falls") as is_open:
        if is_open:
            schedule(picked, times, workers)


def strategies(answer: Stragglers) -> list[dict[str, Any]]:
    """Return the variants as a table for display, the one with the most gradients first."""
    return [
        {
            "strategy": STRATEGIES[row.variant].name,
            "gradients": times_words(gain_of(answer, row)),
            "an update waits for": STRATEGIES[row.variant].update,
            "expert's name": row.variant,
            "time per gradient": show(row.time_per_gradient, "s"),
            "time per update": show(row.update_time, "s"),
            "gradients per update": row.gradients_per_update,
            "staleness [updates]": row.mean_staleness,
            "fresh": row.fresh_fraction,
            "status": row.status,
        }
        for row in sorted(answer.rows, key=lambda row: row.time_per_gradient)
    ]


def schedule(picked: dict[str, Any], times: Distribution, workers: int) -> None:
    """Draw a table of AdaSync's and AdaComm's choices, as of ``perfmodel stragglers --adaptive``."""
    given = values(picked, ("communication-time", RATE.name), "stragglers")
    with errors_shown():
        answer = adaptive_synchrony(workers=workers, distribution=times, **given)
    st.dataframe(
        [
            {
                "error": f"{each.error:.3g}",
                "K of K-sync": each.k_sync,
                "K of K-batch-sync": each.k_batch,
                "K by AdaSync's rule": each.k_by_rule,
                "local steps of local SGD": each.local_steps,
                "local steps by AdaComm's rule": each.local_steps_by_rule,
            }
            for each in answer.choices
        ],
        hide_index=True,
    )
    st.caption(
        sentence(
            "gradients an update should wait for, and steps between two averages, to get furthest until the "
            "next choice; the rules start from the first row and need the error alone"
        )
    )
    st.caption(sentence(answer.note))


def rates(result: Sequence[StragglerPrediction]) -> None:
    """Draw a table of the learning rate of each variant, reduced for staleness by two rules."""
    st.dataframe(
        [
            {
                "variant": row.variant,
                "staleness [updates]": row.mean_staleness,
                **{rate.rule: per_cent(rate.learning_rate) for rate in stale_rates(row.mean_staleness)},
            }
            for row in result
        ],
        hide_index=True,
    )
    for rate in stale_rates(1.0):
        st.caption(sentence(f"{rate.rule}: {rate.validity} ({cited(rate.source)})"))


def stale_rates(staleness: float) -> list[LearningRate]:
    """Return the learning rates by the rules of staleness, relative to the synchronous rate."""
    answer = backend().learning_rate(1.0, 1, 1, staleness=staleness)
    return [row for row in answer.rows if "staleness" in row.rule]


def _python(law_options: dict[str, Any], picked: dict[str, Any]) -> str:
    """Return Python code that predicts all variants."""
    given = values(picked, NAMED, "stragglers") | law_options
    words = ", ".join(f"{name}={value!r}" for name, value in given.items())
    return f"import perfmodel\n\nprint(perfmodel.stragglers({words}))"


def fitted(option: Option) -> Option:
    """Return an option; the field of parameters with those that the chosen distribution takes by default."""
    if option.name != PARAM.name:
        return option
    return option._replace(usual=EXAMPLES[newest(LAW) or getattr(LAW.parameter, "usual", "")])


def upload() -> None:
    """Draw the upload field for measured times of a worker."""
    with st.sidebar, errors_shown():
        own_uploads.field("times", "Or your own times: a CSV or text file, seconds, one a line", "times-file")
    own_uploads.in_use_line("times", "A worker's times are those of")


def take_apart() -> None:
    """Split a distribution in the address, such as ``lognormal:cv=0.5``, into its two options."""
    law, _, parameters = st.query_params.get("distribution", "").partition(":")
    if parameters and law in LAW.choices and "param" not in st.query_params:
        st.query_params.update({"distribution": law, "param": parameters})


take_apart()
request = options_form(
    "stragglers",
    {
        "": [
            LAW,
            PARAM,
            KNOWN["workers"],
            KNOWN["communication-time"],
            KNOWN["server-time"],
            LOCAL_STEPS,
            RATE,
        ]
    },
    body=(K,),
    start=START,
    ends={"k": "workers"},
    fitted=fitted,
)
upload()
page(request)
