"""The ASGI application of all pages, which ``perfmodel app`` starts."""

import sys
from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware

HERE = Path(__file__).parent
if str(HERE.parent) not in sys.path:  # its modules import one another as parts of ``app``
    sys.path.insert(0, str(HERE.parent))

from app.addresses import Addresses  # noqa: E402

app = st.App(HERE / "main.py", middleware=[Middleware(Addresses)])
