"""First page: asks what is trained, on what and within what, and leads to the page that answers."""

from collections.abc import Callable

import streamlit as st

from app import file_marks, history, measured_files, own_uploads, session_hardware, start_fields
from app.looks import refused_words
from app.measured_files import applies, named_by_listing
from app.plain import plain
from app.start_examples import EXAMPLES
from app.start_fields import (
    DEADLINE,
    EVERY,
    FILES,
    HOW,
    MEASURED,
    ON,
    PAGE,
    PRICING,
    QUOTE,
    RENT,
    RUN,
    RUNS,
    START,
    TRAIN,
    WHOLE,
)
from app.state import choose, chosen, clear, close_page, is_by_hand, newest, open_page, widget
from perfmodel.core.errors import InputError

INSTEAD = {"llama-3-8b": "Llama 3 8B", "llama-3-70b": "Llama 3 70B", "resnet50": "ResNet-50"}
# Networks that are one click away.
USUAL = {HOW: WHOLE, PRICING: ("on-demand",)}
# Option -> what is lit unless something else is chosen.
WIDTH, NARROW = 1280, 480
# Of the form and of its first field [px].
NOT_ASKED = {
    RUN: "What you train does not count for a listing of collectives, so it is not asked.",
    QUOTE: "The file states what is promised of what, so it is not asked.",
    RUNS: "Predictions learn from them. Each line of the file says what was trained, so it is not asked.",
}
# Question -> why its file leaves fields out.
RUNS_FILE = (
    "A CSV, a line for each run: workload, accelerator, world_size, local_batch_size, samples_per_second"
)
RUNS_HELP = (
    "Instead of samples_per_second also tokens_per_second or iteration_time. Any other option of a "
    "prediction may be a column. The page Your own runs has a template."
)


def to_predict_if_its_address() -> None:
    """Open Predict if the address is one of the time when Predict was at the root: ``/?gpus=32``."""
    words = {spelling for option in EVERY for spelling in option.spellings}
    url, has_arrived = history.arrival(PAGE, words)
    if has_arrived and url.keys() - words:
        given = {name: st.query_params.get_all(name) for name in url}
        st.switch_page("views/predict.py", query_params=given)


def take(name: str) -> None:
    """Choose a network for the next run of the page."""
    choose({TRAIN: name})


def asked_about(on: str) -> Callable[[str], bool]:
    """Return whether a question asks for an option of the page that answers: not what its file states."""
    if on == RUN:
        return applies
    return lambda name: on != RUNS and (on != QUOTE or not session_hardware.files(FILES[on]))


def own_file(on: str) -> None:
    """Draw the fields for a file that answers a question."""
    if on == RUN:
        measured_files.fields()
    elif on == RUNS:
        own_uploads.field(
            "runs",
            RUNS_FILE,
            "runs-file",
            help=RUNS_HELP,
        )
        own_uploads.in_use_line("runs", "The runs in use are", "Stop using them")
    else:
        own_uploads.field("quote", "Or a quote's file", "quote-file")
        own_uploads.in_use_line("quote", "The quote in use is", "Stop using it")


def page() -> None:
    """Draw the page."""
    to_predict_if_its_address()
    start = {name: value for name, value in START.items() if name != "machine" or not named_by_listing()}
    known = open_page(PAGE, EVERY, start)
    for option, usual in USUAL.items():
        st.session_state.chosen.setdefault(option.key, usual)
    top = st.container()
    with top:
        st.subheader("What do you want to know?", anchor=False)
        st.markdown(
            "**Choose what you train and a question. The next page answers; change every detail there.**"
        )
    is_of_example = newest(known[DEADLINE.name]) == START[DEADLINE.name] and not is_by_hand(DEADLINE)
    if is_of_example and is_by_hand(TRAIN) and newest(known[TRAIN.name]) != START[TRAIN.name]:
        clear([DEADLINE])
    asks = asked_about(newest(known[ON.name]) or RENT)
    has_tokens = start_fields.is_transformer(newest(known["train"]))
    with st.container(border=True, key="asking", width=WIDTH):
        if asks("workload"):
            with st.container(width=NARROW):
                train = widget(known["train"])
            with st.container(horizontal=True):
                for name, title in INSTEAD.items():
                    if name != train:
                        st.button(f"{title} instead", key=f"train-{name}", on_click=take, args=(name,))
            if has_tokens:
                widget(known[HOW.name])
        on = widget(known[ON.name]) or RENT
        said = {option.name: value for option in EVERY if (value := newest(known[option.name])) is not None}
        with st.container(horizontal=True, vertical_alignment="top", key="page-body"):
            for option in start_fields.fields(on, said, bool(named_by_listing())):
                if option.name == MEASURED.name or asks(start_fields.goes_as(option.name)):
                    widget(known[option.name]._replace(label=option.label, usual=option.usual))
        if not asks("workload"):
            st.caption(NOT_ASKED[on])
        if on in FILES:
            try:
                own_file(on)
            except InputError as error:
                st.error(plain(refused_words(error)))
        place = st.container(horizontal=True, vertical_alignment="center")
    close_page(PAGE, known, top)
    picked = chosen(known)
    has_file = on in FILES and bool(session_hardware.files(FILES[on]))
    lacking = start_fields.lacking(on, picked, has_file, bool(named_by_listing()))
    with place:
        asks_network = bool(start_fields.network_question(picked, session_hardware.catalogue()))
        asked = False
        labels = start_fields.answers(on, has_tokens, picked.get("of-gpus", 1), asks_network)
        for index, (label, leads_to) in enumerate(labels.items()):
            # never greyed: a click out of a field whose text is not taken in yet would be lost
            if not st.button(label, type="secondary" if index else "primary", key=f"to-{leads_to}"):
                continue
            asked = True
            if not lacking:
                query = start_fields.query(picked, on, leads_to, session_hardware.catalogue())
                file_marks.go_to(leads_to, {name: text for name, text in query.items() if asks(name)})
        if lacking:
            (st.warning if asked else st.caption)(lacking)
    for heading, some in EXAMPLES.items():
        st.caption(heading)
        file_marks.examples(some)


page()
