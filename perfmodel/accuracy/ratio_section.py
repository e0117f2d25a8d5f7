"""The report's section on ratios of predictions."""

from __future__ import annotations

from perfmodel.accuracy.ratio_fit import coverages
from perfmodel.templating import render


def section() -> str:
    """Return the section, as Markdown."""
    return render("ratios.md.j2", rows=coverages())
