"""Entry point of the app: the list of pages, one of which Streamlit runs."""

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
    """Switch from the address ``/predict`` to the first page, whose own address is the root."""
    st.switch_page("views/predict.py", query_params=st.query_params.to_dict())


def to_command(name: str) -> None:
    """Draw the generic page of a command without a view."""
    from app.command_page import draw

    draw(name)


history.watch()
numbers_first.begin()
# the folder is not called ``pages``, from which Streamlit would make pages before it reads this list
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
