"""The profile that a trace taught: used on every page that predicts, put aside and taken up again."""

from __future__ import annotations

import streamlit as st

from app import history, session_hardware
from app.file_marks import Mark, in_use, use
from app.plain import plain
from perfmodel.model.setting.profile import read_profile

_KNOWN = "own-profile"


def known() -> Mark | None:
    """Return the session's profile, in use or put aside; None without any."""
    session = st.session_state
    session[_KNOWN] = next((m for m in in_use("profile") if session_hardware.has("profile", m)), None) or (
        session.get(_KNOWN)
    )
    result: Mark | None = session[_KNOWN]
    return result


def summary(mark: Mark) -> str:
    """Say of what job a profile is, and from which files."""
    profile = read_profile(str(session_hardware.place("profile", mark)))
    return f"{profile.workload} on {profile.accelerator}: {', '.join(profile.files)}"


def draw_choice() -> None:
    """Offer to use the session's profile, or not."""
    mark = known()
    if mark is not None:
        st.session_state["use-profile"] = session_hardware.profile() is not None
        st.checkbox(
            "Use the profile of my trace",
            key="use-profile",
            on_change=_follow_choice,
            help=plain(summary(mark)),
        )


def _follow_choice() -> None:
    """Use the profile, or put it aside, as the box says."""
    mark = known()
    use("profile", [mark] if mark is not None and st.session_state["use-profile"] else [])
    history.act()


def use_known() -> None:
    """Use the session's profile from now on, where it was put aside."""
    mark = known()
    if mark is not None and session_hardware.profile() is None:
        use("profile", [mark])
        history.act()


def take(name: str, text: str) -> None:
    """Use a profile that was learned on every page that predicts, in the run to come."""
    use("profile", [session_hardware.keep("profile", name, text.encode())])
    history.act()


def forget() -> None:
    """Drop the session's profile."""
    use("profile", ())
    st.session_state.pop(_KNOWN, None)
    history.act()
