"""Measures that make the command line start faster."""

from __future__ import annotations

import atexit
import gc
import os
import sys
from types import ModuleType

RARELY = 200_000
"""Allocations, less deallocations, between two garbage collections."""


def without_pydantic_plugins() -> None:
    """Keep pydantic from searching every installed package for plug-ins; perfmodel has none.

    ``PYDANTIC_DISABLE_PLUGINS`` comes too late: pydantic's loader first imports ``importlib.metadata``, and
    with it email, zipfile and sockets, a fourteenth of the start of ``perfmodel predict``.  It is replaced by
    a loader that finds nothing; where pydantic has been imported or rebuilt already, nothing changes.
    """
    if "pydantic" not in sys.modules:
        loader = ModuleType("pydantic.plugin._loader")
        loader.get_plugins = lambda: ()  # type: ignore[attr-defined]
        sys.modules[loader.__name__] = loader


def with_rare_collections() -> None:
    """Collect garbage rarely, and skip it at exit.

    Imports allocate many objects that stay; scanning them repeatedly, twice at exit, takes a sixth of
    ``perfmodel predict``.  The last collection, of modules, runs even if the collector is disabled, but skips
    frozen objects.
    """
    gc.set_threshold(RARELY, 10, 10)
    atexit.register(gc.freeze)


def on_one_core() -> None:
    """Limit numpy's linear algebra to one thread.

    Idle threads spin from the start and take two fifths of the processor time of ``perfmodel predict``, and
    no matrix is large enough to need them.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
