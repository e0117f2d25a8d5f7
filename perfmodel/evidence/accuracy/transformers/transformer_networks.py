"""The network that a row trained and its measured time, from the row and from what publishers state."""

from __future__ import annotations

import math
import re
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from perfmodel.core.errors import InputError
from perfmodel.core.files.resources import folder
from perfmodel.evidence.accuracy.measured_table import Line, records
from perfmodel.evidence.accuracy.scenarios import Refused
from perfmodel.evidence.accuracy.transformers import transformer_rules as rules
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.transformers.job import Case
from perfmodel.workloads.architecture import Architecture

USUAL_LENGTH, GPT2_LENGTH, MINGPT_LENGTH = 2048, 1024, 128
"""Tokens of a sample if no source states them: in general, for GPT-2, and with minGPT."""
WORDS, WORDS_GATED = 50304, 32000
"""Vocabulary if no source states it: of networks without and with gated feed-forward layers."""
CAUSAL_FLOPS = ("ml-engineering-steps",)
"""Sources whose FLOP/s count half of all attention scores."""
NAMES_EXPERTS = re.compile(r"\bmoe\b|\bexperts?\b|\d+x\d|\d-?a\d+(\.\d+)?b\b", re.IGNORECASE)
"""Matches the names of mixtures of experts, such as 8x7B and 30B-A3B."""
PARAMETERS_WITHIN = 1.5
"""Largest ratio, up or down, of the computed to the stated number of parameters; embeddings may be
missing."""
MATRIX_PEAK = {"tpu-v3": 123e12}
"""Accelerator -> peak by which sources divide, if it is not the bf16 peak of the specs [FLOP/s]."""

PUBLISHED = {
    "experts": "experts",
    "top_k": "experts_per_token",
    "shared_experts": "shared_experts",
    "expert_feed_forward": "expert_ffn_size",
    "dense_layers": "first_dense_layers",
    "routing_nodes": "routing_nodes",
    **{name: name for name in ("query_rank", "kv_rank", "rope_size", "value_size", "window")},
    "full_frequency": "full_every",
}
"""Field of an ``Architecture`` that only publishers state -> column of ``transformer_architectures.csv``."""
NETWORK = (
    *("workload", "n_params", "n_active_params", "layers", "hidden_size", "ffn_hidden_size", "gated_ffn"),
    *("attention_heads", "kv_heads", "vocab_size", "seq_len"),
)
"""Columns of a row on which its network depends."""


@cache
def _table() -> Path:
    return folder("validation") / "transformer_architectures.csv"


@cache
def _architectures() -> dict[str, dict[str, str]]:
    """Return what publishers state of networks, as columns of a table, by the letters of the name."""
    return {_letters(row["workload"]): row for row in records(_table())}


@cache
def _dense_layers_of_cut() -> dict[str, int]:
    """Return the layers without experts of networks cut to fewer layers, where a publisher states them."""
    return {
        row["workload"]: int(row["dense_layers"])
        for row in records(folder("validation") / "cut_networks.csv")
    }


def _letters(name: str) -> str:
    """Return letters and digits of a network's name in lower case, without its additions."""
    return "".join(filter(str.isalnum, name.partition(" (")[0].partition(" w/")[0])).lower()


TIED = ("Llama-3.2-1B", "Llama-3.2-3B")
"""Gated networks whose logits use the token embeddings: ``tie_word_embeddings`` of their config.json."""


def architecture_of(row: Line) -> Architecture:
    """Return the network that a row names, from its cells and from what the network's publisher states.

    Raises
    ------
    Refused : too little is known of the network, or row and publisher contradict each other
    """
    try:
        return _known_network(*map(row.text, NETWORK))
    except InputError:  # which names file and line
        return _network_of(row)


@lru_cache(maxsize=1024)
def _known_network(*cells: str) -> Architecture:
    """Return the network of a row with these cells in the columns of ``NETWORK``; rows often repeat one."""
    return _network_of(Line(_table(), 0, dict(zip(NETWORK, cells, strict=True))))


def _network_of(row: Line) -> Architecture:
    """Return the network of a row, of whose cells only those of ``NETWORK`` count."""
    name, active = row.text("workload"), row.number("n_active_params")
    parameters, is_t5 = row.number("n_params"), row.text("workload").startswith(("T5", "mT5"))
    known = _architectures().get(_letters(name), {})
    has_experts = bool(known.get("experts")) and (not active or active < 0.99 * (parameters or math.inf))
    if not has_experts and known.get("experts"):
        known = {}
    filled = Line(_table(), 0, known)

    def of(column: str) -> int | None:
        """Return a number from the row or else from the publisher; heads of experts the other way round.

        Rows often state wrong heads for mixtures of experts, but the right number of layers of a proxy.
        """
        first, then = (filled, row) if has_experts and "heads" in column else (row, filled)
        return first.whole(column) or then.whole(column)

    layers, hidden = of("layers"), of("hidden_size")
    if not layers or not hidden:
        if not parameters:
            raise Refused("no architecture", name)
        layers, hidden = rules.gpt_of(parameters)
    heads = of("attention_heads") or rules.heads_of(hidden)
    gated = bool(of("gated_ffn"))
    width = (row.whole("ffn_hidden_size") if not has_experts else None) or filled.whole("ffn_hidden_size")
    kv_heads = of("kv_heads") or heads
    published: dict[str, Any] = {field: filled.whole(column) or 0 for field, column in PUBLISHED.items()}
    published["dense_layers"] = _dense_layers_of_cut().get(name, published["dense_layers"])
    model = Architecture(
        hidden=hidden,
        layers=layers + ("w/ mtp" in name.lower()),
        heads=heads,
        kv_heads=kv_heads,
        head_size=filled.whole("head_size") or round(hidden / heads),
        feed_forward=width or (0 if has_experts else 4 * hidden),
        vocabulary=of("vocab_size") or (WORDS_GATED if gated else WORDS),
        positions=row.whole("seq_len") or USUAL_LENGTH,
        gated=gated,
        tied=not gated or name.startswith(TIED),
        moe_frequency=filled.whole("moe_every") or 1,
        **published,
        encoder_layers=layers if is_t5 else 0,
        target_fraction=rules.TARGET_TOKENS if is_t5 else 1.0,
        bidirectional=name.startswith("BERT"),
        dropout=not gated,
    )
    _check(row, model, filled.whole("layers") or 0)
    return model


