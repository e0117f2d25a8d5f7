"""Colours of charts, and the colour and pattern of each term, the same on every page."""

from __future__ import annotations

from perfmodel.model.step.terms import TERMS

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8C8C8C", "#B8A800")
"""Those of Okabe and Ito's colours that are visible on white and on black."""
BLUE, ORANGE, GREEN, PINK, SKY, RED, GREY, OLIVE = COLOURS

SMALL = 0.04
"""Share of an iteration below which terms of jobs that are compared are drawn as one, ``REST``."""
REST = f"other, each under {100 * SMALL:.0f} %"
"""Name of the sum of the small terms of jobs that are compared."""
OF_TERM = {
    "forward_time": (BLUE, ""),
    "backward_time": (SKY, ""),
    "compute_time": (BLUE, ""),
    "products_time": (BLUE, ""),
    "attention_time": (SKY, ""),
    "elementwise_time": (BLUE, "\\"),
    "logits_time": (SKY, "\\"),
    "recomputation_time": (OLIVE, "\\"),
    "loss_time": (BLUE, "x"),
    "launch_overhead_time": (PINK, ""),
    "iteration_overhead_time": (PINK, "\\"),
    "replicate_time": (PINK, "x"),
    "parallel_apply_time": (PINK, "."),
    "update_time": (OLIVE, ""),
    "coding_time": (OLIVE, "x"),
    "contention_time": (OLIVE, "."),
    "shared_slowdown_time": (OLIVE, "/"),
    "exposed_communication_time": (ORANGE, ""),
    "hidden_communication_time": (ORANGE, "/"),
    "tensor_parallel_time": (ORANGE, "\\"),
    "context_parallel_time": (ORANGE, "x"),
    "expert_parallel_time": (ORANGE, "."),
    "stage_transfer_time": (ORANGE, "-"),
    "node_growth_time": (ORANGE, "+"),
    "scatter_time": (RED, ""),
    "broadcast_time": (RED, "\\"),
    "gather_time": (RED, "x"),
    "reduce_time": (RED, "."),
    "copy_time": (RED, "-"),
    "straggler_time": (GREEN, ""),
    "unequal_stages_time": (GREEN, "\\"),
    "bubble_time": (GREEN, "x"),
    "input_time": (GREY, "\\"),
    "measured_loss_time": (GREY, "/"),
    "idle_time": (GREY, ""),
    REST: (GREY, "."),
}
"""Term of an iteration, or part of a recorded step -> its colour and pattern; other terms have the colour of
their kind."""
OF_KIND = {"busy": BLUE, "host": PINK, "network": ORANGE, "wait": GREEN}
PATTERNS = ("|", "/", "-", "+", ".", "x")


def look_of(name: str) -> tuple[str, str] | None:
    """Return the colour and pattern of a term or a part of a recorded step; None of any other name."""
    if name in OF_TERM or name not in TERMS:
        return OF_TERM.get(name)
    colour, taken = OF_KIND[TERMS[name].kind], set(OF_TERM.values())
    new = [each for each in TERMS if each not in OF_TERM]
    free = [pattern for pattern in PATTERNS if (colour, pattern) not in taken] or list(PATTERNS)
    return colour, free[new.index(name) % len(free)]
