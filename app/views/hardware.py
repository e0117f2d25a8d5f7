"""Page Hardware: the catalogue with the source of each number, and forms for a user's own specs."""

import json
from collections.abc import Callable
from html import escape
from itertools import accumulate
from typing import Any

import streamlit as st

from app import (
    answer_card,
    charts,
    hardware,
    hardware_numbers,
    history,
    own_uploads,
    scatter_charts,
    session_hardware,
)
from app.layout import PageRequest, copy_buttons, download_buttons, errors_shown, options_form, sentence
from app.looks import refused_words
from app.options import offered, one_of
from app.plain import markdown, plain
from perfmodel.core.errors import InputError
from perfmodel.hardware.catalogue.kinds import KINDS, Kind
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.prediction.answer_card import Card

START = {"kind": "accelerators", "id": "v100-sxm2-16gb"}
FORMATS = ("fp32", "fp16", "bf16")
LETTER, WIDEST_NAME, NUMBER, WIDTH = 6, 250, 7, 1250
# Of the list [px]: each letter of a name, the first column at most, each letter above a column of numbers,
# and all columns that are drawn at first.
TAKEN = "own-taken"
# Session key: which of the two forms was submitted, and its result.
KIND = one_of("kind", KINDS, "accelerators", "What the table lists.")
ID = one_of(
    "id", offered("hardware", Catalogue.built_in()), "v100-sxm2-16gb", "The spec whose numbers are shown."
)._replace(label="Details of", offers="hardware")


def picture(kind: Kind, shown: str, name: str) -> None:
    """Draw a chart of all specs of a kind by two main numbers and mark the shown one by its name."""
    if kind == "software":
        return
    catalogue = session_hardware.catalogue()
    points: list[tuple[float, float, Any]]
    if kind == "accelerators":
        result = [catalogue.accelerator(id) for id in catalogue.ids("accelerators")]
        points = [(spec.memory_bandwidth.value, spec.usual_peak, spec) for spec in result]
        titles = ("memory bandwidth [B/s]", "peak in 16 bits, else fp32 [FLOP/s]")
    elif kind == "links":
        points = [
            (link.bandwidth.value, link.hop_latency.value, link)
            for link in map(catalogue.link, catalogue.ids("links"))
        ]
        titles = ("bandwidth, one direction [B/s]", "latency of a hop [s]")
    else:
        nodes = [catalogue.node(id) for id in catalogue.ids("nodes")]
        points = [(node.accelerators, node.nics or 1, node) for node in nodes]
        titles = ("accelerators of a machine [1]", "network adapters [1]")
    mine = {file.stem for file in session_hardware.specs()}
    groups: dict[str, list[tuple[float, float, Any]]] = {}
    if kind != "links":
        groups = {group: [] for group in hardware.groups(catalogue, kind)}
    for point in points:
        id = point[2].id
        group = kind if kind == "links" else hardware.origin(catalogue, kind, id).group
        groups.setdefault(name if id == shown else "your own" if id in mine else group, []).append(point)
    groups[name] = groups.pop(name, [])  # the last, which is the largest
    charts.draw(
        scatter_charts.catalogue(groups, *titles), f"{kind}-chart", f"{titles[1]} against {titles[0]}"
    )


def add() -> None:
    """Draw the two forms for a user's own spec: fields of an accelerator, or TOML."""
    st.caption(
        "Kept for this session only, and offered on every page; an address names the file, and whoever opens "
        "it needs the file too (see “The file”)."
    )
    by_form, as_toml = st.tabs(["An accelerator, by form", "Anything, as TOML"])
    with by_form, st.form("own-accelerator", border=False):
        st.selectbox(
            "Based on the accelerator", session_hardware.catalogue().ids("accelerators"), key="form-like"
        )
        st.text_input("Name", placeholder="e.g. my-gpu", key="form-id")
        for field, (label, _, example) in hardware.FIELDS.items():
            st.text_input(label, placeholder=f"the same, or e.g. {example}", key=f"form-{field}")
        for kind in FORMATS:
            st.text_input(
                f"Peak rate in {kind}, without sparsity",
                placeholder="the same, or e.g. 125TFLOP/s",
                key=f"form-{kind}",
            )
        st.form_submit_button("Check and use it", on_click=take, args=(by_the_form,))
        say_taken(by_the_form)
    with as_toml, st.form("own-toml", border=False):
        st.file_uploader("A spec file", type=["toml"], max_upload_size=1, key="toml-file")
        st.text_area(
            "Or its text", height=280, key="toml-text", placeholder="Copy one from “The file” and change it."
        )
        st.form_submit_button("Check and use it", key="use-toml", on_click=take, args=(by_the_text,))
        say_taken(by_the_text)
    if session_hardware.specs():
        st.markdown("Yours: " + ", ".join(f"`{path.stem}`" for path in session_hardware.specs()))
        st.button("Forget them", on_click=own_uploads.leave_out, args=("specs",), key="forget-specs")


