"""What makes the command line start faster."""

from __future__ import annotations

import atexit
import gc
import sys
from types import ModuleType

RARELY = 100_000
"""Objects allocated, less those freed, between two collections."""


def without_pydantic_plugins() -> None:
    """Keep pydantic from looking for plug-ins in every installed package; perfmodel has none.

    ``PYDANTIC_DISABLE_PLUGINS`` comes too late: pydantic's loader imports ``importlib.metadata`` first, and
    with it email, zipfile and sockets, a fourteenth of the start of ``perfmodel predict``.  A loader that
    finds nothing takes its place; where pydantic has been imported or rebuilt already, nothing changes.
    """
    if "pydantic" not in sys.modules:
        loader = ModuleType("pydantic.plugin._loader")
        loader.get_plugins = lambda: ()  # type: ignore[attr-defined]
        sys.modules[loader.__name__] = loader


def with_rare_collections() -> None:
    """Let the garbage collector wait: imports make many objects that stay, and looking through them all
    again and again, and once more at the end, is a twelfth of ``perfmodel predict``.
    """
    gc.set_threshold(RARELY, 10, 10)
    atexit.register(gc.disable)
