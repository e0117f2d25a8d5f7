"""What makes the command line start faster."""

from __future__ import annotations

import atexit
import gc
import os
import sys
from types import ModuleType

RARELY = 200_000
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
    """Let the garbage collector wait: imports make many objects that stay, and to look through them all again
    and again, and twice at the end, is a sixth of ``perfmodel predict``.

    The last collection, of modules, runs whether the collector is enabled or not: what is frozen, it skips.
    """
    gc.set_threshold(RARELY, 10, 10)
    atexit.register(gc.freeze)


def on_one_core() -> None:
    """Keep numpy's linear algebra to one thread: its others wait in busy loops from the start, for two fifths
    of the processor time of ``perfmodel predict``, and no matrix here is large enough to need them.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