def by_the_form() -> str:
    """Return the text of the spec file that the fields describe.

    Raises
    ------
    InputError : an unreadable number, or an id that exists
    """
    session = st.session_state
    numbers = {field: text for field in hardware.FIELDS if (text := session[f"form-{field}"])}
    peaks = {kind: text for kind in FORMATS if (text := session[f"form-{kind}"])}
    return hardware.accelerator_toml(session["form-like"], session["form-id"], numbers, peaks)


def by_the_text() -> str:
    """Return the text of the uploaded spec file, or else of the text field.

    Raises
    ------
    InputError : the file is not UTF-8
    """
    file = st.session_state["toml-file"]
    try:
        return str(file.getvalue().decode("utf-8") if file else st.session_state["toml-text"])
    except UnicodeDecodeError:
        raise InputError(f"{file.name}: not UTF-8 text; expected TOML") from None


def take(text_of: Callable[[], str]) -> None:
    """Store and use the spec file of a form in the next run; the callback of the form's button."""
    session = st.session_state
    try:
        session[TAKEN] = (text_of.__name__, hardware.use_spec(text_of()))
        history.note_action()
    except InputError as error:
        session[TAKEN] = (text_of.__name__, refused_words(error))


def say_taken(text_of: Callable[[], str]) -> None:
    """Draw the result of a form: the stored spec with findings about it, or the error."""
    form, result = st.session_state.get(TAKEN, ("", ""))
    if form != text_of.__name__:
        return
    del st.session_state[TAKEN]
    if isinstance(result, str):
        st.error(plain(result))
        return
    st.success(plain(f"{result.id} is checked, and every page offers it."))
    for finding in result.findings:
        st.warning(plain(finding))


def page(request: PageRequest) -> None:
    """Draw the page: the shown spec, the forms for one's own, the catalogue of its kind, and sources."""
    kind: Kind = request.picked.get("kind", "accelerators")
    with errors_shown():
        id = request.picked.get("id", START["id"])
        catalogue = session_hardware.catalogue()
        kind_of_id, result = catalogue.find(id)
        rows = hardware.listed(catalogue, kind)
    summary = sentence(hardware_numbers.in_short(result))
    standing = hardware.standing(catalogue, kind_of_id, result)
    card = Card(advice=f"{standing} {summary}".strip())
    with request.top:
        st.subheader(plain(f"What is known of the {result.name}?"), anchor=False)
        # the choice comes next, then all numbers
        answer_card.show(Card(advice=standing or summary), hardware_numbers.figures(result))
    with st.expander("Hardware of your own"):
        add()
    picture(kind, id, escape(result.name))
    if result.note:
        st.caption(plain(sentence(f"note: {result.note}")))
    for group, numbers in hardware_numbers.grouped(result).items():
        with st.expander(group), st.container(key=f"sources-{group.partition(' ')[0]}"):
            st.markdown(markdown(numbers, right=("value",)))
    with st.expander("The file"):
        text = hardware.text_of(catalogue, id)
        st.code(text, language="toml")
        st.download_button("Download the file", text, f"{id}.toml", "application/toml", on_click="ignore")
    counted = "; 1 GiB of memory is 1.074 GB" if kind == "accelerators" else ""
    drawn = _at_first(rows)
    more = ". The eye above the table shows more columns" if len(drawn) < len(rows[0]) else ""
    st.caption(f"All {len(rows)} {kind}, the newest first{counted}{more}")
    st.dataframe(rows, hide_index=True, placeholder="", column_config=_columns(rows), column_order=drawn)
    with st.container(horizontal=True):
        command = "specs show " + id
        copy_buttons(command, {}, _python(kind_of_id, id), card=card)
        download_buttons("hardware", rows, json.dumps({"rows": rows, "spec": result.model_dump(mode="json")}))


def _at_first(rows: list[dict[str, Any]]) -> list[str]:
    """Return the columns of the list that a wide window shows without scrolling."""
    longest = {name: max(len(str(row[name] or "")) for row in rows) for name in rows[0]}
    letters = (max(len(name.replace(" peak", "")), longest[name]) for name in longest)
    ends = accumulate(NUMBER * (count + 2) for count in letters)
    return [name for name, end in zip(longest, ends, strict=True) if end <= WIDTH]


def _columns(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return how columns of the list are drawn: names in full, numbers with separators."""
    wide = LETTER * max(len(row["name"]) + 5 for row in rows)
    columns: dict[str, Any] = {"name": st.column_config.TextColumn(width=min(wide, WIDEST_NAME))}
    for name in rows[0]:
        if any(isinstance(row[name], float) for row in rows):
            label = name.replace(" peak", "")
            width = NUMBER * (len(label) + 2)
            columns[name] = st.column_config.NumberColumn(label, width=width, format="localized")
    return columns


def _python(kind: str, id: str) -> str:
    """Return Python code that gives the page's answer."""
    return (
        "from perfmodel.hardware.catalogue.store import Catalogue\n\n"
        f"print({session_hardware.catalogue_words() or 'Catalogue()'}.{kind.removesuffix('s')}({id!r}))"
    )


page(
    options_form(
        "hardware",
        {},
        body=(
            ID,
            KIND._replace(label="List of all"),
        ),
        start=START,
    )
)
