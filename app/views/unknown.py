"""Page for an address without a page: lists all pages, the likest first."""

from urllib.parse import parse_qs, urlsplit

import streamlit as st

from app.menu import MORE, PAGES, UNKNOWN, likest
from app.plain import plain
from perfmodel.core.errors import shortened


def link(name: str, title: str, query: dict[str, str]) -> None:
    """Draw a link to a page with a query."""
    if name in dict(MORE):  # has no file
        st.markdown(f"[{plain(title)}](/{name})")
    else:
        st.page_link(f"views/{name}.py", label=title, query_params=query)


address = urlsplit(st.query_params.get("address", f"/{UNKNOWN}"))
near = likest(address.path)
st.subheader(plain(f"There is no page {shortened(address.path)}"), anchor=False)
if near:
    st.markdown("Did you mean:")
    query = {name: values[-1] for name, values in parse_qs(address.query).items()}
    for name in near:
        link(name, dict((*PAGES, *MORE))[name], query)
st.markdown("The other pages:" if near else "The pages are:")
with st.container(horizontal=True):
    for name, title in PAGES:
        if name not in near:
            link(name, title, {})
