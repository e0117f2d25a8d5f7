"""Keeps one entry in the browser's history for each user action, each with the whole state of a page.

Streamlit adds an entry for every change of the address: a page that opens and then completes its address
would need two steps back.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from urllib.parse import urlencode

import streamlit as st

from app import copying, looks

_ONE_ENTRY_A_CHANGE = """
<style>.st-key-page-wide, .st-key-completed { display: none; }</style>
<script>
if (!window.oneEntryAChange) {
  window.oneEntryAChange = true;
  const push = history.pushState.bind(history);
  let acted = false;
  for (const kind of ["pointerdown", "keydown", "drop"])
    addEventListener(kind, () => { acted = true; }, true);
  addEventListener("popstate", () => { acted = false; }, true);
  history.pushState = (state, title, address) => {
    if (acted) push(state, title, address); else history.replaceState(state, title, address);
    acted = false;
  };
}
</script>
"""


def watch() -> None:
    """Install the styles and scripts of all pages; address changes without a user action add no entry."""
    with st.container(key="page-wide"):
        st.html(
            f"{looks.STYLE}{looks.SCRIPT}{looks.SIDEBAR}{copying.SCRIPT}{_ONE_ENTRY_A_CHANGE}",
            unsafe_allow_javascript=True,
        )


def arrival(page: str, words: Collection[str]) -> tuple[dict[str, str], bool]:
    """Return the query of a page's address, and whether it is newer than the session's state.

    It is newer if the user opened the address or used Back or Forward, unless a widget changed in this run.
    An address without options comes from the menu, except on a page that had such an address before, where
    it comes from Back.  The address of the previous page, which is still visible while this page loads, does
    not count.

    Parameters
    ----------
    page : its name in the URL
    words : query parameters that the page reads; an address with only these may be its own, even if it equals
        that of the previous page
    """
    session, url = st.session_state, st.query_params.to_dict()
    seen = session.get("seen")
    if seen and seen[0] != page and seen[1] == url and url.keys() - set(words):
        url = {}
    is_said = url or (seen and seen[0] == page and page in session.get("without_options", ()))
    return url, bool(is_said) and not session.get("touched") and (page, url) != seen


def note_action() -> None:
    """Record that the user changed or clicked something, so that the session is newer than the address.

    The browser sends its address with a click, which may still be that of before the last change.
    """
    st.session_state.touched = True


def complete_address(query: Mapping[str, str]) -> None:
    """Replace the address of a page that was just opened by its complete form, without a new history entry.

    The script runs once in a document, so that a later redraw does not restore the old address.
    """
    address = json.dumps(f"?{urlencode(query)}").replace("<", "\\u003c")
    script = (
        "if (!window.addressIsComplete) { window.addressIsComplete = true; "
        f"if (location.search !== {address}) history.replaceState(history.state, '', {address}); }}"
    )
    with st.container(key="completed"):
        st.html(f"<script>{script}</script>", unsafe_allow_javascript=True)
