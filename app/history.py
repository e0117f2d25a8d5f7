"""One entry of the browser's history for each thing a person does, and each entry a whole state.

Streamlit adds an entry for every change of the address, also for those that follow from one another: a
page that opens and completes its address would take two steps back.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from urllib.parse import urlencode

import streamlit as st

from app import looks

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
    """Let what nobody did, such as an address completed by the page, replace the entry before."""
    with st.container(key="page-wide"):
        st.html(
            f"{looks.STYLE}{looks.SCRIPT}{looks.SIDEBAR}{_ONE_ENTRY_A_CHANGE}", unsafe_allow_javascript=True
        )


def arrival(page: str, words: Collection[str]) -> tuple[dict[str, str], bool]:
    """Return the address of a page, and whether it is newer than what the session holds.

    It is where somebody opened it, or came by Back and Forward.  A widget that was changed or clicked
    in this run is newer than the address.  An address without options is the menu's, but on a page that had
    one of its own it is Back's.  The address of the page before, which a click on this one leaves standing
    while that page is on its way, is none of this page's.

    Parameters
    ----------
    words : the query parameters that the page reads; an address of these alone may be its own, whatever the
        page before said
    """
    session, url = st.session_state, st.query_params.to_dict()
    seen = session.get("seen")
    if seen and seen[0] != page and seen[1] == url and url.keys() - set(words):
        url = {}
    is_said = url or (seen and seen[0] == page and page in session.get("without_options", ()))
    return url, bool(is_said) and not session.get("touched") and (page, url) != seen


def act() -> None:
    """Note that somebody changed or clicked something: what the session holds is newer than the address.

    With the click a browser sends the address it shows: it may still be that of before the last change.
    """
    st.session_state.touched = True


def replace(query: Mapping[str, str]) -> None:
    """Complete the address of a page that somebody opens, without an entry of its own.

    Once a document: drawn again while its page changes, it must not bring the old address back.
    """
    address = json.dumps(f"?{urlencode(query)}").replace("<", "\\u003c")
    script = (
        "if (!window.addressIsComplete) { window.addressIsComplete = true; "
        f"if (location.search !== {address}) history.replaceState(history.state, '', {address}); }}"
    )
    with st.container(key="completed"):
        st.html(f"<script>{script}</script>", unsafe_allow_javascript=True)
