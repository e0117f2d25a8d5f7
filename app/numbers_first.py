"""Delays a page's first chart until the browser has painted the numbers above it.

A browser that receives everything at once draws the charts before it shows anything: loading Plotly (4.7 MB)
blocks it for 0.8 s at a session's first chart, and redrawing three charts for 0.1 s at every change.
"""

from __future__ import annotations

import time

import streamlit as st

FIRST_PAUSE = 0.5
"""Pause before the first chart of a session [s], while parts of the page itself still load."""
PAUSE = 0.1
"""Pause before the first chart of every later run of a page [s]."""
DRAWN = "charts-drawn"
"""Session key: whether this run of the page has drawn a chart."""


def begin() -> None:
    """Reset the state at the start of a page's run."""
    if DRAWN in st.session_state:
        st.session_state[DRAWN] = False


def let_paint() -> None:
    """Pause before the first chart of a run, if the client is a browser."""
    drawn = st.session_state.get(DRAWN)
    if not drawn and "Mozilla" in st.context.headers.get("User-Agent", ""):
        time.sleep(FIRST_PAUSE if drawn is None else PAUSE)
    st.session_state[DRAWN] = True
