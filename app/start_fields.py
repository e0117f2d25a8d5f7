"""What the first page asks about each question, and the query of the page that answers it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app import cases, file_marks, placeholders, quote_words, session_hardware
from app.measured_speed import speed_field
from app.menu import FIRST
from app.names import price_kind
from app.options import Option, one_of, options, text_of, whole_of, written
from app.start_examples import LARGER
from perfmodel.core.units import many
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.setting.sharing import predicts_tokens
from perfmodel.workloads import workload
from perfmodel.workloads.recipes.token_recipes import token_recipe

PAGE = FIRST[0]
RENT, OWN, MORE = "machines_to_rent", "my_own_machines", "machines_to_add"
QUOTE, RUN = "a_quote", "a_run_I_measured"
RUNS = "several_runs_I_measured"
"""What the question is about."""
WHOLE, LORA, QLORA = "all_weights", "LoRA", "QLoRA"
HOW_WORDS = {
    WHOLE: "all weights: from nothing, or a full fine-tuning",
    LORA: "LoRA: a fine-tuning by adapters",
    QLORA: "QLoRA: the same on 4-bit weights",
}
"""Way to train -> what the page shows of it."""
TUNED = {LORA: {"lora": "16"}, QLORA: {"lora": "16", "frozen-weights": "nf4"}}
"""Way to train adapters -> options that say so; 16 is a usual rank."""
TOKENS, IMAGES = "tokens_per_second", "images_per_second"
"""Usual quantity of a quote, of transformers and of other networks."""
AS_LISTED = "as the listing says"
"""Placeholder of machines that the listing in use names."""
NETWORKS = "compare"
"""Page of the question which network to take."""
FAST = 12.5e9
"""Bandwidth of a usual link from which on slower ones are not compared [B/s]."""
LAYOUTS = "transformers"
"""Page of the only question here that has no answer without a batch."""
SAMPLES_PER_GPU = 4
"""Samples of a step for each GPU where nobody says how many; they divide over the GPUs in every layout."""


def asked(name: str, of: Option, **more: Any) -> Option:
    """Return an option of another page under a name and a session key of this page's own.

    The names differ from those of Predict, whose shared addresses of old are those of the root.
    """
    return of._replace(name=name, session=f"{PAGE}-{name}", **more)


TRAIN = asked("train", options()["workload"], label="What do you train?", usual="e.g. Llama 3 8B")
HOW = one_of(
    "how",
    (WHOLE, LORA, QLORA),
    WHOLE,
    "A fine-tuning starts from trained weights, and changes all of them or adapters alone. LoRA trains small "
    "adapters while the network's own weights stay as they are; QLoRA keeps those weights in 4 bits.",
)._replace(label="How do you train it?", kind="radio", session=f"{PAGE}-how", shows=HOW_WORDS.__getitem__)
ON = one_of("on", (RENT, OWN, MORE, QUOTE, RUN, RUNS), RENT, "")._replace(
    label="What is your question about?", kind="radio"
)
DEADLINE = asked("within", options("plan")["deadline"], label="Within what time, e.g. 60d", usual="no limit")
BUDGET = asked("for", options("plan")["budget"], label="For how much [USD]", usual="no limit")
LENGTH = asked("on-tokens", options("plan")["tokens"], label="On how many tokens", usual="say how many")
RENTED = tuple(kind for kind in options("plan")["pricing"].choices if kind != "owned")  # which Plan can price
PRICING = asked("prices", options("plan")["pricing"], choices=RENTED, shows=price_kind)._replace(
    label="Kind of price", kind="pills"
)
"""Pills, as an open list covers the page: a click on the button below it would only close the list."""
MACHINE = asked(
    "machine",
    options()["node"],
    label="Machine or GPU",
    usual="e.g. DGX H100, RTX 4090",
    help="Machine, or a GPU to put into the usual one.",
    offers="machines",
)._replace(choices=(*options()["node"].choices, *options()["accelerator"].choices))
PRESENT = asked("present", options()["node"], label="Machines you have", usual="which?")
PRESENT_NUMBER = whole_of("present-number", "How many of them you have.")._replace(
    label="How many you have", usual="1 (default)"
)
TO_ADD = whole_of("to-add", "How many of them to add.")._replace(
    label="How many to add", usual="half (default)"
)
RUN_TIME = asked("takes", options("plan")["run-time"], usual="unknown")
GPUS = asked("of-gpus", options()["gpus"], label="How many GPUs")
BATCH = asked("batch", options()["global-batch-size"], label="Batch of the whole job [samples]")
SAMPLE = asked("tokens-a-sample", options()["sequence-length"], label="Tokens of a sample", usual="e.g. 1024")
LOCAL_BATCH = asked("batch-per-gpu", options()["local-batch-size"], label="Batch per GPU", usual="as usual")
PRECISION = asked("in", options()["precision"], usual="as usual")
QUANTITY = one_of("promised", quote_words.QUANTITIES, TOKENS, "What the quote states.")._replace(
    label="What does it promise?", shows=quote_words.quantity_words
)
VALUE = text_of("value", str, "", "The figure, with its unit: 40000, 90%, 5PFLOP/s, 1h.")
MEASURED = speed_field(f"{PAGE}-took", "How fast was it, e.g. 400ms or 3000tok/s/gpu")._replace(name="took")
FIELDS = {
    RENT: (LENGTH, DEADLINE, BUDGET, PRICING),
    OWN: (MACHINE, GPUS, SAMPLE, BATCH),
    MORE: (PRESENT, PRESENT_NUMBER, RUN_TIME, BATCH, TO_ADD),
    QUOTE: (MACHINE, GPUS, QUANTITY, VALUE),
    RUN: (MACHINE, GPUS, LOCAL_BATCH, PRECISION, MEASURED),
    RUNS: (),
}
"""Question -> its fields."""
EVERY = (TRAIN, HOW, ON, *dict.fromkeys(option for some in FIELDS.values() for option in some))
FILES: dict[str, file_marks.Kind] = {QUOTE: "quote", RUN: "measured", RUNS: "runs"}
"""Question -> kind of file that answers it instead of fields."""
OF_TRANSFORMERS = {RENT: (LENGTH,), OWN: (SAMPLE, BATCH)}
"""Question -> its fields that only transformers have."""
START = {
    "train": "llama-3-70b",
    "how": WHOLE,
    "on": RENT,
    "within": "60d",
    "machine": "dgx-h100",
    "of-gpus": 64,
    "present": "dgx-h100",
    "present-number": 8,
    "to-add": 4,
    "promised": TOKENS,
}
GOES_AS = {
    "train": "workload",
    "within": "deadline",
    "for": "budget",
    "on-tokens": "tokens",
    "prices": "pricing",
    "of-gpus": "gpus",
    "batch": "global-batch-size",
    "tokens-a-sample": "sequence-length",
    "batch-per-gpu": "local-batch-size",
    "in": "precision",
    "promised": "quantity",
    "value": "value",
    "took": "measured",
    "present": "machine",
    "present-number": "machines",
    "to-add": "how-many",
    "takes": "run-time",
}
"""Option of this page -> that of the page that answers."""


def goes_as(name: str) -> str:
    """Return the option of the page that answers for one of this page; of the machine that of its type."""
    return "node" if name == MACHINE.name else GOES_AS.get(name, name)


def is_transformer(name: str | None) -> bool:
    """Return whether a network has tokens."""
    return name is not None and bool(workload(name).tokens)


def fields(on: str, picked: Mapping[str, Any], is_listed: bool = False) -> list[Option]:
    """Return the fields of a question, with what is taken where nothing is said.

    Parameters
    ----------
    on : the question
    picked : newest values of the page's options
    is_listed : whether the listing in use names the accelerators
    """
    name, has_tokens = picked.get("train"), is_transformer(picked.get("train"))
    tunes = picked.get("how", WHOLE) != WHOLE
    shown = [
        option
        for option in FIELDS[on]
        if (has_tokens or option not in OF_TRANSFORMERS.get(on, ())) and (tunes or option is not SAMPLE)
    ]
    batch = "as usual"
    if on == MORE and name and PRESENT.name in picked:
        node = session_hardware.catalogue().node(picked[PRESENT.name])
        gpus = picked.get(PRESENT_NUMBER.name, 1) * node.accelerators
        batch = placeholders.assumed_batch(workload(name), gpus)
    elif "of-gpus" in picked and not tunes:
        batch = f"as usual, of layouts {picked['of-gpus'] * SAMPLES_PER_GPU}"
    usual = {
        LENGTH: usual_tokens(name) if name and picked.get("how", WHOLE) == WHOLE else "",
        BATCH: batch,
        MACHINE: AS_LISTED if on == RUN and is_listed else "",
    }
    example = quote_words.example(picked.get("promised") or quantity_of(None, has_tokens))
    return [
        option._replace(label=f"How much, e.g. {example}", usual="say how much")
        if option is VALUE
        else option._replace(usual=usual.get(option) or option.usual)
        for option in shown
    ]


def usual_tokens(name: str) -> str:
    """Return how many tokens a network is usually trained on, as a placeholder; "" where there is none.

    >>> usual_tokens("llama-3-8b"), usual_tokens("t5-base")
    ('15 T (default)', '')
    """
    network = workload(name)
    tokens = token_recipe(network).tokens if predicts_tokens(network) else None
    return "" if tokens is None else f"{many(tokens)} (default)"


def quantity_of(chosen: str | None, has_tokens: bool) -> str:
    """Return what a quote promises: of a network without tokens images instead of tokens."""
    return (TOKENS if has_tokens else IMAGES) if chosen in (None, TOKENS) else chosen


def lacking(on: str, picked: Mapping[str, Any], has_file: bool, is_listed: bool = False) -> str:
    """Return what to fill in before the question can be answered; "" if nothing is missing.

    Parameters
    ----------
    on, picked, is_listed : as of ``fields``
    has_file : whether a file of what was measured, or of the quote, is in use

    >>> lacking(QUOTE, {"train": "resnet50", "machine": "dgx-1v"}, has_file=False)
    'Say how much is promised.'
    >>> lacking(OWN, {"train": "resnet50"}, has_file=False), lacking(RENT, START, has_file=False)
    ('Choose a machine or a GPU first.', '')
    """
    if on == RUNS or (on == QUOTE and has_file):
        return ""
    if "train" not in picked:
        return "Choose what you train first."
    if on == MORE and PRESENT.name not in picked:
        return "Choose the machines you have first."
    if on not in (RENT, MORE) and "machine" not in picked and not (on == RUN and is_listed):
        return "Choose a machine or a GPU first."
    if on == QUOTE and "value" not in picked:
        return "Say how much is promised."
    if on == RUN and "took" not in picked and not has_file:
        return "Say how fast it was, or give its log, listing or trace."
    if on == RENT and "on-tokens" not in picked and is_transformer(picked["train"]):
        how = picked.get("how", WHOLE)
        if how != WHOLE or not usual_tokens(picked["train"]):
            return "Say on how many tokens."
    return ""


def query(picked: Mapping[str, Any], on: str, leads_to: str, catalogue: Catalogue) -> dict[str, str]:
    """Return the query of the page that answers a question.

    Parameters
    ----------
    picked : chosen options of the page
    on : the question
    leads_to : the page
    catalogue : hardware
    """
    has_tokens = is_transformer(picked.get("train"))
    tuned = TUNED.get(picked.get("how", WHOLE), {}) if has_tokens else {}
    names = ["train", *(option.name for option in fields(on, picked))]
    result = {GOES_AS[name]: written(picked[name]) for name in names if name in picked and name in GOES_AS}
    if "machine" in names and "machine" in picked:
        kind = "node" if picked["machine"] in catalogue.ids("nodes") else "accelerator"
        result[kind] = picked["machine"]
    if leads_to == LAYOUTS and "batch" not in picked:
        result["global-batch-size"] = str(SAMPLES_PER_GPU * picked.get("of-gpus", 1))
    if on == QUOTE:
        result["quantity"] = quantity_of(picked.get("promised"), has_tokens)
    if leads_to == NETWORKS:
        networks = cases.QUESTIONS[network_question(picked, catalogue)]
        return cases.address([("", {**result, **changed}) for changed in networks])
    return result | tuned


def network_question(picked: Mapping[str, Any], catalogue: Catalogue) -> str:
    """Return the question which network to take for several machines of one's own; "" for any others.

    Without a layout, which decides most of it, it is not asked of a transformer.
    """
    id = picked.get("machine")
    if id not in catalogue.ids("nodes") and id is not None:
        id = catalogue.accelerator(id).usual_node
    if id is None or is_transformer(picked.get("train")):
        return ""
    node = catalogue.node(id)
    if node.rented or picked.get("of-gpus", 1) <= node.accelerators:
        return ""
    is_fast = node.inter_link is not None and catalogue.link(node.inter_link).bandwidth.value > FAST
    return cases.FASTER_NETWORK if is_fast else cases.NETWORK


def answers(on: str, has_tokens: bool, gpus: int, asks_network: bool) -> dict[str, str]:
    """Return label of a button -> the page that it opens; the first is the usual one."""
    if on == RENT:
        return {"Find machines": "plan"}
    if on == MORE:
        return {"Say what they bring": LARGER}
    if on == QUOTE:
        return {"Check the quote": "quote"}
    if on == RUNS:
        return {"Learn from them": "runs"}
    if on == RUN:
        return {"Say whether that is normal": "diagnose"}
    layouts = {"Find the fastest layout": LAYOUTS} if has_tokens and gpus > 1 else {}
    networks = {"Which network?": NETWORKS} if asks_network else {}
    usual = {"Predict an iteration": "predict", "Will it fit?": "fits"}
    return {**layouts, **usual, **networks}
