"""The list of pages, which ``server`` serves."""

import sys
from functools import partial
from pathlib import Path

import streamlit as st

HERE = Path(__file__).parent
if str(HERE.parent) not in sys.path:  # the pages import one another as parts of ``app``
    sys.path.insert(0, str(HERE.parent))

from app import history, numbers_first  # noqa: E402
from app.menu import MORE, PAGES, UNKNOWN  # noqa: E402

st.set_page_config(page_title="perfmodel", layout="wide", initial_sidebar_state=336)  # labels fit


def to_predict() -> None:
    """Lead the address that names the first page, as every other page has one, to the page."""
    st.switch_page("views/predict.py", query_params=st.query_params.to_dict())


def to_command(name: str) -> None:
    """Draw the page of a command that has none of its own."""
    from app.command_page import draw

    draw(name)


history.watch()
numbers_first.begin()
# not in a folder ``pages``, which Streamlit would make pages of before this list is read
page = st.navigation(
    [
        *(
            st.Page(
                HERE / "views" / f"{name}.py",
                title=title,
                url_path="" if name == "predict" else name,
                default=name == "predict",
            )
            for name, title in PAGES
        ),
        *(st.Page(partial(to_command, name), title=title, url_path=name) for name, title in MORE),
        st.Page(to_predict, url_path="predict", visibility="hidden"),
        st.Page(HERE / "views" / f"{UNKNOWN}.py", title="No such page", visibility="hidden"),
    ],
    position="top",
)
page.run()
