"""A figure of plain dicts; Plotly's own class checks every change, which takes half of a page's time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import plotly.graph_objects as go


@dataclass
class Figure:
    """Traces and layout with Plotly's names, without checks."""

    data: list[dict[str, Any]] = field(default_factory=list)
    layout: dict[str, Any] = field(default_factory=dict)

    def add_bar(self, **trace: Any) -> None:
        """Add a trace of bars."""
        self.data.append({"type": "bar", **trace})

    def add_scatter(self, **trace: Any) -> None:
        """Add a trace of lines or markers."""
        self.data.append({"type": "scatter", **trace})

    def add_heatmap(self, **trace: Any) -> None:
        """Add a trace of coloured cells."""
        self.data.append({"type": "heatmap", **trace})

    def add_annotation(self, **note: Any) -> None:
        """Add text at a position."""
        self.layout.setdefault("annotations", []).append(note)

    def add_shape(self, **shape: Any) -> None:
        """Add a line or rectangle that is not a trace."""
        self.layout.setdefault("shapes", []).append(shape)

    def add_vline(self, x: float, line: dict[str, Any]) -> None:
        """Add a vertical line over the whole height at ``x``."""
        self.add_shape(type="line", x0=x, x1=x, xref="x", y0=0, y1=1, yref="y domain", line=line)

    def update_layout(self, **more: Any) -> None:
        """Change parts of the layout; None removes one."""
        _merge(self.layout, more)

    def update_xaxes(self, **more: Any) -> None:
        """Change the x axis."""
        self.update_layout(xaxis=more)

    def update_yaxes(self, **more: Any) -> None:
        """Change the y axis."""
        self.update_layout(yaxis=more)

    def axes(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the name of each axis, such as ``x`` or ``y2``, with its part of the layout."""
        for name, axis in self.layout.items():
            if name[1:5] == "axis":
                yield name[0] + name[5:], axis

    def plotly(self) -> go.Figure:
        """Return the figure as Plotly's class, unchecked."""
        return go.Figure([{**trace} for trace in self.data], self.layout, _validate=False)


def _merge(old: dict[str, Any], new: dict[str, Any]) -> None:
    for name, value in new.items():
        if name == "title" and isinstance(value, str):
            old[name] = {**old.get(name, {}), "text": value}
        elif isinstance(value, dict):
            _merge(old.setdefault(name, {}), value)
        elif value is None:
            old.pop(name, None)
        else:
            old[name] = value
