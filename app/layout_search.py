"""The search of the page Transformers: its options, the cached search, filters, and links to a prediction."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from app import session_hardware
from app.backend import backend
from app.options import MONEY, Option, convert, options, some_of, text_of, values
from perfmodel.core.errors import InputError
from perfmodel.hardware.software import DEFAULT_FOR_LAYOUTS
from perfmodel.interfaces.api.layout_row import LayoutRow
from perfmodel.interfaces.api.layouts import Layouts
from perfmodel.interfaces.cli.types import Counts
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.options.layout import DEGREES, NEUTRAL, RECOMPUTE, SHARDING
from perfmodel.model.setting.sharing import predicts_tokens
from perfmodel.model.transformers.layout_words import short
from perfmodel.workloads import workload
from perfmodel.workloads.built_in import SEQUENCE
from perfmodel.workloads.preset_names import LANGUAGE, VISION

QUESTION = (
    "workload",
    "gpus",
    "global-batch-size",
    "node",
    "accelerator",
    "inter-link",
    "nics",
    "connections",
    "network-cap",
    "sequence-length",
    "framework",
    "precision",
    "lora",
    "routing-nodes",
    "expert-imbalance",
    "capacity-factor",
    "confidence",
)
"""Options of ``perfmodel layouts`` that the page has."""
PRICES = tuple(name for name in MONEY if name not in ("epochs", "samples", "tokens", "server-price"))
RUN = ("tokens", *PRICES)
"""Options for the length and the costs of a run."""
MOST = 5000
"""Most layouts of an answer, the fastest ones; on 1,024 accelerators some 1,000 fit."""
KEPT = 6
"""Answers in the cache of all sessions, of at most some 25 MB each."""
_answers: OrderedDict[tuple[Any, ...], Layouts] = OrderedDict()
_lock = threading.Lock()


@cache
def transformers() -> tuple[str, ...]:
    """Return the names of the networks that have layouts, without building any."""
    families = (LANGUAGE | VISION | {"": SEQUENCE["vision_language"]}).values()
    return tuple(sorted(name for members in families for name in members))


@cache
def page_options() -> dict[str, Option]:
    """Return the options of the page by name: the search's, the run's length and prices, and the filters."""
    of_command = options("layouts")
    result = {name: of_command[name]._replace(session=f"layouts-{name}") for name in QUESTION}
    result["workload"] = result["workload"]._replace(choices=transformers(), label="Transformer")
    result["global-batch-size"] = result["global-batch-size"]._replace(label="Batch of the whole job")
    result["confidence"] = result["confidence"]._replace(label="How sure that it fits, e.g. 80 %")
    result["tokens"] = of_command["tokens"]._replace(
        label="Tokens to train", usual="e.g. 1T", session="layouts-tokens", help="Of the whole run: 1T, 300B."
    )
    result |= {name: options()[name] for name in PRICES}
    return result | {option.name: option for option in (*FILTERS, LAYOUT)}


def _degrees(name: str, label: str) -> Option:
    words = "Degrees to list, e.g. 1,2,4 or 1-8."
    return text_of(name, Counts(), "", words, label=label)._replace(usual="any")


FILTERS = (
    _degrees("only-tensor", "Tensor parallelism"),
    _degrees("only-pipeline", "Pipeline stages"),
    _degrees("only-context", "Context parallelism"),
    some_of("only-sharding", SHARDING, "What replicas share.")._replace(label="Sharding", usual="any"),
    some_of("only-recompute", RECOMPUTE, "What is computed again.")._replace(label="Recompute", usual="any"),
)
"""Options that filter the list of layouts."""
LAYOUT = text_of("layout", str, "", "The layout whose details are shown.", session="layouts-layout")
"""The layout chosen in the list or the map; the address has its name."""
_FIELDS = {
    "only-tensor": "tensor_parallel",
    "only-pipeline": "pipeline_parallel",
    "only-context": "context_parallel",
    "only-sharding": "sharding",
    "only-recompute": "recompute",
}


def fitting_layouts(picked: Mapping[str, Any], file: str | None = None) -> Layouts:
    """Return all layouts that fit, from a cache or a search.

    Parameters
    ----------
    picked : chosen options, by name
    file : path of the user's own network, in place of the chosen one

    Raises
    ------
    InputError : a missing field, an unknown name, or nothing fits
    """
    question = arguments(picked) | ({} if file is None else {"workload": file})
    answers = backend()
    key = (answers.place, tuple(question.items()), *session_hardware.own_texts())
    with _lock:
        if key in _answers:
            _answers.move_to_end(key)
            return _answers[key]
    answer = answers.layouts(**question, top=MOST)
    with _lock:
        _answers[key] = answer
        while len(_answers) > KEPT:
            _answers.popitem(last=False)
    return answer


def arguments(picked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the chosen options as arguments of ``perfmodel.layouts``.

    Raises
    ------
    InputError : a required field is empty
    """
    for name in ("workload", "gpus", "global-batch-size"):
        if name not in picked:
            raise InputError(f"fill in “{page_options()[name].label}”")
    return values(picked, QUESTION, "layouts")


