"""The equation behind each bar, as the docstring of the formula that computed it states it."""

from __future__ import annotations

import inspect
import re
from functools import cache
from importlib import import_module

TERMS: dict[str, tuple[str, ...]] = {
    "forward and backward": ("layer_pass.product_time", "layer_pass.traffic_time", "layer_pass.paced_time"),
    "launch overhead": ("compute.launch_overhead",),
    "update": ("compute.update_time",),
    "exposed communication": ("overlap.exposed_communication_time", "overlap.contended_time"),
    "waiting for input": ("input_pipeline.exposed_input_time",),
    "waiting for stragglers": ("jitter.straggler_factor",),
}
"""Bars of the waterfall -> the formulas below ``perfmodel.equations`` they come from."""
EXCHANGES = {
    "all-reduce": "collectives.ring_all_reduce_time",
    "parameter-server": "parameter_server.parameter_server_time",
}
"""A strategy -> how its gradients travel."""


@cache
def told(name: str) -> tuple[str, str]:
    """Return a formula's first line, and its equation in LaTeX (empty where it has none).

    >>> told("compute.update_time")[0]
    "Time of the optimizer's update, which only streams memory."
    """
    module, _, function = name.partition(".")
    text = inspect.getdoc(getattr(import_module(f"perfmodel.equations.{module}"), function)) or ""
    equation = re.search(r"\.\. math::(.*?)(?:\n\s*\n|$)", text, re.DOTALL)
    return text.splitlines()[0], equation[1].strip() if equation else ""