def origin_of(row: Line) -> str:
    """Return where layers and widths of ``architecture_of`` come from, in words; "" if from the row alone."""
    if row.whole("layers") and row.whole("hidden_size"):
        return ""
    known = _architectures().get(_letters(row.text("workload")), {})
    if known.get("layers"):
        return "layers and widths as its publisher states them"
    return "nobody states layers or widths: those of a GPT of so many parameters"


def _check(row: Line, model: Architecture, published_layers: int) -> None:
    """Check that the network of a row is the one that the row is about.

    Parameters
    ----------
    row : the row
    model : network as read
    published_layers : layers of the network that the row names, 0 if unknown

    Raises
    ------
    Refused : the experts are not described; the network is cut to fewer layers, and the row does not state
        which of them have experts; or the numbers of parameters differ too much
    """
    name, width = row.text("workload"), row.whole("ffn_hidden_size")
    stated, active = row.number("n_params"), row.number("n_active_params")
    if not model.experts and (
        (stated and active and active < 0.99 * stated)
        or (width and width < model.hidden)
        or NAMES_EXPERTS.search(name)
    ):
        raise Refused("experts not described", name)
    cut = model.layers < published_layers and name not in _dense_layers_of_cut()
    if model.dense_layers and cut:
        raise Refused("cut network, its dense layers not stated", name)
    for number, of in ((stated, model.parameters), (active, model.active_parameters)):
        if number and not 1 / PARAMETERS_WITHIN < of / number < PARAMETERS_WITHIN:
            raise Refused("parameters do not add up", f"{name}, {of / 1e9:.3g} of {number / 1e9:.3g} billion")


def stated_samples(row: Line, length: int) -> float | None:
    """Return the samples of a step that a row states, or its time multiplied by its rate; None for neither.

    Parameters
    ----------
    row : the row
    length : tokens of a sample

    Raises
    ------
    Refused : the row states the time of a step, but nothing from which its samples follow
    """
    samples = row.number("global_batch_size") or rules.PUBLISHED_BATCHES.get(row.text("source"))
    time, rate = row.number("iteration_time"), row.number("tokens_per_second")
    if samples or not time or _counts_samples(row):
        return samples
    if not rate:
        raise Refused("no batch size")
    return time * rate / length


def states_batch(row: Line) -> bool:
    """Whether a row states the samples of a step, or the time of one."""
    stated = row.number("global_batch_size") or row.number("iteration_time")
    return bool(stated) or row.text("source") in rules.PUBLISHED_BATCHES or _counts_samples(row)


def _counts_samples(row: Line) -> bool:
    """Whether a row states micro-batches and their size, from which the samples of a step follow."""
    return bool(row.number("micro_batch_size") and row.number("accumulation_steps"))


def measured_time(row: Line, case: Case, catalogue: Catalogue) -> float:
    """Return the measured time of a step [s]: as stated, or from a rate or a utilisation.

    Parameters
    ----------
    row : the row
    case : the case that it was read as
    catalogue : hardware

    Raises
    ------
    Refused : the row states none of them
    """
    samples, length = float(case.layout.global_batch_size), case.sequence_length
    if stated := row.number("iteration_time"):
        return stated
    if rate := row.number("tokens_per_second"):
        return samples * length / rate
    chip = row.text("accelerator")
    peak = MATRIX_PEAK.get(chip) or catalogue.accelerator(chip).training_peak("amp")[0]
    achieved, factor = (row.number("model_tflops_per_accelerator") or 0.0) * 1e12, 1.0
    achieved = achieved or (row.number("mfu") or 0.0) * peak
    if not achieved:
        achieved, factor = (row.number("hardware_tflops_per_accelerator") or 0.0) * 1e12, 4 / 3
    if not achieved:
        raise Refused("no measured time")
    model = architecture_of(row)
    active = row.number("n_active_params") or row.number("n_params") or float(model.parameters)
    flops = rules.step_flops(model, active, samples, length, row.text("source") in CAUSAL_FLOPS)
    return factor * flops / (achieved * (row.whole("world_size") or 1))


def usual_length(workload: str, framework: str) -> int:
    """Return the tokens of a sample that are assumed if a row does not state them."""
    if "mingpt" in framework.lower():
        return MINGPT_LENGTH
    return GPT2_LENGTH if "GPT-2" in workload else USUAL_LENGTH
