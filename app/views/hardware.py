"""Hardware: the catalogue with where each number comes from, and specs of one's own."""

import json
from typing import Any

import streamlit as st

from app import charts, hardware, session_hardware
from app.layout import Asked, ask, downloads, mistakes_shown, ways_out
from app.options import one_of
from app.plain import plain
from perfmodel.errors import InputError
from perfmodel.specs.store import KINDS

START = {"kind": "accelerators", "id": "v100-sxm2-16gb"}
KIND = one_of("kind", KINDS, "accelerators", "What the table lists.")


def ids() -> tuple[str, ...]:
    """Return every id of the session's catalogue, by kind."""
    catalogue = session_hardware.catalogue()
    return tuple(id for kind in KINDS for id in catalogue.ids(kind))


def picture(kind: str, shown: str) -> None:
    """Draw what tells the things of a kind apart, the one shown with its name."""
    catalogue = session_hardware.catalogue()
    points: list[tuple[float, float, Any]]
    if kind == "accelerators":
        result = [catalogue.accelerator(id) for id in catalogue.ids("accelerators")]
        points = [
            (spec.memory_bandwidth.value, max(peak.value for peak in spec.peak_flops.values()), spec)
            for spec in result
        ]
        titles = ("memory bandwidth [B/s]", "highest dense peak [FLOP/s]")
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
    others = [point for point in points if point[2].id != shown]
    groups = {
        f"other {kind}" if len(others) < len(points) else kind: [
            point for point in others if point[2].id not in mine
        ],
        "your own": [point for point in others if point[2].id in mine],
        shown: [point for point in points if point[2].id == shown],
    }
    charts.draw(charts.catalogue(groups, *titles), f"{kind}-chart", f"{titles[1]} against {titles[0]}")


def add() -> None:
    """Take a spec of one's own, as TOML or by a form."""
    st.subheader("Hardware of your own", anchor=False)
    st.caption("Kept for this session alone, and not part of the address; every page then offers it.")
    by_form, as_toml = st.tabs(["An accelerator, by form", "Anything, as TOML"])
    with by_form, st.form("own-accelerator", border=False):
        like = st.selectbox(
            "Based on the accelerator", session_hardware.catalogue().ids("accelerators"), key="form-like"
        )
        name = st.text_input("Name", placeholder="e.g. my-gpu", key="form-id")
        numbers = {
            field: st.text_input(label, placeholder=f"the same, or e.g. {example}", key=f"form-{field}")
            for field, (label, _, example) in hardware.FIELDS.items()
        }
        peaks = {
            kind: st.text_input(
                f"Peak rate in {kind}, without sparsity",
                placeholder="the same, or e.g. 125TFLOP/s",
                key=f"form-{kind}",
            )
            for kind in ("fp32", "fp16", "bf16")
        }
        if st.form_submit_button("Check and use it"):
            try:
                given = {field: said for field, said in numbers.items() if said}
                formats = {kind: said for kind, said in peaks.items() if said}
                taken(hardware.accelerator_toml(like, name, given, formats))
            except InputError as error:
                st.error(plain(session_hardware.without_folder(str(error))))
    with as_toml, st.form("own-toml", border=False):
        file = st.file_uploader("A spec file", type=["toml"], max_upload_size=1, key="toml-file")
        text = st.text_area(
            "Or its text", height=280, key="toml-text", placeholder="Copy one from “The file” and change it."
        )
        if st.form_submit_button("Check and use it", key="use-toml"):
            try:
                taken(file.getvalue().decode("utf-8") if file else text)
            except UnicodeDecodeError:
                st.error(plain(f"{file.name if file else 'the file'}: not UTF-8 text; expected TOML"))
            except InputError as error:
                st.error(plain(session_hardware.without_folder(str(error))))
    if session_hardware.specs():
        st.markdown("Yours: " + ", ".join(f"`{path.stem}`" for path in session_hardware.specs()))
        st.button("Forget them", on_click=hardware.forget)


def taken(text: str) -> None:
    """Take a file, and say what is wrong with it or what it replaces."""
    id, findings = hardware.take(text)
    st.success(plain(f"{id} is checked, and every page offers it."))
    for finding in findings:
        st.warning(plain(finding))


def page(asked: Asked) -> None:
    """Draw the catalogue."""
    kind = asked.picked.get("kind", "accelerators")
    with mistakes_shown():
        id = asked.picked.get("id", START["id"])
        catalogue = session_hardware.catalogue()
        kind_of_id, result = catalogue.find(id)
        rows = hardware.overview(catalogue, kind)
    numbers = hardware.provenance(result)
    stated = sum(row["basis"] in ("datasheet", "measured") for row in numbers)
    with asked.top:
        st.subheader(result.name, anchor=False)
        st.markdown(
            f"**{stated} of the {len(numbers)} numbers of `{id}` are from a data sheet or measured; the "
            f"catalogue holds {len(rows)} {kind}.**"
        )
    if result.note:
        st.caption(result.note)
    st.dataframe(numbers, hide_index=True, column_config={"address": st.column_config.LinkColumn()})
    with st.expander("The file"):
        st.code(hardware.text_of(catalogue, id), language="toml")
    picture(kind, id)
    st.dataframe(rows, hide_index=True)
    with st.container(horizontal=True):
        command = "specs show " + id
        ways_out(command, {}, _python(kind_of_id, id))
        downloads("hardware", rows, json.dumps({"rows": rows, "spec": result.model_dump(mode="json")}))
    add()


def _python(kind: str, id: str) -> str:
    """The question in Python."""
    return (
        "from perfmodel.specs.store import Catalogue\n\n"
        f"print(Catalogue.built_in().{kind.removesuffix('s')}({id!r}))"
    )


page(
    ask(
        "hardware",
        {},
        body=(
            one_of("id", ids(), "v100-sxm2-16gb", "The spec whose numbers are shown.")._replace(
                label="Details of"
            ),
            KIND._replace(label="List of all"),
        ),
        start=START,
    )
)
