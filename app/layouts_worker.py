"""Every layout of a transformer, searched for without a page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.interfaces.api.layouts import Layouts
from perfmodel.interfaces.calls import layouts


def searched(options: Mapping[str, Any], catalogue: Catalogue) -> Layouts:
    """Return what ``perfmodel.layouts`` does.

    Raises
    ------
    InputError : an unknown name, a network that is no transformer, or nothing that fits
    """
    return layouts(**options, catalogue=catalogue)
