"""First page: asks what is trained, on what and within what, and leads to the page that answers."""

from typing import Any

import streamlit as st

from app import file_marks, history, quotes, session_hardware
from app.menu import FIRST
from app.options import Option, one_of, options, text_of, written
from app.state import choose, chosen, close_page, newest, open_page, widget
from perfmodel.workloads import workload

PAGE = FIRST[0]
RENT, OWN, QUOTE, RUN = "machines_to_rent", "my_own_machines", "a_quote", "a_run_I_measured"
# What the question is about.
TOKENS, IMAGES = "tokens_per_second", "images_per_second"
# Usual quantity of a quote, of transformers and of other networks.


def asked(name: str, of: Option, **more: Any) -> Option:
    """Return an option of another page under a name and a session key of this page's own.

    The names differ from those of Predict, whose shared addresses of old are those of the root.
    """
    return of._replace(name=name, session=f"{PAGE}-{name}", **more)


TRAIN = asked("train", options()["workload"], label="What do you train?")
ON = one_of("on", (RENT, OWN, QUOTE, RUN), RENT, "")._replace(
    label="What is your question about?", kind="radio"
)
DEADLINE = asked("within", options("plan")["deadline"], label="By when, e.g. 60d", usual="no matter")
BUDGET = asked("for", options("plan")["budget"], label="For how much [USD]", usual="no matter")
LENGTH = asked("on-tokens", options("plan")["tokens"], label="On how many tokens", usual="say how many")
MACHINE = asked("machine", options()["node"], label="Which machine")
GPUS = asked("of-gpus", options()["gpus"], label="How many GPUs")
BATCH = asked("batch", options()["global-batch-size"], label="Samples in a step")
QUANTITY = one_of("promised", quotes.QUANTITIES, TOKENS, "What the quote states.")._replace(
    label="What does it promise?"
)
VALUE = text_of("value", str, "", "The figure, with its unit: 40000, 90%, 5PFLOP/s, 1h.")._replace(
    label="How much, e.g. 400000"
)
MEASURED = asked(
    "took",
    options("diagnose")["measured"],
    label="How fast was it, e.g. 400ms or 3000tok/s/gpu",
    usual="or a file, on the next page",
)
EVERY = (TRAIN, ON, DEADLINE, BUDGET, LENGTH, MACHINE, GPUS, BATCH, QUANTITY, VALUE, MEASURED)
OF_TRANSFORMERS = (LENGTH, BATCH)
FIELDS = {
    RENT: (LENGTH, DEADLINE, BUDGET),
    OWN: (MACHINE, GPUS, BATCH),
    QUOTE: (MACHINE, GPUS, QUANTITY, VALUE),
    RUN: (MACHINE, GPUS, MEASURED),
}
# Question -> its fields.
START = {
    "train": "llama-3-70b",
    "on": RENT,
    "within": "60d",
    "on-tokens": "1T",
    "machine": "dgx-h100",
    "of-gpus": 64,
    "batch": 256,
    "promised": TOKENS,
}
INSTEAD = {"llama-3-8b": "Llama 3 8B", "llama-3-70b": "Llama 3 70B", "resnet50": "ResNet-50"}
# Networks that are one click away.
GOES_AS = {
    "train": "workload",
    "within": "deadline",
    "for": "budget",
    "on-tokens": "tokens",
    "machine": "node",
    "of-gpus": "gpus",
    "batch": "global-batch-size",
    "promised": "quantity",
    "value": "value",
    "took": "measured",
}
# Option of this page -> that of the page that answers.
LARGER = "fleets"
# Page that answers for whole machines, more of which are added, and whose batch grows with them.
EXAMPLES: dict[str, tuple[str, dict[str, str]]] = {
    "25 or 100 Gbit/s for 32 V100s?": (
        "compare",
        {
            "accelerator": "v100-sxm2-16gb",
            "gpus": "32",
            "inter-link": "ethernet-25g-tcp",
            "b-inter-link": "ethernet-100g-tcp",
            "c-inter-link": "ethernet-100g-rdma",
        },
    ),
    "Parameter server or ring?": (
        "scale",
        {
            "node": "pcie-workstation-1gpu",
            "accelerator": "v100-sxm2-16gb",
            "gpus": "2,4,8,16,32",
            "inter-link": "ethernet-25g-tcp",
            "strategy": "parameter-server",
            "servers": "8",
            "strategies": "all-reduce",
        },
    ),
    "How far does VGG-16 scale?": ("scale", {"workload": "vgg16", "gpus": "1,2,4,8,16,32,64,128"}),
    "BERT on 64 H100s": (
        "predict",
        {"workload": "bert-large", "accelerator": "h100-sxm5-80gb", "gpus": "64", "precision": "bf16"},
    ),
    "What do four more DGX A100 add to eight?": (
        LARGER,
        {
            "workload": "bert-large",
            "machine": "dgx-a100-80gb",
            "machines": "8",
            "how-many": "4",
            "samples": "1e9",
        },
    ),
    "Which layout for Llama 70B on 512 H100s?": (
        "transformers",
        {"workload": "llama-3-70b", "gpus": "512", "global-batch-size": "1024", "node": "dgx-h100"},
    ),
}
# Question -> the page that answers it, and its query.


