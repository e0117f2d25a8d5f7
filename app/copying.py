"""Popovers that copy their text to the clipboard as they open, and say that they did."""

from __future__ import annotations

import streamlit as st

from app.plain import plain

BY_HAND = "Select the text, or use the icon at its top right."
"""What a popover says where nothing was copied."""
COPIED = "Copied. Paste it where you need it."
SCRIPT = f"""
<script>
if (!window.popoversCopy) {{
  window.popoversCopy = true;
  const write = async (code) => {{
    try {{ await navigator.clipboard.writeText(code.textContent); return true; }} catch {{
      getSelection().selectAllChildren(code);  // all that a page without https may copy
      return document.execCommand("copy");
    }}
  }};
  const copy = async (tries) => {{
    const note = document.querySelector("[data-testid=stPopoverBody] .copied");
    const code = note?.closest("[data-testid=stPopoverBody]").querySelector("pre code");
    if (code) note.textContent = (await write(code)) ? "{COPIED}" : "{BY_HAND}";
    else if (tries) setTimeout(copy, 50, tries - 1);
  }};
  addEventListener("click", (event) => {{
    const button = event.target.closest?.("[data-testid=stPopover] button");
    if (button?.textContent.includes("Copy")) setTimeout(copy, 50, 40);
  }}, true);
}}
</script>
"""
"""Copies the text of a popover when the button that opens it is clicked, which browsers allow for seconds."""


def popover(label: str, text: str, language: str | None = None, more: str = "") -> None:
    """Draw a button that copies a text and shows it; its label begins with "Copy".

    Parameters
    ----------
    label : of the button
    text, language : as of ``st.code``
    more : what to know of the text, not copied
    """
    with st.popover(label):
        st.html(f'<p class="copied" role="status">{BY_HAND}</p>')
        st.code(text, language=language, wrap_lines=True)
        if more:
            st.caption(plain(more))
