"""Numbers before charts: a page's first chart waits until the browser has painted what stands above it.

A browser that gets all at once draws the charts before it shows anything: reading Plotly (4.7 MB) holds it
for 0.8 s at a session's first chart, and drawing three anew for 0.1 s at every change.
"""

from __future__ import annotations

import time

import streamlit as st

FIRST_PAUSE = 0.5
"""Before the first chart of a session [s]; parts of the page itself are still being read."""
PAUSE = 0.1
"""Before the first chart of every later run of a page [s]."""
DRAWN = "charts-drawn"
"""In the session: whether this run of the page has come to a chart."""


def begin() -> None:
    """Start a run of a page."""
    if DRAWN in st.session_state:
        st.session_state[DRAWN] = False


def let_paint() -> None:
    """Wait before the first chart of a run, where somebody looks at a browser."""
    drawn = st.session_state.get(DRAWN)
    if not drawn and "Mozilla" in st.context.headers.get("User-Agent", ""):
        time.sleep(FIRST_PAUSE if drawn is None else PAUSE)
    st.session_state[DRAWN] = True
