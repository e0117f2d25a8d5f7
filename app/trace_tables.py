"""Tables and charts below the answer of page Trace: devices, ranks, collectives, ranges, advice."""

from html import escape
from typing import Any

import streamlit as st

from app import charts, line_charts, tables, trace_chart
from app.plain import markdown, plain
from perfmodel.core.units import per_cent, show
from perfmodel.evidence.traces.activity import SHARES
from perfmodel.evidence.traces.allocations import CATEGORIES
from perfmodel.evidence.traces.recommendations import saving_words


def table(rows: list[dict[str, Any]]) -> None:
    """Draw a table of rows."""
    tables.ready()
    st.dataframe(rows, hide_index=True)


def differing(rows: list[dict[str, Any]], *names: str) -> list[dict[str, Any]]:
    """Return rows without those of the named columns whose value is the same in all rows."""
    same = {name for name in names if len({row[name] for row in rows}) == 1}
    return [{name: value for name, value in row.items() if name not in same} for row in rows]


def collectives(devices: list[dict[str, Any]]) -> None:
    """Draw a table of the collectives of all devices."""
    rows = [
        {
            "device": device["device"],
            "collective": row["collective"],
            "message": show(row["message_bytes"], "B") if row["message_bytes"] else "unknown",
            "count": row["count"],
            "median": show(row["time"], "s"),
            "least": show(row["least_time"], "s"),
            "bus bandwidth": show(row["bus_bandwidth"], "B/s") if row["bus_bandwidth"] else "",
        }
        for device in devices
        for row in device["collectives"]
    ]
    if rows:
        st.caption("Collectives; a time contains the wait for the last peer")
        table(differing(rows, "device"))


def uses(devices: list[dict[str, Any]]) -> None:
    """Draw each device's time by kind of work, its utilisation, and its memory."""
    shown = [device for device in devices[: trace_chart.MOST_DEVICES] if device["shares"]]
    recorded = {
        escape(name): device["shares"]
        for name, device in zip(trace_chart.short_titles(shown), shown, strict=True)
    }
    if recorded:
        figure = charts.parts(recorded, SHARES, "share of the time", share)
        figure.update_xaxes(tickformat=".0%")
        charts.draw(figure, "shares", "Time by kind of work", height=trace_chart.height_of(figure, recorded))
    table(
        [
            {
                "device": name,
                "GPU utilisation": share(device["utilisation"]),
                "SM efficiency": share(device["sm_efficiency"]),
                "achieved occupancy": share(device["achieved_occupancy"]),
                "peak memory": f"{device['memory']['peak'] / 2**30:.2f} GiB" if device["memory"] else "",
            }
            for name, device in zip(trace_chart.short_titles(devices), devices, strict=True)
        ],
    )
    curves = {
        escape(trace_chart.title(device)): (
            [time - device["memory"]["curve"][0][0] for time, _ in device["memory"]["curve"]],
            [size / 2**30 for _, size in device["memory"]["curve"]],
        )
        for device in devices[: trace_chart.MOST_DEVICES]
        if device["memory"]
    }
    if curves:
        figure = line_charts.lines(curves, "time [s]", "allocated [GiB]")
        charts.draw(figure, "memory", "Memory over time")
    held = [
        {"device": trace_chart.title(device), "what": CATEGORIES[name], "GiB": round(size / 2**30, 3)}
        for device in devices
        for name, size in ((device["memory"] or {}).get("peak_by_category") or {}).items()
    ]
    if held:
        st.caption("Memory at its peak")
        table(held)


def share(value: float | None) -> str:
    """Return a share as a percentage; "" if it is not known."""
    return "" if value is None else per_cent(value)


def by_rank(ranks: list[dict[str, Any]]) -> None:
    """Draw a table of each rank's times, and the ranks that others wait for."""
    if not ranks:
        return
    late = [row["rank"] for row in ranks if row["straggler"]]
    waited_for = f"; the others wait for rank {', '.join(late)}" if late else ""
    st.caption(f"By rank, over the whole file{waited_for}")
    names = ("compute_time", "overlap_time", "transfer_time", "waiting_time", "waited_for")
    rows = [{"rank": row["rank"], **{name: show(row[name], "s") for name in names}} for row in ranks]
    table(
        [{key.replace("_", " "): value for key, value in row.items()} for row in rows],
    )


def advice(rows: list[dict[str, Any]]) -> None:
    """Draw a table of changes that would shorten a step."""
    if rows:
        st.markdown("**What would shorten a step, each on its own**")
        cells = [{"change": row["change"], "saves": saving_words(row), "basis": row["basis"]} for row in rows]
        with st.container(key="wrapped-advice"):
            st.markdown(markdown([{name: plain(words) for name, words in row.items()} for row in cells]))


def ranges(rows: list[dict[str, Any]]) -> None:
    """Draw a table of the time in each marked range."""
    if rows:
        st.caption("Time by marked range; ranges within ranges count in both")
        listed = [
            {
                "range": row["name"],
                "occurrences": row["occurrences"],
                "on the host": show(row["host_time"], "s"),
                "on the GPU": "" if row["device_time"] is None else show(row["device_time"], "s"),
                "file": row["file"],
            }
            for row in rows
        ]
        table(differing(listed, "file"))
