"""The profile learned from the user's trace: whether pages use it, and its removal."""

from __future__ import annotations

import streamlit as st

from app import history, session_hardware
from app.file_marks import Mark, in_use, use
from app.plain import plain
from perfmodel.model.setting.profile import read_profile

_KNOWN = "own-profile"


def known() -> Mark | None:
    """Return the mark of the session's profile, in use or not; None if there is none."""
    session = st.session_state
    session[_KNOWN] = next((m for m in in_use("profile") if session_hardware.has("profile", m)), None) or (
        session.get(_KNOWN)
    )
    result: Mark | None = session[_KNOWN]
    return result


def summary(mark: Mark) -> str:
    """Return text on a profile: its network, accelerator and trace files."""
    profile = read_profile(str(session_hardware.place("profile", mark)))
    return f"{profile.workload} on {profile.accelerator}: {', '.join(profile.files)}"


def draw_choice() -> None:
    """Draw a checkbox for the use of the session's profile, if there is one."""
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
    """Start or stop using the profile, as the checkbox says."""
    mark = known()
    use("profile", [mark] if mark is not None and st.session_state["use-profile"] else [])
    history.note_action()


def use_known() -> None:
    """Use the session's profile again, if it is not in use."""
    mark = known()
    if mark is not None and session_hardware.profile() is None:
        use("profile", [mark])
        history.note_action()


def take(name: str, text: str) -> None:
    """Store a learned profile in the session and use it on all pages that predict.

    Parameters
    ----------
    name, text : of its file
    """
    use("profile", [session_hardware.keep("profile", name, text.encode())])
    history.note_action()


def forget() -> None:
    """Remove the session's profile."""
    use("profile", ())
    st.session_state.pop(_KNOWN, None)
    history.note_action()
