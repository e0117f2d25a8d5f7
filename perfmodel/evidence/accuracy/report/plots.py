"""Figures of the report: predicted against measured times, and interval coverage; needs matplotlib."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from perfmodel.core.errors import needed
from perfmodel.evidence.accuracy.report.error_statistics import counted
from perfmodel.evidence.accuracy.training_compare import Row

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999933")
"""Colours that colour-blind readers can distinguish (Okabe and Ito)."""
NAMES = ("predicted-specs.svg", "predicted-anchored.svg", "coverage.svg")

MATPLOTLIB = ("matplotlib.pyplot", "plot", "drawing figures")
"""Arguments of ``perfmodel.core.errors.needed`` to check for matplotlib before any work is done."""


def write_plots(folder: Path, specs: Sequence[Row], anchored: Sequence[Row]) -> None:
    """Write the figures as SVG into ``folder``; the same rows give the same bytes.

    Parameters
    ----------
    folder : made if it does not exist
    specs : runs predicted from specs
    anchored : runs predicted from an anchor

    Raises
    ------
    MissingPackage : matplotlib is not installed
    """
    needed(*MATPLOTLIB)
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams.update(
        {"svg.hashsalt": "perfmodel", "font.size": 9, "axes.grid": True, "grid.alpha": 0.3}
    )
    folder.mkdir(exist_ok=True)
    rows = {"specs": _kept(specs), "anchored": _kept(anchored)}
    for mode, name in (("specs", NAMES[0]), ("anchored", NAMES[1])):
        _save(_predicted(rows[mode], mode), folder / name)
    _save(_coverage(rows), folder / NAMES[2])


def _kept(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row.error is not None and counted(row)]


def _save(figure: Any, path: Path) -> None:
    import matplotlib.pyplot as plt

    figure.savefig(path, metadata={"Date": None}, dpi=150, bbox_inches="tight")
    plt.close(figure)


def _predicted(rows: Sequence[Row], mode: str) -> Any:
    """Return a log-log figure of predicted against measured times, with bands of 10 and 20 %."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 5.5))
    sources = sorted({row.run.source for row in rows})
    for index, source in enumerate(sources):
        own = [row for row in rows if row.run.source == source]
        axes.loglog(
            [row.measured for row in own],
            [row.predicted for row in own],
            "os^Dv<>"[index % 7],
            ms=3,
            alpha=0.6,
            color=COLOURS[index % len(COLOURS)],
            label=f"{source} ({len(own)})",
            rasterized=True,
        )
    times = [row.measured or 1.0 for row in rows]
    ends = [min(times), max(times)]
    axes.plot(ends, ends, color="black", lw=0.8)
    for share, alpha in ((0.1, 0.15), (0.2, 0.10)):
        axes.fill_between(
            ends,
            [t * (1 - share) for t in ends],
            [t * (1 + share) for t in ends],
            color="grey",
            alpha=alpha,
            lw=0,
        )
    axes.set(
        xlabel="measured iteration time [s]",
        ylabel="predicted, by a fit to the other sources [s]",
        title=f"{'From specs' if mode == 'specs' else 'Anchored on one accelerator'}: {len(rows)} runs; "
        "bands 10 and 20 %",
    )
    axes.legend(fontsize=7)
    return figure


def _coverage(rows: dict[str, list[Row]]) -> Any:
    """Return a figure of the share of runs inside intervals of each level, by mode.

    Intervals of other levels are the 80 % intervals scaled by quantiles of the normal law.
    """
    from statistics import NormalDist

    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(5.5, 4.5))
    for colour, (mode, own) in zip(COLOURS, rows.items(), strict=False):
        inside = [(r.low_80 or 0) <= (r.measured or 0) <= (r.high_80 or 0) for r in own]
        axes.plot(0.8, sum(inside) / len(inside), "o", color=colour, label=f"{mode}, 80 % interval")
        # at other levels: distance in units of the 80 % half width
        ratios = sorted(
            abs(math.log((r.predicted or 1) / (r.measured or 1)))
            / math.log((r.high_80 or 2) / (r.predicted or 1))
            for r in own
        )
        levels = [i / 100 for i in range(5, 100)]
        widths = [NormalDist().inv_cdf(0.5 + level / 2) / NormalDist().inv_cdf(0.9) for level in levels]
        share = [sum(ratio <= width for ratio in ratios) / len(ratios) for width in widths]
        axes.plot(levels, share, color=colour, lw=1, alpha=0.7)
    axes.plot([0, 1], [0, 1], color="black", lw=0.8)
    axes.set(xlabel="level of the interval", ylabel="share of runs inside", title="Coverage, out of sample")
    axes.legend(fontsize=7)
    return figure
