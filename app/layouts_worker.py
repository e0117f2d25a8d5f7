"""The search for layouts of a transformer, in a module that loads without Streamlit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.interfaces.api.layouts import Layouts
from perfmodel.interfaces.calls import layouts


def search_layouts(options: Mapping[str, Any], catalogue: Catalogue) -> Layouts:
    """Return the answer of ``perfmodel.layouts``.

    Raises
    ------
    InputError : an unknown name, a network that is not a transformer, or nothing fits
    """
    return layouts(**options, catalogue=catalogue)
