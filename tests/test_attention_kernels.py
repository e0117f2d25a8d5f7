"""Attention's rate against length, compared with what authors of kernels publish; nothing is fitted to it."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from perfmodel.equations.transformer_products import fused_attention_time
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.transformers.machine import chip_of
from perfmodel.model.transformers.parameters import fitted

ROOT = Path(__file__).parent.parent
TABLE = ROOT / "validation" / "attention_kernels.csv"
PAGE = ROOT / "docs" / "accuracy" / "attention-kernels.md"
TOKENS, HIDDEN = 16384, 2048
"""Tokens of a batch and features of all heads, in every published run."""
BACKWARD_FLOPS = 2.5
"""FLOP of a backward pass over those of a forward pass, as publications count them."""
FITTED = {"flash2": "flash_hopper", "flash3": "flash_newest", "cudnn9": "flash_newest"}
"""Kernel -> the learned share of the best product's rate that stands for it on Hopper."""

with TABLE.open(newline="") as file:
    ROWS = list(csv.DictReader(file))


def predicted(row):
    """Return the rate of a published run by the model [FLOP/s], counted as its publication counts."""
    parameters = fitted().parameters
    length, head = int(row["sequence_length"]), int(row["head_size"])
    attended = 1 if row["causal"] == "1" else 2
    chip = chip_of(Catalogue.built_in().accelerator(row["accelerator"]))
    rate = chip.product_rate * parameters[FITTED[row["kernel"]]]
    time = fused_attention_time(TOKENS, length, HIDDEN / head, head, head, attended, rate)
    flops = 2 * TOKENS * length * HIDDEN * attended
    if row["pass"] == "backward":
        return BACKWARD_FLOPS * flops / (parameters["flash_backward"] * time)
    return flops / time


def error(row):
    """Return predicted over published rate, less 1."""
    return predicted(row) / (float(row["tflops"]) * 1e12) - 1


def rows(**where):
    """Return the published runs with these values."""
    return [row for row in ROWS if all(row[name] == value for name, value in where.items())]


@pytest.mark.parametrize("kernel", ["flash2", "flash3"])
@pytest.mark.parametrize("way", ["forward", "backward"])
def test_long_sequences_run_at_the_published_rate(kernel, way):
    """Heads of 128 from 8,192 tokens on: what training runs taught is what the kernel's authors measured."""
    for row in rows(kernel=kernel, head_size="128") if way == "forward" else rows(kernel=kernel):
        if row["pass"] == way and int(row["sequence_length"]) >= 8192:
            assert abs(error(row)) < 0.12, row


def test_small_and_large_heads_run_as_the_formula_says():
    """Heads of 64 and 256 with FlashAttention 3, whose rate the formula takes from that of 128."""
    for row in rows(kernel="flash3", **{"pass": "forward"}):
        if int(row["sequence_length"]) >= 8192:
            assert abs(error(row)) < 0.20, row


def test_short_sequences_are_slower_than_the_model_says():
    """The published rate rises with length, ours does not: below 2,048 tokens the model is too fast."""
    for row in ROWS:
        others = {name: row[name] for name in ("source", "kernel", "pass", "causal", "head_size")}
        longest = max(rows(**others), key=lambda each: int(each["sequence_length"]))
        assert float(row["tflops"]) <= 1.05 * float(longest["tflops"])
    causal = rows(kernel="flash3", causal="1", head_size="128")
    errors = [error(row) for row in sorted(causal, key=lambda each: int(each["sequence_length"]))]
    assert errors == sorted(errors, reverse=True)
    assert errors[0] > 1


def test_a_rate_by_length_would_move_a_step_little():
    """A step of Llama 3 8B, if attention ran at the published rate of its length."""
    from perfmodel import predict

    for length, most in ((4096, 0.012), (8192, 0.013)):
        job = {"workload": "llama-3-8b", "node": "dgx-h100", "gpus": 8, "sequence_length": length}
        step = predict(**job, framework="megatron-core@2025", micro_batch_size=1)
        row = rows(kernel="flash3", causal="1", head_size="128", sequence_length=str(length))[0]
        moved = step.terms["attention_time"] * error(row) / step.iteration_time
        assert 0 < moved < most


def test_the_page_states_the_table():
    """Each line of the page is made from the table and the model."""
    text = PAGE.read_text("utf-8")
    for line in page_lines():
        assert line in text


def page_lines():
    """Yield the lines of the page's table: published and predicted TFLOP/s by length."""
    kinds = {tuple(row[name] for name in ("source", "kernel", "pass", "causal", "head_size")) for row in ROWS}
    order = {"flash2": 0, "flash3": 1, "cudnn9": 2}
    for kind in sorted(kinds, key=lambda each: (each[0] != "shah2024", order[each[1]], each[2], each[3:])):
        found = rows(**dict(zip(("source", "kernel", "pass", "causal", "head_size"), kind, strict=True)))
        found.sort(key=lambda each: int(each["sequence_length"]))
        source, kernel, way, causal, head = kind
        published = " | ".join(f"{float(row['tflops']):.0f}" for row in found)
        mask = "causal" if causal == "1" else "none"
        name = f"{kernel}, {way}" + ("" if source == "shah2024" else f" ({source})")
        ours = predicted(found[0]) / 1e12
        yield f"| {name} | {head} | {mask} | {published} | {ours:.0f} | {error(found[-1]):+.0%} |"