def to_predict_if_its_address() -> None:
    """Open Predict if the address is one of the time when Predict was at the root: ``/?gpus=32``."""
    words = {spelling for option in EVERY for spelling in option.spellings}
    url, has_arrived = history.arrival(PAGE, words)
    if has_arrived and url.keys() - words:
        given = {name: st.query_params.get_all(name) for name in url}
        st.switch_page("views/predict.py", query_params=given)


def is_transformer(name: str | None) -> bool:
    """Return whether a network has tokens."""
    return name is not None and bool(workload(name).tokens)


def take(name: str) -> None:
    """Choose a network for the next run of the page."""
    choose({TRAIN: name})


def fields(on: str, has_tokens: bool) -> list[Option]:
    """Return the fields of a question."""
    return [option for option in FIELDS[on] if has_tokens or option not in OF_TRANSFORMERS]


def query(picked: dict[str, Any], on: str, has_tokens: bool, leads_to: str) -> dict[str, str]:
    """Return the query of the page that answers a question."""
    if leads_to == LARGER:
        return of_machines(picked)
    names = ["train", *(option.name for option in fields(on, has_tokens))]
    result = {GOES_AS[name]: written(picked[name]) for name in names if name in picked}
    if on == QUOTE and result.get("quantity", TOKENS) == TOKENS:
        result["quantity"] = TOKENS if has_tokens else IMAGES
    return result


def of_machines(picked: dict[str, Any]) -> dict[str, str]:
    """Return the query of the page that adds machines to the chosen ones."""
    result = {"workload": written(picked["train"])} if "train" in picked else {}
    if "machine" in picked:
        node = session_hardware.catalogue().node(picked["machine"])
        machines = -(-int(picked.get("of-gpus", node.accelerators)) // node.accelerators)
        result |= {"machine": node.id, "machines": str(machines)}
    return result


def answers(on: str, has_tokens: bool, gpus: int) -> dict[str, str]:
    """Return label of a button -> the page that it opens; the first is the usual one."""
    if on == RENT:
        return {"Find machines": "plan"}
    if on == QUOTE:
        return {"Check the quote": "quote"}
    if on == RUN:
        return {"Say whether that is normal": "diagnose"}
    layouts = {"Find the fastest layout": "transformers"} if has_tokens and gpus > 1 else {}
    return {
        **layouts,
        "Predict an iteration": "predict",
        "Will it fit?": "fits",
        "What would more machines add?": LARGER,
    }


def page() -> None:
    """Draw the page."""
    to_predict_if_its_address()
    known = open_page(PAGE, EVERY, START)
    top = st.container()
    with top:
        st.subheader("What do you want to know?", anchor=False)
        st.markdown("**Say what you train and what about it; the next page answers.**")
    with st.container(border=True, key="asking"):
        train = widget(known["train"])
        with st.container(horizontal=True):
            for name, title in INSTEAD.items():
                if name != train:
                    st.button(f"{title} instead", key=f"train-{name}", on_click=take, args=(name,))
        on = widget(known["on"]) or RENT
        has_tokens = is_transformer(newest(known["train"]))
        with st.container(horizontal=True, vertical_alignment="top", key="page-body"):
            for option in fields(on, has_tokens):
                widget(known[option.name])
        place = st.container(horizontal=True)
    close_page(PAGE, known, top)
    picked = chosen(known)
    with place:
        for index, (label, leads_to) in enumerate(answers(on, has_tokens, picked.get("of-gpus", 1)).items()):
            if st.button(label, type="secondary" if index else "primary", key=f"to-{leads_to}"):
                file_marks.go_to(leads_to, query(picked, on, has_tokens, leads_to))
    st.caption("Or see an example")
    file_marks.examples(EXAMPLES)


page()
