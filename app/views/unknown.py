"""Unknown: what stands at an address that is no page's, with the pages that there are, the likest first."""

from urllib.parse import parse_qs, urlsplit

import streamlit as st

from app.menu import PAGES, UNKNOWN, likest
from app.plain import plain
from perfmodel.core.errors import shortened


def link(name: str, title: str, query: dict[str, str]) -> None:
    """Draw the way to a page."""
    st.page_link(f"views/{name}.py", label=title, query_params=query)


asked = urlsplit(st.query_params.get("address", f"/{UNKNOWN}"))
near = likest(asked.path)
st.subheader(plain(f"There is no page {shortened(asked.path)}"), anchor=False)
if near:
    st.markdown("Did you mean:")
    query = {name: values[-1] for name, values in parse_qs(asked.query).items()}
    for name in near:
        link(name, dict(PAGES)[name], query)
st.markdown("The other pages:" if near else "The pages are:")
with st.container(horizontal=True):
    for name, title in PAGES:
        if name not in near:
            link(name, title, {})
