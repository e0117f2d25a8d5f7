"""The search for layouts of a transformer as bounded ``Work``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.bounded import Work
from app.layouts_worker import search_layouts
from perfmodel.hardware.catalogue.store import Catalogue

QUICK = 8192
"""Accelerators up to which a search takes less time than starting a process, some tenths of a second."""


def work(options: Mapping[str, Any], catalogue: Catalogue) -> Work:
    """Return the search as ``Work``: some thousand layouts, or a hundred thousand on a million accelerators.

    Parameters
    ----------
    options : of ``perfmodel.layouts``
    catalogue : hardware that names refer to
    """
    return Work(
        call=search_layouts,
        arguments=(dict(options), catalogue),
        noun="search",
        doing="Timing every layout",
        less="take fewer accelerators",
        is_quick=options["gpus"] <= QUICK,
    )
