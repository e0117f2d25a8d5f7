"""Scatter charts: plans by time and cost, specs by two numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from app.charts import BLUE, COLOURS, GREY, ORANGE, RED, SYMBOLS, UNDER, scale
from app.figure import Figure
from perfmodel.core.units import dollars, duration, show
from perfmodel.decide.planning.within import payment

PLAIN = [symbol for symbol in SYMBOLS if symbol != "star"]
"""Symbols of points; a star is what is chosen."""


def pareto(
    front: Sequence[Mapping[str, Any]],
    rejected: Sequence[Mapping[str, Any]],
    chosen: Mapping[str, Any] | None,
    deadline: float | None,
    budget: float | None,
    mark: str = "chosen",
) -> Figure:
    """Return a chart of time against what must be paid: front, rejected machines, chosen plan and limits.

    Parameters
    ----------
    front, rejected, chosen : plans, as rows of ``perfmodel plan --json``
    deadline, budget : limits [s], [USD]
    mark : label of the chosen plan
    """
    figure = Figure()
    for name, rows, first, style in (
        ("rejected machines", rejected, len(front), {"color": GREY, "symbol": "x", "size": 8}),
        ("fastest at its cost", front, 0, {"color": BLUE, "size": 11}),
    ):
        figure.add_scatter(
            x=[row["run_time"] for row in rows],
            y=[payment(row) for row in rows],
            name=name,
            mode="lines+markers" if rows is front else "markers",
            line={"color": BLUE, "shape": "hv", "width": 1},
            marker=style,
            text=[
                f"{row['machines']}<br>"
                f"{show(row['run_time'], 's')}, {dollars(payment(row))}<br>{row.get('why', '')}"
                for row in rows
            ],
            customdata=list(range(first, first + len(rows))),
            hovertemplate="%{text}<extra></extra>",
        )
    if chosen is not None:
        figure.add_scatter(
            x=[chosen["run_time"]],
            y=[payment(chosen)],
            name=mark if chosen["cost_low_80"] is None else f"{mark}, 80 %: bars",
            mode="markers",
            marker={"color": ORANGE, "symbol": "star", "size": 17, "line": {"width": 1}},
            **_error_bars(chosen),
            customdata=[next((i for i, row in enumerate(front) if row == chosen), len(front))],
            hovertemplate=f"{mark}<extra></extra>",
        )
    costs = [payment(row) for row in (*front, *rejected)] + ([budget] if budget else [])
    times = [row["run_time"] for row in (*front, *rejected)] + ([deadline] if deadline else [])
    ends = {"time": [min(times), max(times)], "cost": [min(costs), max(costs)]}
    if deadline is not None:
        figure.add_scatter(
            x=[deadline] * 2, y=ends["cost"], name=f"deadline {duration(deadline)}", **_limit(RED, "dash")
        )
    if budget is not None:
        figure.add_scatter(
            x=ends["time"], y=[budget] * 2, name=f"budget {dollars(budget)}", **_limit(RED, "dot")
        )
    figure.update_xaxes(title="time of the run [s]", type="log")
    figure.update_yaxes(title="cost [USD]", type="log")
    figure.update_layout(legend={"font": {"size": 11}})  # two abreast on a phone
    return figure


def _error_bars(plan: Mapping[str, Any]) -> dict[str, Any]:
    """Return Plotly's error bars of the 80 % intervals of a plan's time and cost; none of unknown ones."""
    if plan["cost_low_80"] is None:
        return {}
    paid = payment(plan)
    ends = {
        "error_x": (plan["run_time"], plan["run_time_low_80"], plan["run_time_high_80"]),
        "error_y": (paid, min(paid, plan["cost_low_80"]), max(paid, plan["cost_high_80"])),
    }
    return {
        name: {
            "type": "data",
            "symmetric": False,
            "array": [high - value],
            "arrayminus": [value - low],
            "color": ORANGE,
            "thickness": 2,
            "width": 6,
        }
        for name, (value, low, high) in ends.items()
    }


def _limit(colour: str, dash: str) -> dict[str, Any]:
    return {"mode": "lines", "line": {"color": colour, "dash": dash}, "hoverinfo": "skip"}


def catalogue(groups: Mapping[str, Sequence[tuple[float, float, Any]]], x: str, y: str) -> Figure:
    """Return a chart of specs by two of their numbers, with the id on hover.

    Parameters
    ----------
    groups : name of a group -> points (x, y, spec); the last is marked with a star, as what is chosen
    x, y : titles of the axes
    """
    figure, others = Figure(), [colour for colour in COLOURS if colour != ORANGE]
    for index, (name, points) in enumerate(groups.items()):
        is_chosen = index == len(groups) - 1
        if points:
            figure.add_scatter(
                x=[point[0] for point in points],
                y=[point[1] for point in points],
                name=name,
                mode="markers",
                text=[point[2].id for point in points],
                marker={
                    "color": ORANGE if is_chosen else others[index % len(others)],
                    "size": 17 if is_chosen else 9,
                    "symbol": "star" if is_chosen else PLAIN[index % len(PLAIN)],
                    "line": {"width": 1 if is_chosen else 0},
                },
                hovertemplate="%{text}<extra></extra>",
            )
    figure.update_layout(legend=dict(UNDER))
    figure.update_xaxes(title=x, type="log")
    figure.update_yaxes(title=y, **scale(True))
    return figure
