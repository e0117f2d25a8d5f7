"""Fields for what was measured: a log, a listing or a trace, uploaded or pasted as text."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import streamlit as st

from app import file_marks, history, own_uploads, session_hardware, start_fields
from app.looks import refused_words
from app.measured_speed import speed_field
from app.options import Option, options
from app.state import is_by_hand, leave_open, newest
from perfmodel.core.errors import InputError

if TYPE_CHECKING:
    from perfmodel.evidence.traces.nccl_tests import Timings

WIDTH = 720
"""Of the fields [px]."""
PASTED = "pasted.txt"
"""Name of a file whose text was pasted."""
TYPED = speed_field("diagnose-measured", "What you measured")
"""The field of page Diagnose for a time or rate; the last of this and a file counts."""
UPLOAD = "measured-file"
"""Key of the upload field."""
_REFUSED = "pasted-refused"
"""Session key: why the pasted text was refused."""


class _Text(NamedTuple):
    """A pasted text, as an uploaded file."""

    name: str
    text: str

    def getvalue(self) -> bytes:
        """Return the text as bytes."""
        return self.text.encode()


def fields() -> None:
    """Draw the upload field, a box to paste into, and which file is in use.

    A table of runs that was refused can be handed to the page that learns from it.

    Raises
    ------
    InputError : a file or a text that was refused; says why
    """
    key = f"measured-text-{file_marks.times_emptied('measured')}"
    try:
        _fields(key)
    except InputError:
        from perfmodel.evidence.fitting.own_table import is_table_of_runs

        pasted = _Text("runs.csv", st.session_state.get(key) or "")
        for file in (*own_uploads.held("measured", UPLOAD), pasted):
            if is_table_of_runs(file.getvalue().decode("utf-8", "replace")):
                _to_own_runs(file)
                words = "a table of measured runs; of one run give its time or rate, or its log"
                raise InputError(f"{file.name}: {words}") from None
        raise


def _to_own_runs(file: Any) -> None:
    """Draw a button that hands a table of runs to the page that learns from it."""
    with st.container(horizontal=True, vertical_alignment="center"):
        if st.button("Learn from these runs", type="primary", key="to-runs"):
            file_marks.use("runs", [session_hardware.keep("runs", file.name, file.getvalue())])
            file_marks.go_to("runs", {})
        st.caption("Page Your own runs holds them against predictions, and improves those.")


def _fields(key: str) -> None:
    """Draw the fields; ``key`` is that of the box, errors are as of ``fields``."""
    with st.container(width=WIDTH):
        own_uploads.field(
            "measured",
            "Or upload a log, a listing of nccl-tests, or a profiler's trace",
            UPLOAD,
            then=replace_typed,
        )
        st.text_area("Or paste its text", key=key, height=90, on_change=_take, args=(key,))
    named = named_by_listing()
    of = f", on {named}," if named else ""
    own_uploads.in_use_line("measured", f"The measurement in use{of} is in", "Stop using it", called=called)
    if PASTED in [path.name for path in session_hardware.files("measured")]:
        st.caption(f"The copied command reads its text from {PASTED}: save it under that name.")
    refused = st.session_state.get(_REFUSED)
    if refused and st.session_state[key]:
        raise InputError(refused)


def called(file: str) -> str:
    """Return what people call a file: of a text that was pasted, what it is.

    >>> called("train.log")
    'train.log'
    """
    if file != PASTED:
        return file
    return f"the pasted {'text' if listing_in_use() is None else 'listing'}"


def applies(name: str) -> bool:
    """Return whether an option of a diagnosis applies to the file in use; all do without a listing."""
    listing = listing_in_use()
    if listing is None:
        return True
    from perfmodel.decide.diagnosis.listed_accelerator import OF_MACHINES

    if name.replace("-", "_") in (*OF_MACHINES, "accelerators_per_node", "collective", "skip"):
        return True  # a listing of collectives does not state it
    return name == "gpus" and listing.group_size is None


def fitted(option: Option) -> Option:
    """Return an option; the accelerator is that of the listing in use where nobody states it."""
    return (
        option._replace(usual=start_fields.AS_LISTED)
        if option.name == "accelerator" and named_by_listing()
        else option
    )


def named_by_listing() -> str:
    """Return the accelerators that the listing in use names; "" where it names none that is known."""
    listing = listing_in_use()
    if listing is None:
        return ""
    from perfmodel.decide.diagnosis.listed_accelerator import named_accelerator

    is_known = named_accelerator(listing, session_hardware.catalogue()) is not None
    return str(listing.accelerator) if is_known else ""


def replace_typed() -> None:
    """Clear what a file that came into use replaces: a typed speed, and machines that nobody chose.

    Machines of an example or of the page's own start give way where the listing names other accelerators.
    """
    leave_open([TYPED, start_fields.MEASURED])
    for page in ([start_fields.MACHINE], _machines()):
        if _are_contradicted(page):
            leave_open(option for option in page if not is_by_hand(option))


def offer_listed() -> None:
    """Draw a button that clears the machines of page Diagnose, where the listing in use names others."""
    if _are_contradicted(_machines()):
        args = (_machines(),)
        st.button("Take what the listing names", on_click=leave_open, args=args, key="as-listed")


def _machines() -> list[Option]:
    """Return the options of page Diagnose that say what the machines are."""
    return [options()[name] for name in ("node", "accelerator", "intra-link", "inter-link")]


def _are_contradicted(machines: Sequence[Option]) -> bool:
    """Return whether the listing in use names other accelerators than these options state."""
    listing, catalogue = listing_in_use(), session_hardware.catalogue()
    if listing is None:
        return False
    from perfmodel.decide.diagnosis.listed_accelerator import contradicts, stated_accelerator

    said = {option.name: newest(option) for option in machines if newest(option)}
    machine = said.get("machine")
    node = said.get("node") or (machine if machine in catalogue.ids("nodes") else None)
    accelerator = said.get("accelerator") or (machine if machine != node else None)
    stated = stated_accelerator(accelerator, node, catalogue)
    return contradicts(stated, listing, catalogue)


def listing_in_use() -> Timings | None:
    """Return the listing of collectives in the file in use; None without one."""
    file = next(iter(session_hardware.files("measured")), None)
    return None if file is None else _listing(str(file))


@lru_cache(maxsize=64)
def _listing(path: str) -> Timings | None:
    """Return the listing of collectives in a file; None of anything else."""
    from perfmodel.decide.diagnosis.measured import read_measured
    from perfmodel.evidence.traces.nccl_tests import Timings

    try:
        answer = read_measured(path)
    except InputError:
        return None
    return answer if isinstance(answer, Timings) else None


def _take(key: str) -> None:
    """Store and use the pasted text."""
    session = st.session_state
    session.pop(_REFUSED, None)
    text = session[key].strip()
    if text:
        try:
            file_marks.use("measured", [own_uploads.store_upload("measured", _Text(PASTED, f"{text}\n"))])
            replace_typed()
        except InputError as error:
            session[_REFUSED] = refused_words(error)
    history.note_action()
