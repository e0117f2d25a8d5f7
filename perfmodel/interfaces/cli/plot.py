"""Figure of a scaling table: SVG and PNG by matplotlib, a web page by plotly; both are extras."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perfmodel.core.errors import needed, refusal
from perfmodel.core.files.writing import check_writable, write_whole
from perfmodel.model.prediction.names import accelerator_name, network_name
from perfmodel.model.prediction.result import Prediction

BLUE, ORANGE, GREY = "#0072b2", "#d55e00", "#767676"
"""Colours that colour-blind readers can distinguish (Okabe and Ito)."""

MOST_TICKS = 12
"""Largest number of counts that are all labelled on an axis; of more, only powers of ten."""

if TYPE_CHECKING:
    from perfmodel.model.prediction.scaling import Scaling, ScalingRow


def check_plot(path: Path) -> None:
    """Check that a table can be drawn into a file.

    Raises
    ------
    InputError : an unknown ending, a folder that cannot be written to, an extra that is not installed
    """
    ending = path.suffix.lower()
    if ending not in (".svg", ".png", ".html"):
        raise refusal("plot.ending", path=path, ending=ending or "no ending")
    check_writable(path)
    if ending == ".html":
        needed("plotly.graph_objects", "app", "a page of HTML")
    else:
        needed("matplotlib.figure", "plot", "drawing figures")


def write_plot(path: Path, scaling: Scaling) -> None:
    """Draw a table into a file that ``check_plot`` accepted."""
    form = path.suffix.lower().removeprefix(".")
    write_whole(path, _page(scaling) if form == "html" else _figure(scaling, form))


def _title(last: Prediction) -> str:
    """Return the title of a figure: network, accelerator, precision and scaling."""
    scenario = last.scenario
    machine = f"{network_name(scenario['workload'])} on {accelerator_name(scenario['accelerator'])}"
    return f"{machine}, {scenario['precision']}, {last.scaling} scaling"


class _Series:
    """The data series that both libraries draw."""

    def __init__(self, rows: Sequence[ScalingRow]) -> None:
        self.rows = sorted(rows, key=lambda row: row.world_size)
        self.counts = [row.world_size for row in self.rows]
        self.rates = [row.samples_per_second for row in self.rows]
        self.efficiencies = [100 * row.scaling_efficiency for row in self.rows]
        one = self.rates[0] / self.rows[0].speedup
        self.ideal = [one * count for count in self.counts]

    @property
    def has_band(self) -> bool:
        """Whether every row has an interval."""
        return all(row.low_80 is not None for row in self.rows)

    def band(self, end: str) -> list[float]:
        """Return the throughput at one end of the time's 80 % interval."""
        return [row.samples_per_second * row.iteration_time / getattr(row, end) for row in self.rows]


def _figure(scaling: Scaling, form: str) -> bytes:
    """Return a figure of throughput and efficiency as a file; the same bytes for the same rows."""
    import matplotlib
    from matplotlib.figure import Figure

    last = scaling.predictions[-1]
    series, sample = _Series(scaling.rows), last.sample
    style: Any = {"svg.hashsalt": "perfmodel", "font.size": 9, "axes.grid": True, "grid.alpha": 0.3}
    with matplotlib.rc_context(style):
        figure = Figure(figsize=(9, 3.8), layout="constrained")
        figure.suptitle(_title(last))
        left, right = figure.subplots(1, 2)
        left.plot(series.counts, series.ideal, "--", color=GREY, label="ideal")
        left.plot(series.counts, series.rates, "o-", color=BLUE, label="predicted")
        if series.has_band:
            low, high = series.band("high_80"), series.band("low_80")
            left.fill_between(series.counts, low, high, color=BLUE, alpha=0.2, label="80 % interval")
        left.set(xscale="log", yscale="log", xlabel="GPUs", ylabel=f"{sample}s per second")
        left.legend()
        right.plot(series.counts, series.efficiencies, "o-", color=ORANGE)
        right.axhline(100, linestyle="--", color=GREY)
        top = max(105.0, 1.05 * max(series.efficiencies))
        right.set(xscale="log", ylim=(0, top), xlabel="GPUs", ylabel="scaling efficiency [%]")
        if len(series.counts) <= MOST_TICKS:
            for axes in (left, right):
                axes.set_xticks(series.counts, [str(count) for count in series.counts], minor=False)
                axes.set_xticks([], minor=True)
        buffer = BytesIO()
        metadata = {"Date": None} if form == "svg" else {"Software": None}
        figure.savefig(buffer, format=form, dpi=150, metadata=metadata)
    return buffer.getvalue()


def _page(scaling: Scaling) -> str:
    """Return a web page of throughput and efficiency."""
    from plotly.subplots import make_subplots

    last = scaling.predictions[-1]
    series, sample = _Series(scaling.rows), last.sample
    figure = make_subplots(rows=1, cols=2)
    counts = series.counts
    if series.has_band:
        low, high = series.band("high_80"), series.band("low_80")
        figure.add_scatter(
            x=counts + counts[::-1],
            y=high + low[::-1],
            mode="lines",
            fill="toself",
            fillcolor="rgba(0, 114, 178, 0.2)",
            line={"width": 0},
            name="80 % interval",
            hoverinfo="skip",
            row=1,
            col=1,
        )
    dashes = {"color": GREY, "dash": "dash"}
    figure.add_scatter(x=counts, y=series.ideal, mode="lines", line=dashes, name="ideal", row=1, col=1)
    figure.add_scatter(
        x=counts,
        y=series.rates,
        mode="lines+markers",
        line={"color": BLUE},
        name="predicted",
        hovertemplate=f"%{{x}} GPUs: %{{y:,.0f}} {sample}s/s",
        row=1,
        col=1,
    )
    figure.add_scatter(
        x=counts,
        y=series.efficiencies,
        mode="lines+markers",
        line={"color": ORANGE},
        name="efficiency",
        hovertemplate="%{x} GPUs: %{y:.1f} %",
        row=1,
        col=2,
    )
    ticks: dict[str, Any] = {"tickvals": counts} if len(counts) <= MOST_TICKS else {}
    figure.update_xaxes(type="log", title_text="GPUs", **ticks)
    figure.update_yaxes(type="log", dtick=1, title_text=f"{sample}s per second", row=1, col=1)
    figure.update_yaxes(rangemode="tozero", title_text="scaling efficiency [%]", row=1, col=2)
    figure.update_layout(title_text=_title(last), template="plotly_white")
    return page_of(figure, _title(last), "scaling")


def page_of(figure: Any, title: str, name: str) -> str:
    """Return a self-contained web page with a plotly figure; ``name`` makes its ids reproducible."""
    from html import escape

    page: str = figure.to_html(include_plotlyjs=True, include_mathjax=False, div_id=name)
    return page.replace("<head>", f"<head><title>{escape(title)}</title>", 1)
