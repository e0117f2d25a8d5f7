"""Entry point of the app: the list of pages, one of which Streamlit runs."""

import sys
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st

HERE = Path(__file__).parent
if str(HERE.parent) not in sys.path:  # the pages import one another as parts of ``app``
    sys.path.insert(0, str(HERE.parent))

from app import history, numbers_first, tables  # noqa: E402
from app.menu import FIRST, GROUPS, MORE, MORE_GROUP, UNKNOWN, place  # noqa: E402

st.set_page_config(page_title="perfmodel", layout="wide", initial_sidebar_state=336)  # labels fit


MARKED = """
.rc-overflow-item[style*="order: NUMBER;"] [data-testid=stTopNavSection] {
  background: rgba(128, 128, 128, 0.2); font-weight: 600;
}
"""
"""Style of the group of the present page in the menu; NUMBER is its place there."""


def to_first() -> None:
    """Switch from the address ``/start`` to the first page, whose own address is the root."""
    st.switch_page(f"views/{FIRST[0]}.py")


def to_command(name: str) -> None:
    """Draw the generic page of a command without a view."""
    from app.command_page import draw

    draw(name)


def view(name: str, title: str, **more: Any) -> st.Page:
    """Return the page of a file below ``views``, whose name is the word in its URL."""
    return st.Page(HERE / "views" / f"{name}.py", title=title, **{"url_path": name, **more})


history.watch()
numbers_first.begin()
# the folder is not called ``pages``, from which Streamlit would make pages before it reads this list
page = st.navigation(
    {
        "": [
            view(*FIRST, url_path="", default=True),
            st.Page(to_first, url_path=FIRST[0], visibility="hidden"),
            view(UNKNOWN, "No such page", visibility="hidden"),
        ],
        **{group: [view(*each) for each in pages] for group, pages in GROUPS.items()},
        MORE_GROUP: [st.Page(partial(to_command, name), title=title, url_path=name) for name, title in MORE],
    },
    position="top",
)
if placed := place(page.url_path):
    number, where = placed
    with st.container(key="place"):  # Streamlit marks the page itself, in a menu that is folded
        st.caption(where)
        st.html(f"<style>{MARKED.replace('NUMBER', str(number))}</style>")
if page.url_path not in tables.WITHOUT:
    tables.ready()
page.run()
