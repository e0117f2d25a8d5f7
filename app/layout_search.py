"""Layouts of a transformer: from the options of ``perfmodel layouts`` to its search, on to a prediction."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from app import session_hardware
from app.answering import answering
from app.options import MONEY, Option, convert, options, some_of, text_of, values
from perfmodel.core.errors import InputError
from perfmodel.hardware.software import DEFAULT_FOR_LAYOUTS
from perfmodel.interfaces.api.layouts import LayoutRow, Layouts
from perfmodel.interfaces.cli.types import Counts
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.options.layout import DEGREES, NEUTRAL, RECOMPUTE, SHARDING
from perfmodel.model.setting.sharing import predicts_tokens
from perfmodel.model.transformers.layout_words import short
from perfmodel.workloads import workload
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
)
"""Of the command."""
PRICES = tuple(name for name in MONEY if name not in ("epochs", "samples", "tokens", "server-price"))
RUN = ("tokens", *PRICES)
"""What says how long a run is and what it costs."""
MOST = 5000
"""Layouts that are kept of an answer, the fastest; of 1,024 accelerators some 1,000 fit."""
KEPT = 6
"""Answers kept for all sessions, of at most some 25 MB each."""
_answers: OrderedDict[tuple[Any, ...], Layouts] = OrderedDict()
_lock = threading.Lock()


@cache
def transformers() -> tuple[str, ...]:
    """Return the networks that have layouts; builds none."""
    return tuple(sorted(name for members in (LANGUAGE | VISION).values() for name in members))


@cache
def known() -> dict[str, Option]:
    """Return the options of the page: the command's, the run's length, what of the answer is shown."""
    of_command = options("layouts")
    result = {name: of_command[name]._replace(session=f"layouts-{name}") for name in QUESTION}
    result["workload"] = result["workload"]._replace(choices=transformers(), label="Transformer")
    result["global-batch-size"] = result["global-batch-size"]._replace(label="Batch of the whole job")
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
"""Which of the layouts found are listed."""
LAYOUT = text_of("layout", str, "", "The layout whose details are shown.", session="layouts-layout")
"""Chosen from the list or the map; in the address by its words."""
_FIELDS = {
    "only-tensor": "tensor_parallel",
    "only-pipeline": "pipeline_parallel",
    "only-context": "context_parallel",
    "only-sharding": "sharding",
    "only-recompute": "recompute",
}


def searched(picked: Mapping[str, Any], file: str | None = None) -> Layouts:
    """Return every layout that fits; the same question is searched for once.

    Parameters
    ----------
    picked : options chosen, by name
    file : of a network of the session's own, in place of the one chosen

    Raises
    ------
    InputError : no question, an unknown name, or nothing fits
    """
    asked = arguments(picked) | ({} if file is None else {"workload": file})
    answers = answering()
    key = (answers.place, tuple(asked.items()), *session_hardware.own_texts())
    with _lock:
        if key in _answers:
            _answers.move_to_end(key)
            return _answers[key]
    answer = answers.layouts(**asked, top=MOST)
    with _lock:
        _answers[key] = answer
        while len(_answers) > KEPT:
            _answers.popitem(last=False)
    return answer


def arguments(picked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the question as the arguments of ``perfmodel.layouts``.

    Raises
    ------
    InputError : a field that is needed and empty
    """
    for name in ("workload", "gpus", "global-batch-size"):
        if name not in picked:
            raise InputError(f"fill in “{known()[name].label}”")
    return values(picked, QUESTION, "layouts")


def as_python(picked: Mapping[str, Any], network: str | None = None) -> str:
    """Return the question in Python; ``network`` is a file's name in place of a known one's."""
    asked = arguments(picked) | ({} if network is None else {"workload": network})
    given = ", ".join(f"{name}={value!r}" for name, value in asked.items())
    if prices := ", ".join(f"{name}={value!r}" for name, value in values(picked, RUN).items()):
        given += f", conditions=perfmodel.Conditions({prices})"
    own = session_hardware.catalogue_words(", catalogue=perfmodel.")
    return f"import perfmodel\n\nanswer = perfmodel.layouts({given}{own})\nprint(answer)"


def listed(answer: Layouts, picked: Mapping[str, Any]) -> tuple[LayoutRow, ...]:
    """Return the rows that the filters leave."""
    rows = answer.rows
    for option in FILTERS:
        if option.name in picked:
            value = picked[option.name]
            allowed = {*(value if option.kind == "choices" else convert(option, value))}
            rows = tuple(row for row in rows if row.layout[_FIELDS[option.name]] in allowed)
    return rows


def distinct(answer: Layouts, rows: tuple[LayoutRow, ...]) -> list[tuple[LayoutRow, int]]:
    """Return those of some rows that differ in time, with how many more take as long."""
    return replace(answer, rows=rows).distinct()


def name_of(layout: Mapping[str, Any]) -> str:
    """Return what a layout is called in the address and the list: its words, and passes of micro-batches.

    >>> name_of({"tensor_parallel": 8, "data_parallel": 4, "sharding": "zero1", "recompute": "none",
    ...     "micro_batch_size": 1, "accumulation_steps": 16})
    'tp8 dp4 zero1, 1 x 16'
    """
    return f"{short(layout)}, {layout['micro_batch_size']} x {layout['accumulation_steps']}"


def as_options(picked: Mapping[str, Any], row: LayoutRow, network: str | None = None) -> dict[str, Any]:
    """Return one layout as the options of a prediction; ``network`` is a file in place of a known name."""
    result = {name: picked[name] for name in QUESTION if name in picked}
    result |= {name: picked.get(name, usual) for name, usual in USUAL.items()}
    result |= {} if network is None else {"workload": network}
    layout = row.layout
    result |= {name.replace("_", "-"): layout[name] for name in DEGREES if layout[name] != 1}
    words = {"sharding": layout["sharding"], "recompute": layout["recompute"]}
    return {**result, **words, "micro-batch-size": layout["micro_batch_size"]}


def as_link(picked: Mapping[str, Any], row: LayoutRow, network: str | None = None) -> dict[str, Any]:
    """Return one layout as the options that ``predict`` takes.

    Of a network that another model answers for where nothing is shared out, those of replicas alone are those
    of that model: the layout's own software, and a micro-batch, are none of them.
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
"""What ``layouts`` takes, and ``predict`` by itself may not."""


def money(picked: Mapping[str, Any], sequence_length: int | None) -> dict[str, Any]:
    """Return the options of prices and failures, and the run's length in samples where its tokens are said.

    Raises
    ------
    InputError : tokens that are no number
    """
    given = {name: picked[name] for name in PRICES if name in picked}
    if (tokens := conditions(picked).tokens) and sequence_length:
        given["samples"] = f"{tokens / sequence_length:.15g}"
    return given


def conditions(picked: Mapping[str, Any]) -> Conditions:
    """Return the length of the run, prices, power and failures, as ``economics`` takes them.

    Raises
    ------
    InputError : a value that does not fit
    """
    return Conditions(**values(picked, RUN))
