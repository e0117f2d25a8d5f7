"""Loads pandas and pyarrow, a third of the server's memory, when a page first draws a table."""

from functools import cache
from importlib import import_module
from threading import RLock

LOADING = RLock()
"""Held while pandas is loaded and while a chart is made.

Plotly uses pandas if it is in ``sys.modules``, where another session may have it half imported.
"""
WITHOUT = ("", "start", "predict", "unknown")
"""Words in the URL of the pages that draw no table before a section is unfolded."""


@cache
def _load() -> None:
    for name in ("pandas", "pyarrow"):
        import_module(name)


def ready() -> None:
    """Load what ``st.dataframe`` needs, once; call it before a page draws a table."""
    with LOADING:
        _load()
