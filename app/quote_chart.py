"""Chart of a quote's claims: each as a share of what is possible, with what to expect and measured runs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from html import escape
from textwrap import wrap

from app import charts, quotes
from app.figure import Figure
from perfmodel.core.units import per_cent
from perfmodel.decide.quote import Checked
from perfmodel.decide.quote.sentence import shown_verdict

USUAL_END, LAST = 1.1, 1.5
"""End of the axis, and the largest share that it is moved for; what is beyond stands at its end."""
EACH, ENDS = 70, 100
"""Heights of a claim, and of axis and legend [px]."""
WIDEST = 50
"""Most letters in a line of a claim's words above its row, for the width of a phone."""


def share_of(claim: Checked, value: float) -> float:
    """Return a value as a share of the most that is possible, above 1 where it is better.

    Of a scaling efficiency that is 100 %, without what measurements scatter beyond it.
    """
    first, second = (value, claim.ideal) if claim.higher_is_better else (claim.ideal, value)
    return first / second if second else math.inf


def drawn_share(claim: Checked, value: float) -> float:
    """Return a share as the chart draws it: at most ``LAST``."""
    return min(share_of(claim, value), LAST)


def draw_claims(claims: Mapping[int, tuple[str, Checked]]) -> None:
    """Draw the chart on the page.

    Parameters
    ----------
    claims : number of the claim, from 1 -> what it is called, and the claim
    """
    words = "; ".join(f"{number}: {called}" for number, (called, _) in claims.items())
    figure = claims_chart(claims)
    charts.draw(figure, "claims-chart", f"Claims {words}", height=ENDS + EACH * len(claims))


def _bridged(claim: Checked) -> str:
    """Return the share at which a value is drawn that is none itself, and of what; empty of an efficiency."""
    share = share_of(claim, claim.value)
    if claim.ideal == 1 or not math.isfinite(share):
        return ""
    most = quotes.text(claim, claim.ideal)
    return (
        f": {per_cent(share, 0)} of {most} possible"
        if claim.higher_is_better
        else f": at least {most} needed"
    )


def claims_chart(claims: Mapping[int, tuple[str, Checked]]) -> Figure:
    """Return the chart, a row for each claim; ``claims`` as of ``draw_claims``."""
    figure = Figure()
    intervals: list[tuple[float | None, int, str]] = []
    measured: list[tuple[float, int, str]] = []
    unlike: list[tuple[float, int, str]] = []
    claimed: list[tuple[float, int, str]] = []
    expected: list[tuple[float, int, str]] = []
    for place, (number, (called, claim)) in enumerate(claims.items()):
        value = quotes.text(claim, claim.value)
        within = () if claim.judged_by is None else claim.judged_by[1:]
        intervals += [(drawn_share(claim, end), place, quotes.text(claim, end)) for end in within]
        intervals.append((None, place, ""))  # which ends the line
        if claim.judged_by is not None:
            middle = claim.judged_by.expected
            expected.append((drawn_share(claim, middle), place, quotes.text(claim, middle)))
        for one in claim.measured:
            if one.value > 0:
                points = unlike if one.differs else measured
                points.append((drawn_share(claim, one.value), place, one.words))
        claimed.append((drawn_share(claim, claim.value), place, f"{value}, {shown_verdict(claim)}"))
        if (share := share_of(claim, claim.value)) > LAST:
            beyond = f"{per_cent(share, 0)} →" if math.isfinite(share) else "→"
            figure.add_annotation(x=LAST, y=place, text=beyond, showarrow=False, xanchor="right", xshift=-12)
        title = f"{called}{_bridged(claim)}"
        figure.add_annotation(
            x=0.0,
            y=place - 0.14,
            text=f"<b>{number}</b> {'<br>'.join(map(escape, wrap(title, WIDEST)))}",
            align="left",
            showarrow=False,
            xanchor="left",
            yanchor="bottom",
        )
    figure.add_scatter(
        x=[x for x, _, _ in intervals],
        y=[y for _, y, _ in intervals],
        text=[text for _, _, text in intervals],
        mode="lines",
        name="80 % interval",
        line={"color": charts.GREY, "width": 10},
        opacity=0.65,
        hovertemplate="%{text}<extra>80 % interval</extra>",
    )
    lines = {"expected": {"width": 4, "color": charts.SKY}, "measured, unlike jobs": {"width": 2}}
    for name, points, marker in (
        ("expected", expected, {"symbol": "line-ns", "size": 26, "color": charts.SKY}),
        ("claimed", claimed, {"symbol": "diamond", "size": 14, "color": charts.ORANGE}),
        ("measured", measured, {"symbol": "circle", "size": 10, "color": charts.BLUE}),
        ("measured, unlike jobs", unlike, {"symbol": "triangle-up-open", "size": 11, "color": charts.PINK}),
    ):
        figure.add_scatter(
            x=[x for x, _, _ in points],
            y=[y for _, y, _ in points],
            text=[text for _, _, text in points],
            mode="markers",
            name=name,
            marker={**marker, "line": lines.get(name, {"width": 1, "color": "white"})},
            hovertemplate=f"%{{text}}<extra>{name}</extra>",
            showlegend=bool(points),
        )
    figure.add_scatter(
        x=[1, 1, None] * len(claims),
        y=[y for place in range(len(claims)) for y in (place - 0.14, place + 0.36, None)],  # behind no title
        mode="lines",
        name="most possible",
        line={"color": charts.RED, "width": 2},
        hoverinfo="skip",
    )
    end = max(USUAL_END, *(1.05 * x for x, _, _ in claimed))
    figure.update_xaxes(
        title="share of what is possible",
        range=[0, end],
        tickformat=".0%",
        dtick=0.25,
        ticklabeloverflow="allow",
    )
    figure.update_yaxes(visible=False, range=[len(claims) - 0.7, -0.65], fixedrange=True)
    margin = {"l": 20, "t": 8}  # room for the label of 0 %
    figure.update_layout(showlegend=True, legend=dict(charts.UNDER), margin=margin)
    return figure