def as_python(picked: Mapping[str, Any], network: str | None = None) -> str:
    """Return Python code for the search; ``network`` is a file's name in place of a known network."""
    question = arguments(picked) | ({} if network is None else {"workload": network})
    given = ", ".join(f"{name}={value!r}" for name, value in question.items())
    if prices := ", ".join(f"{name}={value!r}" for name, value in values(picked, RUN).items()):
        given += f", conditions=perfmodel.Conditions({prices})"
    own = session_hardware.catalogue_words(", catalogue=perfmodel.")
    return f"import perfmodel\n\nanswer = perfmodel.layouts({given}{own})\nprint(answer)"


def filtered(answer: Layouts, picked: Mapping[str, Any]) -> tuple[LayoutRow, ...]:
    """Return the rows of an answer that pass the chosen filters."""
    rows = answer.rows
    for option in FILTERS:
        if option.name in picked:
            value = picked[option.name]
            allowed = {*(value if option.kind == "choices" else convert(option, value))}
            rows = tuple(row for row in rows if row.layout[_FIELDS[option.name]] in allowed)
    return rows


def distinct_rows(answer: Layouts, rows: tuple[LayoutRow, ...]) -> list[tuple[LayoutRow, int]]:
    """Return the rows that differ in time, each with the number of further rows of the same time."""
    return replace(answer, rows=rows).distinct()


def name_of(layout: Mapping[str, Any]) -> str:
    """Return the name of a layout in the address and the list: its degrees, and micro-batch size x passes.

    >>> name_of({"tensor_parallel": 8, "data_parallel": 4, "sharding": "zero1", "recompute": "none",
    ...     "micro_batch_size": 1, "accumulation_steps": 16})
    'tp8 dp4 zero1, 1 x 16'
    """
    return f"{short(layout)}, {layout['micro_batch_size']} x {layout['accumulation_steps']}"


def as_options(picked: Mapping[str, Any], row: LayoutRow, network: str | None = None) -> dict[str, Any]:
    """Return the options of a prediction for one layout; ``network`` is a file in place of a known name."""
    result = {name: picked[name] for name in QUESTION if name in picked}
    result |= {name: picked.get(name, usual) for name, usual in USUAL.items()}
    result |= {} if network is None else {"workload": network}
    layout = row.layout
    result |= {name.replace("_", "-"): layout[name] for name in DEGREES if layout[name] != 1}
    if layout["expert_parallel"] != 1 or layout["expert_tensor_parallel"] != 1:
        result["expert-tensor-parallel"] = layout["expert_tensor_parallel"]
    words = {"sharding": layout["sharding"], "recompute": layout["recompute"]}
    return {**result, **words, "micro-batch-size": layout["micro_batch_size"]}


def as_link(picked: Mapping[str, Any], row: LayoutRow, network: str | None = None) -> dict[str, Any]:
    """Return the options of a link to the page Predict for one layout.

    A purely data-parallel layout of some networks is predicted by the data-parallel model, which has neither
    the layout's software nor micro-batches; then those options are left out.
    """
    result, layout = as_options(picked, row, network), row.layout
    if any(layout[name] not in neutral for name, neutral in NEUTRAL.items() if name in layout):
        return result
    if network or "lora" in picked or predicts_tokens(workload(str(result["workload"]))):
        return result
    kept = {name: value for name, value in result.items() if name not in LAID_OUT_ALONE}
    return {**kept, "accumulation-steps": layout["accumulation_steps"]}


LAID_OUT_ALONE = ("framework", "sharding", "recompute", "virtual-stages", "micro-batch-size")
USUAL = {"framework": DEFAULT_FOR_LAYOUTS, "precision": "bf16"}
"""Defaults of ``layouts`` that those of ``predict`` may differ from."""


def money_options(picked: Mapping[str, Any], sequence_length: int | None) -> dict[str, Any]:
    """Return the options of prices and failures, and the run's length in samples if its tokens are given.

    Raises
    ------
    InputError : tokens that are not a number
    """
    given = {name: picked[name] for name in PRICES if name in picked}
    if (tokens := conditions(picked).tokens) and sequence_length:
        given["samples"] = f"{tokens / sequence_length:.15g}"
    return given


def conditions(picked: Mapping[str, Any]) -> Conditions:
    """Return the run's length, prices, power and failures as ``Conditions``.

    Raises
    ------
    InputError : an invalid value
    """
    return Conditions(**values(picked, RUN))
