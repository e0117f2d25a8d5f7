"""A search for the layouts of a transformer as a bounded piece of work."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.bounded import Work
from app.layouts_worker import searched
from perfmodel.hardware.catalogue.store import Catalogue

QUICK = 8192
"""Accelerators: a search on no more takes less than a process does to start, some tenths of a second."""


def work(options: Mapping[str, Any], catalogue: Catalogue) -> Work:
    """Return the work: some thousand layouts at once, or a hundred thousand on a million accelerators.

    Parameters
    ----------
    options : of ``perfmodel.layouts``
    catalogue : hardware to choose from
    """
    return Work(
        call=searched,
        arguments=(dict(options), catalogue),
        noun="search",
        doing="Timing every layout",
        less="take fewer accelerators",
        is_quick=options["gpus"] <= QUICK,
    )
